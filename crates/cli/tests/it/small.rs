//! A small profile of a TPU with all that analyses look at: peaks, steps, module launches, ops with costs, asynchronous
//! pairs, a host thread.

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

const STEPS: i64 = 6;
const STEP_PS: i64 = 10_000_000;

/// Names of stats; a stat's id is its position, counted from 1.
const STATS: [&str; 14] = [
    "device_type_string",
    "peak_teraflops_per_second",
    "peak_hbm_bw_gigabytes_per_second",
    "flops",
    "bytes_accessed",
    "hlo_category",
    "tf_op",
    "source",
    "program_id",
    "run_id",
    "step_num",
    "model_flops",
    "group_id",
    "occurrences",
];

fn stat(name: &str, value: Value) -> Stat {
    let position = STATS.iter().position(|s| *s == name).unwrap();
    Stat { metadata_id: position as i64 + 1, value }
}

fn stat_metadata() -> Vec<(i64, StatMetadata)> {
    let one = |(i, name): (usize, &&str)| {
        let id = i as i64 + 1;
        (id, StatMetadata { id, name: (*name).to_owned(), description: String::new() })
    };
    STATS.iter().enumerate().map(one).collect()
}

fn named(id: i64, name: &str, display_name: &str, stats: Vec<Stat>) -> (i64, EventMetadata) {
    let (name, display_name) = (name.to_owned(), display_name.to_owned());
    (id, EventMetadata { id, name, display_name, stats, ..EventMetadata::default() })
}

fn op(id: i64, name: &str, category: &str, flops: u64, bytes: u64) -> (i64, EventMetadata) {
    let stats = vec![
        stat("hlo_category", Value::Str(category.into())),
        stat("flops", Value::Uint(flops)),
        stat("bytes_accessed", Value::Uint(bytes)),
        stat("tf_op", Value::Str(format!("jit(step)/{category}"))),
        stat("source", Value::Str("train.py:42".into())),
        stat("program_id", Value::Uint(7)),
    ];
    named(id, &format!("%{name} = bf16[128,256]{{1,0}} {category}(%p0)"), name, stats)
}

/// The profile.
pub(crate) fn space() -> Space {
    Space { planes: vec![device(), host()], hostnames: vec!["w-0".into()], ..Space::default() }
}

fn device() -> Plane {
    let mut steps = Line { timestamp_ns: 1_000_000, ..Line::new(1, "Steps") };
    let mut modules = Line { timestamp_ns: 1_000_000, ..Line::new(2, "XLA Modules") };
    let mut ops = Line { timestamp_ns: 1_000_000, ..Line::new(3, "XLA Ops") };
    let mut transfers = Line { timestamp_ns: 1_000_000, ..Line::new(4, "Async XLA Ops") };
    for step in 0..STEPS {
        let start = step * STEP_PS;
        let length = STEP_PS - 2_000_000 + if step == 0 { 1_500_000 } else { step * 1000 };
        let number = stat("step_num", Value::Int(step));
        steps.events.push(Event { stats: vec![number], ..Event::at(10, start, length) });
        let launch = stat("run_id", Value::Uint(100 + step as u64));
        modules.events.push(Event { stats: vec![launch], ..Event::at(11, start, length) });
        ops.events.push(Event::at(1, start, 3_000_000));
        ops.events.push(Event::at(2, start + 3_000_000, 1_000_000));
        ops.events.push(Event::at(3, start + 4_000_000, 2_000_000));
        ops.events.push(Event::at(1, start + 4_200_000, 500_000));
        ops.events.push(Event::at(4, start + 6_500_000, 700_000));
        transfers.events.push(Event::at(5, start + 1_000_000, 4_000_000));
    }
    Plane {
        id: 1,
        name: "/device:TPU:0".into(),
        lines: vec![steps, modules, ops, transfers],
        event_metadata: vec![
            op(1, "fusion.1", "convolution fusion", 400_000_000, 1_000_000),
            op(2, "copy.2", "data formatting", 0, 800_000),
            op(3, "while.3", "while", 0, 0),
            op(4, "all-reduce.4", "all-reduce", 1000, 64_000),
            op(5, "copy-start.5", "async-start", 0, 32_000),
            named(10, "step", "", Vec::new()),
            named(11, "jit_step(7)", "", vec![stat("program_id", Value::Uint(7))]),
        ],
        stat_metadata: stat_metadata(),
        stats: vec![
            stat("device_type_string", Value::Str("TPU v6 Lite".into())),
            stat("peak_teraflops_per_second", Value::Double(918.0)),
            stat("peak_hbm_bw_gigabytes_per_second", Value::Double(1638.0)),
        ],
    }
}

fn host() -> Plane {
    let mut line = Line { timestamp_ns: 1_000_000, ..Line::new(1, "python") };
    for step in 0..STEPS {
        let number = stat("step_num", Value::Int(step));
        line.events.push(Event { stats: vec![number], ..Event::at(1, step * STEP_PS, STEP_PS - 1_000_000) });
        line.events.push(Event::at(2, step * STEP_PS + 1000, 900_000));
    }
    Plane {
        id: 2,
        name: "/host:CPU".into(),
        lines: vec![line],
        event_metadata: vec![
            named(1, "train", "", Vec::new()),
            named(2, "PjitFunction(step)", "", Vec::new()),
        ],
        stat_metadata: stat_metadata(),
        stats: Vec::new(),
    }
}
