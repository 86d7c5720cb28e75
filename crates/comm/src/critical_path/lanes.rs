//! What ran on the lanes of one device in its step: pieces of ops, and the gaps between them.

use std::borrow::Cow;

use haloscope_profile::{Device, DeviceKind, Event, LineKind, Profile};
use haloscope_time::account::Class;
use haloscope_time::cpu_work;
use haloscope_time::intervals::Intervals;
use haloscope_time::launches;
use haloscope_time::nesting::walk_innermost;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_rows::DeviceOps;

/// Gaps of less inside a program on a TPU are its own overhead, as busy time counts them.
const PROGRAM_OVERHEAD_PS: i64 = 10_000_000;

/// A stretch in which an op was the innermost one of its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Row of [`DeviceLanes::ops`].
    pub(super) op: u32,
    /// Start on the run's clock.
    pub(super) start_ps: i64,
    /// End.
    pub(super) end_ps: i64,
    /// The execution has no earlier piece in the step.
    pub(super) is_first: bool,
    /// The execution has this piece only: nothing ran inside of it, and the step does not cut it.
    pub(super) is_whole: bool,
}

/// A device in its step.
pub(super) struct DeviceLanes<'p> {
    pub(super) device: &'p Device,
    pub(super) span: (i64, i64),
    pub(super) ops: Vec<(OpMeta<'p>, Cow<'p, str>)>,
    pub(super) lanes: Vec<Vec<Piece>>,
    /// Stretches of the line of asynchronous ops, by start.
    pub(super) in_flight: Vec<(i64, i64)>,
    programs: Intervals,
}

impl<'p> DeviceLanes<'p> {
    /// Reads a device's lanes between two times.
    pub(super) fn read(profile: &'p Profile, device: &'p Device, span: (i64, i64)) -> Self {
        let rows = DeviceOps::find(profile, device);
        let mut lanes = Vec::new();
        for (line, row_of) in rows.lines(profile) {
            let (events, ends) = (profile.events(line), cpu_work::ends(profile, line));
            let last = events.rows_before(span.1);
            let is_op = |e: &Event| (row_of.of(e) as usize) < rows.ops.len();
            let inside =
                (0..last).map(|i| ends.of(events.get(i))).filter(|e| is_op(e) && e.touches(span.0, span.1));
            let mut pieces: Vec<Piece> = Vec::new();
            walk_innermost(inside, |event, from, to| {
                let (start_ps, end_ps) = (from.max(span.0), to.min(span.1));
                if start_ps >= end_ps {
                    return;
                }
                pieces.push(Piece {
                    op: row_of.of(event),
                    start_ps,
                    end_ps,
                    is_first: start_ps == event.start_ps,
                    is_whole: start_ps == event.start_ps && end_ps == event.end_ps,
                });
            });
            if !pieces.is_empty() {
                lanes.push(pieces);
            }
        }
        let programs = launches::of(profile, device).iter().map(|l| (l.start_ps, l.end_ps)).collect();
        let programs = Intervals::union_of(programs).intersect(&Intervals::one(span.0, span.1));
        Self { device, span, ops: rows.ops, lanes, in_flight: in_flight(profile, device, span), programs }
    }

    /// True if no op ran.
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Pieces of all lanes.
    pub(super) fn len(&self) -> usize {
        self.lanes.iter().map(Vec::len).sum()
    }

    /// When no lane ran an op.
    pub(super) fn idle(&self) -> Intervals {
        let pieces = self.lanes.iter().flatten().map(|p| (p.start_ps, p.end_ps)).collect();
        Intervals::one(self.span.0, self.span.1).minus(&Intervals::union_of(pieces))
    }

    /// A gap in parts of one class each, by time; `input` is when the host read or prepared input.
    pub(super) fn gap(&self, start_ps: i64, end_ps: i64, input: &Intervals) -> Vec<(i64, i64, Class)> {
        parts_of_gap((start_ps, end_ps), self.device.kind, &self.programs, input)
    }
}

/// As [`DeviceLanes::gap`], given when programs ran. Looks at what is in the gap only: a step may have as many gaps as ops.
fn parts_of_gap(
    (start_ps, end_ps): (i64, i64),
    kind: DeviceKind,
    programs: &Intervals,
    input: &Intervals,
) -> Vec<(i64, i64, Class)> {
    let gap = Intervals::one(start_ps, end_ps);
    let inside = programs.within(start_ps, end_ps);
    let is_short = end_ps - start_ps < PROGRAM_OVERHEAD_PS && inside == gap;
    if kind == DeviceKind::Tpu && is_short {
        return vec![(start_ps, end_ps, Class::Overhead)];
    }
    let reading = input.within(start_ps, end_ps);
    let rest = gap.minus(&reading);
    let own = rest.intersect(&inside);
    let between = rest.minus(&own);
    let classes = [(&reading, Class::Input), (&own, Class::Inside), (&between, Class::Between)];
    let parts = classes
        .into_iter()
        .flat_map(|(set, class)| set.as_slice().iter().map(move |(from, to)| (*from, *to, class)));
    let mut parts: Vec<_> = parts.collect();
    parts.sort_unstable_by_key(|part| part.0);
    parts
}

/// The stretches of a device's line of asynchronous ops that start in the step.
fn in_flight(profile: &Profile, device: &Device, span: (i64, i64)) -> Vec<(i64, i64)> {
    let lines = profile.lines_of(device.plane).filter(|l| l.kind == LineKind::AsyncXlaOps);
    let mut all = Vec::new();
    for line in lines {
        let events = profile.events(line);
        let inside = (0..events.rows_before(span.1)).map(|i| events.get(i)).filter(|e| e.start_ps >= span.0);
        all.extend(inside.map(|e| (e.start_ps, e.end_ps)));
    }
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts as they follow from whole sets, whatever that takes.
    fn of_whole_sets(
        (start, end): (i64, i64),
        kind: DeviceKind,
        programs: &Intervals,
        input: &Intervals,
    ) -> Vec<(i64, i64, Class)> {
        let gap = Intervals::one(start, end);
        if kind == DeviceKind::Tpu && end - start < PROGRAM_OVERHEAD_PS && gap.intersect(programs) == gap {
            return vec![(start, end, Class::Overhead)];
        }
        let reading = gap.intersect(input);
        let rest = gap.minus(&reading);
        let own = rest.intersect(programs);
        let between = rest.minus(&own);
        let classes = [(reading, Class::Input), (own, Class::Inside), (between, Class::Between)];
        let all = classes.iter().flat_map(|(set, class)| set.as_slice().iter().map(|p| (p.0, p.1, *class)));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by_key(|part| part.0);
        all
    }

    #[test]
    fn parts_of_a_gap_are_those_of_whole_sets() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |most: i64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % most.max(1) as u64) as i64
        };
        let unit = PROGRAM_OVERHEAD_PS / 10;
        let mut found = [0; 2];
        for round in 0..2000 {
            let mut set = |count: i64| {
                let parts = (0..count).map(|_| {
                    let start = below(200) * unit;
                    (start, start + below(40) * unit)
                });
                Intervals::union_of(parts.collect())
            };
            let (programs, input) = (set(round % 9), set(round % 5));
            let start = below(200) * unit;
            let gap = (start, start + (1 + below(60)) * unit);
            for kind in [DeviceKind::Tpu, DeviceKind::Gpu] {
                let parts = parts_of_gap(gap, kind, &programs, &input);
                assert_eq!(parts, of_whole_sets(gap, kind, &programs, &input), "round {round}");
                found[usize::from(parts.len() > 1)] += 1;
            }
        }
        assert!(found.iter().all(|n| *n > 500), "{found:?}");
    }
}
