//! Pallas kernels: FLOPs and bytes of their modules stand in place of what the profile states.
#![expect(clippy::unwrap_used, reason = "it is test code")]

use std::path::{Path, PathBuf};

use haloscope_profile::{Profile, load};
use haloscope_report::scope::Scope;
use haloscope_report::{Report, Table};
use haloscope_time::analysis::{self, Analysis, Params};
use haloscope_time::{kernels, ops, roofline};

fn open(folder: &Path) -> Profile {
    load::open(&load::find(folder).unwrap()).unwrap()
}

fn below(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)
}

fn ask(profile: &Profile, analysis: &'static Analysis) -> Report {
    analysis::run(analysis, profile, &Scope::default(), &Params::default()).unwrap()
}

fn number(table: &Table, row: usize, id: &str) -> f64 {
    table.cell(row, id).unwrap().number().unwrap()
}

fn row_of(table: &Table, name: &str) -> usize {
    table.rows.iter().position(|row| row[0].as_text().is_some_and(|first| first.contains(name))).unwrap()
}

#[test]
fn a_real_matmul_is_at_an_eighth_of_its_peak() {
    let folder = below("../shared/traces/real/v6e-pallas-matmul");
    if !folder.is_dir() {
        println!("skipped: {} is not here", folder.display());
        return;
    }
    let profile = open(&folder);
    let report = ask(&profile, &kernels::analysis::ANALYSIS);
    let table = report.table("kernels").unwrap();
    let row = row_of(table, "matmul");
    let runs = number(table, row, "occurrences");
    assert_eq!(number(table, row, "flops") / runs, 8_589_934_592.0);
    assert_eq!(number(table, row, "stated_flops") / runs, 1_076_887_552.0);
    assert!((number(table, row, "flop_share_of_peak") - 0.120).abs() < 0.0005);
    assert_eq!(table.cell(row, "counted").unwrap().as_text(), Some("derived: exact"));
    let report = ask(&profile, &ops::analysis::ANALYSIS);
    let table = report.table("ops").unwrap();
    assert!((number(table, row_of(table, "matmul"), "flop_share_of_peak") - 0.120).abs() < 0.0005);
    assert!(report.quality.iter().any(|note| note.id == "kernel_flops_derived"));
    let report = ask(&profile, &roofline::analysis::ANALYSIS);
    let alone = report.value("compute_only_ps").unwrap().value.number().unwrap();
    assert!((alone - 27.2e6).abs() < 0.1e6, "{alone}");
}

#[test]
fn bytes_that_nobody_states_are_those_of_the_blocks() {
    let profile = open(&below("fixtures/runs/tpu-custom-call"));
    let report = ask(&profile, &ops::analysis::ANALYSIS);
    let table = report.table("ops").unwrap();
    let row = row_of(table, "blocked_matmul.1");
    // 5 executions, in each 32 blocks of both factors; the result lies in vector memory.
    assert_eq!(number(table, row, "hbm_bytes"), 5.0 * 32.0 * 524_288.0);
    assert_eq!(number(table, row, "flops"), 5.0 * 4_294_967_296.0);
    // The events state the same FLOPs.
    let report = ask(&profile, &kernels::analysis::ANALYSIS);
    let table = report.table("kernels").unwrap();
    let row = row_of(table, "blocked_matmul.1");
    assert_eq!(number(table, row, "stated_flops"), number(table, row, "flops"));
}
