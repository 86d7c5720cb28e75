//! The program, asked as a person would ask it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use haloscope_profile::{Profile, load};
use haloscope_report::scope::Scope;
use haloscope_report::{Report, Table};
use haloscope_time::analysis::{Params, run};
use serde_json::Value;

/// All runs of `fixtures/runs` that are profiles.
pub(crate) const RUNS: [&str; 13] = [
    "cpu-infer",
    "cpu-train",
    "gpu-amd",
    "gpu-train",
    "tpu-custom-call",
    "tpu-decode",
    "tpu-gate",
    "tpu-gate-again",
    "tpu-gate-slower",
    "tpu-input-bound",
    "tpu-memory",
    "tpu-run-scan",
    "tpu-train",
];

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/runs").join(name)
}

pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haloscope-query"));
    command.env_remove("HALOSCOPE_MEMORY_LIMIT");
    // Nothing is kept where whoever runs the tests keeps his own.
    command.env("HALOSCOPE_CACHE", "off");
    command
}

pub(crate) fn output(run: &str, words: &[&str]) -> Output {
    command().arg(fixture(run)).args(words).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The rows of an answer.
pub(crate) fn rows_of(run: &str, words: &[&str]) -> Vec<Value> {
    let words = [words, &["--format", "json"]].concat();
    let output = output(run, &words);
    assert!(output.status.success(), "{run} {words:?}: {}", text(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    rows.as_array().unwrap().clone()
}

pub(crate) fn rows(run: &str, sql: &str) -> Vec<Value> {
    rows_of(run, &[sql])
}

/// The only number of an answer.
pub(crate) fn number(run: &str, sql: &str) -> Option<i64> {
    let rows = rows(run, sql);
    assert_eq!(rows.len(), 1, "{sql}");
    rows[0].as_object().unwrap().values().next().unwrap().as_i64()
}

/// What is said of a query that has no answer, and the exit code.
pub(crate) fn failure(run: &str, sql: &str) -> (i32, String) {
    let output = output(run, &[sql]);
    assert!(output.stdout.is_empty(), "{sql}");
    (output.status.code().unwrap(), text(&output.stderr))
}

pub(crate) fn profile(run: &str) -> Profile {
    load::open(&load::find(&fixture(run)).unwrap()).unwrap()
}

/// What the analysis answers natively; `None` where it has nothing to say.
pub(crate) fn native(run_name: &str, id: &str, words: &[(&str, &str)]) -> Option<Report> {
    let mut params = Params::default();
    words.iter().for_each(|(key, value)| params.set(key, value));
    let analysis = haloscope_analyses::find(id).unwrap();
    match run(analysis, &profile(run_name), &Scope::default(), &params) {
        Ok(report) => Some(report),
        Err(haloscope_report::Error::Nothing(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn table<'r>(report: &'r Report, id: &str) -> &'r Table {
    report.table(id).unwrap_or_else(|| panic!("no table {id}"))
}

/// The number of a cell of a report.
pub(crate) fn cell(table: &Table, row: usize, column: &str) -> Option<f64> {
    table.cell(row, column).unwrap().number()
}

/// The words of a cell of a report.
pub(crate) fn words(table: &Table, row: usize, column: &str) -> Option<String> {
    table.cell(row, column).unwrap().as_text().map(str::to_owned)
}
