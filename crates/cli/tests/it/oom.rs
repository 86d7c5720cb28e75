//! Texts of errors, through the real binary: a file, stdin, a dump, and what is none.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::support::{command, process, root};

const TEXT: &str = "fixtures/oom/decode_cache_v5e.txt";

#[test]
fn a_file_is_read_with_what_lies_beside_it() {
    let asked = process(&["oom", TEXT, "--format", "json"]);
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    let report: serde_json::Value = serde_json::from_str(&asked.stdout).unwrap();
    assert_eq!(report["values"]["kind"]["value"], "hbm total");
    assert_eq!(report["values"]["largest_bytes"]["value"], 9_395_240_960_i64);
    assert_eq!(report["tables"][2]["rows"][0][0], "donate");
}

#[test]
fn stdin_is_read_and_a_dump_is_found_by_the_module() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("log line\n{}", fs::read_to_string(root().join(TEXT)).unwrap());
    for (end, name) in [
        ("buffer-assignment", "module_0001.jit_write.cl_1.after_optimizations-buffer-assignment.txt.gz"),
        ("oom_intermediate_module", "module_0001.jit_write.cl_1.oom_intermediate_module.txt.gz"),
    ] {
        let from = root().join(format!("fixtures/oom/decode_cache_v5e.{end}.txt.gz"));
        fs::copy(from, folder.path().join(name)).unwrap();
    }
    let other = folder.path().join("module_0000.jit_other.cl_1.after_optimizations-buffer-assignment.txt");
    fs::write(other, format!("BufferAssignment:\n{}", "\n".repeat(9000))).unwrap();
    let ask = |args: &[&str]| {
        let mut child = command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, alone) = ask(&["oom", "-"]);
    assert_eq!(code, Some(0));
    assert!(alone.contains("--xla_dump_to"), "without a dump it says how to have one: {alone}");
    let (code, with) = ask(&["oom", "-", "--width", "160", "--dump", folder.path().to_str().unwrap()]);
    assert_eq!(code, Some(0));
    assert!(with.contains("donate cache.1") && with.contains("make.py:"), "{with}");
}

#[test]
fn what_is_no_error_and_no_dump_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let words = folder.path().join("notes.txt");
    fs::write(&words, "all is well\n").unwrap();
    let nothing = process(&["oom", words.to_str().unwrap()]);
    assert_eq!(nothing.code, 4);
    assert!(nothing.stderr.contains("no message that memory ran out"), "{}", nothing.stderr);
    let empty = process(&["oom", TEXT, "--dump", folder.path().to_str().unwrap()]);
    assert_eq!(empty.code, 4);
    assert!(empty.stderr.contains("holds no dump"), "{}", empty.stderr);
    assert_eq!(process(&["oom", "there/is/none.txt"]).code, 3);
}

#[test]
fn a_run_is_held_against_its_device() {
    let asked = process(&["oom", "fixtures/runs/tpu-memory", "--format", "json"]);
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    let report: serde_json::Value = serde_json::from_str(&asked.stdout).unwrap();
    assert_eq!(report["findings"][0]["id"], "fits");
    assert!(report["values"]["used_bytes"]["value"].as_i64().unwrap() > 0);
}
