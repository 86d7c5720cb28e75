//! Flags of launch scripts and other texts, alone and with a run.

use std::path::PathBuf;

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Report, Table};
use haloscope_time::analysis::{self, Params};

use crate::support::{has_note, number, open, row_of, traces, unknown, words};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/flags").join(name)
}

fn script(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

fn text_of(name: &str) -> Profile {
    load::open(&load::find(&path(name)).unwrap()).unwrap()
}

fn audit(profile: &Profile, params: &[(&str, &str)]) -> Result<Report, Error> {
    let mut all = Params::default();
    params.iter().for_each(|(id, value)| all.set(id, value));
    analysis::run(analyses::find("audit flags").unwrap(), profile, &Scope::default(), &all)
}

fn both(name: &str) -> Report {
    audit(&text_of(name), &[("version", "libtpu-0.0.52,jaxlib-0.10.2")]).unwrap()
}

fn cell<'a>(table: &'a Table, row: &str, column: &str) -> &'a Cell {
    table.cell(row_of(table, row), column).unwrap()
}

fn rules(report: &Report) -> Vec<(String, String)> {
    let table = report.table("conflicts").unwrap();
    let cell = |row, id| table.cell(row, id).and_then(Cell::as_text).unwrap_or_default().to_owned();
    (0..table.rows.len()).map(|row| (cell(row, "rule"), cell(row, "flag"))).collect()
}

fn has(rules: &[(String, String)], rule: &str, flag: &str) -> bool {
    rules.iter().any(|(r, f)| r == rule && f == flag)
}

#[test]
fn a_launch_script_by_itself() {
    let report = both("launch.sh");
    let flags = report.table("flags").unwrap();
    assert_eq!(number(&report, "flag_count"), 10.0);
    assert_eq!(number(&report, "effective_count"), 9.0);
    assert_eq!(cell(flags, "xla_tpu_scoped_vmem_limit_kib", "status"), &Cell::from("known"));
    assert_eq!(cell(flags, "xla_tpu_scoped_vmem_limit_kib", "variable"), &Cell::from("LIBTPU_INIT_ARGS"));
    assert_eq!(cell(flags, "xla_tpu_scoped_vmem_limit_kib", "line"), &Cell::from(5_i64));
    assert_eq!(cell(flags, "xla_tpu_enable_frobnication", "status"), &Cell::from("unknown"));
    assert_eq!(cell(flags, "xla_enable_custom_call_region_trace", "status"), &Cell::from("renamed"));
    let rules = rules(&report);
    assert!(
        has(&rules, "conflicting flags", "--xla_tpu_enable_sparse_core_collective_offload_all_gather=true"),
        "{rules:?}"
    );
    assert!(has(&rules, "unknown flag", "--xla_tpu_enable_frobnication=true"));
    assert!(has(&rules, "flag in wrong variable", "--xla_tpu_spmd_rng_bit_generator_unsafe=true"));
    assert!(has(&rules, "flag without effect", "--xla_latency_hiding_scheduler_rerun=1"));
    assert!(has(&rules, "renamed flag", "--xla_enable_custom_call_region_trace=true"));
    assert_eq!(rules.len(), 5, "{rules:?}");
    let finding = report.findings.iter().find(|f| f.id == "conflicting_flags").unwrap();
    assert_eq!(finding.recommendation, "--xla_tpu_enable_async_collective_fusion_fuse_all_gather=false");
    // Nothing was measured, so nothing is missing.
    assert!(unknown(&report, "missing_count") && has_note(&report, "no_stalls"));
    assert_eq!(report.table("missing").unwrap().rows.len(), 0);
}

/// Trap 15 of the field: a name of another release is not an error.
#[test]
fn of_an_unknown_release_nothing_is_wrong() {
    let report = audit(&text_of("launch.sh"), &[]).unwrap();
    let flags = report.table("flags").unwrap();
    assert_eq!(cell(flags, "xla_tpu_enable_frobnication", "status"), &Cell::from("not known here"));
    assert_eq!(number(&report, "unknown_count"), 0.0);
    assert_eq!(number(&report, "not_known_here_count"), 1.0);
    assert!(report.findings.iter().all(|f| f.id != "unknown_flag"));
    assert!(has_note(&report, "release_not_known"));
    let report = audit(&text_of("launch.sh"), &[("version", "libtpu-0.0.99")]).unwrap();
    assert!(has_note(&report, "release_not_listed"));
    assert!(report.findings.iter().all(|f| f.id != "unknown_flag"));
    assert!(matches!(audit(&text_of("launch.sh"), &[("version", "new")]), Err(Error::Usage(_))));
}

#[test]
fn clean_flags_have_no_findings() {
    let report = both("clean.sh");
    assert_eq!(number(&report, "flag_count"), 2.0);
    assert_eq!(report.findings, []);
    let report = both("pod.yaml");
    let flags = report.table("flags").unwrap();
    let variable = |name| cell(flags, name, "variable").clone();
    assert_eq!(variable("xla_tpu_data_parallel_opt_different_sized_ops"), Cell::from("LIBTPU_INIT_ARGS"));
    assert_eq!(variable("xla_dump_hlo_as_text"), Cell::from("XLA_FLAGS"));
    assert_eq!(cell(flags, "xla_dump_hlo_as_text", "value"), &Cell::from("true"));
    assert_eq!(report.findings, []);
}

#[test]
fn other_forms_of_text() {
    let report = both("environment.txt");
    let flags = report.table("flags").unwrap();
    assert_eq!(cell(flags, "xla_cpu_enable_fast_math", "value"), &Cell::from("false"));
    assert_eq!(cell(flags, "xla_backend_optimization_level", "value"), &Cell::from("3"));
    let of = rules(&report);
    // A child of continuation fusion while its base is off.
    assert!(
        has(&of, "conflicting flags", "--xla_tpu_enable_async_collective_fusion_fuse_all_gather=true"),
        "{of:?}"
    );
    assert_eq!(of.len(), 1, "{of:?}");

    let of = rules(&both("options.json"));
    assert!(has(&of, "flag value", "--xla_tpu_scoped_vmem_limit_kib=many"), "{of:?}");
    assert_eq!(of.len(), 1, "the offload and its fusion are set as they must be: {of:?}");

    let of = rules(&both("train.py"));
    assert!(has(&of, "flag without effect", "--xla_dump_to=/tmp/first"), "{of:?}");
    assert!(has(&of, "flag value", "--xla_tpu_dot_dot_fusion false"), "{of:?}");
    assert_eq!(of.len(), 2, "{of:?}");
}

#[test]
fn a_text_answers_no_other_question() {
    let text = text_of("launch.sh");
    for analysis in analyses::ALL.iter().filter(|a| a.id != "audit flags") {
        let answer = analysis::run(analysis, &text, &Scope::default(), &Params::default());
        let Err(Error::Nothing(message)) = answer else { panic!("{}: {answer:?}", analysis.id) };
        assert!(message.contains("audit flags"), "{message}");
    }
    // A script without flags is said to have none.
    let run = open("tpu-train");
    assert!(matches!(audit(&run, &[("script", "python3 train.py\n")]), Err(Error::Nothing(_))));
}

#[test]
fn unknown_flags_of_a_run_are_not_missing() {
    let report = audit(&open("tpu-train"), &[]).unwrap();
    assert!(has_note(&report, "no_flags_in_profile"));
    assert!(unknown(&report, "flag_count") && unknown(&report, "missing_count"));
    assert_eq!(report.table("missing").unwrap().rows.len(), 0);
    assert_eq!(report.findings, []);
    assert!(!report.table("stalls").unwrap().rows.is_empty());
}

#[test]
fn what_a_run_waits_for_makes_flags_missing() {
    let Some(folder) = traces("forged/input_bound_v6e4") else { return };
    let run = load::open(&load::find(&folder).unwrap()).unwrap();
    let report = audit(
        &run,
        &[("script", "LIBTPU_INIT_ARGS=--xla_tpu_enable_async_collective_fusion_fuse_all_gather=false\n")],
    )
    .unwrap();
    // The release is known from the profile.
    assert_eq!(words(&report, "releases"), "libtpu-0.0.52, jaxlib-0.10.2");
    let missing = report.table("missing").unwrap();
    let fuse = "xla_tpu_enable_async_collective_fusion_fuse_all_gather";
    assert_eq!(cell(missing, fuse, "stall"), &Cell::from("all-gather"));
    assert_eq!(cell(missing, fuse, "now"), &Cell::Text(format!("--{fuse}=false")));
    let share = cell(missing, fuse, "stall_share").number().unwrap();
    // Exposed communication is 12% of a step here.
    assert!(share > 0.05 && share < 0.13, "{share}");
    // With the fusion on, as it is by default, only what may stand beside it is offered.
    let offload = "LIBTPU_INIT_ARGS='--xla_tpu_enable_sparse_core_collective_offload_all_gather=true --xla_tpu_enable_async_collective_fusion_fuse_all_gather=false'";
    let report = audit(&run, &[("script", offload)]).unwrap();
    let missing = report.table("missing").unwrap();
    assert!(
        missing.rows.iter().all(|row| row[0].as_text() != Some(fuse)),
        "it would conflict with the offload"
    );
    let report = audit(&run, &[("script", &script("launch.sh"))]).unwrap();
    assert!(report.findings.iter().any(|f| f.id == "missing_flag" && f.speedup.is_some_and(|s| s > 1.05)));
}
