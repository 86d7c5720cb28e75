//! The critical path and its projections, on steps whose answers are known.

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Error;
use haloscope_report::Report;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Params};

use crate::made::{Made, US, profile};
use crate::support::{has_note, near, number, row_of, scope, traces};

/// Asks with `--if`.
fn what_if(profile: &Profile, scope: &Scope, changes: &str) -> Result<Report, Error> {
    let mut params = Params::default();
    params.set("if", changes);
    analysis::run(analyses::find("critical-path").unwrap(), profile, scope, &params)
}

fn report(profile: &Profile) -> Report {
    what_if(profile, &Scope::default(), "").unwrap()
}

/// The projected step, microseconds.
#[track_caller]
fn projected(profile: &Profile, change: &str) -> f64 {
    number(&what_if(profile, &Scope::default(), change).unwrap(), "what_if_ps") / US as f64
}

/// A cell of a table by the text of its row's first cell, microseconds.
#[track_caller]
fn us(report: &Report, table: &str, row: &str, column: &str) -> f64 {
    let table = report.table(table).unwrap();
    table.cell(row_of(table, row), column).unwrap().number().unwrap() / US as f64
}

/// A TPU with one step and these ops: name, category, start, end in microseconds.
fn tpu(ordinal: i64, step: (i64, i64), ops: &[(&str, &str, i64, i64)]) -> Made {
    let mut made = Made::tpu(ordinal);
    let mut known: Vec<(&str, i64)> = Vec::new();
    let mut events = Vec::new();
    for (name, category, start, end) in ops {
        let id = known.iter().find(|(n, _)| n == name).map(|(_, id)| *id);
        let id = id.unwrap_or_else(|| made.op(name, category, 0, 0));
        known.push((*name, id));
        events.push((id, start * US, (end - start) * US));
    }
    let (number, program) = (made.meta("0", &[]), made.meta("jit_step(7)", &[]));
    made.line("Steps", 0, &[(number, step.0 * US, (step.1 - step.0) * US)]);
    let (first, last) = (ops[0].2, ops.iter().map(|op| op.3).max().unwrap());
    made.line("XLA Modules", 0, &[(program, first * US, (last - first) * US)]);
    made.line("XLA Ops", 0, &events);
    made
}

/// The second device comes 100 us late to the all-reduce, which takes 20 us from then on.
fn two_devices() -> Profile {
    let quick = [
        ("fusion.1", "loop fusion", 0, 60),
        ("fusion.3", "loop fusion", 60, 100),
        ("all-reduce.1", "all-reduce", 100, 220),
        ("fusion.2", "loop fusion", 220, 270),
    ];
    let slow = [
        ("fusion.1", "loop fusion", 0, 200),
        ("all-reduce.1", "all-reduce", 200, 220),
        ("fusion.2", "loop fusion", 220, 270),
    ];
    profile(vec![tpu(0, (0, 270), &quick), tpu(1, (0, 270), &slow)])
}

#[test]
fn the_path_goes_to_the_device_that_came_last() {
    let run = two_devices();
    let report = report(&run);
    for id in ["step_ps", "path_ps"] {
        near(number(&report, id) / US as f64, 270.0, 0.0, id);
    }
    near(number(&report, "model_residual_ps"), 0.0, 0.0, "residual");
    near(us(&report, "parts", "compute", "time_ps"), 250.0, 0.0, "compute on the path");
    near(us(&report, "parts", "collectives", "time_ps"), 20.0, 0.0, "the wait is not on the path");
    near(us(&report, "ops", "fusion.3", "slack_ps"), 100.0, 0.0, "the quick device has time");
    near(us(&report, "ops", "fusion.1", "path_ps"), 200.0, 0.0, "of the slow device");
    near(us(&report, "devices", "TPU:1", "path_ps"), 200.0, 0.0, "until the all-reduce");
    near(us(&report, "devices", "TPU:0", "waiting_ps"), 100.0, 0.0, "waits");
    near(number(&report, "path_device_changes"), 1.0, 0.0, "changes of device");
    assert!(has_note(&report, "groups_unknown"), "the expressions state no groups");
    let chain = report.table("chain").unwrap();
    let devices: Vec<_> = chain.rows.iter().map(|row| row[2].as_text().unwrap()).collect();
    assert_eq!(devices, ["TPU:1", "TPU:0", "TPU:0"]);
}

#[test]
fn projections_compute_the_waits_anew() {
    let run = two_devices();
    near(projected(&run, "all-reduce free"), 250.0, 0.0, "the wait for the slow device stays");
    near(projected(&run, "fusion.1 x0.5"), 170.0, 0.0, "70 on one device, 100 on the other");
    near(projected(&run, "fusion.1 x0.25"), 125.0, 0.0, "now the other comes last: 15 + 40 against 50");
    near(projected(&run, "fusion.3 free"), 270.0, 0.0, "not on the path");
    near(projected(&run, "fusion.? free"), 20.0, 0.0, "a pattern");
    near(projected(&run, "loop fusion free"), 20.0, 0.0, "a category");
    near(projected(&run, "compute x2"), 520.0, 0.0, "slower, too");
    near(projected(&run, "perfect overlap"), 250.0, 0.0, "compute is left");
    near(projected(&run, "no straggler"), 270.0, 0.0, "two cannot tell who is slow");
    let report = what_if(&run, &Scope::default(), "all-reduce free; fusion.2 x0.5").unwrap();
    near(us(&report, "what_if", "fusion.2 x0.5", "step_ps"), 245.0, 0.0, "by itself");
    near(us(&report, "what_if", "all of these", "step_ps"), 225.0, 0.0, "together");
    near(number(&report, "what_if_speedup"), 270.0 / 225.0, 1e-12, "together");
}

#[test]
fn what_is_not_there_is_said_with_what_is_near() {
    let run = two_devices();
    let Err(Error::Usage(message)) = what_if(&run, &Scope::default(), "fusion.12 free") else {
        panic!("known")
    };
    assert!(message.contains("fusion.1,"), "{message}");
    let Err(Error::Usage(message)) = what_if(&run, &Scope::default(), "make it fast") else {
        panic!("known")
    };
    assert!(message.contains("perfect overlap"), "{message}");
    // A kind that the step has none of is no mistake.
    near(projected(&run, "all-gather free"), 270.0, 0.0, "no all-gather");
}

#[test]
fn one_slow_device_of_three() {
    let ops = |until: i64| {
        [
            ("fusion.1", "loop fusion", 0, until),
            ("all-reduce.1", "all-reduce", until, 170),
            ("fusion.2", "loop fusion", 170, 180),
        ]
    };
    let devices = [100, 104, 150].into_iter().zip(0..);
    let run = profile(devices.map(|(until, ordinal)| tpu(ordinal, (0, 180), &ops(until))).collect());
    near(projected(&run, "no straggler"), 134.0, 0.0, "104, the median, then 20 and 10");
    let report = report(&run);
    near(us(&report, "what_if", "no straggler", "saved_ps"), 46.0, 0.0, "shown unasked");
}

#[test]
fn groups_keep_devices_apart() {
    // Devices 0 and 1 belong together, 2 and 3 as well: the slow device 3 keeps 2 waiting only.
    let plane = |ordinal: i64, until: i64, end: i64| {
        let ops = [("fusion.1", "loop fusion", 0, until), ("fusion.2", "loop fusion", end, end + 10)];
        let mut made = tpu(ordinal, (0, end + 10), &ops);
        let all_reduce = made.instruction(
            "all-reduce.1",
            "all-reduce",
            "%all-reduce.1 = f32[8]{0} all-reduce(%a), replica_groups={{0,1},{2,3}}",
        );
        made.add(all_reduce, until * US, (end - until) * US);
        made
    };
    let run = profile(vec![plane(0, 40, 110), plane(1, 100, 110), plane(2, 50, 210), plane(3, 200, 210)]);
    let report = report(&run);
    near(us(&report, "devices", "TPU:0", "waiting_ps"), 60.0, 0.0, "for its own partner");
    near(us(&report, "devices", "TPU:2", "waiting_ps"), 150.0, 0.0, "for its own partner");
    assert!(!has_note(&report, "groups_unknown"));
    near(number(&report, "joined_count"), 4.0, 0.0, "joined");
}

/// An all-gather of 149 us behind 100 us of compute.
fn partly_hidden(is_timed: bool) -> Profile {
    let ops = [
        ("all-gather-start.1", "all-gather-start", 0, 1),
        ("fusion.1", "loop fusion", 1, 101),
        ("all-gather-done.1", "all-gather-done", 101, 151),
        ("fusion.2", "loop fusion", 151, 201),
    ];
    let mut made = tpu(0, (0, 201), &ops);
    if is_timed {
        let id = made.meta("async-copy", &[]);
        made.line("Async XLA Ops", 0, &[(id, 0, 150 * US)]);
    }
    profile(vec![made])
}

#[test]
fn a_transfer_that_compute_hides_in_part() {
    for is_timed in [true, false] {
        let run = partly_hidden(is_timed);
        let report = report(&run);
        near(us(&report, "parts", "collectives in flight beside ops", "time_ps"), 149.0, 0.0, "in flight");
        near(us(&report, "ops", "fusion.1", "slack_ps"), 49.0, 0.0, "it may take as long as the transfer");
        near(us(&report, "ops", "all-gather-start.1", "path_ps"), 150.0, 0.0, "issue and transfer");
        near(projected(&run, "all-gather free"), 150.0, 0.0, "compute alone");
        near(projected(&run, "all-gather-done.1 free"), 150.0, 0.0, "a done stands for its transfer");
        near(projected(&run, "all-gather x0.5"), 151.0, 0.0, "0.5 + 100 + 0.5 + 50: hidden");
        near(projected(&run, "fusion.1 x0.5"), 201.0, 0.0, "the transfer takes as long as it did");
        near(projected(&run, "fusion.1 x1.5"), 202.0, 0.0, "1 + 150 + 1 + 50");
        near(
            projected(&run, "perfect overlap"),
            151.0,
            0.0,
            "issue, transfer and done take more than compute",
        );
    }
}

#[test]
fn transfers_stand_in_a_queue() {
    // The second copy waits for the first: 40 us of its 50 us in flight.
    let ops = [
        ("copy-start.1", "copy-start", 0, 1),
        ("copy-start.2", "copy-start", 1, 2),
        ("fusion.1", "loop fusion", 2, 12),
        ("copy-done.1", "copy-done", 12, 42),
        ("copy-done.2", "copy-done", 42, 52),
    ];
    let mut made = tpu(0, (0, 52), &ops);
    let id = made.meta("async-copy", &[]);
    made.line("Async XLA Ops", 0, &[(id, 0, 41 * US), (id, US, 50 * US - US / 2)]);
    let run = profile(vec![made]);
    // The first lands at 41, the second at 50.5: it took 9.5 by itself. Without the first: 1 + 10 of compute, landed at 10.5, and
    // 1.5 of the wait that is not waiting.
    near(projected(&run, "copy-start.1 free"), 12.5, 0.0, "the second no longer waits for the first");
    near(projected(&run, "copies free"), 10.0, 0.0, "compute alone");
    near(number(&report(&run), "model_residual_ps"), 0.0, 0.0, "residual");
}

#[test]
fn loops_are_their_ops_and_what_is_between() {
    let ops = [
        ("while.1", "while", 0, 100),
        ("fusion.1", "loop fusion", 10, 40),
        ("fusion.1", "loop fusion", 50, 80),
    ];
    let run = profile(vec![tpu(0, (0, 100), &ops)]);
    near(projected(&run, "fusion.1 x0.5"), 70.0, 0.0, "two executions");
    near(projected(&run, "overhead free"), 60.0, 0.0, "the loop's own time");
    near(us(&report(&run), "parts", "compute", "time_ps"), 60.0, 0.0, "compute");
}

#[test]
fn a_device_that_waits_for_input() {
    let mut host = Made::named("/host:CPU");
    let next = host.meta("IteratorGetNext", &[]);
    host.line("python", 0, &[(next, 5 * US, 45 * US)]);
    let run = profile(vec![host, tpu(0, (0, 100), &[("fusion.1", "loop fusion", 60, 100)])]);
    let report = report(&run);
    near(us(&report, "parts", "idle while the host prepares input", "time_ps"), 45.0, 0.0, "input");
    near(us(&report, "parts", "between programs", "time_ps"), 15.0, 0.0, "the rest");
    near(projected(&run, "input free"), 55.0, 0.0, "input");
    near(projected(&run, "no idle"), 40.0, 0.0, "all idle time");
    near(projected(&run, "fusion.1 free"), 60.0, 0.0, "idle time stays");
}

#[test]
fn streams_of_a_gpu() {
    let mut made = Made::named("/device:GPU:0");
    let [first, reduce, last] = ["gemm", "ncclDevKernel_AllReduce", "add"].map(|name| made.meta(name, &[]));
    made.line("Stream #1", 0, &[(first, 0, 10 * US), (last, 31 * US, 9 * US)]);
    made.line("Stream #2", 0, &[(reduce, 10 * US, 20 * US)]);
    let run = profile(vec![made]);
    let report = report(&run);
    near(number(&report, "step_ps") / US as f64, 40.0, 0.0, "no steps: first op to last");
    assert!(has_note(&report, "no_steps") && has_note(&report, "streams_without_dependencies"));
    near(us(&report, "parts", "compute", "time_ps"), 19.0, 0.0, "gemm and add");
    near(us(&report, "parts", "collectives", "time_ps"), 20.0, 0.0, "through the other stream");
    near(projected(&run, "all-reduce free"), 20.0, 0.0, "10 + 0 + 1 + 9");
    near(projected(&run, "gemm free"), 30.0, 0.0, "0 + 20 + 1 + 9");
}

/// What the runs would have taken was found by generating them again with the change built in and the same random numbers.
#[test]
fn projections_are_what_the_changed_runs_took() {
    let Some(folder) = traces("forged") else { return };
    let open = |name: &str| load::open(&load::find(&folder.join(name)).unwrap()).unwrap();
    let ms = |profile: &Profile, step: &str, change: &str| {
        let report = what_if(profile, &scope(&[("steps", step)]), change).unwrap();
        near(number(&report, "model_residual_ps"), 0.0, 0.0, "residual");
        (number(&report, "step_ps") / 1e9, number(&report, "what_if_ps") / 1e9)
    };
    // Host 5 computes 1.35 times as long; without: 13.450 ms a step.
    let straggler = open("straggler_v6e32");
    let found = report(&straggler);
    let devices = found.table("devices").unwrap();
    let slow = row_of(devices, "gke-v6e-32-worker-5/TPU:0");
    assert!(
        devices.cell(slow, "path_share").unwrap().number().unwrap() > 0.99,
        "the path is on the slow host"
    );
    let mean = (0..8).map(|step| ms(&straggler, &step.to_string(), "no straggler").1).sum::<f64>() / 8.0;
    near(mean / 13.4498, 1.0, 0.005, "no straggler");
    // 16.4 to 18.5 ms of waiting for the host; with 20 us of it: 10.429 ms a step on average.
    let input = open("input_bound_v6e4");
    let mean = (1..12).map(|step| ms(&input, &step.to_string(), "input free").1).sum::<f64>() / 11.0;
    near(mean / 10.43, 1.0, 0.01, "input free");
    near(ms(&input, "3", "no idle").1 / 10.04, 1.0, 0.01, "the program's own time");
    // Two ops at half their time, and the step of that number in the run that was generated so.
    let dense = open("dense_train_v5e16");
    for (op, step, took) in [
        ("fusion.772", "3", 75.137),
        ("fusion.772", "10", 75.764),
        ("fusion.467", "3", 75.201),
        ("fusion.467", "5", 75.279),
    ] {
        let (before, after) = ms(&dense, step, &format!("{op} x0.5"));
        near(
            (before - after) / (before - took),
            1.0,
            0.1,
            &format!("{op} in step {step}: {before} {after} {took}"),
        );
    }
}
