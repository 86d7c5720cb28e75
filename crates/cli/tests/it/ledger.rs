//! `haloscope ledger`: what is written, what is said of it, and what is refused.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;

use crate::support::{Outcome, command, filtered, process, shown, widest};

const RUN: &str = "fixtures/runs/tpu-train";

/// Adds the fixture, with all that would differ from machine to machine given.
fn add(ledger: &str, more: &[&str]) -> Outcome {
    let fixed = [
        "--time",
        "2026-11-22T10:45:12Z",
        "--commit",
        "0123456789abcdef0123456789abcdef01234567",
        "--writer",
        "ci-1",
    ];
    process(&[&["ledger", "add", RUN, "--ledger", ledger], fixed.as_slice(), more].concat())
}

/// A ledger of made lines: the step time goes up by 6% with the seventh, and one try was taken back.
fn made(folder: &Path) -> PathBuf {
    let steps: [f64; 11] = [10.02, 9.98, 10.01, 9.99, 10.03, 9.97, 10.61, 10.58, 12.0, 10.62, 10.59];
    let mut text = String::new();
    for (i, ms) in (1..).zip(steps) {
        let decision = if ms > 11.0 {
            r#","decision":"revert","note":"unrolled twice: slower""#
        } else {
            r#","decision":"keep""#
        };
        let _ = writeln!(
            text,
            r#"{{"ledger":1,"time":"2026-11-{i:02}T08:00:00Z","run":"train/{i}","commit":"c{i:03}","device_type":"TPU v5 lite","device_count":16,"metrics":{{"step_time_mean_ps":{{"value":{ps},"unit":"ps","status":"derived","samples":{{"n":12,"mean":{ps},"sd":40000000}}}},"mfu":{{"value":{mfu},"unit":"share","status":"derived"}},"peak_bytes":{{"value":7516192768,"unit":"B","status":"derived"}}}}{decision}}}"#,
            ps = ms * 1e9,
            mfu = (40.0 / ms).round() / 10.0,
        );
    }
    let path = folder.join("history.jsonl");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn help() {
    filtered(|| {
        assert_snapshot!("help", shown(&["ledger", "--help"]));
        assert_snapshot!("help_add", shown(&["ledger", "add", "-h"]));
        assert_snapshot!("help_show", shown(&["ledger", "show", "-h"]));
        assert_snapshot!("help_advise", shown(&["ledger", "advise", "-h"]));
    });
}

#[test]
fn a_run_becomes_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("history");
    let place = ledger.to_str().unwrap();
    let labels = ["--label", "model=small", "--note", "the first", "--decision", "keep", "--branch", "main"];
    let added = add(place, &labels);
    assert_eq!(added.code, 0, "{}", added.stderr);
    // What has no answer is said, and costs the entry nothing but that number.
    assert!(added.stderr.starts_with("note: no numbers of `memory peak`: "), "{}", added.stderr);
    assert!(widest(&added.stdout) <= 80, "{}", added.stdout);
    let line = std::fs::read_to_string(ledger.join("ci-1.jsonl")).unwrap();
    assert_eq!((line.matches('\n').count(), line.ends_with("}\n")), (1, true));
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    filtered(|| {
        assert_snapshot!("added", added.stdout);
        assert_snapshot!("line", serde_json::to_string_pretty(&json).unwrap());
    });
    // What is kept is what `overview` says.
    let overview = process(&["overview", RUN, "--format", "json"]);
    let overview: serde_json::Value = serde_json::from_str(&overview.stdout).unwrap();
    let (kept, said) = (&json["metrics"]["step_time_mean_ps"], &overview["values"]["step_time_mean_ps"]);
    assert_eq!((kept["value"].as_f64(), &kept["status"]), (said["value"].as_f64(), &said["status"]));
    assert_eq!(kept["samples"]["n"], overview["values"]["step_count"]["value"]);
    // The former line stays as it is.
    assert_eq!(add(place, &[]).code, 0);
    let both = std::fs::read_to_string(ledger.join("ci-1.jsonl")).unwrap();
    assert!(both.starts_with(&line) && both.len() > line.len());
    let shown = process(&["ledger", "show", place]);
    assert!(shown.stdout.contains("0123456789ab"), "{}", shown.stdout);
}

#[test]
fn a_history_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = made(folder.path());
    let place = path.to_str().unwrap();
    let all = shown(&["ledger", "show", place]);
    let one = shown(&["ledger", "show", place, "--metric", "step_time_mean_ps", "--table", "points"]);
    let advice = shown(&["ledger", "advise", place]);
    for text in [&all, &one, &advice] {
        assert!(widest(text) <= 80, "{text}");
    }
    filtered(|| {
        assert_snapshot!("show", all);
        assert_snapshot!("show_metric", one);
        assert_snapshot!("advise", advice);
    });
    let json = process(&["ledger", "show", place, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&json["analysis"], &json["values"]["worse_count"]["value"]),
        (&"ledger show".into(), &1.into())
    );
    assert_eq!(json["series"][0]["points"].as_array().unwrap().len(), 11);
    for format in ["csv", "markdown"] {
        let outcome = process(&["ledger", "show", place, "--format", format]);
        assert_eq!(outcome.code, 0, "{format}: {}", outcome.stderr);
    }
    assert_eq!(process(&["ledger", "advice", place]).code, 0);
}

#[test]
fn half_a_line_is_named_and_goes_when_the_next_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = made(folder.path());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 50]).unwrap();
    let place = path.to_str().unwrap();
    let shown = process(&["ledger", "show", place]);
    assert_eq!(shown.code, 0);
    assert!(shown.stdout.contains("history.jsonl:11: it is cut off"), "{}", shown.stdout);
    assert_eq!(add(place, &[]).code, 0);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 11);
    let json = process(&["ledger", "show", place, "--format", "json"]);
    assert!(
        json.stdout.contains(r#""entry_count":{"value":11,"#)
            && json.stdout.contains(r#""bad_line_count":{"value":0,"#),
        "{}",
        json.stdout
    );
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (new, missing) = (at("new"), at("missing.jsonl"));
    std::fs::create_dir_all(at("empty")).unwrap();
    std::fs::write(at("events.jsonl"), "{\"event\":1}\n").unwrap();
    let session = folder.path().join("log/plugins/profile/s");
    std::fs::create_dir_all(&session).unwrap();
    let inside = session.join("l.jsonl").display().to_string();
    filtered(|| {
        assert_snapshot!("missing", shown(&["ledger", "show", &missing]));
        assert_snapshot!("empty", shown(&["ledger", "show", &at("empty")]));
        assert_snapshot!("bucket", shown(&["ledger", "show", "gs://bucket/ledger"]));
        assert_snapshot!("inside_a_run", shown(&["ledger", "add", RUN, "--ledger", &inside]));
        assert_snapshot!("other_file", shown(&["ledger", "add", RUN, "--ledger", &at("events.jsonl")]));
        assert_snapshot!("bad_label", shown(&["ledger", "add", RUN, "--ledger", &new, "--label", "small"]));
        assert_snapshot!("bad_time", shown(&["ledger", "add", RUN, "--ledger", &new, "--time", "now"]));
        assert_snapshot!("no_run", shown(&["ledger", "add", "no/such/run", "--ledger", &new]));
    });
    assert!(!Path::new(&new).exists());
    assert_eq!(std::fs::read_to_string(at("events.jsonl")).unwrap(), "{\"event\":1}\n");
    assert_eq!(process(&["serve", RUN, "--port", "0", "--ledger", &missing]).code, 3);
}

#[test]
fn the_commit_is_that_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=trunk"];
        let mut git = Command::new("git");
        git.args(who).args(args).current_dir(folder.path()).env_remove("GIT_DIR");
        git.output().is_ok_and(|output| output.status.success())
    };
    if !git(&["--version"]) {
        return;
    }
    let run = crate::support::root().join(RUN).display().to_string();
    let entry = |ledger: &str| -> serde_json::Value {
        let output = command(&["ledger", "add", &run, "--ledger", ledger])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&std::fs::read_to_string(folder.path().join(ledger)).unwrap()).unwrap()
    };
    assert_eq!(entry("without.jsonl")["commit"], serde_json::Value::Null);
    std::fs::write(folder.path().join("train.py"), "1").unwrap();
    assert!(git(&["init", "-q"]) && git(&["add", "train.py"]) && git(&["commit", "-q", "-m", "first"]));
    let clean = entry("clean.jsonl");
    assert_eq!(clean["commit"].as_str().map(str::len), Some(40));
    assert_eq!((&clean["branch"], &clean["dirty"]), (&"trunk".into(), &false.into()));
    std::fs::write(folder.path().join("train.py"), "2").unwrap();
    let changed = entry("changed.jsonl");
    assert_eq!((&changed["commit"], &changed["dirty"]), (&clean["commit"], &true.into()));
}
