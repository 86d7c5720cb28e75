//! Sums of a device's ops in any window, without a look at each event in it.
//!
//! Before every block of events stands what each op has had until then: executions, time, and self time. A window is the
//! difference of two of these and the events at its edges. Self time is a sum over events, each of which adds its own length
//! to its op and takes it from the op around it, so that it can be cut like the others. Events that stick out of the window
//! count as far as they are in it; [`Ends`] finds them.

use super::ends::Ends;
use rustc_hash::FxHashSet;

use crate::nesting::walk_nested;
use crate::op_lines::NONE;
use crate::op_rows::{DeviceOps, Rows};
use crate::op_sums::Sums;
use haloscope_profile::{DeviceKind, Event, Events, Line, LineId, Profile};

/// Events of a block for each op of the device: the sums before it then take 3 bytes an event.
const EVENTS_AN_OP: usize = 8;
/// Events of a block at least.
const LEAST: usize = 1024;

/// The blocks of all op lines of a device.
#[derive(Debug)]
pub(super) struct OpBlocks {
    lines: Vec<LineBlocks>,
}

/// What an op had before a block: executions, their time, and their self time, picoseconds.
type Before = [i64; 3];

#[derive(Debug)]
struct LineBlocks {
    /// Events to a block.
    step: usize,
    /// For the first event of each block, and for the end of the last that is full, what each op had before it.
    before: Vec<Before>,
    ends: Ends,
    /// The events by time as [`DeviceOps::walk`] takes them with a cut, where that is not their own order.
    order: Option<Box<[u32]>>,
}

/// The ops of a line, in the order in which they are walked.
#[derive(Clone, Copy)]
struct Walk<'a> {
    events: &'a Events,
    rows: Rows<'a>,
    parts: Option<&'a FxHashSet<u32>>,
    order: Option<&'a [u32]>,
    nests: bool,
}

impl<'a> Walk<'a> {
    fn index(&self, at: usize) -> usize {
        self.order.map_or(at, |order| order[at] as usize)
    }

    /// The event at a position, if it is an op.
    fn op(&self, at: usize) -> Option<(usize, Event)> {
        let index = self.index(at);
        let event = self.events.placed(index);
        Some(self.rows.of(&event)).filter(|row| *row != NONE).map(|row| (row as usize, event))
    }

    fn end(&self, at: usize) -> i64 {
        self.op(at).map_or(i64::MIN, |(_, event)| event.end_ps)
    }

    /// 1 where the event is an execution of its op, 0 where another event counts it.
    fn counts(&self, event: &Event) -> i64 {
        self.parts.is_none_or(|parts| !parts.contains(&(event.index as u32))).into()
    }

    /// The number of positions whose events start before a time.
    fn before(&self, time_ps: i64) -> usize {
        self.events.rows_before(time_ps)
    }
}

/// The ops around the event that is being looked at, as [`walk_nested`] nests them.
struct Around(Vec<(Event, usize)>);

impl Around {
    /// Goes on to an event; gives the op directly around it.
    fn enter(&mut self, walk: Walk<'_>, row: usize, event: Event) -> Option<usize> {
        if !walk.nests {
            return None;
        }
        let holds = |top: &Event| top.start_ps <= event.start_ps && event.end_ps <= top.end_ps;
        while self.0.pop_if(|(top, _)| !holds(top)).is_some() {}
        let around = self.0.last().map(|(_, row)| *row);
        self.0.push((event, row));
        around
    }
}

impl OpBlocks {
    /// Of a device; `None` where sums over all its events could overflow, as damaged files have them, and of a CPU, whose
    /// ops share time across lines.
    pub(super) fn of(profile: &Profile, ops: &DeviceOps<'_>) -> Option<Self> {
        if ops.kind() == DeviceKind::Cpu {
            return None;
        }
        Self::with_step(profile, ops, (ops.ops.len() * EVENTS_AN_OP).max(LEAST))
    }

    /// With blocks of so many events.
    pub(super) fn with_step(profile: &Profile, ops: &DeviceOps<'_>, step: usize) -> Option<Self> {
        let mut all_ps = 0_i128;
        let line = |(line, rows): (&Line, Rows<'_>)| {
            let events = profile.events(line);
            let walk =
                Walk { events, rows, parts: ops.parts_of(line.id), order: None, nests: nests(ops.kind()) };
            let order = order(walk, ops.kind());
            let walk = Walk { order: order.as_deref(), ..walk };
            let mut before = Vec::with_capacity((events.len() / step + 1) * ops.ops.len());
            let mut sums: Vec<Before> = vec![[0; 3]; ops.ops.len()];
            let mut around = Around(Vec::new());
            for at in 0..events.len() {
                if at % step == 0 {
                    before.extend_from_slice(&sums);
                }
                let Some((row, event)) = walk.op(at) else { continue };
                let length = event.end_ps - event.start_ps;
                all_ps += i128::from(length);
                if all_ps > i128::from(i64::MAX / 4) {
                    return None;
                }
                let sum = &mut sums[row];
                *sum = [sum[0] + walk.counts(&event), sum[1] + length, sum[2] + length];
                if let Some(around) = around.enter(walk, row, event) {
                    sums[around][2] -= length;
                }
            }
            if events.len().is_multiple_of(step) {
                before.extend_from_slice(&sums);
            }
            let ends = Ends::of(events.len(), |at| walk.end(at));
            Some(LineBlocks { step, before, ends, order })
        };
        Some(Self { lines: ops.lines(profile).map(line).collect::<Option<_>>()? })
    }

    /// The sums of all ops between two times, `start_ps` before `end_ps`, over some of the lines: what
    /// [`DeviceOps::walk_lines`] adds up with this window, to the last bit.
    pub(super) fn sums(
        &self,
        profile: &Profile,
        ops: &DeviceOps<'_>,
        window: (i64, i64),
        takes_line: impl Fn(LineId) -> bool,
    ) -> Vec<Sums> {
        let mut sums = vec![Cut::default(); ops.ops.len()];
        for (blocks, walk) in self.walks(profile, ops, takes_line) {
            blocks.add(walk, window, &mut sums);
        }
        sums.iter().map(Cut::finish).collect()
    }

    /// Calls `each` with the op and the event of every execution that is at work between two times, `start_ps` before `end_ps`, in
    /// the order of [`DeviceOps::walk_placed`].
    pub(super) fn executions(
        &self,
        profile: &Profile,
        ops: &DeviceOps<'_>,
        (start_ps, end_ps): (i64, i64),
        mut each: impl FnMut(usize, &Event),
    ) {
        for (blocks, walk) in self.walks(profile, ops, |_| true) {
            let (first, last) = (walk.before(start_ps), walk.before(end_ps));
            let begun = blocks.ends.after(first, start_ps, |at| walk.end(at));
            let events = begun.into_iter().chain(first..last).filter_map(|at| walk.op(at));
            let mut each = |event: Event| {
                if walk.counts(&event) > 0 {
                    each(walk.rows.of(&event) as usize, &event);
                }
            };
            if walk.nests {
                walk_nested(events.map(|(_, event)| event), None, |event, _| each(event));
            } else {
                events.for_each(|(_, event)| each(event));
            }
        }
    }

    /// The blocks of each of some lines, and its events.
    fn walks<'a>(
        &'a self,
        profile: &'a Profile,
        ops: &'a DeviceOps<'_>,
        takes_line: impl Fn(LineId) -> bool,
    ) -> impl Iterator<Item = (&'a LineBlocks, Walk<'a>)> {
        let lines = self.lines.iter().zip(ops.lines(profile));
        lines.filter(move |(_, (line, _))| takes_line(line.id)).map(move |(blocks, (line, rows))| {
            let order = blocks.order.as_deref();
            let (events, parts) = (profile.events(line), ops.parts_of(line.id));
            (blocks, Walk { events, rows, parts, order, nests: nests(ops.kind()) })
        })
    }
}

fn nests(kind: DeviceKind) -> bool {
    kind != DeviceKind::Gpu
}

/// On a TPU events are sorted again where the device's clock orders them differently.
fn order(walk: Walk<'_>, kind: DeviceKind) -> Option<Box<[u32]>> {
    let key = |event: &Event| (event.start_ps, event.start_ps - event.end_ps);
    let placed = |at: usize| key(&walk.events.placed(at));
    if kind != DeviceKind::Tpu || (0..walk.events.len()).is_sorted_by_key(placed) {
        return None;
    }
    let mut order: Vec<u32> = (0..walk.events.len() as u32).collect();
    order.sort_by_key(|index| placed(*index as usize));
    Some(order.into_boxed_slice())
}

/// Sums of an op in the making.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    /// Executions that start in the window, their time and self time.
    sums: Before,
    /// How many of these end behind it.
    cut: i64,
    /// Shares of those that are partly in it.
    part: f64,
}

impl Cut {
    fn finish(&self) -> Sums {
        let [occurrences, total_ps, self_ps] = self.sums;
        Sums {
            occurrences: occurrences as u64,
            total_ps,
            self_ps,
            whole: (occurrences - self.cut) as u64,
            part: self.part,
        }
    }
}

impl LineBlocks {
    fn add(&self, walk: Walk<'_>, (start_ps, end_ps): (i64, i64), sums: &mut [Cut]) {
        let (first, last) = (walk.before(start_ps), walk.before(end_ps));
        let begun = self.ends.after(first, start_ps, |at| walk.end(at));
        let (head, tail) = (first.div_ceil(self.step), last / self.step);
        if head < tail {
            let ops = sums.len();
            let before = |block: usize| &self.before[block * ops..(block + 1) * ops];
            for ((sum, from), to) in sums.iter_mut().zip(before(head)).zip(before(tail)) {
                for (own, (from, to)) in sum.sums.iter_mut().zip(from.iter().zip(to)) {
                    *own += to - from;
                }
            }
            whole(walk, &begun, first..head * self.step, sums);
            let tail = tail * self.step;
            if tail < last {
                let time_ps = walk.events.starts_ps()[tail];
                let begun = self.ends.after(tail, time_ps, |at| walk.end(at));
                whole(walk, &begun, tail..last, sums);
            }
        } else {
            whole(walk, &begun, first..last, sums);
        }
        let mut partly = self.ends.after(last, end_ps, |at| walk.end(at));
        partly.extend(begun);
        partly.sort_unstable();
        partly.dedup();
        partial(walk, &partly, first, (start_ps, end_ps), sums);
    }
}

/// Adds events with all their length, `begun` being those before them that go on.
fn whole(walk: Walk<'_>, begun: &[usize], events: std::ops::Range<usize>, sums: &mut [Cut]) {
    let mut around = Around(Vec::new());
    for (row, event) in begun.iter().filter_map(|at| walk.op(*at)) {
        around.enter(walk, row, event);
    }
    for (row, event) in events.filter_map(|at| walk.op(at)) {
        let length = event.end_ps - event.start_ps;
        let [count, total, own] = sums[row].sums;
        sums[row].sums = [count + walk.counts(&event), total + length, own + length];
        if let Some(around) = around.enter(walk, row, event) {
            sums[around].sums[2] -= length;
        }
    }
}

/// Corrects for the events that stick out of the window. Those that start in it, at position `first` or later, have been
/// added with all their length. What is around one of these sticks out as well, so that they nest by themselves.
fn partial(walk: Walk<'_>, partly: &[usize], first: usize, (start_ps, end_ps): (i64, i64), sums: &mut [Cut]) {
    let inside = |event: &Event| event.end_ps.min(end_ps) - event.start_ps.max(start_ps);
    let mut around = Around(Vec::new());
    for &at in partly {
        let Some((row, event)) = walk.op(at) else { continue };
        let mut more = inside(&event);
        if at >= first {
            more -= event.end_ps - event.start_ps;
            sums[row].cut += walk.counts(&event);
        }
        sums[row].sums[1] += more;
        sums[row].sums[2] += more;
        if let Some(around) = around.enter(walk, row, event) {
            sums[around].sums[2] -= more;
        }
    }
    // In the order in which the walk comes to them: sums of fractions depend on it.
    let mut share = |event: Event| {
        let row = walk.rows.of(&event) as usize;
        if walk.counts(&event) == 0 {
            return;
        }
        sums[row].part += inside(&event) as f64 / (event.end_ps - event.start_ps) as f64;
    };
    let events = partly.iter().filter_map(|at| walk.op(*at)).map(|(_, event)| event);
    if walk.nests {
        walk_nested(events, None, |event, _| share(event));
    } else {
        events.for_each(share);
    }
}
