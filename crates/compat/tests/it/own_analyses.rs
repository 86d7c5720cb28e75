//! Haloscope's own analyses against the answers that are XProf's, on the same profiles: where both say a number, it is the same.

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Report, Table};
use haloscope_time::analysis::{self, Params};

use crate::inference_profile::served;
use crate::megascale_stats::sliced;
use crate::support::{ask, made, row};
use crate::utilization_viewer::v6e;

fn own(profile: &Profile, id: &str) -> Report {
    analysis::run(analyses::find(id).unwrap(), profile, &Scope::default(), &Params::default()).unwrap()
}

fn number(table: &Table, row: usize, column: &str) -> f64 {
    table.cell(row, column).and_then(Cell::number).unwrap_or_else(|| panic!("no {column} in row {row}"))
}

fn value(report: &Report, id: &str) -> f64 {
    report.value(id).and_then(|v| v.value.number()).unwrap_or_else(|| panic!("{id} is unknown"))
}

#[track_caller]
fn near(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{what}: found {found}, expected {expected}");
}

#[test]
fn units_are_those_of_the_utilization_viewer() {
    let profile = made(&v6e());
    let report = own(&profile, "utilization");
    let units = report.table("units").unwrap();
    let answer = ask(&profile, "utilization_viewer", &[]);
    let rows = answer["rows"].as_array().unwrap().len();
    assert_eq!(units.rows.len(), rows);
    for at in 0..rows {
        let theirs = row(&answer, at);
        let name = theirs[4].as_str().unwrap();
        assert_eq!(units.cell(at, "unit").and_then(Cell::as_text), Some(name));
        near(number(units, at, "achieved"), theirs[5].as_f64().unwrap(), name);
        let peak = theirs[6].as_f64().unwrap();
        match units.cell(at, "share").and_then(Cell::number) {
            Some(share) => near(share, theirs[5].as_f64().unwrap() / peak, name),
            None => assert!(peak == 0.0, "{name}"),
        }
    }
    near(value(&report, "mxu_share"), 0.4, "matrix units");
    near(value(&report, "sample_count"), 1.0, "samples");
}

#[test]
fn collectives_are_those_of_megascale_stats() {
    let profile = sliced(true);
    let report = own(&profile, "megascale");
    let collectives = report.table("collectives").unwrap();
    let answer = ask(&profile, "megascale_stats", &[]);
    let theirs = row(&answer[0], 0);
    assert_eq!(collectives.rows.len(), 1);
    let ms = |at: usize| theirs[at].as_f64().unwrap() * 1e9;
    // XProf cuts times to whole microseconds.
    for (column, at) in [("slack_ps", 4), ("latency_ps", 6), ("stall_ps", 11)] {
        let found = number(collectives, 0, column);
        assert!(found >= ms(at) && found < ms(at) + 1e6, "{column}: {found} against {}", ms(at));
    }
    near(number(collectives, 0, "bytes"), theirs[14].as_f64().unwrap(), "bytes");
    near(number(collectives, 0, "occurrences"), theirs[13].as_f64().unwrap(), "occurrences");
    assert_eq!(report.findings.first().map(|f| f.id), Some("transfer_stalls"));
    let quiet = own(&sliced(false), "megascale");
    assert_eq!(quiet.quality.first().map(|q| q.id), Some("no_transfers"));
}

#[test]
fn requests_are_those_of_the_inference_profile() {
    let profile = served();
    let report = own(&profile, "inference");
    let answer = ask(&profile, "inference_profile", &[]);
    let theirs =
        |table: usize, at: usize, column: usize| row(&answer[table], at)[column].as_f64().unwrap() * 1e9;
    near(value(&report, "latency_mean_ps"), theirs(1, 4, 2), "mean latency");
    let rate: f64 = answer[1]["p"]["throughput"].as_str().unwrap().parse().unwrap();
    assert!((value(&report, "requests_per_second") - rate).abs() < 0.1);
    let requests = report.table("requests").unwrap();
    assert_eq!(requests.rows.len(), 2);
    for at in 0..2 {
        let phases = [
            "preprocess_ps",
            "batch_formation_ps",
            "runtime_ps",
            "to_device_ps",
            "device_ps",
            "from_device_ps",
            "postprocess_ps",
            "idle_ps",
        ];
        let sum: f64 = phases.iter().map(|phase| number(requests, at, phase)).sum();
        near(sum, number(requests, at, "latency_ps"), "phases");
        near(number(requests, at, "device_ps"), theirs(1, at, 10), "device");
    }
    let batches = report.table("batches").unwrap();
    near(number(batches, 0, "duration_ps"), theirs(2, 0, 2), "batch");
    // 3 of 4 slots and 4 of 5 are filled.
    near(value(&report, "batch_efficiency"), 7.0 / 9.0, "efficiency");
    assert_eq!(report.series.len(), 1);
}
