//! What findings say to type is a command, and answers.

use std::collections::BTreeSet;
use std::fs;

use haloscope_analyses::ALL;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Report, RunWords};
use haloscope_time::analysis::{self, Params};

use crate::support::{command, inside, process, root, widest};

/// Every answer of every analysis on every run of these folders of the project's own.
fn reports(folders: &[&str], mut each: impl FnMut(&str, &Report)) {
    let entries = folders.iter().flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let mut runs: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    for run in runs {
        let profile = load::open(&load::find(&run).unwrap()).unwrap();
        for analysis in ALL {
            if let Ok(report) = analysis::run(analysis, &profile, &Scope::default(), &Params::default()) {
                each(run.to_str().unwrap(), &report);
            }
        }
    }
}

/// The words of a command as a shell reads them, of which some stand in single quotes.
fn words_of(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in command.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

#[test]
fn every_see_of_every_finding_answers() {
    let mut seen = BTreeSet::new();
    reports(&["fixtures/runs", "fixtures/kernels"], |run, report| {
        for link in report.findings.iter().flat_map(|finding| &finding.links) {
            // Windows differ from finding to finding; what can be wrong is the rest.
            let kind =
                (run.to_owned(), link.analysis, link.params.clone(), link.table, link.window_ps.is_some());
            if !seen.insert(kind) {
                continue;
            }
            let command = link.command(&RunWords { one: run, both: &format!("{run} {run}") });
            let words: Vec<String> = words_of(&command).into_iter().skip(1).collect();
            let outcome = inside(&words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(outcome.code, 0, "{command}\n{}", outcome.stderr);
            assert!(!outcome.stdout.is_empty(), "{command}");
        }
    });
    assert!(seen.len() > 20, "{}", seen.len());
}

/// A terminal of 80 columns and 45 lines: the verdict is still on it when the command ends. `overview` begins with the same.
#[test]
fn diagnose_is_one_screen() {
    let mut read = 0;
    reports(&["fixtures/runs"], |run, report| {
        if report.analysis != "diagnose" {
            return;
        }
        read += 1;
        let outcome = process(&["diagnose", run]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stdout.lines().count() < 45, "{run}\n{}", outcome.stdout);
        assert!(widest(&outcome.stdout) <= 80, "{run}\n{}", outcome.stdout);
        let verdict = report.value("verdict").and_then(|value| value.value.as_text()).unwrap();
        let one_line = outcome.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(verdict), "{verdict}\n{}", outcome.stdout);
        let overview = crate::support::outcome(command(&["overview", run]).env("COLUMNS", "80")).stdout;
        let begins = overview.split("\n\n").next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(begins, verdict.split_whitespace().collect::<Vec<_>>().join(" "), "{overview}");
        let whole = process(&["diagnose", run, "--all"]).stdout;
        assert!(whole.contains("What was checked") && !outcome.stdout.contains("What was checked"), "{run}");
        let markdown = process(&["diagnose", run, "--brief", "--format", "markdown"]).stdout;
        assert!(markdown.lines().count() < 25, "{run}\n{markdown}");
        assert!(markdown.contains("--all"), "{run}\n{markdown}");
    });
    assert!(read > 3, "{read}");
}

#[test]
fn the_timeline_lists_what_ran() {
    let run = root().join("fixtures/runs/tpu-train");
    let run = run.to_str().unwrap();
    let outcome = inside(&["timeline", run, "--window", "0ms..1000ms", "--track", "ops", "--format", "json"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let report: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let rows = |at: usize| report["tables"][at]["rows"].as_array().unwrap().len();
    assert!(rows(0) > 0 && rows(1) > 0, "{report}");
    let outcome = inside(&["timeline", run, "--devices", "TPU:99"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("TPU:99") && outcome.stderr.contains("TPU:0"), "{}", outcome.stderr);
    assert_eq!(inside(&["timeline", run, "--steps", "999"]).code, 2);
}
