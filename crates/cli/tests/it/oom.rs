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
    assert!(empty.stderr.contains("has no dump"), "{}", empty.stderr);
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

/// A dump whose program a Python that stands for one with libtpu answers about.
#[cfg(unix)]
#[test]
fn cures_are_tried_in_a_python_and_those_that_need_an_edit_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let from = root().join("fixtures/oom/decode_cache_v5e.buffer-assignment.txt.gz");
    let stem = "module_0001.jit_write.cl_1";
    fs::copy(from, folder.path().join(format!("{stem}.after_optimizations-buffer-assignment.txt.gz")))
        .unwrap();
    let dump = folder.path().to_str().unwrap();
    let none = process(&["oom", TEXT, "--dump", dump, "--try"]);
    assert_eq!(none.code, 4, "{}", none.stderr);
    assert!(none.stderr.contains("before_optimizations.txt"), "{}", none.stderr);
    fs::write(folder.path().join(format!("{stem}.before_optimizations.txt")), "HloModule jit_write\n")
        .unwrap();

    let python = |name: &str, body: &str| {
        let path = folder.path().join(name);
        crate::support::script(&path, body);
        path.to_str().unwrap().to_owned()
    };
    let say = |json: &str| format!("echo 'haloscope-oom-try {json}'\n");
    let ready = say(r#"{"id":"setup","verdict":"ready","why":"JAX 0"}"#);
    let fails = say(
        r#"{"id":"program","verdict":"does not fit","what":"as it was dumped","why":"RESOURCE_EXHAUSTED"}"#,
    );
    let donate = say(
        r#"{"id":"donate","verdict":"compiles","what":"argument 0 is donated","why":"","needed_bytes":7}"#,
    );
    let shard =
        say(r#"{"id":"shard","verdict":"does not fit","what":"in 4 parts","why":"RESOURCE_EXHAUSTED"}"#);
    let good = python(
        "good",
        &format!("case \"$2\" in *v5e:2x2*) ;; *) exit 1;; esac\necho noise\n{ready}{fails}{donate}{shard}"),
    );
    let asked = process(&["oom", TEXT, "--dump", dump, "--try", "--python", &good, "--format", "json"]);
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    let report: serde_json::Value = serde_json::from_str(&asked.stdout).unwrap();
    let tables = report["tables"].as_array().unwrap();
    let of = |id: &str| tables.iter().find(|table| table["id"] == id).unwrap()["rows"].as_array().unwrap();
    let tried = of("tried");
    assert_eq!(tried.len(), of("cures").len() + 1, "the program as it is, and each cure");
    assert_eq!(
        (&tried[0][1], &tried[1][1], &tried[1][2]),
        (&"does not fit".into(), &"compiles".into(), &7.into())
    );
    assert_eq!((tried.len(), &tried[2][0], &tried[2][1]), (3, &"shard".into(), &"does not fit".into()));

    // A Python without JAX, one that is none, and the words that it needs.
    let bare = python("bare", &say(r#"{"id":"setup","verdict":"failed","why":"No module named jax"}"#));
    let dead = python("dead", "echo it died >&2; exit 3");
    for (python, why) in
        [(bare.as_str(), "No module named jax"), (dead.as_str(), "it died"), ("no/such", "does not start")]
    {
        let asked = process(&["oom", TEXT, "--dump", dump, "--try", "--python", python]);
        assert_eq!(asked.code, 4, "{}", asked.stderr);
        assert!(asked.stderr.contains(why) && asked.stderr.contains("jax[tpu]"), "{}", asked.stderr);
    }
    assert_eq!(process(&["oom", TEXT, "--try"]).code, 2, "there is no program without a dump");
    let run = process(&["oom", "fixtures/runs/tpu-memory", "--dump", dump, "--try"]);
    assert!(run.code == 2 && run.stderr.contains("not a run"), "{}", run.stderr);
}
