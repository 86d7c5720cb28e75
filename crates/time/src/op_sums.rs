//! Sums over the executions of an op.

use super::intervals::Intervals;
use super::nesting::Nesting;
use super::op_meta::is_container;
use super::op_rows::{DeviceOps, Rows};
use haloscope_profile::{DeviceKind, Event, Line, LineId, Profile};

/// Sums of one op on one device.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    /// Executions that start in the selection.
    pub occurrences: u64,
    /// Time of all executions in the selection, picoseconds, nested ops included.
    pub total_ps: i64,
    /// Time less that of ops directly inside, picoseconds.
    pub self_ps: i64,
    /// Executions that are in the selection with all their time.
    pub whole: u64,
    /// Of those that are partly in it, the shares of their time, added up.
    pub part: f64,
}

impl Sums {
    /// True if any execution is at least partly in the selection.
    pub(super) fn is_counted(&self) -> bool {
        self.occurrences > 0 || self.total_ps > 0
    }

    /// Executions in units of a whole one: the share of each event's time that is in the selection.
    #[must_use]
    pub fn executions(&self) -> f64 {
        self.whole as f64 + self.part
    }

    /// Adds the time of an event that is a part of an execution which another event counts.
    pub fn add_part(&mut self, event: &Event, self_ps: i64, cut: Option<&Intervals>) {
        let inside = cut.map_or(event.end_ps - event.start_ps, |c| c.overlap(event.start_ps, event.end_ps));
        self.total_ps = self.total_ps.saturating_add(inside);
        self.self_ps = self.self_ps.saturating_add(self_ps);
    }

    /// Adds an execution, of which `self_ps` was its own. `cut` is the time that counts; `None` means all.
    pub fn add(&mut self, event: &Event, self_ps: i64, cut: Option<&Intervals>) {
        let length = event.end_ps - event.start_ps;
        self.occurrences += cut.map_or(1, |c| starts_inside(event, c) as u64);
        let inside = cut.map_or(length, |c| c.overlap(event.start_ps, event.end_ps));
        self.total_ps = self.total_ps.saturating_add(inside);
        self.self_ps = self.self_ps.saturating_add(self_ps);
        if inside < length {
            self.part += inside as f64 / length as f64;
        } else {
            self.whole += cut.filter(|_| length == 0).map_or(1, |c| starts_inside(event, c) as u64);
        }
    }
}

/// Sums of a TPU's ops over all time, from one pass over its lines. It goes by the device's clock, and holds as long as the
/// events are in order by that clock, which they nearly always are.
#[derive(Debug)]
pub(super) struct InOrder {
    sums: Vec<Sums>,
    nesting: Nesting,
    last: (i64, i64),
    in_order: bool,
}

impl InOrder {
    /// Begins, for so many ops.
    pub(super) fn new(ops: usize) -> Self {
        let nesting = Nesting::default();
        Self { sums: vec![Sums::default(); ops], nesting, last: (i64::MIN, i64::MIN), in_order: true }
    }

    /// Takes the next event of a line, by the device's clock. False from the first one on that is out of order.
    #[inline]
    pub(super) fn push(&mut self, rows: Rows<'_>, event: Event) -> bool {
        let length = event.end_ps - event.start_ps;
        let key = (event.start_ps, -length);
        self.in_order &= self.last <= key;
        if self.in_order {
            self.last = key;
            let sums = &mut self.sums;
            self.nesting.push(event, length, |event, own| Self::add(sums, rows, &event, own));
        }
        self.in_order
    }

    /// Counts what is left of a line.
    pub(super) fn end_line(&mut self, rows: Rows<'_>) {
        let sums = &mut self.sums;
        self.nesting.finish(|event, own| Self::add(sums, rows, &event, own));
        self.last = (i64::MIN, i64::MIN);
    }

    /// The sums by op; `None` if any event was out of order.
    pub(super) fn finish(self) -> Option<Vec<Sums>> {
        self.in_order.then_some(self.sums)
    }

    #[inline]
    fn add(sums: &mut [Sums], rows: Rows<'_>, event: &Event, own: i64) {
        if let Some(sum) = sums.get_mut(rows.of(event) as usize) {
            sum.add(event, own, None);
        }
    }
}

/// The share of an event that counts: its time in the cut over all its time.
pub(super) fn share_inside(event: &Event, cut: Option<&Intervals>) -> f64 {
    let Some(cut) = cut else { return 1.0 };
    let length = event.end_ps - event.start_ps;
    if length > 0 {
        cut.overlap(event.start_ps, event.end_ps) as f64 / length as f64
    } else {
        starts_inside(event, cut)
    }
}

fn starts_inside(event: &Event, cut: &Intervals) -> f64 {
    cut.overlap(event.start_ps, event.start_ps.saturating_add(1)) as f64
}

/// What the profiler measured of an op's executions beside their times: stats of the events.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Measured {
    /// Time that the executions would have taken at the device's default clock, picoseconds: durations by the device's
    /// own clock, each times `Time Scale Multiplier`, 1 where it is absent.
    pub normalized_ps: i64,
    /// Time stalled by transfers, picoseconds: `dma_stall_duration_ps`.
    pub dma_stall_ps: i64,
    /// Energy in joules: `vdd_energy_j`; `None` where no event states it.
    pub energy_j: Option<f64>,
}

/// The stats that say so.
const STATED: [&str; 3] = ["Time Scale Multiplier", "dma_stall_duration_ps", "vdd_energy_j"];

/// The measurements of every op of a device, in the order of [`DeviceOps::ops`], over all events; `sums` are those of the
/// same.
#[must_use]
pub fn measured(profile: &Profile, rows: &DeviceOps<'_>, sums: &[Sums]) -> Vec<Measured> {
    let stated =
        |(line, _): (&Line, _)| STATED.iter().any(|n| profile.plane(line.plane).stat_id(n).is_some());
    if !rows.lines(profile).any(stated) {
        let normal = |sum: &Sums| Measured { normalized_ps: sum.total_ps, ..Measured::default() };
        return sums.iter().map(normal).collect();
    }
    let mut all = vec![Measured::default(); rows.ops.len()];
    for (line, row_of) in rows.lines(profile) {
        let plane = profile.plane(line.plane);
        let source = profile.source_of(plane);
        let events = profile.events(line);
        let ids = STATED.map(|n| plane.stat_id(n));
        let stated = ids.iter().any(Option::is_some);
        for index in 0..events.len() {
            let event = events.on_device_clock(index);
            let Some(sum) = all.get_mut(row_of.of(&event) as usize) else { continue };
            let length = event.end_ps - event.start_ps;
            let mut scale = None;
            if stated {
                for stat in events.stats(source, index) {
                    let (id, Some(value)) = (Some(stat.metadata_id), stat.value) else { continue };
                    if id == ids[0] {
                        scale = value.as_f64();
                    } else if id == ids[1] {
                        sum.dma_stall_ps = sum.dma_stall_ps.saturating_add(value.as_i64().unwrap_or(0));
                    } else if id == ids[2]
                        && let Some(joules) = value.as_f64()
                    {
                        *sum.energy_j.get_or_insert(0.0) += joules;
                    }
                }
            }
            let normal = scale.map_or(length, |s| (length as f64 * s) as i64);
            sum.normalized_ps = sum.normalized_ps.saturating_add(normal);
        }
    }
    all
}

/// The sums of each of a device's ops on some of its lines in a cut (`None` for all time), in the order of [`DeviceOps::ops`].
pub(super) fn sums(
    profile: &Profile,
    rows: &DeviceOps<'_>,
    cut: Option<&Intervals>,
    takes_line: impl Fn(LineId) -> bool,
) -> Vec<Sums> {
    if cut.is_none() && rows.kind() == DeviceKind::Tpu {
        let mut sums = InOrder::new(rows.ops.len());
        for (line, of) in rows.lines(profile).filter(|(line, _)| takes_line(line.id)) {
            let events = profile.events(line);
            (0..events.len()).all(|i| sums.push(of, events.on_device_clock(i)));
            sums.end_line(of);
        }
        if let Some(sums) = sums.finish() {
            return sums;
        }
    }
    let mut sums = vec![Sums::default(); rows.ops.len()];
    rows.walk_executions(profile, cut, takes_line, |row, event, self_ps, counts| match counts {
        _ if !touches(cut, event) => {}
        true => sums[row].add(event, self_ps, cut),
        false => sums[row].add_part(event, self_ps, cut),
    });
    if rows.kind() == DeviceKind::Cpu {
        // Ops that run at one time share it: an op that holds no others has its own part alone.
        let leaves = sums.iter_mut().zip(&rows.ops).filter(|(_, (meta, _))| !is_container(&meta.category));
        leaves.for_each(|(sum, _)| sum.total_ps = sum.self_ps);
    }
    sums
}

fn touches(cut: Option<&Intervals>, event: &Event) -> bool {
    cut.is_none_or(|c| c.overlap(event.start_ps, event.end_ps.max(event.start_ps.saturating_add(1))) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_events_in_order_hold_and_others_do_not() {
        let event = |index, meta, start_ps, end_ps| Event { index, meta, start_ps, end_ps };
        // A loop with two runs of an op inside.
        let inside = [event(0, 0, 0, 100), event(1, 1, 10, 30), event(2, 1, 40, 90)];
        let rows = Rows::ByMeta(&[1, 0]);
        let mut sums = InOrder::new(2);
        assert!(inside.into_iter().all(|e| sums.push(rows, e)));
        sums.end_line(rows);
        let sum = |occurrences, total_ps, self_ps| Sums {
            occurrences,
            total_ps,
            self_ps,
            whole: occurrences,
            part: 0.0,
        };
        assert_eq!(sums.finish(), Some(vec![sum(2, 70, 70), sum(1, 100, 30)]));
        // One that starts before another that stands before it; one that should stand before what it holds.
        for out_of_order in [event(3, 1, 5, 6), event(3, 0, 40, 95)] {
            let mut sums = InOrder::new(2);
            let mut events = inside.into_iter().chain([out_of_order]);
            assert!(!events.all(|e| sums.push(rows, e)));
            assert_eq!(sums.finish(), None);
        }
    }
}
