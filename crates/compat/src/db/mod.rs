//! Sums by op over one or more hosts: what XProf's tools on ops are shaped from.
//!
//! A [`Row`] is one op of one program, a [`Db`] all of them. Times, self times and nesting are those of
//! `haloscope_time`; here they are only regrouped: an op without a program or symbol has no row, FLOPs that nobody
//! counted are 0, idle time is a row of its own.

mod gpu;
pub(crate) mod hlo;
mod host;
mod kernels;
mod perf;
mod rates;
mod row;
mod run;
mod sparse;
pub(crate) mod steps;
mod tpu;
mod tpu_row;
mod whole;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use haloscope_event_groups::Context;
use haloscope_profile::{Device, DeviceKind, HostId, Profile};
use haloscope_report::stop;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

pub(crate) use host::host_ops;
pub(crate) use kernels::{Kernel, kernels};
pub(crate) use perf::{PerfEnv, bandwidth};
pub(crate) use rates::{Rates, gibi, micros, over};
use row::add_accesses;
pub(crate) use row::{CoreType, Row, SourceInfo};
pub(crate) use run::{Hardware, RunEnv};
pub(crate) use whole::{Part, Whole};

/// The name and category of the row that stands for idle time.
pub(crate) const IDLE: &str = "IDLE";

/// Ops with their sums.
#[derive(Debug, Clone, Default)]
pub(crate) struct Db<'p> {
    /// One row an op, in the order in which they were found; the idle time is one of them.
    pub(crate) rows: Vec<Row<'p>>,
    /// Time from the first op to the last, summed over devices, picoseconds; at least [`Db::op_ps`].
    pub(crate) total_ps: u64,
    /// Self times of all ops, picoseconds.
    pub(crate) op_ps: u64,
    /// Self times of all ops as they would be at the devices' default clock, picoseconds; 0 where nobody measured it.
    pub(crate) normalized_op_ps: u64,
    row_of: FxHashMap<(u64, Cow<'p, str>), usize>,
}

impl<'p> Db<'p> {
    /// A table of the ops of one device, which took `total_ps` from the first to the last.
    fn of_device(rows: Vec<Row<'p>>, total_ps: u64) -> Self {
        let mut db = Self::default();
        for row in rows {
            db.op_ps = db.op_ps.saturating_add(row.self_ps);
            db.normalized_op_ps = db.normalized_op_ps.saturating_add(row.normalized_self_ps());
            db.add(row);
        }
        db.finish(total_ps)
    }

    /// Sets the time from the first op to the last, and adds what of it no op took as idle.
    pub(crate) fn finish(mut self, total_ps: u64) -> Self {
        self.total_ps = total_ps.max(self.op_ps);
        self.add(Row::idle(self.total_ps - self.op_ps));
        self
    }

    /// Adds an op: to its row, or as a new one.
    pub(crate) fn add(&mut self, row: Row<'p>) {
        match self.row_of.get(&(row.program_id, row.name.clone())) {
            Some(&at) => self.rows[at].merge(row),
            None => {
                self.row_of.insert((row.program_id, row.name.clone()), self.rows.len());
                self.rows.push(row);
            }
        }
    }

    /// Adds another table.
    pub(crate) fn merge(&mut self, other: Self) {
        self.total_ps = self.total_ps.saturating_add(other.total_ps);
        self.op_ps = self.op_ps.saturating_add(other.op_ps);
        self.normalized_op_ps = self.normalized_op_ps.saturating_add(other.normalized_op_ps);
        for row in other.rows {
            self.add(row);
        }
    }

    /// The rows by self time, largest first, then by name.
    #[must_use]
    pub(crate) fn sorted(&self) -> Vec<&Row<'p>> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by(|a, b| (b.self_ps, &a.name, a.program_id).cmp(&(a.self_ps, &b.name, b.program_id)));
        rows
    }
}

/// The devices of a host whose ops count: its TPU cores, or its GPUs where it has none.
pub(crate) fn devices_of(profile: &Profile, host: HostId) -> Vec<&Device> {
    let of = |kind| profile.devices.iter().filter(move |d| d.host == host && d.kind == kind);
    let tpus: Vec<_> = of(DeviceKind::Tpu).collect();
    if tpus.is_empty() { of(DeviceKind::Gpu).collect() } else { tpus }
}

/// The ops of all devices of these hosts.
#[must_use]
pub(crate) fn device_ops<'p>(profile: &'p Profile, hosts: &[HostId]) -> Db<'p> {
    device_ops_with(profile, hosts, |_| None)
}

/// The same where it is `known` already what belongs together on a host.
#[must_use]
pub(crate) fn device_ops_with<'p, 'c>(
    profile: &'p Profile,
    hosts: &[HostId],
    known: impl Fn(HostId) -> Option<&'c Context>,
) -> Db<'p> {
    let devices: Vec<&Device> = hosts.iter().flat_map(|&h| devices_of(profile, h)).collect();
    let (tpus, gpus): (Vec<&Device>, Vec<&Device>) =
        devices.into_iter().partition(|d| d.kind == DeviceKind::Tpu);
    let cores: Vec<tpu::CoreOps<'p>> =
        tpus.par_iter().map(stop::carried(|device: &&Device| tpu::CoreOps::new(profile, device))).collect();
    // Grouping leaves steps out. A host's events are grouped where that may change the time from the first op to the last.
    let unsure = tpus.iter().zip(&cores).filter(|(_, core)| core.steps_stick_out());
    let unsure: BTreeSet<HostId> = unsure.map(|(device, _)| device.host).collect();
    let known: BTreeMap<HostId, &Context> =
        unsure.iter().filter_map(|host| Some((*host, known(*host)?))).collect();
    let others: Vec<HostId> = unsure.into_iter().filter(|host| !known.contains_key(host)).collect();
    let others: BTreeMap<HostId, Context> =
        others.into_par_iter().map(stop::carried(|host| (host, Context::of_steps(profile, host)))).collect();
    let context = |host| known.get(&host).copied().or_else(|| others.get(&host));
    let cores = tpus.iter().zip(cores);
    let cores = cores.map(|(device, core)| core.finish(profile, device, context(device.host)));
    let mut parts: Vec<Db<'p>> = cores.collect();
    parts.par_extend(gpus.par_iter().map(stop::carried(|device: &&Device| gpu::ops(profile, device))));
    let mut all = Db::default();
    for part in parts {
        all.merge(part);
    }
    all
}

/// The names of programs, by id, as the HLO modules that these hosts embedded have them.
#[must_use]
pub(crate) fn program_names<'p>(profile: &'p Profile, hosts: &[HostId]) -> FxHashMap<u64, &'p str> {
    let modules = profile.modules.iter().filter(|m| hosts.contains(&m.host));
    modules.filter_map(|m| Some((m.program_id?, m.name.as_str()))).collect()
}
