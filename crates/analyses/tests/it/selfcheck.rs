//! The sums that must hold, over every fixture and every profile of `shared/traces`, in a grid of scopes.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use haloscope_analyses as analyses;
use haloscope_analyses::selfcheck;
use haloscope_profile::{Profile, load};
use haloscope_report::{Cell, Gate};
use haloscope_time::analysis::{self, Params};
use haloscope_time::select::Scoped;

use crate::support::{RUNS, ask as ask_of, open, scope, traces};

/// What is broken, a line each.
fn broken(profile: &Profile, words: &[(&str, &str)]) -> Vec<String> {
    let others: Vec<_> = analyses::ALL.iter().copied().filter(|analysis| analysis.id != "inspect").collect();
    let outcomes = selfcheck::check(&Scoped::new(profile, &scope(words)), &others).unwrap();
    let checked: usize = outcomes.iter().map(|outcome| outcome.tally.checked).sum();
    assert!(checked > 100, "{checked} sums");
    let wrong = outcomes.iter().filter(|outcome| outcome.tally.broken > 0);
    let said = wrong.map(|outcome| {
        let first = outcome.tally.first.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} [{}] x{}: {first}", outcome.invariant.id, outcome.scope, outcome.tally.broken)
    });
    said.collect()
}

#[test]
fn sums_hold_on_every_fixture() {
    let wrong: Vec<String> = RUNS
        .iter()
        .flat_map(|run| {
            let profile = open(run);
            let scopes: [&[(&str, &str)]; 2] = [&[], &[("steady", "1")]];
            scopes
                .map(|words| broken(&profile, words))
                .concat()
                .into_iter()
                .map(move |line| format!("{run}: {line}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} broken:\n{}", wrong.len(), wrong.join("\n"));
}

/// Folders with profiles below a folder.
fn runs_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let is_profile = |path: &PathBuf| path.to_string_lossy().ends_with(".xplane.pb");
    if paths.iter().any(is_profile) {
        found.push(folder.to_owned());
        return;
    }
    paths.iter().filter(|path| path.is_dir()).for_each(|path| runs_below(path, found));
}

#[test]
fn sums_hold_on_every_trace() {
    let mut runs = Vec::new();
    for below in ["real", "gpu-overlap", "faults", "forged"] {
        if let Some(folder) = traces(below) {
            runs_below(&folder, &mut runs);
        }
    }
    // Minutes of one core: each thread takes the next run that is left.
    let next = AtomicUsize::new(0);
    let wrong_of_next = || {
        let mut wrong = Vec::new();
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Reference files of other programs lie beside some.
            let Ok(profile) = load::find(run).and_then(|found| load::open(&found)) else { continue };
            let found = broken(&profile, &[]);
            wrong.extend(found.into_iter().map(|line| format!("{}: {line}", run.display())));
        }
        wrong
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut wrong: Vec<String> = thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(wrong_of_next)).collect();
        all.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    wrong.sort_unstable();
    assert!(wrong.is_empty(), "{} broken:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn inspect_shows_them_and_says_whether_all_hold() {
    let profile = open("tpu-train");
    let inspect = analyses::find("inspect").unwrap();
    let mut params = Params::default();
    let ask = |params: &Params| analysis::run(inspect, &profile, &scope(&[]), params).unwrap();
    let plain = ask(&params);
    assert!(plain.table("selfcheck").is_none() && plain.gate.is_none());
    params.set("selfcheck", "yes");
    let report = ask(&params);
    assert_eq!(report.gate, Some(Gate::Passed));
    let table = report.table("selfcheck").unwrap();
    let of = |row: usize, column: &str| table.cell(row, column).cloned();
    assert!((0..table.rows.len()).all(|row| of(row, "verdict") == Some(Cell::Text("holds".into()))));
    // Every invariant has something to hold in a run of training on two hosts, but that of memory's curve, which has none.
    for invariant in haloscope_selfcheck::ALL.iter().filter(|invariant| invariant.id != "peak_is_maximum") {
        let is_there = |row: usize| of(row, "invariant") == Some(Cell::Text(invariant.id.into()));
        assert!((0..table.rows.len()).any(is_there), "{}", invariant.id);
    }
    let memory = haloscope_selfcheck::of_report(&ask_of(&open("tpu-decode"), "memory peak", &[]));
    assert!(memory.iter().any(|(invariant, tally)| invariant.id == "peak_is_maximum" && tally.broken == 0));
    params.set("selfcheck", "perhaps");
    assert!(analysis::run(inspect, &profile, &scope(&[]), &params).is_err());
}
