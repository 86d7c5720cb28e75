//! A profile in the shape of a TPU training run, of any size: a benchmark needs more than a fixture holds.
//!
//! Files are written as their events come ([`stream`]), so that one of 5 GB takes no memory to speak of.

mod stream;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
#[cfg(test)]
use haloscope_xspace::write::{Event, Line, Space};
use haloscope_xspace::write::{EventMetadata, Plane, Stat, StatMetadata, Value};

use crate::talk;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Size of the file in MB, about
    #[arg(long, default_value_t = 80)]
    mb: u64,
    /// Write a session of this many hosts, a file of that size for each, below the folder PATH
    #[arg(long, value_name = "N")]
    hosts: Option<u32>,
    /// Where to write it (`….xplane.pb`); with --hosts, a log folder
    path: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let bytes = args.mb.saturating_mul(1_000_000);
    let Some(hosts) = args.hosts else { return write(&args.path, bytes, 0) };
    let session = args.path.join("plugins/profile/run");
    (0..hosts).try_for_each(|host| {
        write(&session.join(format!("generated-host-{host:02}.xplane.pb")), bytes, i64::from(host))
    })
}

/// Writes the profile of one host. Under another name until it is whole.
fn write(path: &Path, bytes: u64, host: i64) -> Result<()> {
    let folder = path.parent().context("the file has no folder")?;
    fs::create_dir_all(folder)?;
    let half = path.with_extension("half");
    let written =
        stream::write(&half, bytes, host).with_context(|| format!("cannot write {}", half.display()))?;
    fs::rename(&half, path)?;
    talk(&format!("wrote {} ({written} bytes)", path.display()));
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

/// Steps in a profile of about `bytes` bytes.
fn steps_of(bytes: u64) -> i64 {
    (bytes / (CHIPS as u64 * OPS as u64 * EVENT_BYTES)).max(2) as i64
}

/// A profile of about `bytes` bytes, in memory. The same bytes in every run.
#[cfg(test)]
pub(crate) fn profile(bytes: u64) -> Space {
    let steps = steps_of(bytes);
    let mut planes: Vec<Plane> = (0..CHIPS).map(|chip| device(chip, steps, 0)).collect();
    planes.push(task_environment(steps));
    Space { planes, hostnames: vec![hostname(0)], ..Space::default() }
}

fn hostname(host: i64) -> String {
    format!("generated-host-{host}")
}

fn task_environment(steps: i64) -> Plane {
    let start_ns = 1_783_579_579_390_940_501_u64;
    Plane {
        name: "Task Environment".into(),
        stat_metadata: stat_metadata(),
        stats: vec![
            stat("profile_start_time", Value::Uint(start_ns)),
            stat("profile_stop_time", Value::Uint(start_ns + (steps as u64 + 1) * (STEP_PS / 1_000) as u64)),
        ],
        ..Plane::default()
    }
}

/// A step takes 25 ms, most of which the ops fill.
const STEP_PS: i64 = 25_000_000_000;
/// Of a step nothing runs this long.
const REST_PS: i64 = 700_000_000;

/// The lines of a device, in this order.
const LINES: [&str; 3] = ["Steps", "XLA Modules", "XLA Ops"];

/// An event of the generated profile: its three integers, which its device's own clock repeats, and what else it says.
#[derive(Clone, Copy)]
struct Row {
    metadata_id: i64,
    offset_ps: i64,
    duration_ps: i64,
    third: Option<(&'static str, u64)>,
}

/// Hands the events of a line of a chip to `each`.
fn rows(line: usize, chip: i64, steps: i64, host: i64, mut each: impl FnMut(Row)) {
    let module = OPS + 1;
    for step in 0..steps {
        let start = 1_000_000_000 + step * STEP_PS + (chip + CHIPS * host) * 1_250;
        let span = STEP_PS - REST_PS;
        let whole = |metadata_id, third| Row { metadata_id, offset_ps: start, duration_ps: span, third };
        match line {
            0 => each(whole(module + 1 + step, Some(("step_idle_time_ps", 0)))),
            1 => each(whole(module, Some(("run_id", step as u64)))),
            _ => {
                let mut at = start + 2_500;
                for op in 0..OPS {
                    let duration_ps = duration_ps(op, step + 7 * host);
                    each(Row { metadata_id: op + 1, offset_ps: at, duration_ps, third: None });
                    at += duration_ps + 625;
                }
            }
        }
    }
}

/// A device with its events.
#[cfg(test)]
fn device(chip: i64, steps: i64, host: i64) -> Plane {
    let line = |(i, name): (usize, &&str)| {
        let mut line = Line::new(i as i64 + 1, name);
        rows(i, chip, steps, host, |row| line.events.push(event(row)));
        line
    };
    Plane { lines: LINES.iter().enumerate().map(line).collect(), ..device_without_lines(chip, steps) }
}

fn device_without_lines(chip: i64, steps: i64) -> Plane {
    let module = OPS + 1;
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
        lines: Vec::new(),
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
#[cfg(test)]
fn event(row: Row) -> Event {
    let mut event = Event::at(row.metadata_id, row.offset_ps, row.duration_ps);
    event.stats = vec![
        stat("device_offset_ps", Value::Uint(row.offset_ps as u64)),
        stat("device_duration_ps", Value::Uint(row.duration_ps as u64)),
    ];
    event.stats.extend(row.third.map(|(name, value)| stat(name, Value::Uint(value))));
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
            assert!(sum < STEP_PS - REST_PS, "{sum} ps in step {step}");
        }
    }
}
