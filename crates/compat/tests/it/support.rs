//! Opening runs and asking tools.

use std::collections::BTreeMap;
use std::path::PathBuf;

use haloscope_compat::{Error, Params, answer};
use haloscope_profile::Profile;
use haloscope_profile::load;
use serde_json::Value;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A run of `fixtures/`.
pub(crate) fn open(name: &str) -> Profile {
    load::open(&load::find(&root().join("fixtures/runs").join(name)).unwrap()).unwrap()
}

/// A profile of one host from a space that a test made.
pub(crate) fn made(space: &haloscope_xspace::write::Space) -> Profile {
    Profile::from_files(vec![("host.xplane.pb".into(), Box::new(space.to_bytes()))])
}

fn params(words: &[(&str, &str)]) -> Params {
    words.iter().copied().collect()
}

/// A tool's answer as text.
#[track_caller]
pub(crate) fn text(profile: &Profile, tool: &str, words: &[(&str, &str)]) -> String {
    String::from_utf8(answer(profile, tool, &params(words)).unwrap().body).unwrap()
}

/// A tool's answer in JSON.
#[track_caller]
pub(crate) fn ask(profile: &Profile, tool: &str, words: &[(&str, &str)]) -> Value {
    serde_json::from_str(&text(profile, tool, words)).unwrap()
}

/// Why a tool does not answer.
#[track_caller]
pub(crate) fn refused(profile: &Profile, tool: &str, words: &[(&str, &str)]) -> Error {
    answer(profile, tool, &params(words)).unwrap_err()
}

/// The cells of a table's row.
#[track_caller]
pub(crate) fn row(table: &Value, index: usize) -> Vec<Value> {
    let cells = table["rows"][index]["c"].as_array().unwrap();
    cells.iter().map(|cell| cell["v"].clone()).collect()
}

/// The numbers of a table's column.
#[track_caller]
pub(crate) fn column(table: &Value, id: &str) -> Vec<Value> {
    let at = table["cols"].as_array().unwrap().iter().position(|c| c["id"] == id).unwrap();
    (0..table["rows"].as_array().unwrap().len()).map(|i| row(table, i)[at].clone()).collect()
}

/// A table's row by the ids of its columns.
#[track_caller]
pub(crate) fn record(table: &Value, index: usize) -> BTreeMap<String, Value> {
    let ids = table["cols"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap().to_owned());
    ids.zip(row(table, index)).collect()
}

/// A number, but for the order in which it was added up.
#[track_caller]
pub(crate) fn near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "found {found}, expected {expected}");
}
