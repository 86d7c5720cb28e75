//! What the compiler built: counters, copies, relayouts, fusions, modules.

use std::path::{Path, PathBuf};

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Gate, Report, Table};
use haloscope_time::analysis::{self, Params};
use haloscope_time::compilations::{self, Compilations};

use crate::made::{Made, US};
use crate::support::{ask, column, number, traces, words};

fn hlo(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/hlo/{name}.hlo_proto.pb.gz"))
}

fn open(path: &Path) -> Profile {
    load::open(&load::find(path).unwrap()).unwrap()
}

fn with(profile: &Profile, id: &str, given: &[(&str, &str)]) -> Report {
    let mut params = Params::default();
    given.iter().for_each(|(id, value)| params.set(id, value));
    analysis::run(analyses::find(id).unwrap(), profile, &Scope::default(), &params).unwrap()
}

fn text<'t>(table: &'t Table, row: usize, id: &str) -> &'t str {
    table.cell(row, id).and_then(Cell::as_text).unwrap_or_default()
}

/// One accumulator in bytes: f32[16,16384,128].
const ACCUMULATOR: f64 = 134_217_728.0;

#[test]
fn an_accumulator_that_is_not_donated_is_copied() {
    let profile = open(&hlo("pallas_attention_accumulator.v6e"));
    let report = with(&profile, "hlo counters", &[("defensive", "0")]);
    assert_eq!(report.gate, Some(Gate::Failed));
    assert_eq!(number(&report, "defensive_copies"), 3.0);
    assert_eq!(number(&report, "defensive_bytes"), 6.0 * ACCUMULATOR);
    let copies = report.table("copies").unwrap();
    let rows: Vec<usize> = (0..copies.rows.len())
        .filter(|row| copies.cell(*row, "defensive") == Some(&Cell::Flag(true)))
        .collect();
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(text(copies, row, "why"), "parameter not donated");
        assert_eq!(text(copies, row, "basis"), "derived");
        assert_eq!(copies.cell(row, "bytes").unwrap().number(), Some(ACCUMULATOR));
        assert_eq!(copies.cell(row, "moved_bytes").unwrap().number(), Some(2.0 * ACCUMULATOR));
        assert!(["top.1", "total.1", "mixed.1"].contains(&text(copies, row, "producer")));
        // The copy has no name of its own: that of the parameter stands for it.
        assert!(["top", "total", "mixed"].contains(&text(copies, row, "op_name")));
        assert!(text(copies, row, "consumers").starts_with("attention_chunk_0"));
    }
    assert!(report.findings.iter().any(|finding| finding.id == "defensive_copies"));
}

#[test]
fn scratch_memory_needs_no_copy() {
    let profile = open(&hlo("pallas_attention_scratch.v6e"));
    let report = with(&profile, "hlo counters", &[("defensive", "0"), ("copies", "0")]);
    assert_eq!(report.gate, Some(Gate::Passed));
    assert!(report.table("copies").unwrap().rows.is_empty() && report.findings.is_empty());
    // Nothing expected, nothing to fail.
    assert_eq!(with(&profile, "hlo counters", &[]).gate, None);
}

#[test]
fn loops_multiply() {
    let report = with(&open(&hlo("decode.v5e")), "hlo counters", &[]);
    assert!(!report.quality.iter().any(|note| note.id == "unknown_trip_counts"));
    let matmuls = report.table("matmuls").unwrap();
    // 16 tokens: each product of the loop's body runs 16 times.
    assert!(!matmuls.rows.is_empty() && column(matmuls, "executions").iter().all(|n| *n == 16.0));
    // A product's FLOPs are those of the cost model.
    let profile = open(&hlo("decode.v5e"));
    let decoded = profile.modules[0].decode(&profile).unwrap();
    for row in 0..matmuls.rows.len() {
        let index = decoded.module.instruction_by_name(text(matmuls, row, "instruction")).unwrap();
        let expected = decoded.costs.instruction(index).flops.map(|flops| flops as f64);
        assert_eq!(matmuls.cell(row, "flops").unwrap().number(), expected);
    }
}

#[test]
fn fusions_and_what_they_left() {
    let report = with(&open(&hlo("pallas_attention_accumulator.v6e")), "hlo fusions", &[]);
    let unfused = report.table("unfused").unwrap();
    assert!(unfused.rows.len() > 1);
    let spared = column(unfused, "run_spared_bytes");
    assert!(spared.is_sorted_by(|a, b| a >= b));
    assert!((0..unfused.rows.len()).any(|row| text(unfused, row, "blocked_by") == "custom-call boundary"));
}

#[test]
fn one_step_or_several_programs() {
    let report = ask(&crate::support::open("cpu-train"), "hlo modules", &[]);
    assert_eq!(words(&report, "execution"), "one compiled step");
    let modules = report.table("modules").unwrap();
    let names: Vec<_> = (0..modules.rows.len()).map(|row| text(modules, row, "module")).collect();
    assert_eq!(names, ["jit_train_step", "jit_evaluate", "jit_augment"]);
    assert!(column(modules, "time_ps").is_sorted_by(|a, b| a >= b));
    // Hosts that hold one program are one row.
    let report = ask(&crate::support::open("tpu-train"), "hlo modules", &[]);
    let modules = report.table("modules").unwrap();
    assert_eq!((modules.rows.len(), column(modules, "hosts")), (1, vec![2.0]));
}

/// The recompiled program really moves more for the sake of layouts.
#[test]
fn a_regression_shows_its_relayouts() {
    let Some(folder) = traces("forged") else { return };
    let of = |name: &str| ask(&open(&folder.join(name)), "hlo counters", &[]);
    let (before, after) = (of("dense_train_v5e16"), of("dense_train_v5e16_regressed"));
    let bytes = |report: &Report| number(report, "relayout_bytes");
    assert!(bytes(&after) > bytes(&before), "{} and {}", bytes(&before), bytes(&after));
    assert!(number(&after, "relayout_ps") > 0.0);
}

/// A host that calls jitted functions, each of which compiles for all but the first and last microsecond.
fn compiling(calls: &[(&str, i64, i64)]) -> Compilations {
    let mut host = Made::named("/host:CPU");
    host.line("python", 0, &[]);
    for (call, start, length) in calls {
        host.event(call, start * US, length * US, &[]);
        host.event("backend_compile", (start + 1) * US, (length - 2) * US, &[]);
    }
    compilations::find(&crate::made::profile(vec![host]), |_| true)
}

#[test]
fn time_of_compiling_is_that_of_the_program_that_was_compiled() {
    let found = compiling(&[("PjitFunction(step)", 0, 102), ("PjitFunction(norm)", 200, 32)]);
    assert_eq!(found.busy_ps, 130 * US);
    assert_eq!(found.of_program("jit_step"), Some(100 * US));
    assert_eq!(found.of_program("jit_norm"), Some(30 * US));
    // All of it is for others.
    assert_eq!(found.of_program("jit_other"), Some(0));
    // Where one call does not say what it compiles, it may be for any: but what others name is theirs.
    let found = compiling(&[("PjitFunction(step)", 0, 102), ("$pjit.py:300 cache_miss", 200, 32)]);
    assert_eq!(found.of_program("jit_step"), Some(100 * US));
    assert_eq!(found.of_program("jit_other"), None);
    assert_eq!(compiling(&[]).of_program("jit_step"), Some(0));
}

#[test]
fn no_program_is_given_what_was_compiled_for_others() {
    let Some(folder) = traces("faults/recompile") else { return };
    // The host's events do not say for which program it compiled.
    let report = ask(&open(&folder), "hlo modules", &[]);
    let found = report.findings.iter().find(|finding| finding.id == "recompilation").unwrap();
    assert!(found.ceiling.contains("do not say for which program"), "{}", found.ceiling);
    assert!(
        found.recommendation.contains("once, outside the loop"),
        "what differs decides: {}",
        found.recommendation
    );
}
