//! What each TPU core did in each group of events, as a rule a step.

use std::borrow::Cow;
use std::collections::BTreeMap;

use haloscope_event_groups::Context;
use haloscope_profile::{Device, DeviceKind, Event, HostId, Profile};
use haloscope_report::stop;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::op_sums::Sums;
use rayon::prelude::*;

use crate::db::{devices_of, tpu_row};
use crate::steps::Environment;

/// What one core did in each group of events.
pub(super) struct CoreOps<'p> {
    pub(super) id: u32,
    /// `None` for ops that have no row.
    pub(super) ops: Vec<Option<Op<'p>>>,
    /// In the order of the ops.
    pub(super) groups: BTreeMap<i64, Vec<Runs>>,
}

/// An op of a core.
pub(super) struct Op<'p> {
    pub(super) program_id: u64,
    pub(super) name: Cow<'p, str>,
    pub(super) category: Cow<'p, str>,
    pub(super) per_run: tpu_row::PerRun,
}

/// The executions of an op in one group of events.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Runs {
    /// Its place in [`CoreOps::ops`].
    pub(super) op: usize,
    pub(super) occurrences: u64,
    /// Time, picoseconds, nested ops included.
    pub(super) time_ps: u64,
    /// Time less that of ops directly inside, picoseconds.
    pub(super) self_ps: u64,
}

impl Runs {
    fn new(op: usize, sum: Sums) -> Self {
        let (time_ps, self_ps) = (sum.total_ps.max(0) as u64, sum.self_ps.max(0) as u64);
        Self { op, occurrences: sum.occurrences, time_ps, self_ps }
    }

    fn add(&mut self, other: &Self) {
        self.occurrences += other.occurrences;
        self.time_ps = self.time_ps.saturating_add(other.time_ps);
        self.self_ps = self.self_ps.saturating_add(other.self_ps);
    }
}

pub(super) fn of_host<'p>(profile: &'p Profile, host: HostId, environment: &Environment) -> Vec<CoreOps<'p>> {
    let devices: Vec<&Device> =
        devices_of(profile, host).into_iter().filter(|d| d.kind == DeviceKind::Tpu).collect();
    if devices.is_empty() {
        return Vec::new();
    }
    let Some(context) = environment.context(profile, host) else { return Vec::new() };
    devices.par_iter().map(stop::carried(|device: &&Device| of_core(profile, device, context))).collect()
}

fn of_core<'p>(profile: &'p Profile, device: &Device, context: &Context) -> CoreOps<'p> {
    let id = profile.plane(device.plane).wire_id as u32;
    let mut core = CoreOps { id, ops: Vec::new(), groups: BTreeMap::new() };
    let found = DeviceOps::find(profile, device);
    // A core has one line of ops.
    let Some((line, _)) = found.lines(profile).next() else { return core };
    let Some(lane) = context.lane(line.id).filter(|lane| lane.is_plain()) else { return core };
    let mut groups = ByGroup::new(found.ops.len());
    found.walk(profile, None, |op, event, self_ps| {
        if let Some(group) = lane.group(event.index) {
            groups.add(group, op, event, self_ps);
        }
    });
    core.groups = groups.finish();
    let op = |(meta, _): (OpMeta<'p>, _)| {
        let per_run = tpu_row::PerRun::new(&meta)?;
        Some(Op { program_id: meta.program_id?, name: meta.name, category: meta.category, per_run })
    };
    core.ops = found.ops.into_iter().map(op).collect();
    core
}

/// Executions by group and op. As a rule a group's events follow one another: the group at hand has a table of all ops.
struct ByGroup {
    at_hand: u32,
    sums: Vec<Sums>,
    touched: Vec<usize>,
    done: BTreeMap<u32, Vec<Runs>>,
}

impl ByGroup {
    fn new(ops: usize) -> Self {
        Self { at_hand: 0, sums: vec![Sums::default(); ops], touched: Vec::new(), done: BTreeMap::new() }
    }

    fn add(&mut self, group: u32, op: usize, event: &Event, self_ps: i64) {
        if group != self.at_hand {
            self.put_away();
            self.at_hand = group;
        }
        let sum = &mut self.sums[op];
        if sum.occurrences == 0 {
            self.touched.push(op);
        }
        sum.add(event, self_ps, None);
    }

    fn put_away(&mut self) {
        if !self.touched.is_empty() {
            let runs = self.touched.drain(..).map(|op| Runs::new(op, std::mem::take(&mut self.sums[op])));
            self.done.entry(self.at_hand).or_default().extend(runs);
        }
    }

    /// The executions of each group in the order of the ops.
    fn finish(mut self) -> BTreeMap<i64, Vec<Runs>> {
        self.put_away();
        let in_order = |(group, mut runs): (u32, Vec<Runs>)| {
            runs.sort_unstable_by_key(|run| run.op);
            runs.dedup_by(|next, run| {
                let same = next.op == run.op;
                if same {
                    run.add(next);
                }
                same
            });
            (i64::from(group), runs)
        };
        self.done.into_iter().map(in_order).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_comes_back_is_still_one() {
        let mut groups = ByGroup::new(3);
        let event = |start_ps| Event { index: 0, meta: 0, start_ps, end_ps: start_ps + 10 };
        for (group, op, start_ps) in [(7, 2, 0), (8, 0, 20), (7, 1, 40), (7, 2, 60), (7, 2, 80)] {
            groups.add(group, op, &event(start_ps), 4);
        }
        let groups = groups.finish();
        let all = |group: i64| -> Vec<_> {
            groups[&group].iter().map(|run| (run.op, run.occurrences, run.time_ps, run.self_ps)).collect()
        };
        assert_eq!(all(7), [(1, 1, 10, 4), (2, 3, 30, 12)]);
        assert_eq!(all(8), [(0, 1, 10, 4)]);
    }
}
