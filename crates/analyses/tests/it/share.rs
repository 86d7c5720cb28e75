//! Parts of runs, and runs without their names: the same numbers.

use std::collections::BTreeMap;

use haloscope_profile::{Profile, load};
use haloscope_report::scope::{Scope, StepRange};
use haloscope_report::{Cell, Report};
use haloscope_time::analysis::{self, Params};
use haloscope_timeline::share::{Kind, Redaction, slices};

use crate::support::open;

fn ask(profile: &Profile, id: &str, scope: &Scope) -> Report {
    let analysis = haloscope_analyses::find(id).unwrap();
    analysis::run(analysis, profile, scope, &Params::default())
        .unwrap_or_else(|error| panic!("{id}: {error}"))
}

fn again(files: impl Iterator<Item = (String, Vec<u8>)>) -> Profile {
    let files = files.map(|(host, bytes)| (format!("{host}.xplane.pb").into(), Box::new(bytes) as _));
    Profile::from_files(files.collect())
}

fn rows(report: &Report, table: &str, columns: &[&str]) -> Vec<Vec<Cell>> {
    let Some(table) = report.table(table) else { return Vec::new() };
    let at: Vec<usize> =
        columns.iter().filter_map(|id| table.columns.iter().position(|c| c.id == *id)).collect();
    assert_eq!(at.len(), columns.len(), "{columns:?}");
    table.rows.iter().map(|row| at.iter().map(|at| row[*at].clone()).collect()).collect()
}

#[test]
fn steps_of_a_slice_take_as_long_and_their_ops_too() {
    for (run, steps) in [
        ("tpu-train", "2-4"),
        ("tpu-gate", "3-5"),
        ("tpu-input-bound", "1-3"),
        ("gpu-train", "2-4"),
        ("cpu-train", "3-5"),
    ] {
        let whole = open(run);
        let scope = Scope { steps: Some(StepRange::parse(steps).unwrap()), ..Scope::default() };
        let parts = slices(&whole, &scope).unwrap();
        let bytes: usize = parts.iter().map(|part| part.bytes.len()).sum();
        let all: usize = whole.sources.iter().map(|source| source.bytes().len()).sum();
        assert!(bytes < all, "{run}: {bytes} of {all}");
        let part = again(parts.into_iter().map(|part| (part.host, part.bytes)));
        assert!(part.sources.iter().all(|source| source.faults.is_empty()), "{run}");
        let columns = ["step", "duration_ps"];
        let of = |profile: &Profile| rows(&ask(profile, "steps", &scope), "steps", &columns);
        assert_eq!(of(&part), of(&whole), "{run}");
        assert!(!of(&part).is_empty(), "{run}");
        let ops = |profile: &Profile| {
            let mut all = rows(&ask(profile, "ops", &scope), "ops", &["name", "self_ps", "occurrences"]);
            all.sort_by_key(|row| format!("{row:?}"));
            all
        };
        assert_eq!(ops(&part), ops(&whole), "{run}");
        assert!(!ops(&part).is_empty(), "{run}");
    }
}

#[test]
fn a_slice_without_a_scope_is_the_run() {
    let whole = open("tpu-train");
    let parts = slices(&whole, &Scope::default()).unwrap();
    let part = again(parts.into_iter().map(|part| (part.host, part.bytes)));
    for id in ["overview", "ops", "idle"] {
        assert_eq!(
            ask(&part, id, &Scope::default()).values,
            ask(&whole, id, &Scope::default()).values,
            "{id}"
        );
    }
    // A part in which nothing ran is none.
    let never = Scope { window_ps: Some((-9, -1)), ..Scope::default() };
    assert!(slices(&whole, &never).is_err());
}

/// The numbers of a report, by where they stand.
fn numbers(report: &Report) -> BTreeMap<String, Vec<f64>> {
    let mut all = BTreeMap::new();
    for value in &report.values {
        all.insert(format!("value {}", value.id), value.value.number().into_iter().collect());
    }
    for table in &report.tables {
        let mut rows: Vec<Vec<f64>> =
            table.rows.iter().map(|row| row.iter().filter_map(Cell::number).collect()).collect();
        // Rows of equal numbers stand in the order of their names.
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        all.insert(format!("table {}", table.id), rows.concat());
    }
    let findings = report.findings.iter().map(|finding| finding.speedup.unwrap_or(-1.0));
    all.insert(
        format!("findings {:?}", report.findings.iter().map(|f| f.id).collect::<Vec<_>>()),
        findings.collect(),
    );
    all
}

#[test]
fn a_redacted_run_has_the_same_numbers_and_none_of_the_names() {
    for run in [
        "tpu-train",
        "tpu-decode",
        "tpu-custom-call",
        "tpu-input-bound",
        "tpu-run-scan",
        "tpu-gate",
        "gpu-train",
        "gpu-amd",
        "cpu-train",
        "cpu-infer",
    ] {
        let whole = open(run);
        let redaction = Redaction::of(&whole);
        assert!(!redaction.replaced.is_empty(), "{run}");
        let bytes: Vec<Vec<u8>> = redaction.files.iter().map(|file| file.bytes.clone()).collect();
        for one in redaction.replaced.iter().filter(|one| one.word.len() > 4) {
            let is_left = bytes.iter().any(|bytes| {
                let word = one.word.as_bytes();
                let is_of_word =
                    |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
                bytes.windows(word.len()).enumerate().any(|(at, part)| {
                    part == word
                        && !is_of_word(at.checked_sub(1).and_then(|at| bytes.get(at)))
                        && !is_of_word(bytes.get(at + word.len()))
                })
            });
            // A path's word may be one that the compiler uses elsewhere.
            assert!(!is_left || one.kind != Kind::Name, "{run}: {one:?}");
        }
        let other = again(redaction.files.into_iter().map(|file| (file.host, file.bytes)));
        assert!(other.sources.iter().all(|source| source.faults.is_empty()), "{run}");
        for id in ["overview", "ops", "diagnose"] {
            let (before, after) = (ask(&whole, id, &Scope::default()), ask(&other, id, &Scope::default()));
            assert_eq!(numbers(&after), numbers(&before), "{run} {id}");
        }
    }
}

#[test]
fn names_of_machines_and_paths_go() {
    let whole = load::from_bytes("secret-host.xplane.pb", {
        let source = open("cpu-train");
        source.sources[0].bytes().to_vec()
    })
    .unwrap();
    let redaction = Redaction::of(&whole);
    let by = |word: &str| redaction.replaced.iter().find(|one| one.word == word).cloned();
    assert_eq!(by("secret").unwrap().kind, Kind::Host);
    assert!(!redaction.files[0].host.contains("secret"));
    assert!(redaction.replaced.iter().any(|one| one.kind == Kind::Path), "{:?}", redaction.replaced);
    // The same words each time.
    assert_eq!(Redaction::of(&whole).replaced, redaction.replaced);
}
