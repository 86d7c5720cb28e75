//! `haloscope part`: what some questions need of each host, as a run.

use std::fs;

use serde_json::Value;

use crate::support::process;

/// An answer without the files that it was read from.
fn answer(words: &[&str], run: &str) -> Value {
    let outcome = process(&[words, &[run, "--no-cache", "--format", "json"]].concat());
    assert_eq!(outcome.code, 0, "{words:?} {run}: {}", outcome.stderr);
    let mut report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    report["provenance"]["files"].take();
    report
}

#[test]
fn a_folder_of_parts_answers_as_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts");
    let parts = parts.to_str().unwrap();
    let run = "fixtures/runs/tpu-train";
    // Each worker sees the file of one host, and puts its part beside those of the others.
    for host in ["tpu-w-0", "tpu-w-1"] {
        let file = format!("{run}/plugins/profile/2026_01_01_00_00_00/{host}.xplane.pb.gz");
        let outcome = process(&["part", &file, "-o", parts, "--format", "csv"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stdout.contains(&format!("\n{host},")), "{}", outcome.stdout);
    }
    let questions = ["overview", "diagnose", "idle", "steps", "hosts", "comm", "ops"];
    for question in questions {
        assert_eq!(answer(&[question], run), answer(&[question], parts), "{question}");
    }
    // Of which this run has nothing, and so have its parts.
    let none = |run: &str| process(&["memory", "peak", run, "--no-cache"]).code;
    assert_eq!((none(run), none(parts)), (4, 4));
    let scoped = ["hosts", "--steps", "2-4"];
    assert_eq!(answer(&scoped, run), answer(&scoped, parts));
}

#[test]
fn what_a_part_lacks_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts");
    let parts = parts.to_str().unwrap();
    let run = "fixtures/runs/tpu-input-bound";
    assert_eq!(process(&["part", run, "--analysis", "ops", "-o", parts]).code, 0);
    assert_eq!(process(&["ops", parts, "--no-cache"]).code, 0);
    // Whatever would read it says so: an analysis, and those that are none.
    let trace = folder.path().join("trace.json");
    let export = ["export", "-o", trace.to_str().unwrap()];
    for words in [&["inspect"][..], &export] {
        let outcome = process(&[&words[..1], &[parts], &words[1..]].concat());
        assert_eq!(outcome.code, 3, "{words:?}: {}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.stderr.contains("haloscope part"), "{words:?}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty(), "{words:?}");
    }
    assert!(!trace.exists());
    let outcome = process(&["redact", parts, "-o", folder.path().join("r.xplane.pb").to_str().unwrap()]);
    assert!(outcome.code == 4 && outcome.stderr.contains("part of a profile"), "{}", outcome.stderr);
}

#[test]
fn what_cannot_be_made_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("run");
    fs::create_dir_all(&at).unwrap();
    let fixture = "fixtures/runs/tpu-gate/plugins/profile/2026_01_01_00_00_00/tpu-host.xplane.pb";
    let file = at.join("tpu-host.xplane.pb");
    fs::copy(crate::support::root().join(fixture), &file).unwrap();
    let (at, file) = (at.to_str().unwrap(), file.to_str().unwrap());
    let bytes = fs::read(file).unwrap();
    let onto_itself = process(&["part", file, "-o", at]);
    assert!(onto_itself.code == 2 && onto_itself.stderr.contains("-o"), "{}", onto_itself.stderr);
    assert_eq!(fs::read(file).unwrap(), bytes);
    let to = folder.path().join("parts");
    let to = to.to_str().unwrap();
    let several = process(&["part", file, "--analysis", "compare", "-o", to]);
    assert!(several.code == 2 && several.stderr.contains("These do: "), "{}", several.stderr);
    let program = "fixtures/hlo/pallas_matmul.v6e.hlo_proto.pb.gz";
    assert_eq!(process(&["part", program, "-o", to]).code, 4);
}
