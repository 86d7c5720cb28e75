//! What communication costs: the parts add up on every run, and made collectives cost what they were made to.

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::{Cell, Report};
use haloscope_time::busy;

use crate::made::{Made, US, profile};
use crate::support::{RUNS, ask, column, has_note, near, number, open, row_of, traces, unknown, words};

const FORGED: [&str; 8] = [
    "dense_train_v5e16",
    "dense_train_v5e16_regressed",
    "decode_v5e4",
    "moe_v5p4",
    "input_bound_v6e4",
    "straggler_v6e32",
    "pallas_attn_A_bq128",
    "pallas_attn_B_bq512",
];

fn forged(name: &str) -> Option<Profile> {
    let folder = traces(&format!("forged/{name}"))?;
    Some(load::open(&load::find(&folder).unwrap()).unwrap())
}

/// What holds of every profile.
fn check(report: &Report, what: &str) {
    near(number(report, "identity_residual_ps"), 0.0, 0.0, what);
    let devices = report.table("devices").unwrap();
    let mut sums = [0.0; 2];
    for row in 0..devices.rows.len() {
        let cell = |id: &str| devices.cell(row, id).unwrap().number().unwrap();
        let parts = ["busy_ps", "exposed_ps", "idle_ps"].map(cell);
        assert!(parts.iter().all(|ps| *ps >= 0.0), "{what}: {parts:?}");
        near(parts.iter().sum(), cell("step_ps"), 0.0, what);
        near(cell("residual_ps"), 0.0, 0.0, what);
        assert!(cell("hidden_ps") <= cell("inflight_ps") && cell("inflight_ps") <= cell("step_ps"), "{what}");
        assert!(cell("hidden_ps") + cell("exposed_ps") <= cell("inflight_ps"), "{what}");
        sums[0] += cell("exposed_ps");
        sums[1] += cell("steps");
    }
    // What is exposed belongs to one collective each: rows add up to the whole, however they are grouped.
    let exposed = number(report, "exposed_ps_per_step");
    near(exposed * sums[1], sums[0], 1.0, what);
    for table in ["kinds", "ops", "lines"] {
        let Some(table) = report.table(table) else {
            near(exposed, 0.0, 0.0, what);
            continue;
        };
        let rows = column(table, "exposed_ps");
        near(rows.iter().sum(), exposed, 1e-9 * exposed + 1e-3, &format!("{what} {}", table.id));
    }
    let (inflight, hidden) = (number(report, "inflight_ps_per_step"), number(report, "hidden_ps_per_step"));
    near(inflight, hidden + number(report, "uncovered_ps_per_step"), 1e-3, what);
    if let Cell::Float(ratio) = report.value("overlap_ratio").unwrap().value {
        assert!((0.0..=1.0).contains(&ratio), "{what}: {ratio}");
    }
}

/// The middle half of the first device's active window, picoseconds.
fn middle(profile: &Profile) -> (i64, i64) {
    let device = profile.devices.iter().find(|d| d.active).unwrap();
    let (first, last) = busy::intervals(profile, device).hull().unwrap();
    (first + (last - first) / 4, last - (last - first) / 4)
}

#[test]
fn busy_exposed_and_idle_add_up_to_the_step_on_every_run() {
    for run in RUNS {
        let profile = open(run);
        check(&ask(&profile, "comm", &[]), run);
        let (from, to) = middle(&profile);
        check(&ask(&profile, "comm", &[("window", &format!("{from}..{to}"))]), run);
    }
    for name in FORGED {
        let Some(profile) = forged(name) else { return };
        check(&ask(&profile, "comm", &[]), name);
    }
}

#[test]
fn exposed_communication_is_what_was_built_in() {
    for name in FORGED {
        let Some(profile) = forged(name) else { return };
        let folder = traces(&format!("forged/{name}")).unwrap();
        let truth = std::fs::read_to_string(folder.join("truth.json")).unwrap();
        let truth: serde_json::Value = serde_json::from_str(&truth).unwrap();
        let built_in = truth["exposed_communication_ms_per_step"].as_f64().unwrap();
        let report = ask(&profile, "comm", &[]);
        let found = number(&report, "exposed_ps_per_step") / 1e9;
        near(found, built_in, 0.01 * built_in, name);
        if built_in == 0.0 {
            assert_eq!(words(&report, "verdict"), "no collectives", "{name}");
        }
    }
}

#[test]
fn the_same_time_as_in_idle_and_steps() {
    for run in RUNS {
        let profile = open(run);
        let report = ask(&profile, "comm", &[]);
        let steps = column(report.table("devices").unwrap(), "steps").iter().sum::<f64>();
        let exposed = number(&report, "exposed_ps_per_step") * steps;
        let classes = ask(&profile, "idle", &[]);
        let waterfall = classes.table("waterfall").unwrap();
        let row = row_of(waterfall, "exposed communication");
        let all = waterfall.cell(row, "total_ps").unwrap().number().unwrap();
        assert!(exposed <= all + 1.0, "{run}: {exposed} of {all}");
    }
}

#[test]
fn a_profile_without_collectives_has_none_and_that_is_known() {
    let report = ask(&open("tpu-custom-call"), "comm", &[]);
    assert_eq!(words(&report, "verdict"), "no collectives");
    near(number(&report, "exposed_ps_per_step"), 0.0, 0.0, "exposed");
    near(number(&report, "collective_count"), 0.0, 0.0, "count");
    assert!(unknown(&report, "overlap_ratio") && unknown(&report, "concurrency"));
    assert!(report.findings.is_empty() && !has_note(&report, "comm_counts_differ"));
}

/// Four chips that reduce now and then, and launch another program a hundred times: that one's launches are the steps.
#[test]
fn collectives_outside_of_the_steps_are_not_forgotten() {
    let Some(folder) = traces("real/v6e-four-chips") else { return };
    let profile = load::open(&load::find(&folder).unwrap()).unwrap();
    let report = ask(&profile, "comm", &[]);
    assert!(words(&report, "verdict").contains("outside"), "{}", words(&report, "verdict"));
    assert!(has_note(&report, "collectives_not_counted"));
    let all = ask(&profile, "comm", &[("window", "0s..60s")]);
    check(&all, "the whole capture");
    assert!(number(&all, "collective_count") >= 4.0 && !has_note(&all, "collectives_not_counted"));
    // Three reductions of 121.7 ms on each chip.
    assert!(number(&all, "exposed_ps_per_step") > 360e9, "{}", number(&all, "exposed_ps_per_step"));
}

/// `analyze_async_overlap` of XProf 2.24.2 on the first host: 1212 permutes, 103885920177 ps in all. It takes time under a
/// loop and under other collectives for covered (2.1 ms exposed); without these two it says 57659883210 ps.
#[test]
fn flights_and_what_covers_them_are_those_of_xprof() {
    let Some(profile) = forged("dense_train_v5e16") else { return };
    let report = ask(&profile, "comm", &[("devices", "t1v-n-70cf3ce3-w-0/TPU:0")]);
    let kinds = report.table("kinds").unwrap();
    let cell = |id: &str| kinds.cell(row_of(kinds, "collective-permute"), id).unwrap().number().unwrap();
    near(cell("count"), 1212.0, 0.0, "count");
    near(12.0 * cell("inflight_ps"), 103_885_920_177.0, 1e4, "in flight");
    near(12.0 * (cell("inflight_ps") - cell("hidden_ps")), 57_659_883_210.0, 1e4, "not covered");
}

/// A core on which `at` gives the place of each op: name, category, expression, start and length in microseconds.
fn core(ordinal: i64, ops: &[(&str, &str, &str, i64, i64)], shown: &[(&str, i64, i64, i64)]) -> Made {
    let mut made = Made::tpu(ordinal);
    let program = made.meta("jit_step(7)", &[]);
    let mut events = Vec::new();
    let mut known: Vec<(&str, i64)> = Vec::new();
    for (name, category, expression, start, length) in ops {
        let meta = known.iter().find(|(n, _)| n == name).map(|(_, id)| *id);
        let meta = meta.unwrap_or_else(|| {
            let id = made.instruction(name, category, expression);
            known.push((name, id));
            id
        });
        events.push((meta, start * US, length * US));
    }
    made.line("XLA Ops", 0, &events);
    made.line("XLA Modules", 0, &[(program, 0, 1000 * US)]);
    if !shown.is_empty() {
        made.line("Async XLA Ops", 0, &[]);
        for (name, start, length, flow) in shown {
            let meta = known.iter().find(|(n, _)| n == name).unwrap().1;
            made.event_of(meta, start * US, length * US, &[("flow", *flow)]);
        }
    }
    made
}

const START: &str = "%all-gather-start.1 = (f32[8]{0}, f32[32]{0}) all-gather-start(f32[8]{0} %p)";
const DONE: &str =
    "%all-gather-done.9 = f32[32]{0} all-gather-done((f32[8]{0}, f32[32]{0}) %all-gather-start.1)";
const FUSION: &str = "%fusion.1 = f32[8]{0} fusion()";

/// A gather of 100 us behind 60 us of compute; its done waits for 30 us. The first 10 us go to its start.
fn gather() -> Vec<(&'static str, &'static str, &'static str, i64, i64)> {
    vec![
        ("all-gather-start.1", "all-gather-start", START, 0, 10),
        ("fusion.1", "loop fusion", FUSION, 10, 60),
        ("all-gather-done.9", "all-gather-done", DONE, 70, 30),
        ("fusion.1", "loop fusion", FUSION, 100, 100),
    ]
}

#[track_caller]
fn us(report: &Report, id: &str, expected: i64) {
    near(number(report, id), (expected * US) as f64, 0.0, id);
}

#[test]
fn a_start_and_the_done_that_names_it_are_one_collective() {
    let report = ask(&profile(vec![core(0, &gather(), &[])]), "comm", &[]);
    check(&report, "pair");
    us(&report, "exposed_ps_per_step", 40);
    us(&report, "hidden_ps_per_step", 60);
    us(&report, "inflight_ps_per_step", 100);
    us(&report, "done_ps_per_step", 30);
    us(&report, "busy_ps_per_step", 160);
    near(number(&report, "unpaired_count"), 0.0, 0.0, "unpaired");
    near(number(&report, "collective_count"), 1.0, 0.0, "collectives");
    let ops = report.table("ops").unwrap();
    assert_eq!(ops.cell(0, "op").unwrap().as_text(), Some("all-gather-start.1"));
    near(ops.cell(0, "bytes").unwrap().number().unwrap(), 128.0, 0.0, "the gathered array");
}

#[test]
fn the_asynchronous_line_ends_a_transfer_before_a_late_done() {
    // The transfer is over after 40 us: the 30 us before the done hide nothing, and the done is exposed all the same.
    let report = ask(&profile(vec![core(0, &gather(), &[("all-gather-start.1", 0, 40, 3)])]), "comm", &[]);
    check(&report, "shown");
    us(&report, "hidden_ps_per_step", 30);
    us(&report, "exposed_ps_per_step", 40);
    us(&report, "inflight_ps_per_step", 70);
    near(number(&report, "collective_count"), 1.0, 0.0, "not counted twice");
}

#[test]
fn events_of_one_flow_are_one_transfer() {
    // Nothing but the asynchronous line shows it: two members, then three.
    for members in [1, 2, 3] {
        let compute = ("fusion.1", "loop fusion", FUSION, 0, 200);
        let mut plane = core(0, &[compute], &[]);
        let start = plane.instruction("all-gather-start.1", "all-gather-start", START);
        let wait = plane.instruction("all-gather-start.2", "all-gather-start", &START.replace(".1", ".2"));
        plane.line("Async XLA Ops", 0, &[]);
        for part in 0..members {
            let meta = if part == 0 { start } else { wait };
            plane.event_of(meta, (20 + 20 * part) * US, 10 * US, &[("flow", 9)]);
        }
        let report = ask(&profile(vec![plane]), "comm", &[]);
        check(&report, "flow");
        near(number(&report, "collective_count"), 1.0, 0.0, &format!("{members} members"));
        us(&report, "inflight_ps_per_step", 10 + 20 * (members - 1));
        us(&report, "exposed_ps_per_step", 0);
    }
}

#[test]
fn updates_go_on_with_what_was_started() {
    let update =
        "%all-gather-update.1 = (f32[8]{0}, f32[32]{0}) async-update((f32[8]{0}) %all-gather-start.1)";
    let done = "%all-gather-done.9 = f32[32]{0} async-done((f32[8]{0}, f32[32]{0}) %all-gather-update.1)";
    let start = "%all-gather-start.1 = ((f32[8]{0}), f32[32]{0}) async-start(f32[8]{0} %p), async_execution_thread=\"sparsecore\"";
    let ops = [
        ("all-gather-start.1", "async-start", start, 0, 10),
        ("fusion.1", "loop fusion", FUSION, 10, 20),
        ("all-gather-update.1", "async-update", update, 30, 10),
        ("fusion.1", "loop fusion", FUSION, 40, 20),
        ("all-gather-done.9", "async-done", done, 60, 10),
    ];
    let report = ask(&profile(vec![core(0, &ops, &[])]), "comm", &[]);
    check(&report, "three members");
    near(number(&report, "collective_count"), 1.0, 0.0, "collectives");
    near(number(&report, "unpaired_count"), 0.0, 0.0, "unpaired");
    near(number(&report, "sparse_core_count"), 1.0, 0.0, "on a SparseCore");
    us(&report, "hidden_ps_per_step", 40);
    us(&report, "exposed_ps_per_step", 30);
    us(&report, "inflight_ps_per_step", 70);
}

#[test]
fn fusions_that_begin_and_end_a_collective_are_matched_by_name() {
    let start = "%async-collective-start.5 = (bf16[8]{0}, bf16[32]{0}) fusion(bf16[8]{0} %x), calls=%c.5";
    let done = "%async-collective-done.5 = bf16[32]{0} fusion(bf16[8]{0} %get-tuple-element.20), calls=%d.5";
    let ops = [
        ("async-collective-start.5", "custom fusion", start, 0, 10),
        ("fusion.1", "loop fusion", FUSION, 10, 20),
        ("async-collective-done.5", "custom fusion", done, 30, 5),
    ];
    let report = ask(&profile(vec![core(0, &ops, &[])]), "comm", &[]);
    check(&report, "fusions");
    near(number(&report, "unpaired_count"), 0.0, 0.0, "unpaired");
    us(&report, "hidden_ps_per_step", 20);
    us(&report, "inflight_ps_per_step", 35);
}

/// Trap 7: a done whose start the capture lacks is no transfer as long as a step.
#[test]
fn what_is_unpaired_is_counted_and_said() {
    let mut ops = gather();
    ops.remove(0);
    ops.push(("all-gather-start.1", "all-gather-start", START, 200, 10));
    let report = ask(&profile(vec![core(0, &ops, &[])]), "comm", &[]);
    check(&report, "unpaired");
    near(number(&report, "unpaired_count"), 2.0, 0.0, "a done and a start");
    us(&report, "exposed_ps_per_step", 40);
    us(&report, "inflight_ps_per_step", 40);
    us(&report, "hidden_ps_per_step", 0);
    assert!(has_note(&report, "unpaired_collectives"));
    assert!(report.findings.iter().any(|f| f.id == "unpaired_collectives"));
}

/// Trap 7: the wait in a done and the event of the asynchronous line are one time, not two.
#[test]
fn dones_and_asynchronous_lines_are_not_added_up() {
    let alone = ask(&profile(vec![core(0, &gather(), &[])]), "comm", &[]);
    let both = ask(&profile(vec![core(0, &gather(), &[("all-gather-start.1", 0, 100, 3)])]), "comm", &[]);
    for id in [
        "exposed_ps_per_step",
        "hidden_ps_per_step",
        "inflight_ps_per_step",
        "collective_count",
        "concurrency",
    ] {
        near(number(&both, id), number(&alone, id), 0.0, id);
    }
}

/// Trap 5: lines have starts of their own, and offsets count from there.
#[test]
fn lines_are_placed_by_their_own_start() {
    let mut plane = core(0, &gather(), &[]);
    let start = plane.instruction("all-gather-start.1", "all-gather-start", START);
    // 5 us later by the line's start, 5 us earlier by the offset.
    plane.line("Async XLA Ops", 5_000, &[(start, -5 * US, 40 * US)]);
    let report = ask(&profile(vec![plane]), "comm", &[]);
    check(&report, "bases");
    near(number(&report, "collective_count"), 1.0, 0.0, "the event begins with its start");
    us(&report, "hidden_ps_per_step", 30);
}

/// Trap 5: a loop is not busy beside what runs inside it.
#[test]
fn loops_are_not_added_to_what_they_hold() {
    let mut ops = gather();
    ops.insert(0, ("while.1", "while", "%while.1 = (f32[8]) while()", 0, 200));
    let report = ask(&profile(vec![core(0, &ops, &[])]), "comm", &[]);
    check(&report, "loop");
    us(&report, "busy_ps_per_step", 160);
    us(&report, "hidden_ps_per_step", 60);
}

/// Trap 8: all devices count, not the first one.
#[test]
fn every_device_has_a_part_in_the_mean() {
    let silent = [("fusion.1", "loop fusion", FUSION, 0, 200)];
    let report = ask(&profile(vec![core(0, &gather(), &[]), core(1, &silent, &[])]), "comm", &[]);
    check(&report, "two devices");
    us(&report, "exposed_ps_per_step", 20);
    let first =
        ask(&profile(vec![core(0, &gather(), &[]), core(1, &silent, &[])]), "comm", &[("devices", "TPU:0")]);
    us(&first, "exposed_ps_per_step", 40);
}

#[test]
fn kernels_of_other_streams_hide_a_collective_kernel() {
    let mut gpu = Made::named("/device:GPU:0");
    let (gemm, nccl) = (gpu.meta("gemm", &[]), gpu.meta("ncclDevKernel_AllReduce_Sum_f32", &[]));
    gpu.line("Stream #7(Compute)", 0, &[(gemm, 0, 60 * US)]);
    gpu.line("Stream #8(Compute)", 0, &[(nccl, 40 * US, 40 * US)]);
    let report = ask(&profile(vec![gpu]), "comm", &[]);
    check(&report, "streams");
    us(&report, "hidden_ps_per_step", 20);
    us(&report, "exposed_ps_per_step", 20);
    us(&report, "inflight_ps_per_step", 40);
    assert_eq!(report.table("kinds").unwrap().cell(0, "kind").unwrap().as_text(), Some("all-reduce"));
}

#[test]
fn waits_that_are_not_for_the_collective_are_not_exposed_communication() {
    let wait = "%copy-done.1 = f32[8]{0} copy-done((f32[8]{0}) %copy-start.1)";
    let mut ops = gather();
    ops[1] = ("copy-done.1", "copy-done", wait, 10, 60);
    let report = ask(&profile(vec![core(0, &ops, &[])]), "comm", &[]);
    check(&report, "other waits");
    us(&report, "exposed_ps_per_step", 40);
    us(&report, "hidden_ps_per_step", 0);
    us(&report, "uncovered_ps_per_step", 100);
    assert!(has_note(&report, "comm_counts_differ"));
}

/// A small generator of numbers (xorshift), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, most: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as i64
    }
}

#[test]
fn parts_add_up_whatever_a_profile_holds() {
    let kinds: [(&str, &str, &str); 8] = [
        ("fusion.1", "loop fusion", FUSION),
        ("all-reduce.1", "all-reduce", "%all-reduce.1 = f32[8]{0} all-reduce(f32[8]{0} %p)"),
        ("all-gather-start.1", "all-gather-start", START),
        ("all-gather-done.9", "all-gather-done", DONE),
        ("send-done.4", "send-done", "%send-done.4 = u32[] send-done(u32[] %unknown.1)"),
        ("copy-done.1", "copy-done", "%copy-done.1 = f32[8]{0} copy-done(f32[8]{0} %copy-start.1)"),
        ("while.1", "while", "%while.1 = (f32[8]) while()"),
        ("copy.3", "data formatting", "%copy.3 = f32[8]{0} copy(f32[8]{0} %p)"),
    ];
    let mut met = [false; 3];
    for seed in 1..150_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut planes = Vec::new();
        for ordinal in 0..2 {
            let mut ops = Vec::new();
            let mut now = 0;
            for _ in 0..5 + random.below(20) {
                let (name, category, expression) = kinds[random.below(8) as usize];
                let length = random.below(40);
                ops.push((name, category, expression, now, length));
                if random.below(3) == 0 {
                    let (name, category, expression) = kinds[random.below(8) as usize];
                    ops.push((name, category, expression, now, random.below(length + 1)));
                }
                now += length + random.below(25);
            }
            let mut plane = core(ordinal, &ops, &[]);
            let gather = plane.instruction("all-gather-start.1", "all-gather-start", START);
            let reduce = plane.instruction(
                "all-reduce-start.7",
                "all-reduce-start",
                "%all-reduce-start.7 = f32[8]{0} all-reduce-start(f32[8]{0} %p)",
            );
            plane.line("Async XLA Ops", 0, &[]);
            for _ in 0..random.below(6) {
                let meta = if random.below(2) == 0 { gather } else { reduce };
                plane.event_of(
                    meta,
                    random.below(now + 20) * US,
                    random.below(60) * US,
                    &[("flow", random.below(5))],
                );
            }
            let marks: Vec<_> = (0..random.below(4)).map(|i| (i, i * now / 3)).collect();
            let numbers: Vec<i64> = marks.iter().map(|(i, _)| plane.meta(&i.to_string(), &[])).collect();
            let marked: Vec<_> = marks
                .iter()
                .zip(numbers)
                .map(|((_, at), meta)| (meta, at * US, (now / 3 - random.below(3)).max(0) * US))
                .collect();
            plane.line("Steps", 0, &marked);
            planes.push(plane);
        }
        let profile = profile(planes);
        let report = ask(&profile, "comm", &[]);
        check(&report, &format!("seed {seed}"));
        met[0] |= number(&report, "exposed_ps_per_step") > 0.0;
        met[1] |= number(&report, "hidden_ps_per_step") > 0.0;
        met[2] |= number(&report, "unpaired_count") > 0.0;
    }
    assert_eq!(met, [true; 3], "exposed, hidden, unpaired");
}
