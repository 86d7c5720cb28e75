//! The FLOPs and bytes of a device in many windows of time at once, such as its steps.

use std::borrow::Cow;

use super::intervals::Intervals;
use super::op_meta::{OpMeta, is_container};
use super::op_rows::DeviceOps;
use super::op_sums::share_inside;
use super::select::Selection;
use crate::roofline::{Work, add_known};
use crate::window_index::WindowIndex;
use haloscope_profile::{Device, Event, Profile};

/// No more windows of a device are kept, which take half a megabyte: steps are asked for again and again, and of a new window of time only
/// the steps that it cuts are new.
const MOST_KNOWN: usize = 1 << 12;

/// The work of the selected modules in each of a device's windows, which are sorted and disjoint; an execution that is partly in one
/// counts by its share of time. The time of each piece of work is left at 0 for the caller, who knows what to compare with.
#[must_use]
pub fn work_in_windows(
    profile: &Profile,
    device: &Device,
    windows: &[(i64, i64)],
    selection: &Selection<'_>,
) -> Vec<Work> {
    let Some(kept) = WindowIndex::of(profile) else {
        let ops = DeviceOps::find(profile, device);
        let mut sums = InWindows::new(&ops, windows, selection);
        ops.walk_placed(profile, |row, event, _, counts| {
            if counts {
                sums.add(row, event);
            }
        });
        return sums.out;
    };
    let ops = kept.ops(profile, device);
    let all_modules = !selection.names_modules();
    let mut found: Vec<Option<Work>> = kept.known_work(device, |known| {
        windows.iter().map(|window| known.get(window).copied().filter(|_| all_modules)).collect()
    });
    let mut first = 0;
    for same in found.chunk_by_mut(|a, b| a.is_some() == b.is_some()) {
        let these = &windows[first..first + same.len()];
        first += same.len();
        if same[0].is_some() {
            continue;
        }
        let mut sums = InWindows::new(ops, these, selection);
        let hull = (these[0].0, these[these.len() - 1].1);
        kept.executions(profile, device, hull, |row, event| sums.add(row, event));
        same.iter_mut().zip(sums.out).for_each(|(found, work)| *found = Some(work));
    }
    let found: Vec<Work> = found.into_iter().map(Option::unwrap_or_default).collect();
    if all_modules {
        kept.known_work(device, |known| {
            let room = MOST_KNOWN.saturating_sub(known.len());
            known.extend(windows.iter().copied().zip(found.iter().copied()).take(room));
        });
    }
    found
}

/// Sums in the making.
struct InWindows<'a> {
    ops: &'a DeviceOps<'a>,
    /// Which ops count.
    counts: Vec<bool>,
    windows: &'a [(i64, i64)],
    out: Vec<Work>,
}

impl<'a> InWindows<'a> {
    fn new(ops: &'a DeviceOps<'a>, windows: &'a [(i64, i64)], selection: &Selection<'_>) -> Self {
        let counts = |(meta, module): &(OpMeta<'_>, Cow<'_, str>)| {
            !is_container(&meta.category) && selection.takes_module(module)
        };
        let counts = ops.ops.iter().map(counts).collect();
        Self { ops, counts, windows, out: vec![Work::default(); windows.len()] }
    }

    /// Adds an execution of an op.
    fn add(&mut self, row: usize, event: &Event) {
        if !self.counts[row] {
            return;
        }
        let meta = &self.ops.ops[row].0;
        let first = self.windows.partition_point(|w| w.1 <= event.start_ps);
        for (window, work) in self.windows[first..]
            .iter()
            .zip(&mut self.out[first..])
            .take_while(|(w, _)| w.0 <= event.start_ps || w.0 < event.end_ps)
        {
            let share = share_inside(event, Some(&Intervals::one(window.0, window.1)));
            add_known(&mut work.flops, meta.flops.map(|v| v * share));
            add_known(&mut work.hbm_bytes, meta.hbm_bytes.map(|v| v * share));
        }
    }
}
