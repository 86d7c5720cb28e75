//! Ops of a TPU's TensorCore.

use haloscope_event_groups::Context;
use haloscope_profile::{Device, Line, LineKind, Profile};
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::op_sums::measured;
use haloscope_time::ops::sums_of;

use super::tpu_row::row;
use super::{Db, Row, sparse};

/// The ops of one core, and when they and its steps ran.
pub(super) struct CoreOps<'p> {
    rows: Vec<Row<'p>>,
    ops: Option<Span>,
    steps: Option<Span>,
}

/// Start and end by the device's own clock, picoseconds.
type Span = (i64, i64);

impl<'p> CoreOps<'p> {
    pub(super) fn new(profile: &'p Profile, device: &Device) -> Self {
        let found = DeviceOps::find(profile, device);
        let sums = sums_of(profile, &found);
        let measured = measured(profile, &found, &sums);
        let mut offloaded = sparse::offloaded(profile, device, &found);
        let all = found.ops.into_iter().zip(sums.iter().zip(&measured)).enumerate();
        let rows = all.filter_map(|(at, ((meta, _), (sum, measured)))| {
            let row = row(meta, sum, measured)?;
            Some(Row { offloaded: offloaded.remove(&at).map(Box::new), ..row })
        });
        let rows = rows.collect();
        Self { rows, ops: ops_span(profile, device), steps: steps_span(profile, device, None) }
    }

    /// True if it matters which steps count.
    pub(super) fn steps_stick_out(&self) -> bool {
        self.steps.is_some_and(|(first, last)| self.ops.is_none_or(|ops| first < ops.0 || ops.1 < last))
    }

    /// The table. With a context, steps that grouping leaves out do not count.
    pub(super) fn finish(self, profile: &Profile, device: &Device, context: Option<&Context>) -> Db<'p> {
        let steps = context.map_or(self.steps, |context| steps_span(profile, device, Some(context)));
        let spans = || [self.ops, steps].into_iter().flatten();
        let (first, last) =
            (spans().map(|s| s.0).min().unwrap_or(0), spans().map(|s| s.1).max().unwrap_or(0));
        Db::of_device(self.rows, last.saturating_sub(first).max(0) as u64)
    }
}

fn ops_span(profile: &Profile, device: &Device) -> Option<Span> {
    let lines = profile.lines_of(device.plane).filter(|l| l.kind == LineKind::XlaOps);
    hull(lines.flat_map(|line| span(profile, line, 0..profile.events(line).len())))
}

fn steps_span(profile: &Profile, device: &Device, context: Option<&Context>) -> Option<Span> {
    let lines = profile.lines_of(device.plane).filter(|l| l.kind == LineKind::Steps);
    hull(lines.flat_map(|line| match context.and_then(|context| context.lane(line.id)) {
        Some(lane) => {
            let kept = (0..lane.len(profile)).filter_map(|at| lane.row(at));
            span(profile, line, kept.chain(lane.merged.iter().map(|(_, row)| *row as usize)))
        }
        None => span(profile, line, 0..profile.events(line).len()),
    }))
}

/// When these events of a line ran. Those without a place in time count as at the start of their line.
fn span(profile: &Profile, line: &Line, rows: impl Iterator<Item = usize>) -> Option<Span> {
    let events = profile.events(line);
    let placed = rows.map(|row| events.on_device_clock(row)).map(|e| (e.start_ps, e.end_ps));
    let start = line.base_ps;
    hull(placed.chain(events.aggregated.iter().map(|(_, _, ps)| (start, start.saturating_add(*ps)))))
}

fn hull(spans: impl IntoIterator<Item = Span>) -> Option<Span> {
    spans.into_iter().reduce(|(a, b), (from, to)| (a.min(from), b.max(to)))
}
