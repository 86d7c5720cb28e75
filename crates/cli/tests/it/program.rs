//! The binary on compiled programs: a proto, text, a dump.

use std::fs;

use crate::support::{process, root};

const TEXT: &str = "HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n\n\
                    ENTRY %main (x: f32[8]) -> f32[8] {\n  %x = f32[8]{0} parameter(0)\n  \
                    ROOT %y = f32[8]{0} negate(%x), metadata={op_name=\"jit(f)/neg\"}\n}\n";

/// The stages that `inspect` tells of, as CSV: module, stage, whether it is used, instructions.
fn stages(run: &str) -> Vec<String> {
    let outcome = process(&["inspect", run, "--format", "csv", "--table", "stages"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{}", outcome.stdout);
    let lines = outcome.stdout.lines().skip(1);
    lines.map(|line| line.split(',').take(4).collect::<Vec<_>>().join(",")).collect()
}

#[test]
fn each_form_of_program_is_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in
        ["f.txt", "module_0001.jit_f.before_optimizations.txt", "module_0001.jit_f.after_optimizations.txt"]
    {
        fs::write(path(name), TEXT).unwrap();
    }
    fs::write(path("notes.txt"), "bring milk\n").unwrap();
    assert_eq!(stages(&path("f.txt")), ["jit_f,,yes,2"]);
    assert_eq!(
        stages(&path("module_0001.jit_f.before_optimizations.txt")),
        ["jit_f,before_optimizations,yes,2"]
    );
    assert_eq!(
        stages(&path("")),
        ["jit_f,,yes,2", "jit_f,before_optimizations,no,2", "jit_f,after_optimizations,yes,2"]
    );
    let protos = stages("fixtures/hlo");
    let names = fs::read_dir(root().join("fixtures/hlo")).unwrap().map(|entry| entry.unwrap().file_name());
    let is_proto = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".hlo_proto.pb.gz");
    assert_eq!(protos.len(), names.filter(is_proto).count());
    assert!(protos.iter().all(|line| line.contains(",,yes,")), "{protos:?}");
    assert_eq!(stages("fixtures/hlo/pallas_matmul.v6e.hlo_proto.pb.gz").len(), 1);
}

#[test]
fn questions_about_time_say_why_there_is_no_answer() {
    for command in ["overview", "steps", "ops", "roofline"] {
        let outcome = process(&[command, "fixtures/hlo"]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (4, ""), "{command}");
        assert!(outcome.stderr.contains("this is a compiled program, not a profile"), "{}", outcome.stderr);
    }
}

#[test]
fn text_that_cannot_be_read_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.txt");
    fs::write(&path, TEXT.replace("negate(%x)", "negate(%z)")).unwrap();
    let outcome = process(&["inspect", path.to_str().unwrap()]);
    assert_eq!(outcome.code, 3);
    assert!(
        outcome.stderr.contains("line 5, column 30: expected the name of an instruction above"),
        "{}",
        outcome.stderr
    );
}
