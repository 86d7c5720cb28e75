//! Steps, communication and idle time of GPUs whose host launches ahead or waits, on timelines laid by hand.

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Report;
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

use crate::support::{ask, near, number, row_of, traces, words};

const US: i64 = 1_000_000;
const STATS: [&str; 7] =
    ["correlation_id", "step_num", "_r", "hlo_op", "hlo_module", "kernel_details", "memcpy_details"];

/// What a timeline is laid by. Times are microseconds.
#[derive(Clone, Copy)]
struct Case {
    what: &'static str,
    devices: i64,
    steps: i64,
    /// Compute of a step, in kernels one after another.
    kernels: &'static [i64],
    /// So often a step runs all of them: a loop that the host drives.
    rounds: usize,
    /// The last kernel of the first device takes so much longer: the collective of the others waits for it.
    late: i64,
    /// A collective beside the compute, from the step's start.
    hidden: i64,
    /// A collective after it.
    exposed: i64,
    /// Nothing runs between two steps.
    gap: i64,
    /// Steps that the host launches ahead; 0 where it waits for each.
    ahead: i64,
    /// Whether kernels name their HLO op; the profile has no HLO module.
    names_ops: bool,
    /// Whether one launch starts all kernels of a device's step.
    graph: bool,
    /// Programs that the step's kernels are spread over.
    programs: usize,
    /// After every so many steps another program runs for 300 us, which no marker launches.
    other_every: i64,
    /// How long steps from before the capture still run.
    before: i64,
    /// Whether the host marks steps.
    is_marked: bool,
}

const PLAIN: Case = Case {
    what: "plain",
    devices: 2,
    steps: 12,
    kernels: &[400, 300, 200],
    rounds: 1,
    late: 0,
    hidden: 500,
    exposed: 100,
    gap: 0,
    ahead: 3,
    names_ops: true,
    graph: false,
    programs: 1,
    other_every: 0,
    before: 0,
    is_marked: true,
};

fn stat(name: &str, value: Value) -> Stat {
    let id = STATS.iter().position(|known| *known == name).unwrap();
    Stat { metadata_id: id as i64 + 1, value }
}

struct Writer {
    plane: Plane,
}

impl Writer {
    fn new(name: String) -> Self {
        let mut plane = Plane { name, ..Plane::default() };
        for (id, name) in (1_i64..).zip(STATS) {
            plane
                .stat_metadata
                .push((id, StatMetadata { id, name: name.into(), description: String::new() }));
        }
        Self { plane }
    }

    fn event(&mut self, name: &str, start_us: i64, length_us: i64, stats: Vec<Stat>) -> Event {
        let known = self.plane.event_metadata.iter().find(|(_, meta)| meta.name == name).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let id = self.plane.event_metadata.len() as i64 + 1;
            self.plane
                .event_metadata
                .push((id, EventMetadata { id, name: name.into(), ..EventMetadata::default() }));
            id
        });
        Event { stats, ..Event::at(id, start_us * US, length_us * US) }
    }
}

/// What a step computes, microseconds.
fn compute(case: &Case) -> i64 {
    case.kernels.iter().sum::<i64>() * case.rounds as i64
}

/// When each step is on the device: from its first kernel to its last.
fn places(case: &Case) -> Vec<(i64, i64)> {
    let length = compute(case) + case.late + case.exposed;
    let mut at = 2_000 + case.before;
    let mut found = Vec::new();
    for step in 0..case.steps {
        found.push((at, at + length));
        at += length + case.gap;
        if case.other_every > 0 && (step + 1) % case.other_every == 0 {
            at += 300;
        }
    }
    found
}

fn profile(case: &Case) -> Profile {
    let steps = places(case);
    let mut host = Writer::new("/host:CPU".into());
    let mut thread = Line::new(1, "python");
    let mut correlation = 0;
    let mut launches: Vec<(i64, u64)> = Vec::new();
    let mut gpus = Vec::new();
    for device in 0..case.devices {
        let mut gpu = Writer::new(format!("/device:GPU:{device}"));
        let mut lines = [
            Line::new(7, "Stream #7(Compute)"),
            Line::new(8, "Stream #8(Compute)"),
            Line::new(9, "Stream #9(MemcpyH2D,MemcpyD2D)"),
        ];
        if case.before > 0 {
            let stats = kernel(case, 900_000, 0, "fusion.1");
            lines[0].events.push(gpu.event("fusion_1", 2_000, case.before, stats));
        }
        for (nth, (start, end)) in steps.iter().enumerate() {
            let step = nth as i64;
            // One marker after another, each well before its work where the host launches ahead.
            let marked = if case.ahead == 0 { *start } else { marker(case, &steps, step).0 + 2 };
            let mut launch = |of_graph: bool| {
                if !(case.graph && of_graph && launches.last().is_some_and(|l| l.0 == step)) {
                    correlation += 1;
                    launches.push((step, correlation));
                    let name = if case.graph && of_graph { "cuGraphLaunch" } else { "cuLaunchKernelEx" };
                    let at = marked + if case.ahead == 0 { -10 } else { 0 };
                    let stats = vec![stat("correlation_id", Value::Uint(correlation))];
                    thread.events.push(host.event(name, at, 1, stats));
                }
                correlation
            };
            let mut now = *start;
            let each = case.kernels.iter().enumerate();
            for (nth, (i, length)) in std::iter::repeat_n(each, case.rounds).flatten().enumerate() {
                let is_last = nth + 1 == case.kernels.len() * case.rounds;
                let length = &(length + if device == 0 && is_last { case.late } else { 0 });
                let (id, program) = (launch(true), i * case.programs / case.kernels.len());
                let stats = kernel(case, id, program, &format!("fusion.{i}"));
                lines[0].events.push(gpu.event(&format!("loop_fusion_{i}"), now, *length, stats));
                now += length;
            }
            let (gather, reduce) = (launch(true), launch(true));
            if case.hidden > 0 {
                let stats = kernel(case, gather, 0, "all-gather-start.3");
                let name = "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)";
                lines[1].events.push(gpu.event(name, *start, case.hidden, stats));
            }
            if case.exposed > 0 {
                let stats = kernel(case, reduce, case.programs - 1, "all-reduce-start.2");
                let name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)";
                lines[1].events.push(gpu.event(name, now, end - now, stats));
            }
            let copies = "kind_src:device kind_dst:device size:4096 dest:0 async:1";
            let stats = vec![
                stat("correlation_id", Value::Uint(launch(false))),
                stat("memcpy_details", Value::Str(copies.into())),
            ];
            lines[2].events.push(gpu.event("CopyDeviceToDevice", start + 20, 30, stats));
            if case.other_every > 0 && (step + 1) % case.other_every == 0 {
                correlation += 1;
                let mut stats = kernel(case, correlation, 0, "fusion.77");
                if case.names_ops {
                    stats[3] = stat("hlo_module", Value::Str("jit_evaluate".into()));
                }
                lines[0].events.push(gpu.event("evaluate", *end, 300, stats));
            }
        }
        gpu.plane.lines.extend(lines);
        gpus.push(gpu.plane);
    }
    for step in if case.is_marked { 0..case.steps } else { 0..0 } {
        let (from, to) = marker(case, &steps, step);
        let stats = vec![stat("step_num", Value::Int(step + 40)), stat("_r", Value::Int(1))];
        thread.events.push(host.event("train", from, to - from, stats));
    }
    thread.events.sort_by_key(|e| match e.time {
        haloscope_xspace::EventTime::OffsetPs(at) => (at, -e.duration_ps),
        haloscope_xspace::EventTime::Occurrences(_) => (0, 0),
    });
    host.plane.lines.push(thread);
    let planes = std::iter::once(host.plane).chain(gpus).collect();
    load::from_bytes("host.xplane.pb", Space { planes, ..Space::default() }.to_bytes()).unwrap()
}

/// The host's marker of a step, microseconds: around its work where the host waits for it, else a short one, as many steps ahead.
fn marker(case: &Case, steps: &[(i64, i64)], step: i64) -> (i64, i64) {
    let (start, end) = steps[step as usize];
    if case.ahead == 0 {
        return (start - 15, end + 5);
    }
    match usize::try_from(step - case.ahead) {
        // The queue is full: the host goes on when a step begins.
        Ok(at) => (steps[at].0 + 10, steps[at].0 + 60),
        Err(_) => (1_000 + 60 * step, 1_050 + 60 * step),
    }
}

fn kernel(case: &Case, correlation: u64, program: usize, op: &str) -> Vec<Stat> {
    let details = "regs:32 static_shared:0 dynamic_shared:0 grid:8,1,1 block:128,1,1 occ_pct:50";
    let mut stats = vec![
        stat("correlation_id", Value::Uint(correlation)),
        stat("kernel_details", Value::Str(details.into())),
    ];
    if case.names_ops {
        stats.push(stat("hlo_op", Value::Str(op.into())));
        stats.push(stat("hlo_module", Value::Str(format!("jit_part_{program}"))));
    }
    stats
}

/// What was laid into a timeline, microseconds a step and device.
struct Truth {
    step: f64,
    exposed: f64,
    hidden: f64,
    /// Of the active window, all in all.
    idle: f64,
    active: f64,
}

fn truth(case: &Case) -> Truth {
    let steps = places(case);
    let (first, last) = (steps[0].0 - case.before, steps.last().unwrap().1);
    let others = if case.other_every > 0 { case.steps / case.other_every } else { 0 };
    let tail = if case.other_every > 0 && case.steps % case.other_every == 0 { 300 } else { 0 };
    let active = (last + tail - first) as f64;
    let busy = steps.iter().map(|(from, to)| to - from).sum::<i64>() + 300 * others + case.before;
    let length = (steps[0].1 - steps[0].0) as f64;
    Truth {
        step: match case.ahead {
            0 => length + 20.0,
            _ => length + case.gap as f64,
        },
        exposed: case.exposed as f64 + (case.late * (case.devices - 1)) as f64 / case.devices as f64,
        hidden: case.hidden.min(compute(case)) as f64,
        idle: active - busy as f64,
        active,
    }
}

fn us(report: &Report, id: &str) -> f64 {
    number(report, id) / US as f64
}

/// The time of a row of a table, microseconds; 0 where the table has no such row.
fn time_of(report: &Report, table: &str, row: &str) -> f64 {
    let table = report.table(table).unwrap();
    let at = table.rows.iter().position(|r| r[0].as_text() == Some(row));
    at.map_or(0.0, |at| table.cell(at, "time_ps").unwrap().number().unwrap() / US as f64)
}

#[track_caller]
fn within(found: f64, expected: f64, what: &str) {
    near(found, expected, (0.01 * expected).max(0.01), what);
}

fn check(case: &Case) {
    let (truth, profile) = (truth(case), profile(case));
    let what = |id: &str| format!("{}: {id}", case.what);
    let [overview, steps, idle, comm] =
        ["overview", "steps", "idle", "comm"].map(|id| ask(&profile, id, &[]));
    for (report, name) in [(&overview, "overview"), (&steps, "steps")] {
        within(us(report, "step_time_p50_ps"), truth.step, &what(&format!("step in {name}")));
        within(us(report, "step_time_device_mean_ps"), truth.step, &what(&format!("mean step in {name}")));
    }
    within(us(&comm, "step_ps"), truth.step, &what("step in comm"));
    within(us(&comm, "exposed_ps_per_step"), truth.exposed, &what("exposed in comm"));
    within(us(&comm, "hidden_ps_per_step"), truth.hidden, &what("hidden in comm"));
    let all = truth.exposed * case.steps as f64;
    within(time_of(&overview, "time", "exposed communication"), all, &what("exposed in overview"));
    within(time_of(&idle, "waterfall", "exposed communication"), all, &what("exposed in idle"));
    within(
        number(&overview, "idle_share_of_active_window") * truth.active,
        truth.idle,
        &what("idle in overview"),
    );
    within(us(&overview, "active_window_ps"), truth.active, &what("active window"));
    // Every class of one is that of the other; of the idle time all but what lies outside of the active window.
    for row in ["transfers to and from the host", "copies and layout changes", "exposed communication"] {
        near(time_of(&overview, "time", row), time_of(&idle, "waterfall", row), 1e-6, &what(row));
    }
    let limits = ["compute-bound ops", "memory-bound ops", "ops of unknown limit"];
    let split: f64 = limits.iter().map(|row| time_of(&overview, "time", row)).sum();
    near(split, time_of(&idle, "waterfall", "compute"), 1e-6, &what("compute, split"));
    let between: f64 =
        ["between programs", "idle inside programs"].iter().map(|row| time_of(&idle, "waterfall", row)).sum();
    near(time_of(&overview, "time", "idle time"), between, 1e-6, &what("idle time"));
    // A step's classes are those of the device that took longest, and add up to it.
    let classes = steps.table("classes").unwrap();
    for row in 1..classes.rows.len() - 1 {
        let cell = |id: &str| classes.cell(row, id).unwrap().number().unwrap() / US as f64;
        within(cell("communication_ps"), case.exposed as f64, &what("communication of a step"));
        let found: f64 = classes
            .columns
            .iter()
            .enumerate()
            .skip(3)
            .filter_map(|(at, _)| classes.rows[row][at].number())
            .sum();
        near(found / US as f64, cell("time_ps"), 1e-3, &what("classes of a step"));
    }
}

#[test]
fn steps_launched_ahead_last_until_their_work_is_done() {
    check(&PLAIN);
    check(&Case { what: "deep queue", ahead: 6, steps: 20, ..PLAIN });
    check(&Case { what: "one ahead, eight devices", ahead: 1, devices: 8, ..PLAIN });
    check(&Case { what: "steps before the capture", before: 1_500, ..PLAIN });
    check(&Case { what: "graphs", graph: true, ..PLAIN });
    check(&Case { what: "several programs", programs: 3, ..PLAIN });
    check(&Case { what: "a loop", rounds: 4, ..PLAIN });
    check(&Case { what: "a loop of graphs", rounds: 4, graph: true, ..PLAIN });
    check(&Case { what: "no ops named", names_ops: false, ..PLAIN });
    check(&Case { what: "nothing hidden", hidden: 0, exposed: 900, ..PLAIN });
    check(&Case { what: "nothing exposed", hidden: 899, exposed: 0, ..PLAIN });
}

#[test]
fn who_waits_for_a_late_device_waits_in_the_collective() {
    let case = Case { what: "one of four late", devices: 4, late: 350, ..PLAIN };
    check(&case);
    check(&Case { what: "one of eight late, graphs", devices: 8, late: 80, graph: true, ..PLAIN });
    check(&Case { what: "one of two late, the host waits", late: 500, ahead: 0, gap: 60, ..PLAIN });
    check(&Case { what: "one of four late, no ops named", devices: 4, late: 350, names_ops: false, ..PLAIN });
    let diagnosis = ask(&profile(&case), "diagnose", &[]);
    let cause = words(&diagnosis, "first_cause");
    assert_eq!(cause, "straggler", "{}", words(&diagnosis, "verdict"));
}

#[test]
fn steps_that_the_host_waits_for_are_their_markers() {
    check(&Case { what: "waits", ahead: 0, gap: 60, ..PLAIN });
    check(&Case { what: "waits, no ops named", ahead: 0, gap: 60, names_ops: false, ..PLAIN });
    check(&Case { what: "waits, several programs", ahead: 0, gap: 25, programs: 2, ..PLAIN });
}

#[test]
fn a_program_that_no_marker_launched_is_of_no_step() {
    let case = Case { what: "evaluation", other_every: 4, ..PLAIN };
    check(&case);
    let steps = ask(&profile(&case), "steps", &[]);
    let table = steps.table("steps").unwrap();
    let (times, classes): (Vec<f64>, Vec<_>) = (0..table.rows.len())
        .map(|row| (table.cell(row, "duration_ps").unwrap().number().unwrap(), &table.rows[row][1]))
        .unzip();
    assert_eq!(times.len(), 12);
    assert!(times.iter().skip(1).all(|ps| (ps / 1e9 - 1.0).abs() < 1e-6), "{times:?} {classes:?}");
}

#[test]
fn a_run_without_markers_has_a_step_a_round_of_programs() {
    for (case, main) in [
        (Case { what: "one program", ..PLAIN }, "jit_part_0"),
        (Case { what: "three programs", programs: 3, ..PLAIN }, "jit_part_0"),
    ] {
        let unmarked = profile(&Case { is_marked: false, ..case });
        let steps = ask(&unmarked, "steps", &[]);
        assert!(words(&steps, "step_source").contains(main), "{}", words(&steps, "step_source"));
        within(us(&steps, "step_time_mean_ps"), 1000.0, case.what);
        within(us(&steps, "step_time_min_ps"), 1000.0, case.what);
    }
}

#[test]
fn timelines_of_an_h100_are_as_they_were_laid() {
    let Some(folder) = traces("gpu-overlap") else { return };
    let truth: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("truth.json")).unwrap()).unwrap();
    for (name, truth) in truth.as_object().unwrap() {
        let run = folder.join(name);
        if !run.is_dir() {
            println!("skipped: {} is not here", run.display());
            continue;
        }
        let profile = load::open(&load::find(&run).unwrap()).unwrap();
        let built = |key: &str| truth[key].as_f64().unwrap();
        let [overview, steps, idle, comm, kernels] =
            ["overview", "steps", "idle", "comm", "kernels"].map(|id| ask(&profile, id, &[]));
        let (count, devices) = (10.0, number(&overview, "device_count"));
        for report in [&overview, &steps] {
            within(us(report, "step_time_mean_ps"), built("step"), name);
        }
        within(us(&comm, "step_ps"), built("step"), name);
        within(us(&comm, "exposed_ps_per_step"), built("exposed"), name);
        within(us(&comm, "hidden_ps_per_step"), built("hidden"), name);
        for (report, table) in [(&overview, "time"), (&idle, "waterfall")] {
            within(time_of(report, table, "exposed communication") / count, built("exposed"), name);
        }
        within(us(&kernels, "time_ps") / count / devices, built("kern"), name);
        let idle_us =
            number(&overview, "idle_share_of_active_window") * us(&overview, "active_window_ps") / count;
        near(idle_us, built("idle"), (0.01 * built("idle")).max(0.01), name);
        let gaps: f64 = ["between programs", "idle inside programs"]
            .iter()
            .map(|row| time_of(&idle, "waterfall", row))
            .sum();
        near(gaps / count, built("idle"), (0.01 * built("idle")).max(0.01), name);
        let row = row_of(overview.table("time").unwrap(), "exposed communication");
        let share = overview.table("time").unwrap().cell(row, "share").unwrap().number().unwrap();
        near(share, built("exposed") / built("step"), 0.002, name);
    }
}
