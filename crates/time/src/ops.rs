//! Ops: how often each ran, how long in all and by itself, how many FLOPs and bytes it took.
//!
//! Self time is an event's time less that of the events directly inside it. TPU ops come from the `XLA Ops` line by the
//! device's own clock; GPU ops are the kernels on the streams, grouped by the HLO op that launched them; CPU ops are the
//! host events that name an HLO op.

pub mod analysis;

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::intervals::Intervals;
use super::op_meta::OpMeta;
use super::op_rows::DeviceOps;
use super::op_sums::{Sums, sums};
use super::select::Selection;
use crate::roofline::{Work, add_known};
use crate::window_index::WindowIndex;
use haloscope_profile::{Device, LineId, Profile};
use haloscope_report::stop;

/// One op of one program, summed over its executions on the selected devices.
#[derive(Debug, Clone, Default)]
pub struct Op<'p> {
    /// What the profile says of it.
    pub meta: OpMeta<'p>,
    /// The program's name; empty where it is not known.
    pub module: Cow<'p, str>,
    /// Executions that start in the selection.
    pub occurrences: u64,
    /// Time of all executions, picoseconds, nested ops included.
    pub total_ps: i64,
    /// Time less that of ops directly inside, picoseconds.
    pub self_ps: i64,
    /// FLOPs of all executions as counted for the device; `None` where nobody counted them.
    pub flops: Option<f64>,
    /// FLOPs of all executions as written in the model.
    pub model_flops: Option<f64>,
    /// Bytes accessed in all memories.
    pub bytes: Option<f64>,
    /// Bytes to and from HBM.
    pub hbm_bytes: Option<f64>,
    /// Number of devices it ran on.
    pub devices: u32,
}

impl Op<'_> {
    /// The op as work done in `time_ps`, to hold against the roofline. Without FLOPs and bytes for the start and done of
    /// asynchronous ops, whose transfer takes another time than theirs.
    #[must_use]
    pub fn work(&self, time_ps: i64) -> Work {
        self.meta.work(time_ps, self.flops, self.hbm_bytes)
    }
}

/// Collects the ops of a selection, largest self time first. FLOPs and bytes of an execution that is partly in the
/// selection count by its share of time.
#[must_use]
pub fn collect<'p>(profile: &'p Profile, selection: &Selection<'p>) -> Vec<Op<'p>> {
    let takes = |op: &Op<'p>| !selection.names_modules() || selection.takes_module(&op.module);
    let one = |at: &usize| of_device(profile, selection.devices[*at], selection.window(*at));
    let mut all = Together::default();
    // A few devices at a time: a run of many hosts has hundreds, and each has an entry for each of its ops.
    let positions: Vec<usize> = (0..selection.devices.len()).collect();
    for batch in positions.chunks(4 * rayon::current_num_threads()) {
        let parts: Vec<_> = batch.par_iter().map(stop::carried(one)).collect();
        parts.into_iter().flatten().filter(takes).for_each(|op| all.take(Cow::Owned(op)));
    }
    all.finish()
}

/// Adds up the ops of several devices, largest self time first.
#[must_use]
pub fn together<'p>(parts: impl IntoIterator<Item = Op<'p>>) -> Vec<Op<'p>> {
    let mut all = Together::default();
    parts.into_iter().for_each(|op| all.take(Cow::Owned(op)));
    all.finish()
}

/// The ops of several devices, added up in the order in which they come.
#[derive(Debug, Default)]
pub struct Together<'p> {
    ops: Vec<Op<'p>>,
    row_of: FxHashMap<(Option<u64>, Cow<'p, str>), usize>,
}

impl<'p> Together<'p> {
    /// Adds an op of a device.
    pub fn add(&mut self, op: &Op<'p>) {
        self.take(Cow::Borrowed(op));
    }

    fn take(&mut self, op: Cow<'_, Op<'p>>) {
        let next = self.ops.len();
        let row = *self.row_of.entry((op.meta.program_id, op.meta.name.clone())).or_insert(next);
        if row == next {
            self.ops.push(op.into_owned());
        } else {
            merge(&mut self.ops[row], &op);
        }
    }

    /// The sums, largest self time first.
    #[must_use]
    pub fn finish(mut self) -> Vec<Op<'p>> {
        self.ops.sort_by(|a, b| {
            (b.self_ps, &a.meta.name, a.meta.program_id).cmp(&(a.self_ps, &b.meta.name, b.meta.program_id))
        });
        self.ops
    }
}

fn merge(into: &mut Op<'_>, op: &Op<'_>) {
    into.occurrences += op.occurrences;
    into.total_ps = into.total_ps.saturating_add(op.total_ps);
    into.self_ps = into.self_ps.saturating_add(op.self_ps);
    into.devices += op.devices;
    add_known(&mut into.flops, op.flops);
    add_known(&mut into.model_flops, op.model_flops);
    add_known(&mut into.bytes, op.bytes);
    add_known(&mut into.hbm_bytes, op.hbm_bytes);
}

/// The ops of one device, in no particular order.
pub(super) fn of_device<'p>(profile: &'p Profile, device: &Device, cut: Option<&Intervals>) -> Vec<Op<'p>> {
    match WindowIndex::of(profile) {
        Some(kept) => counted_of(kept.ops(profile, device), &kept.sums(profile, device, cut)),
        None => of_rows(profile, DeviceOps::find(profile, device), cut),
    }
}

pub(super) fn of_rows<'p>(profile: &Profile, rows: DeviceOps<'p>, cut: Option<&Intervals>) -> Vec<Op<'p>> {
    let sums = sums(profile, &rows, cut, |_| true);
    counted(rows.ops.into_iter(), &sums)
}

/// The ops of some of a device's lines, in no particular order, as [`collect`] counts them.
#[must_use]
pub fn of_lines<'a>(
    profile: &Profile,
    rows: &'a DeviceOps<'_>,
    cut: Option<&Intervals>,
    takes_line: impl Fn(LineId) -> bool,
) -> Vec<Op<'a>> {
    counted_of(rows, &sums(profile, rows, cut, takes_line))
}

/// [`of_lines`] with a cut, by what is kept of the run; `None` where nothing is.
#[must_use]
pub fn of_lines_in<'p>(
    profile: &'p Profile,
    device: &Device,
    cut: &Intervals,
    takes_line: impl Fn(LineId) -> bool,
) -> Option<Vec<Op<'p>>> {
    let kept = WindowIndex::of(profile)?;
    let sums = kept.sums_of_lines(profile, device, cut, takes_line);
    Some(counted_of(kept.ops(profile, device), &sums))
}

fn counted_of<'a>(rows: &'a DeviceOps<'_>, sums: &[Sums]) -> Vec<Op<'a>> {
    let ran = |(op, sum): (&'a (OpMeta<'_>, Cow<'_, str>), &Sums)| {
        let (meta, module) = if sum.is_counted() { (op.0.borrowed(), &*op.1) } else { Default::default() };
        (meta, Cow::Borrowed(module))
    };
    counted(rows.ops.iter().zip(sums).map(ran), sums)
}

/// The sums of each of a device's ops over all time, in the order of [`DeviceOps::ops`].
#[must_use]
pub fn sums_of(profile: &Profile, rows: &DeviceOps<'_>) -> Vec<Sums> {
    sums(profile, rows, None, |_| true)
}

/// The ops that ran, with their sums.
pub(super) fn counted<'p>(
    ops: impl Iterator<Item = (OpMeta<'p>, Cow<'p, str>)>,
    sums: &[Sums],
) -> Vec<Op<'p>> {
    let counted = ops.zip(sums).filter(|(_, sum)| sum.is_counted());
    let finish = |((meta, module), sum): ((OpMeta<'p>, Cow<'p, str>), &Sums)| {
        let times = |per_run: Option<f64>| per_run.map(|v| v * sum.executions());
        Op {
            module,
            occurrences: sum.occurrences,
            total_ps: sum.total_ps,
            self_ps: sum.self_ps,
            flops: times(meta.flops),
            model_flops: times(meta.model_flops),
            bytes: times(meta.bytes),
            hbm_bytes: times(meta.hbm_bytes),
            devices: 1,
            meta,
        }
    };
    counted.map(finish).collect()
}
