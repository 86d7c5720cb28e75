//! Ops by step.

use std::collections::BTreeMap;

use haloscope_core::derive::context::Context;
use haloscope_core::derive::op_rows::DeviceOps;
use haloscope_core::derive::op_sums::{Measured, Sums};
use haloscope_core::profile::{Device, DeviceKind, HostId, Profile};
use rayon::prelude::*;

use super::{Db, devices_of, tpu};
use crate::steps::{Environment, StepDb};

/// The ops of each step, in the order of [`StepDb::rows`], on all TPU cores; each core counts as long as the slowest of its
/// host took. Empty on GPUs, whose ops XProf does not assign to steps.
#[must_use]
pub(crate) fn step_ops<'p>(profile: &'p Profile, environment: &Environment, steps: &StepDb) -> Vec<Db<'p>> {
    let mut hosts: Vec<HostId> = steps.rows.iter().flat_map(|row| row.groups.iter().map(|g| g.0)).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let all: BTreeMap<HostId, Vec<CoreOps<'p>>> =
        hosts.into_par_iter().map(|host| (host, of_host(profile, host))).collect();
    let of_row = |row: &crate::steps::StepRow| {
        let mut sum = Db::default();
        for (host, group) in &row.groups {
            for core in all.get(host).into_iter().flatten() {
                let id = environment.global_core(*host, core.id);
                if let (Some(step), Some(ops)) = (row.cores.get(&id), core.groups.get(group)) {
                    sum.merge(ops.clone().finish(step.duration_ps.max(0) as u64));
                }
            }
        }
        sum
    };
    steps.rows.iter().map(of_row).collect()
}

/// What one core did in each group of events.
struct CoreOps<'p> {
    id: u32,
    groups: BTreeMap<i64, Db<'p>>,
}

fn of_host(profile: &Profile, host: HostId) -> Vec<CoreOps<'_>> {
    let devices: Vec<&Device> =
        devices_of(profile, host).into_iter().filter(|d| d.kind == DeviceKind::Tpu).collect();
    if devices.is_empty() {
        return Vec::new();
    }
    let context = Context::of(profile, host);
    devices.par_iter().map(|device| of_core(profile, device, &context)).collect()
}

fn of_core<'p>(profile: &'p Profile, device: &Device, context: &Context) -> CoreOps<'p> {
    let id = profile.plane(device.plane).wire_id as u32;
    let mut core = CoreOps { id, groups: BTreeMap::new() };
    let found = DeviceOps::find(profile, device);
    // A core has one line of ops.
    let Some((line, _)) = found.lines().next() else { return core };
    let Some(lane) = context.lane(line.id).filter(|lane| lane.is_plain()) else { return core };
    let mut sums: BTreeMap<u32, Vec<Sums>> = BTreeMap::new();
    found.walk(profile, None, |row, event, self_ps| {
        if let Some(group) = lane.group(event.index) {
            let sums = sums.entry(group).or_insert_with(|| vec![Sums::default(); found.ops.len()]);
            sums[row].add(event, self_ps, None);
        }
    });
    for (group, sums) in sums {
        let rows = found.ops.iter().zip(&sums).filter(|(_, sum)| sum.occurrences > 0);
        let rows = rows.filter_map(|((meta, _), sum)| tpu::row(meta.clone(), sum, &Measured::default()));
        core.groups.insert(i64::from(group), Db::of_ops(rows));
    }
    core
}
