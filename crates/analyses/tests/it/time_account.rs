//! Where time goes: the parts add up on every run, and who is slow is found.

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::{Report, Table};

use crate::made::{Made, US, profile};
use crate::support::{RUNS, ask, column, near, number, open, traces, unknown, words};

/// The columns of classes, in a table that has one for the whole beside them.
const CLASSES: [&str; 12] = [
    "before_ps",
    "after_ps",
    "between_ps",
    "input_ps",
    "inside_ps",
    "overhead_ps",
    "infeed_ps",
    "host_transfer_ps",
    "async_wait_ps",
    "communication_ps",
    "copy_ps",
    "compute_ps",
];

/// Each row's classes add up to its whole, exactly.
#[track_caller]
fn adds_up(table: &Table, whole: &str, what: &str) {
    for row in 0..table.rows.len() {
        let cell = |id: &str| table.cell(row, id).unwrap().number().unwrap();
        let parts: Vec<f64> = CLASSES.iter().map(|id| cell(id)).collect();
        assert!(parts.iter().all(|ps| *ps >= 0.0), "{what}: {parts:?}");
        near(parts.iter().sum(), cell(whole), 0.0, what);
    }
}

fn check_idle(name: &str, profile: &Profile) {
    let report = ask(profile, "idle", &[]);
    let overview = ask(profile, "overview", &[]);
    let waterfall = report.table("waterfall").unwrap();
    let devices = report.table("devices").unwrap();
    adds_up(devices, "capture_ps", name);
    near(column(waterfall, "total_ps").iter().sum(), column(devices, "capture_ps").iter().sum(), 0.0, name);
    near(column(waterfall, "share_of_capture").iter().sum(), 1.0, 1e-9, name);
    near(column(waterfall, "share_of_active_window").iter().sum(), 1.0, 1e-9, name);
    near(column(waterfall, "time_ps").iter().sum(), number(&report, "capture_span_ps"), 1.0, name);
    for id in ["capture_span_ps", "device_busy_ps", "idle_share_of_capture", "idle_share_of_active_window"] {
        near(
            number(&report, id),
            number(&overview, id),
            1e-9 * number(&overview, id) + 1e-12,
            &format!("{name} {id}"),
        );
    }
    if let Some(step) = analyses::find("steps").filter(|_| !unknown(&overview, "step_count")) {
        let steps = ask(profile, step.id, &[]);
        let classes = steps.table("classes").unwrap();
        assert_eq!(classes.rows.len(), steps.table("steps").unwrap().rows.len(), "{name}");
        adds_up(classes, "time_ps", name);
    }
}

#[test]
fn classes_add_up_on_every_run() {
    for run in RUNS {
        check_idle(run, &open(run));
    }
}

#[test]
fn windows_of_a_run_add_up_to_it() {
    let profile = open("tpu-train");
    let whole = ask(&profile, "idle", &[]);
    let parts = ["0..5ms", "5ms..9ms", "9ms..1s"].map(|w| ask(&profile, "idle", &[("window", w)]));
    let total = |report: &Report, row: usize| {
        report.table("waterfall").unwrap().cell(row, "total_ps").unwrap().number().unwrap()
    };
    // What lies before the first op and after the last is outside whatever the window.
    for row in 0..CLASSES.len() {
        near(parts.iter().map(|p| total(p, row)).sum(), total(&whole, row), 0.0, &format!("class {row}"));
    }
}

fn forged(name: &str) -> Option<Profile> {
    Some(load::open(&load::find(&traces("forged")?.join(name)).unwrap()).unwrap())
}

#[test]
fn classes_add_up_on_forged_runs() {
    for name in ["decode_v5e4", "input_bound_v6e4", "moe_v5p4", "straggler_v6e32"] {
        if let Some(profile) = forged(name) {
            check_idle(name, &profile);
        }
    }
}

#[test]
fn the_slow_host_is_named_with_its_cost() {
    let Some(profile) = forged("straggler_v6e32") else { return };
    let report = ask(&profile, "hosts", &[]);
    assert_eq!(words(&report, "straggler"), "gke-v6e-32-worker-5");
    assert_eq!(words(&report, "straggler_device"), "gke-v6e-32-worker-5/TPU:0");
    assert_eq!(report.findings.first().map(|f| f.id), Some("straggler"));
    // It works 1.35 times as long: what it works beyond the others is that part of a step.
    let devices = report.table("devices").unwrap();
    let work = column(devices, "work_ps");
    near(work[5] / work[0], 1.35, 0.005, "work");
    let lost = (work[5] - work[0]) / column(devices, "step_time_mean_ps")[0];
    near(number(&report, "straggler_cost_share"), lost, 0.005, "cost");
    // The others wait that much longer than it does.
    let wait = column(devices, "wait_ps");
    near((wait[0] - wait[5]) / (work[5] - work[0]), 1.0, 0.01, "waiting");
}

#[test]
fn runs_without_a_slow_host_have_none() {
    for name in ["dense_train_v5e16", "dense_train_v5e16_regressed", "decode_v5e4", "moe_v5p4"] {
        let Some(profile) = forged(name) else { continue };
        let report = ask(&profile, "hosts", &[]);
        assert!(unknown(&report, "straggler"), "{name}");
        near(number(&report, "straggler_cost_share"), 0.0, 0.0, name);
        assert!(words(&report, "straggler_test").starts_with("none"), "{name}");
        assert!(report.findings.is_empty(), "{name}");
    }
}

/// A core that works for so long in each of six steps of 100 us, and waits for the others in the rest.
fn core(ordinal: i64, work: i64, program: &str) -> Made {
    let mut core = Made::tpu(ordinal);
    let compute = core.op("fusion.1", "loop fusion", 8, 64);
    let wait = core.op("all-reduce.1", "all-reduce", 0, 64);
    let step = core.meta(program, &[]);
    let starts = (0..6).map(|i| i * 100 * US);
    let ops: Vec<_> = starts
        .clone()
        .flat_map(|s| [(compute, s, work * US), (wait, s + work * US, (100 - work) * US)])
        .collect();
    core.line("XLA Ops", 0, &ops);
    let programs: Vec<_> = starts.map(|s| (step, s, 100 * US)).collect();
    core.line("XLA Modules", 0, &programs);
    let steps: Vec<_> = (0..6).map(|i| (core.meta(&i.to_string(), &[]), i * 100 * US, 100 * US)).collect();
    core.line("Steps", 0, &steps);
    core
}

#[test]
fn a_slow_device_of_one_host() {
    let works = [60, 61, 60, 80, 59];
    let cores = || (0..).zip(works).map(|(i, work)| core(i, work, "jit_step(7)")).collect::<Vec<_>>();
    let report = ask(&profile(cores()), "hosts", &[]);
    assert_eq!(words(&report, "straggler"), "TPU:3");
    near(number(&report, "straggler_cost_share"), 0.20, 1e-9, "cost");
    let two = ask(&profile(cores().into_iter().skip(2).take(2).collect()), "hosts", &[]);
    assert_eq!(words(&two, "straggler"), "TPU:3");
    near(number(&two, "straggler_cost_share"), 0.20, 1e-9, "cost of one of two");
}

#[test]
fn stages_of_a_pipeline_are_not_stragglers() {
    // The devices run different programs: that one works longer says nothing.
    let programs = ["jit_a(7)", "jit_b(8)", "jit_c(9)"];
    let cores = (0..).zip([20, 21, 70]).zip(programs).map(|((i, work), name)| core(i, work, name));
    let report = ask(&profile(cores.collect()), "hosts", &[]);
    assert!(unknown(&report, "straggler"));
    assert!(words(&report, "straggler_test").contains("different programs"));
}

#[test]
fn nothing_recorded_is_unknown_and_says_what_would_help() {
    let profile = open("tpu-train");
    for (id, note) in
        [("utilization", "no_hardware_counters"), ("inference", "no_requests"), ("megascale", "no_transfers")]
    {
        let report = ask(&profile, id, &[]);
        assert!(report.values.iter().all(|v| unknown(&report, v.id)), "{id}: {:?}", report.values);
        assert!(report.quality.iter().any(|q| q.id == note), "{id}");
        assert!(report.findings.is_empty(), "{id}");
    }
}
