//! Opening runs and reading reports.

use std::path::PathBuf;

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Report, Table};
use haloscope_time::analysis::{self, Params};

/// The runs that `fixtures/` holds.
pub(crate) const RUNS: [&str; 10] = [
    "cpu-infer",
    "cpu-train",
    "gpu-amd",
    "gpu-train",
    "tpu-custom-call",
    "tpu-decode",
    "tpu-input-bound",
    "tpu-memory",
    "tpu-run-scan",
    "tpu-train",
];

/// The generated ones whose `truth.json` tells of time.
pub(crate) const GENERATED: [&str; 7] =
    ["gpu-amd", "gpu-train", "tpu-custom-call", "tpu-decode", "tpu-input-bound", "tpu-run-scan", "tpu-train"];

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn run_folder(name: &str) -> PathBuf {
    root().join("fixtures/runs").join(name)
}

pub(crate) fn open(name: &str) -> Profile {
    load::open(&load::find(&run_folder(name)).unwrap()).unwrap()
}

/// What was built into a generated run.
pub(crate) fn truth(name: &str) -> serde_json::Value {
    let path = run_folder(name).join("truth.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A folder of profiles that is not part of the project, or `None`, said aloud.
pub(crate) fn traces(below: &str) -> Option<PathBuf> {
    let folder = root().join("../shared/traces").join(below);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} is not here", folder.display());
    None
}

/// The words of a command line as a scope: `&[("steps", "2-5")]`.
pub(crate) fn scope(words: &[(&str, &str)]) -> Scope {
    Scope::from_words(|key| words.iter().find(|(k, _)| *k == key).map(|(_, v)| *v)).unwrap()
}

pub(crate) fn ask(profile: &Profile, id: &str, words: &[(&str, &str)]) -> Report {
    let analysis = analyses::find(id).unwrap();
    analysis::run(analysis, profile, &scope(words), &Params::default()).unwrap()
}

/// A headline number.
#[track_caller]
pub(crate) fn number(report: &Report, id: &str) -> f64 {
    let value = report.value(id).unwrap_or_else(|| panic!("no value {id}"));
    value.value.number().unwrap_or_else(|| panic!("{id} is {:?}", value.value))
}

pub(crate) fn unknown(report: &Report, id: &str) -> bool {
    report.value(id).is_none_or(|v| v.value == Cell::Unknown)
}

pub(crate) fn words<'r>(report: &'r Report, id: &str) -> &'r str {
    report.value(id).and_then(|v| v.value.as_text()).unwrap_or_default()
}

pub(crate) fn has_note(report: &Report, id: &str) -> bool {
    report.quality.iter().any(|q| q.id == id)
}

/// A column of numbers; unknown cells are left out.
pub(crate) fn column(table: &Table, id: &str) -> Vec<f64> {
    (0..table.rows.len()).filter_map(|row| table.cell(row, id)?.number()).collect()
}

/// The row whose first cell is this text.
#[track_caller]
pub(crate) fn row_of(table: &Table, first: &str) -> usize {
    let place = table.rows.iter().position(|r| r[0].as_text() == Some(first));
    place.unwrap_or_else(|| panic!("no row {first} in {}", table.id))
}

#[track_caller]
pub(crate) fn near(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: found {found}, expected {expected}");
}
