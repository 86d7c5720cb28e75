//! `check` as a gate: exit codes, JUnit, several forms from one reading.

use std::fs;

use crate::support::{Outcome, process, root};

const BEFORE: &str = "fixtures/runs/tpu-gate";
const AGAIN: &str = "fixtures/runs/tpu-gate-again";
const SLOWER: &str = "fixtures/runs/tpu-gate-slower";

fn check(run: &str, rest: &[&str]) -> Outcome {
    process(&[&["check", run], rest].concat())
}

#[test]
fn each_outcome_has_its_exit_code() {
    let code = |run: &str, rest: &[&str]| {
        let Outcome { code, stderr, .. } = check(run, rest);
        (code, stderr)
    };
    let is = |found: (i32, String), expected: i32| assert_eq!(found.0, expected, "{}", found.1);
    is(code(AGAIN, &["--baseline", BEFORE]), 0);
    is(code(SLOWER, &["--baseline", BEFORE]), 1);
    is(code("fixtures/runs/tpu-custom-call", &["--baseline", BEFORE]), 5);
    is(code(SLOWER, &["--baseline", "no/such/run"]), 3);
    is(code("Cargo.toml", &["--baseline", BEFORE]), 3);
    is(code(BEFORE, &["--claim", "nonsense"]), 2);
    is(code(BEFORE, &["--budget", "no/such/file"]), 2);
    is(code(BEFORE, &["--claim", "latency<=1ns"]), 1);
    // Nothing was asked, and so nothing failed.
    is(code(BEFORE, &[]), 0);
    is(code(BEFORE, &["--format", "junit"]), 2);
    is(code(BEFORE, &["--expect", "convolution", "--expect", "no_such_kernel"]), 1);
}

#[test]
fn one_reading_gives_several_forms() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (xml, json, text) = (file("check.xml"), file("check.json"), file("check.txt"));
    let also = [format!("junit={xml}"), format!("json={json}"), format!("table={text}")];
    let args = [
        "--baseline",
        BEFORE,
        "--format",
        "markdown",
        "--also",
        &also[0],
        "--also",
        &also[1],
        "--also",
        &also[2],
    ];
    let outcome = check(SLOWER, &args);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("regressed") && outcome.stdout.contains('|'), "{}", outcome.stdout);
    let xml = fs::read_to_string(xml).unwrap();
    assert!(xml.starts_with("<?xml") && xml.contains("<failure type=\"fail\""), "{xml}");
    let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(
        (&report["gate"], &report["values"]["verdict"]["value"]),
        (&"failed".into(), &"regressed".into())
    );
    assert!(fs::read_to_string(text).unwrap().contains("regressed"));
    // What nobody can write is an error before anything is said.
    let wrong = check(SLOWER, &["--baseline", BEFORE, "--also", "xml=x"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("junit=check.xml") && wrong.stdout.is_empty(),
        "{}",
        wrong.stderr
    );
    let nowhere = check(SLOWER, &["--baseline", BEFORE, "--also", "json=/no/such/folder/x.json"]);
    assert!(nowhere.code == 3 && nowhere.stdout.is_empty(), "{}", nowhere.stderr);
}

#[test]
fn the_examples_of_the_documentation_hold() {
    let budget = "docs/examples/budget.toml";
    assert!(root().join(budget).is_file());
    assert_eq!(check(AGAIN, &["--baseline", BEFORE, "--budget", budget]).code, 0);
    assert_eq!(check(SLOWER, &["--baseline", BEFORE, "--budget", budget]).code, 1);
}
