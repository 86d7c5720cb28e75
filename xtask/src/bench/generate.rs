//! A profile in the shape of a TPU training run, of any size: a benchmark needs more than a fixture holds.

use std::path::PathBuf;

use anyhow::{Context, Result};
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

use crate::talk;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Size of the file in MB, about
    #[arg(long, default_value_t = 80)]
    mb: u64,
    /// Where to write it (`….xplane.pb`)
    path: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(folder) = args.path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let bytes = profile(args.mb * 1_000_000).to_bytes();
    std::fs::write(&args.path, &bytes).with_context(|| format!("cannot write {}", args.path.display()))?;
    talk(&format!("wrote {} ({} bytes)", args.path.display(), bytes.len()));
    Ok(())
}

/// Number of chips of the one host.
const CHIPS: i64 = 4;
/// Number of HLO ops in the program; each runs once a step.
const OPS: i64 = 600;
/// Size of one op's event on the wire, bytes, about: two 64-bit stats besides its three integers.
const EVENT_BYTES: u64 = 37;
const PROGRAM: u64 = 9_646_411_105_960_254_074;

/// The names of the stats; the id of each is its place, from 1.
const STATS: [&str; 16] = [
    "device_offset_ps",
    "device_duration_ps",
    "run_id",
    "step_idle_time_ps",
    "hlo_category",
    "program_id",
    "symbol_id",
    "flops",
    "model_flops",
    "bytes_accessed",
    "tf_op",
    "device_type_string",
    "peak_teraflops_per_second",
    "peak_hbm_bw_gigabytes_per_second",
    "profile_start_time",
    "profile_stop_time",
];

fn stat(name: &str, value: Value) -> Stat {
    let place = STATS.iter().position(|s| *s == name).unwrap_or(STATS.len());
    Stat { metadata_id: place as i64 + 1, value }
}

fn stat_metadata() -> Vec<(i64, StatMetadata)> {
    let named = |(i, name): (usize, &&str)| {
        let id = i as i64 + 1;
        (id, StatMetadata { id, name: (*name).to_owned(), description: String::new() })
    };
    STATS.iter().enumerate().map(named).collect()
}

/// A profile of about `bytes` bytes. The same bytes in every run.
pub(crate) fn profile(bytes: u64) -> Space {
    let steps = (bytes / (CHIPS as u64 * OPS as u64 * EVENT_BYTES)).max(2) as i64;
    let mut planes: Vec<Plane> = (0..CHIPS).map(|chip| device(chip, steps)).collect();
    let start_ns = 1_783_579_579_390_940_501_u64;
    planes.push(Plane {
        name: "Task Environment".into(),
        stat_metadata: stat_metadata(),
        stats: vec![
            stat("profile_start_time", Value::Uint(start_ns)),
            stat("profile_stop_time", Value::Uint(start_ns + (steps as u64 + 1) * (STEP_PS / 1_000) as u64)),
        ],
        ..Plane::default()
    });
    Space { planes, hostnames: vec!["generated-host-0".into()], ..Space::default() }
}

/// A step takes 25 ms, most of which the ops fill.
const STEP_PS: i64 = 25_000_000_000;

fn device(chip: i64, steps: i64) -> Plane {
    let mut lines = [Line::new(1, "Steps"), Line::new(2, "XLA Modules"), Line::new(3, "XLA Ops")];
    let module = OPS + 1;
    for step in 0..steps {
        let start = 1_000_000_000 + step * STEP_PS + chip * 1_250;
        let span = STEP_PS - 700_000_000;
        let mut marker = timed(module + 1 + step, start, span);
        marker.stats.push(stat("step_idle_time_ps", Value::Uint(0)));
        lines[0].events.push(marker);
        let mut launch = timed(module, start, span);
        launch.stats.push(stat("run_id", Value::Uint(step as u64)));
        lines[1].events.push(launch);
        let mut at = start + 2_500;
        for op in 0..OPS {
            let duration = duration_ps(op, step);
            lines[2].events.push(timed(op + 1, at, duration));
            at += duration + 625;
        }
    }
    let mut event_metadata: Vec<(i64, EventMetadata)> =
        (0..OPS).map(|op| (op + 1, op_metadata(op))).collect();
    let program = format!("jit_train_step({PROGRAM})");
    event_metadata.push((module, EventMetadata { id: module, name: program, ..EventMetadata::default() }));
    for step in 0..steps {
        let id = module + 1 + step;
        event_metadata.push((id, EventMetadata { id, name: step.to_string(), ..EventMetadata::default() }));
    }
    Plane {
        id: 2 + chip * 8,
        name: format!("/device:TPU:{chip}"),
        lines: lines.into(),
        event_metadata,
        stat_metadata: stat_metadata(),
        stats: vec![
            stat("device_type_string", Value::Str("TPU v6 Lite".into())),
            stat("peak_teraflops_per_second", Value::Double(918.0)),
            stat("peak_hbm_bw_gigabytes_per_second", Value::Double(1_638.0)),
        ],
    }
}

/// Between 2 us and 150 us, 600 of which stay within a step; one in seven is long. A little jitter from step to step.
fn duration_ps(op: i64, step: i64) -> i64 {
    let base = 2_000_000 + op * 48_271 % 40_000_000;
    let long = if op % 7 == 0 { 110_000_000 } else { 0 };
    base + long + (op * 31 + step * 17) % 1_000 * 625
}

/// An event with the device's own clock beside the profiler's, as TPU events have them.
fn timed(metadata_id: i64, offset_ps: i64, duration_ps: i64) -> Event {
    let mut event = Event::at(metadata_id, offset_ps, duration_ps);
    event.stats = vec![
        stat("device_offset_ps", Value::Uint(offset_ps as u64)),
        stat("device_duration_ps", Value::Uint(duration_ps as u64)),
    ];
    event
}

fn op_metadata(op: i64) -> EventMetadata {
    let (kind, category) = match op % 7 {
        0 => ("fusion", "convolution fusion"),
        1 => ("copy", "data formatting"),
        2 => ("all-reduce", "all-reduce"),
        _ => ("fusion", "loop fusion"),
    };
    let name = format!("{kind}.{op}");
    let attributes =
        if kind == "fusion" { format!(", kind=kLoop, calls=%computation.{op}") } else { String::new() };
    let shape = "bf16[4096,1024]{1,0:T(8,128)(2,1)}";
    let bytes = 3 * 2 * 4096 * 1024_i64;
    let flops = if op % 7 == 0 { 2 * 4096 * 1024 * 4096 } else { 4096 * 1024_i64 };
    EventMetadata {
        id: op + 1,
        name: format!("%{name} = {shape} {kind}({shape} %p.{op}, {shape} %q.{op}){attributes}"),
        display_name: name,
        stats: vec![
            stat("hlo_category", Value::Str(category.into())),
            stat("program_id", Value::Uint(PROGRAM)),
            stat("symbol_id", Value::Uint(op as u64)),
            stat("flops", Value::Int(flops)),
            stat("model_flops", Value::Int(flops)),
            stat("bytes_accessed", Value::Int(bytes)),
            stat("tf_op", Value::Str(format!("jit(train_step)/layer_{}/dot_general:", op % 24))),
        ],
        ..EventMetadata::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_about_what_was_asked_for() {
        let size = profile(4_000_000).to_bytes().len() as f64;
        assert!((3.2e6..4.8e6).contains(&size), "{size} bytes");
    }

    #[test]
    fn the_ops_of_a_step_end_before_the_step() {
        for step in [0, 1, 40] {
            let sum: i64 = (0..OPS).map(|op| duration_ps(op, step) + 625).sum();
            assert!(sum < STEP_PS - 700_000_000, "{sum} ps in step {step}");
        }
    }
}
