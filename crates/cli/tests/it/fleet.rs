//! `haloscope fleet`: a row a run, read once.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Outcome, command, outcome, root};

/// Copies a fixture's session to `logs/NAME/plugins/profile/run`.
fn copy(fixture: &str, logs: &Path, name: &str) {
    let folder = root().join("fixtures/runs").join(fixture);
    let to = logs.join(name).join("plugins/profile/run");
    fs::create_dir_all(&to).unwrap();
    for file in haloscope_profile::load::find(&folder).unwrap().files {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

fn ask(logs: &Path, cache: &Path, more: &[&str]) -> Outcome {
    let words = [&["fleet", logs.to_str().unwrap()], more].concat();
    outcome(command(&words).env("HALOSCOPE_CACHE", cache))
}

#[test]
fn runs_are_rows_and_only_new_ones_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, cache) = (folder.path().join("logs"), folder.path().join("cache"));
    copy("tpu-train", &logs, "a");
    copy("tpu-input-bound", &logs, "b");
    let cut = logs.join("c/plugins/profile/run");
    fs::create_dir_all(&cut).unwrap();
    fs::write(cut.join("host.xplane.pb"), "no profile").unwrap();
    // Files that were just written may not be whole yet.
    thread::sleep(Duration::from_millis(2_200));

    let first = ask(&logs, &cache, &["--format", "json"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let report: Value = serde_json::from_str(&first.stdout).unwrap();
    let table = &report["tables"][0];
    let place = |id: &str| table["columns"].as_array().unwrap().iter().position(|c| c["id"] == id).unwrap();
    let row = |name: &str| {
        let rows = table["rows"].as_array().unwrap();
        rows.iter().find(|row| row[0].as_str().unwrap().starts_with(name)).unwrap().clone()
    };
    assert_eq!(table["rows"].as_array().unwrap().len(), 3);
    let own: Value = {
        let run = logs.join("b");
        let words = ["overview", run.to_str().unwrap(), "--format", "json"];
        serde_json::from_str(&outcome(command(&words).env("HALOSCOPE_CACHE", "off")).stdout).unwrap()
    };
    let number = |value: &Value| value.as_f64().unwrap();
    let (fleet, overview) =
        (&row("b")[place("step_time_mean_ps")], &own["values"]["step_time_mean_ps"]["value"]);
    assert!((number(fleet) - number(overview)).abs() < 1.0, "{fleet} {overview}");
    assert_eq!(row("b")[place("first_cause")], "input bound");
    assert!(number(&row("b")[place("first_speedup")]) > 1.0);
    assert!(row("c")[place("step_time_mean_ps")].is_null());
    let why = row("c")[place("unread")].as_str().unwrap().to_owned();
    let folder = cut.to_str().unwrap();
    assert!(why.contains(" host.xplane.pb: ") && !why.contains(folder), "the row says where it is: {why}");
    assert_eq!(
        (&report["values"]["read_now"]["value"], &report["values"]["unread"]["value"]),
        (&2.into(), &1.into())
    );
    assert!(
        first.stderr.contains("reading a/run (") && first.stderr.contains("reading b/run ("),
        "{}",
        first.stderr
    );

    // Asked again, what was read is known; a new session is read.
    copy("tpu-decode", &logs, "d");
    thread::sleep(Duration::from_millis(2_200));
    let again = ask(&logs, &cache, &[]);
    assert!(
        !again.stderr.contains("reading a/run") && again.stderr.contains("reading d/run"),
        "{}",
        again.stderr
    );
    assert!(again.stdout.contains("input bound"), "{}", again.stdout);
}

#[test]
fn places_and_times_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, cache) = (folder.path().join("logs"), folder.path().join("cache"));
    let missing = ask(&logs, &cache, &[]);
    assert_eq!(missing.code, 3, "{}", missing.stderr);
    assert!(missing.stderr.contains("logs"), "{}", missing.stderr);
    fs::create_dir_all(&logs).unwrap();
    let empty = ask(&logs, &cache, &[]);
    assert_eq!(empty.code, 4, "{}", empty.stderr);
    assert!(empty.stderr.contains("no profile in "), "{}", empty.stderr);
    copy("tpu-train", &logs, "a");
    let wrong = ask(&logs, &cache, &["--since", "yesterday"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("expected 7d"), "{}", wrong.stderr);
    let none = ask(&logs, &cache, &["--since", "2100-01-01T00:00:00Z"]);
    assert_eq!(none.code, 4, "{}", none.stderr);
    assert!(none.stderr.contains("none of the 1 runs"), "{}", none.stderr);
}
