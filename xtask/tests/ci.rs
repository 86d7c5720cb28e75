//! `cargo xtask ci` as `.ci/run` calls it. That there is a test here is also why `cargo test` builds the program that it calls.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::{Command, Output};

fn ci(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).arg("ci").args(words).output().unwrap()
}

#[test]
fn stages_of_a_change_and_of_the_night_are_listed() {
    let names = |words: &[&str]| -> Vec<String> {
        let said = ci(words);
        assert!(said.status.success(), "{said:?}");
        let text = String::from_utf8(said.stdout).unwrap();
        let heads = text.lines().filter(|line| !line.starts_with(' '));
        heads.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
    };
    let (change, night) = (names(&["--list"]), names(&["--list", "--nightly"]));
    assert!(change.iter().any(|name| name == "clippy"), "{change:?}");
    assert!(night.iter().any(|name| name == "planted-faults"), "{night:?}");
    assert!(!change.iter().any(|name| name == "planted-faults"), "{change:?}");
}

#[test]
fn a_stage_that_there_is_not_is_refused_with_those_that_there_are() {
    let said = ci(&["--only", "no-such-stage"]);
    let text = String::from_utf8(said.stderr).unwrap();
    assert!(!said.status.success());
    assert!(text.contains("no stage no-such-stage; there are ") && text.contains("clippy"), "{text}");
    // What is left to the night is not just unknown.
    let text = String::from_utf8(ci(&["--only", "bench"]).stderr).unwrap();
    assert!(text.contains("with --nightly"), "{text}");
}
