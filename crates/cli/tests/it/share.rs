//! `slice` and `redact`, through the real binary.

use std::fs;

use crate::support::process;

#[test]
fn a_slice_is_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (run, name) in [("tpu-gate", "small.xplane.pb"), ("gpu-train", "small.xplane.pb.gz")] {
        let to = path(name);
        let run = format!("fixtures/runs/{run}");
        let outcome = process(&["slice", &run, "--steps", "3-5", "-o", &to]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stdout.is_empty() && outcome.stderr.contains("events"), "{}", outcome.stderr);
        let steps = |run: &str| {
            let args = ["steps", run, "--steps", "3-5", "--table", "steps", "--format", "csv"];
            let outcome = process(&args);
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            let lines = outcome.stdout.lines().map(|line| line.split(',').take(1).collect::<String>());
            lines.collect::<Vec<_>>()
        };
        assert_eq!(steps(&to), steps(&run));
    }
    // Of several hosts, a log folder.
    let run = "fixtures/runs/tpu-train";
    let refused = process(&["slice", run, "--steps", "2", "-o", &path("two.xplane.pb")]);
    assert!(refused.code == 2 && refused.stderr.contains("--hosts"), "{}", refused.stderr);
    let to = path("logs");
    assert_eq!(process(&["slice", run, "--steps", "2", "-o", &to]).code, 0);
    assert_eq!(process(&["overview", &to]).code, 0);
    // A step that is not there, and a program.
    assert_eq!(process(&["slice", run, "--steps", "99", "-o", &path("none.xplane.pb")]).code, 4);
    let program = "fixtures/hlo/pallas_matmul.v6e.hlo_proto.pb.gz";
    assert_eq!(process(&["slice", program, "-o", &path("none.xplane.pb")]).code, 4);
    assert!(!fs::exists(path("none.xplane.pb")).unwrap());
}

#[test]
fn names_go_from_compiled_kernels_too() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("shareable.xplane.pb");
    let to = to.to_str().unwrap();
    for (run, name) in [("crowded.v5e", "crowded"), ("turned.v5e", "turned")] {
        let run = format!("fixtures/kernels/{run}.xplane.pb.gz");
        let outcome = process(&["redact", &run, "-o", to, "--format", "csv"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stdout.contains(&format!(",{name},")), "{}", outcome.stdout);
        let bytes = fs::read(to).unwrap();
        assert!(!bytes.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
        // It is a kernel still.
        let bundles = |run: &str| {
            let outcome = process(&["kernel", "list", run, "--format", "json"]);
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
            let table = &report["tables"][0];
            let column =
                table["columns"].as_array().unwrap().iter().position(|one| one["id"] == "bundles").unwrap();
            table["rows"].as_array().unwrap().iter().map(|row| row[column].clone()).collect::<Vec<_>>()
        };
        assert_eq!(bundles(to), bundles(&run));
        assert!(!bundles(to).is_empty());
    }
}

#[test]
fn a_redacted_run_lists_what_was_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("shareable.xplane.pb");
    let to = to.to_str().unwrap();
    let run = "fixtures/runs/cpu-train";
    let outcome = process(&["redact", run, "-o", to, "--format", "csv"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.starts_with("kind,word,replacement\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("host,host0,"), "{}", outcome.stdout);
    let bytes = fs::read(to).unwrap();
    for line in outcome.stdout.lines().skip(1).filter(|line| line.starts_with("name,")) {
        let word = line.split(',').nth(1).unwrap();
        let is_of_word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        let is_left = bytes.windows(word.len()).enumerate().any(|(at, part)| {
            part == word.as_bytes()
                && !is_of_word(at.checked_sub(1).and_then(|at| bytes.get(at)))
                && !is_of_word(bytes.get(at + word.len()))
        });
        assert!(word.len() < 5 || !is_left, "{word}");
    }
    // On a terminal, too, the list is whole.
    let rows = outcome.stdout.lines().count() - 1;
    let table = process(&["redact", run, "-o", to, "--format", "markdown"]).stdout;
    assert!(
        table.lines().filter(|line| line.starts_with("| ")).count() > rows && !table.contains("more rows"),
        "{table}"
    );
    let values = |run: &str| {
        let outcome = process(&["overview", run, "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        report["values"]["step_time_mean_ps"].clone()
    };
    assert_eq!(values(to), values(run));
}
