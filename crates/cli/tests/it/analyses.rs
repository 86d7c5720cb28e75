//! Each analysis over each recorded run, in each form.

use std::fmt::Write;
use std::fs;

use haloscope_analyses::ALL;
use haloscope_time::analysis::Analysis;
use insta::assert_snapshot;

use crate::small;
use crate::support::{FIXTURES, Outcome, command, filtered, inside, line, process, root, shown, widest};

/// Whether the profile holds nothing that the question is about; any other refusal is an error.
fn is_silent(outcome: &Outcome) -> bool {
    assert!(matches!(outcome.code, 0 | 4), "{}", outcome.stderr);
    outcome.code == 4
}

/// What a refusal prints, without the lines that all of them share.
const SHARED: [&str; 2] = [
    "exit code: 4\n----- stdout -----\n----- stderr -----\nerror: ",
    "hint: `haloscope inspect RUN` shows what the profile has and which capture options add more",
];

/// Where the profile holds nothing that the question is about, in one table; each answer in a file of its own.
fn keep(refused: &mut String, run: &str, analysis: &Analysis, text: &str) {
    match text.strip_prefix(SHARED[0]).and_then(|rest| rest.trim_end().strip_suffix(SHARED[1])) {
        Some(reason) => writeln!(refused, "{run} {}: {}", analysis.id, reason.trim_end()).unwrap(),
        None => filtered(|| assert_snapshot!(format!("{run}_{}", analysis.slug()), text)),
    }
}

#[test]
fn each_analysis_on_each_recorded_run() {
    let mut refused = String::new();
    for run in FIXTURES {
        let name = run.rsplit('/').next().unwrap();
        for analysis in ALL {
            keep(&mut refused, name, analysis, &shown(&line(analysis, &[run, "--limit", "5"])));
        }
    }
    filtered(|| assert_snapshot!("refused", refused));
}

#[test]
fn each_analysis_on_a_small_tpu() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w-0.xplane.pb");
    fs::write(&path, small::space().to_bytes()).unwrap();
    let mut refused = String::new();
    for analysis in ALL {
        // Commands name the temporary folder, whose length is not the same everywhere: none is to be wrapped.
        let words = [path.to_str().unwrap(), "--width", "240"];
        keep(&mut refused, "small", analysis, &shown(&line(analysis, &words)));
    }
    filtered(|| assert_snapshot!("refused_small", refused));
}

#[test]
fn tables_fit_80_columns() {
    for run in FIXTURES {
        for analysis in ALL {
            let outcome = process(&line(analysis, &[run, "--limit", "0", "--format", "table"]));
            if is_silent(&outcome) {
                continue;
            }
            assert_eq!(outcome.stderr, "");
            // A text is shown as it is.
            let report = process(&line(analysis, &[run, "--format", "json"]));
            let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
            if report["texts"] != serde_json::json!([]) {
                continue;
            }
            let wide: Vec<_> = outcome.stdout.lines().filter(|l| widest(l) > 80).collect();
            assert!(wide.is_empty(), "{} {run}: {wide:#?}", analysis.id);
            assert!(!outcome.stdout.contains('\x1b'), "colours without a terminal");
        }
    }
}

#[test]
fn json_is_the_contract_and_csv_has_its_rows() {
    for run in FIXTURES {
        let run = root().join(run);
        let run = run.to_str().unwrap();
        for analysis in ALL {
            let answer = inside(&line(analysis, &[run, "--format", "json"]));
            if is_silent(&answer) {
                continue;
            }
            let report: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
            assert_eq!(report["analysis"], analysis.id);
            assert_eq!(
                answer.stdout,
                process(&line(analysis, &[run, "--format", "json"])).stdout,
                "same input, same bytes"
            );
            for table in report["tables"].as_array().unwrap() {
                let id = table["id"].as_str().unwrap();
                let csv = inside(&line(analysis, &[run, "--format", "csv", "--table", id]));
                assert_eq!(csv.code, 0, "{}", csv.stderr);
                let header: Vec<_> =
                    table["columns"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
                assert_eq!(csv.stdout.lines().next(), Some(header.join(",").as_str()));
                assert!(csv.stdout.lines().count() > table["rows"].as_array().unwrap().len());
            }
        }
    }
}

#[test]
fn colours_and_widths_on_request() {
    let coloured = process(&["overview", FIXTURES[0], "--color", "always"]);
    assert!(coloured.stdout.contains('\x1b'));
    let narrow = process(&["ops", FIXTURES[0], "--width", "60"]);
    assert!(widest(&narrow.stdout) <= 60);
    let wide = process(&["ops", FIXTURES[0], "--width", "400"]);
    assert!(!wide.stdout.contains("left out at"), "{}", wide.stdout);
}

#[test]
fn the_demo_prints_a_diagnosis() {
    let demo = process(&["demo", "--no-serve"]);
    assert_eq!(demo.code, 0, "{}", demo.stderr);
    let diagnosis = process(&["diagnose", "fixtures/runs/tpu-input-bound"]);
    assert_eq!(demo.stdout, diagnosis.stdout);
    assert!(demo.stdout.starts_with("Devices wait for input"), "{}", demo.stdout);
    assert_eq!(demo.stderr, "");
}

#[test]
fn the_demo_saves_its_run_where_there_is_no_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| command(args).current_dir(folder.path()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let without = run(&["demo", "--no-serve"]);
    assert!(text(without.stderr).contains("demo --save DIR"));
    let without = text(without.stdout);
    assert!(without.contains(" RUN") && !without.contains("fixtures/"), "{without}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let saved = run(&["demo", "--no-serve", "--save", "a log"]);
    assert_eq!((saved.status.code(), text(saved.stderr)), (Some(0), String::new()));
    let saved = text(saved.stdout);
    assert!(saved.contains("'a log'") && !saved.contains(" RUN"), "{saved}");
    assert_eq!(text(run(&["diagnose", "a log"]).stdout), saved);
}

#[test]
fn lines_of_the_source_have_their_texts() {
    let text = process(&["source", FIXTURES[0], "--source-root", "fixtures", "--format", "text"]);
    assert_eq!(text.code, 0, "{}", text.stderr);
    let line = text.stdout.lines().find(|line| line.contains("   70  ")).unwrap();
    assert!(line.contains("ms") && line.contains("q, k, v = jnp.einsum("), "{line}");
    let csv =
        process(&["source", FIXTURES[0], "--source-root", "fixtures", "--format", "csv", "--table", "lines"]);
    assert!(
        csv.stdout.lines().nth(1).is_some_and(|line| line.contains("jax.nn.relu(x @ p")),
        "{}",
        csv.stdout
    );
    // A folder without the file leaves the texts unknown and says so; none at all gives no listing.
    let none = process(&["source", FIXTURES[0], "--source-root", "docs"]);
    assert_eq!((none.code, none.stderr.contains("1 of 1 files")), (0, true), "{}", none.stderr);
    assert_eq!(process(&["source", FIXTURES[0], "--format", "text"]).code, 2);
    assert_eq!(process(&["source", FIXTURES[0], "--source-root", "absent"]).code, 2);
}

#[test]
fn a_tree_is_a_csv_of_paths() {
    let csv = process(&["op-profile", FIXTURES[0], "--by", "source", "--format", "csv"]);
    let mut lines = csv.stdout.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("path,depth,label,self_ps,share,")));
    assert!(lines.next().is_some_and(|line| line.starts_with("all ops,0,all ops,135528477000,")));
    assert!(lines.next().is_some_and(|line| line.starts_with("all ops > record.py,1,record.py,")));
    let named = process(&["op-profile", FIXTURES[0], "--table", "profile", "--limit", "2"]);
    assert!(named.stdout.starts_with("Device time by part\n"), "{}", named.stdout);
    assert!(named.stdout.contains("the largest nodes of"), "{}", named.stdout);
}

#[test]
fn every_report_is_markdown_too() {
    let whole = process(&["overview", FIXTURES[0], "--format", "markdown", "--limit", "2"]);
    assert_eq!((whole.code, whole.stderr.as_str()), (0, ""));
    assert!(whole.stdout.starts_with("## haloscope overview\n\n"), "{}", whole.stdout);
    for part in ["\n- **", "\n| Number | Value |\n|:---|---:|\n", "\n### ", "more rows; --limit 0 shows all."]
    {
        assert!(whole.stdout.contains(part), "{part} in {}", whole.stdout);
    }
    // One table has as many rows as its CSV, each with as many cells as the head, and numbers stand at the right.
    let args = ["ops", FIXTURES[0], "--table", "ops"];
    let rows = process(&[&args[..], &["--format", "markdown", "--limit", "0"]].concat());
    let csv = process(&[&args[..], &["--format", "csv"]].concat());
    let lines: Vec<_> = rows.stdout.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(lines.len(), csv.stdout.lines().count() + 1, "{}", rows.stdout);
    assert!(lines[1].starts_with("|:---|") && lines[1].contains("|---:|"), "{}", lines[1]);
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(lines.iter().all(|line| cells(line) == cells(lines[0])), "{}", rows.stdout);
    assert!(lines[0].contains("| Self time, us |"), "{}", lines[0]);
    // A verdict is the first thing said, and the exit code is the same as in every form.
    let failed = ["hlo", "counters", FIXTURES[0], "--dots", "12345"];
    let (markdown, table) = (process(&[&failed[..], &["--format", "markdown"]].concat()), process(&failed));
    assert_eq!((markdown.code, table.code), (1, 1), "{}", markdown.stderr);
    assert!(markdown.stdout.contains("\n**Gate: failed**\n"), "{}", markdown.stdout);
    assert_eq!(process(&["ops", FIXTURES[0], "--format", "markdown", "--table", "none"]).code, 2);
}
