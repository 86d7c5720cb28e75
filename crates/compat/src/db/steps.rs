//! Ops by step.

use haloscope_core::derive::op_rows::DeviceOps;
use haloscope_core::derive::op_sums::{Measured, Sums};
use haloscope_core::derive::steps::{StepClass, Steps};
use haloscope_core::profile::{Device, DeviceKind, Events, HostId, LineKind, Profile};
use rayon::prelude::*;

use super::{Db, devices_of, tpu};

/// The ops of a step on all devices.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepOps<'p> {
    /// The step's number, as XProf counts.
    pub(crate) number: u32,
    /// The ops; each device counts as long as the slowest of its host took. Empty on GPUs, whose ops XProf does not
    /// assign to steps.
    pub(crate) ops: Db<'p>,
}

/// The complete steps of these hosts, aligned by their order. Steps that no marker shows are none.
#[must_use]
pub(crate) fn step_ops<'p>(profile: &'p Profile, hosts: &[HostId]) -> Vec<StepOps<'p>> {
    let all = hosts.iter().map(|&host| of_host(profile, host)).filter(|steps| steps.is_some()).flatten();
    let mut merged: Option<Vec<StepOps<'p>>> = None;
    for steps in all {
        match &mut merged {
            None => merged = Some(steps),
            Some(into) => {
                into.truncate(steps.len());
                for (step, more) in into.iter_mut().zip(steps) {
                    step.ops.merge(more.ops);
                }
            }
        }
    }
    merged.unwrap_or_default()
}

/// The steps of a host; `None` of one without devices.
fn of_host(profile: &Profile, host: HostId) -> Option<Vec<StepOps<'_>>> {
    let devices = devices_of(profile, host);
    match devices.first()?.kind {
        DeviceKind::Tpu => Some(of_tpus(profile, &devices)),
        DeviceKind::Gpu | DeviceKind::Cpu => {
            let steps = Steps::find(profile, &devices);
            let marked = steps.rows.into_iter().enumerate().filter(|_| !steps.source.is_inferred());
            let complete = marked.filter(|(_, step)| step.class != StepClass::Edge);
            Some(complete.map(|(i, _)| StepOps { number: i as u32, ops: Db::default() }).collect())
        }
    }
}

/// What one core did in each of its steps, and how long each took by its own clock.
struct CoreSteps<'p> {
    ops: Vec<Db<'p>>,
    lengths_ps: Vec<i64>,
}

fn of_tpus<'p>(profile: &'p Profile, devices: &[&Device]) -> Vec<StepOps<'p>> {
    let cores: Vec<CoreSteps<'p>> = devices.par_iter().map(|d| of_core(profile, d)).collect();
    // A core without any step takes no part; of the others each has to have a step for it to count.
    let mut cores: Vec<_> = cores.into_iter().filter(|c| !c.ops.is_empty()).collect();
    let count = cores.iter().map(|c| c.ops.len()).min().unwrap_or(0);
    let mut steps: Vec<StepOps<'p>> =
        (0..count).map(|i| StepOps { number: i as u32, ops: Db::default() }).collect();
    let longest =
        |i: usize, cores: &[CoreSteps<'p>]| cores.iter().map(|c| c.lengths_ps[i]).max().unwrap_or(0);
    let lengths: Vec<u64> = (0..count).map(|i| longest(i, &cores).max(0) as u64).collect();
    for core in &mut cores {
        for (step, (ops, length)) in steps.iter_mut().zip(core.ops.drain(..count).zip(&lengths)) {
            if *length > 0 {
                step.ops.merge(ops.finish(*length));
            }
        }
    }
    steps
}

fn of_core<'p>(profile: &'p Profile, device: &Device) -> CoreSteps<'p> {
    let none = CoreSteps { ops: Vec::new(), lengths_ps: Vec::new() };
    let Some(steps) = profile.line_of_kind(device.plane, LineKind::Steps) else { return none };
    let steps = profile.events(steps);
    let found = DeviceOps::find(profile, device);
    let Some((line, _)) = found.lines().next() else { return none };
    let step_of = steps_of(steps, profile.events(line));
    let mut sums = vec![vec![Sums::default(); found.ops.len()]; steps.len()];
    found.walk(profile, None, |row, event, self_ps| {
        if let Some(Some(step)) = step_of.get(event.index) {
            sums[*step][row].add(event, self_ps, None);
        }
    });
    let measured = Measured::default();
    let ops = sums.iter().map(|sums| {
        let rows = found.ops.iter().zip(sums).filter(|(_, sum)| sum.occurrences > 0);
        let mut db = Db::default();
        for row in rows.filter_map(|((meta, _), sum)| tpu::row(meta.clone(), sum, &measured)) {
            db.op_ps = db.op_ps.saturating_add(row.self_ps);
            db.add(row);
        }
        db
    });
    let length = |i| {
        let event = steps.on_device_clock(i);
        event.end_ps - event.start_ps
    };
    CoreSteps { ops: ops.collect(), lengths_ps: (0..steps.len()).map(length).collect() }
}

/// The step in which each op ran: the first that it touches, where one that ends as a step begins belongs to it, and one
/// that begins where the last op's step ends to that. Steps and ops are sorted by start.
fn steps_of(steps: &Events, ops: &Events) -> Vec<Option<usize>> {
    let mut at = 0;
    let find = |op: haloscope_core::profile::Event| {
        while at < steps.len() && steps.get(at).end_ps < op.start_ps {
            at += 1;
        }
        (at < steps.len() && steps.get(at).start_ps <= op.end_ps).then_some(at)
    };
    ops.iter().map(find).collect()
}
