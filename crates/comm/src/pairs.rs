//! The executions of collectives on one device, put together from the ops that they are made of.
//!
//! TPU: a start, its updates and its done on the line `XLA Ops`, matched by operand, then by name, then by order; the line
//! `Async XLA Ops` says when a transfer ended, and stands for transfers that have no ops. GPU and CPU: each kernel or op is
//! an execution of its own.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use haloscope_profile::{Device, DeviceKind, Event, Line, LineId, LineKind, Profile};
use haloscope_time::account::Class;
use haloscope_time::async_parts::{Part, Parts};
use haloscope_time::cpu_work;
use haloscope_time::intervals::Intervals;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_readers::MetaOps;
use haloscope_time::op_rows::DeviceOps;

use super::message;

/// What of an asynchronous collective the capture does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unpaired {
    /// A start without a done.
    NoDone,
    /// A done without a start.
    NoStart,
}

/// One execution. Times are picoseconds on the run's clock.
#[derive(Debug, Clone)]
pub(super) struct Transfer {
    /// The op that begins it: a row of the device's ops, and of those that only the asynchronous line shows.
    pub(super) row: u32,
    pub(super) start_ps: i64,
    pub(super) end_ps: i64,
    /// The end of the transfer by the asynchronous line.
    pub(super) shown_end_ps: Option<i64>,
    /// From when to when its done op ran.
    pub(super) done: Option<(i64, i64)>,
    /// The events of its ops, by time.
    pub(super) events: Vec<(LineId, usize)>,
    /// Number of ops.
    pub(super) members: u32,
    pub(super) unpaired: Option<Unpaired>,
}

impl Transfer {
    fn begin(row: u32, line: LineId, event: &Event) -> Self {
        Self {
            row,
            start_ps: event.start_ps,
            end_ps: event.end_ps,
            shown_end_ps: None,
            done: None,
            events: vec![(line, event.index)],
            members: 1,
            unpaired: None,
        }
    }

    /// True if it has a part in the time that counts.
    pub(super) fn touches(&self, cut: &Intervals) -> bool {
        cut.overlap(self.start_ps, self.end_ps.max(self.start_ps.saturating_add(1))) > 0
    }

    /// From when to when it was in flight: to the end of the transfer where that is known.
    pub(super) fn inflight(&self) -> (i64, i64) {
        (self.start_ps, self.shown_end_ps.unwrap_or(self.end_ps).max(self.start_ps))
    }
}

/// An op and the name of its program.
pub(super) type NamedOp<'p> = (OpMeta<'p>, Cow<'p, str>);

/// All executions of collectives on a device, by start, and the ops that only the asynchronous line shows: their rows begin
/// where those of the device's ops end.
pub(super) fn of_device<'p>(
    profile: &'p Profile,
    device: &Device,
    ops: &DeviceOps<'p>,
) -> (Vec<Transfer>, Vec<NamedOp<'p>>) {
    let is_collective: Vec<bool> =
        ops.ops.iter().map(|(meta, _)| Class::of(meta) == Class::Communication).collect();
    let plane = profile.plane(device.plane);
    let has_parts = device.kind == DeviceKind::Tpu && is_collective.contains(&true);
    let parts = if has_parts { Parts::of(profile, plane) } else { Parts::default() };
    let (mut all, mut more) = (Vec::new(), Vec::new());
    for (line, rows) in ops.lines(profile) {
        let of_line = |event: Event| {
            let row = rows.of(&event);
            is_collective.get(row as usize).copied().unwrap_or(false).then_some((row, event))
        };
        let events = cpu_work::events(profile, line).filter_map(of_line);
        Walk::new(&parts, ops, line.id).run(events, &mut all);
    }
    if device.kind == DeviceKind::Tpu {
        let lines = profile.lines_of(plane.id).filter(|l| l.kind == LineKind::AsyncXlaOps);
        lines.for_each(|line| add_shown(profile, line, ops, &mut more, &mut all));
    }
    all.sort_by_key(|t| (t.start_ps, t.end_ps, t.row));
    (all, more)
}

/// One pass over the collectives of a line.
struct Walk<'a> {
    parts: &'a Parts,
    ops: &'a DeviceOps<'a>,
    line: LineId,
    /// The execution that each place holds open: a row of the executions found.
    open: FxHashMap<usize, usize>,
}

impl<'a> Walk<'a> {
    fn new(parts: &'a Parts, ops: &'a DeviceOps<'a>, line: LineId) -> Self {
        Self { parts, ops, line, open: FxHashMap::default() }
    }

    fn run(mut self, events: impl Iterator<Item = (u32, Event)>, all: &mut Vec<Transfer>) {
        for (row, event) in events {
            let part = self.parts.of_meta.get(event.meta as usize).copied().unwrap_or_default();
            let begun = if part.ends { self.take(part, row, all) } else { None };
            let at = match begun {
                Some(at) => {
                    let transfer = &mut all[at];
                    transfer.end_ps = transfer.end_ps.max(event.end_ps);
                    transfer.events.push((self.line, event.index));
                    transfer.members += 1;
                    transfer.unpaired = None;
                    at
                }
                None => {
                    let mut transfer = Transfer::begin(row, self.line, &event);
                    transfer.unpaired = part.ends.then_some(Unpaired::NoStart);
                    all.push(transfer);
                    all.len() - 1
                }
            };
            if let Some(place) = part.opens {
                all[at].unpaired = all[at].unpaired.or(Some(Unpaired::NoDone));
                self.open.insert(place, at);
            } else if part.ends {
                all[at].done = Some((event.start_ps, event.end_ps));
            }
        }
    }

    /// The execution that a done or an update goes with: the one that it names, else the oldest of its kind and program.
    fn take(&mut self, part: Part, row: u32, all: &[Transfer]) -> Option<usize> {
        if let Some(place) = part.closes {
            return self.open.remove(&place);
        }
        let ends = &self.ops.ops.get(row as usize)?.0;
        let fits = |(_, at): &(&usize, &usize)| {
            let begins = self.ops.ops.get(all[**at].row as usize).map(|(meta, _)| meta);
            begins.is_some_and(|begins| {
                begins.program_id == ends.program_id && message::word(begins) == message::word(ends)
            })
        };
        let oldest = self.open.iter().filter(fits).min_by_key(|(_, at)| **at).map(|(place, _)| *place);
        self.open.remove(&oldest?)
    }
}

/// What the asynchronous line shows: when transfers ended, and those that have no ops. Events with one `flow` are one
/// transfer; one without is one by itself.
fn add_shown<'p>(
    profile: &'p Profile,
    line: &Line,
    ops: &DeviceOps<'p>,
    more: &mut Vec<NamedOp<'p>>,
    all: &mut Vec<Transfer>,
) {
    let plane = profile.plane(line.plane);
    let reader = MetaOps::new(profile, plane);
    let source = profile.source_of(plane);
    let events = profile.events(line);
    let mut row_of_meta: FxHashMap<u32, Option<u32>> = FxHashMap::default();
    let mut rows: FxHashMap<(Option<u64>, Cow<'p, str>), u32> = FxHashMap::default();
    for (row, (meta, _)) in (0_u32..).zip(ops.ops.iter().chain(more.iter())) {
        rows.insert((meta.program_id, meta.name.clone()), row);
    }
    let flow_id = plane.stat_id("flow");
    let mut shown: Vec<(u32, i64, i64, u32)> = Vec::new();
    let mut of_flow: FxHashMap<u64, usize> = FxHashMap::default();
    for event in events.iter() {
        let row = *row_of_meta.entry(event.meta).or_insert_with(|| {
            let op = reader.op(events, event.meta);
            if Class::of(&op) != Class::Communication {
                return None;
            }
            let next = (ops.ops.len() + more.len()) as u32;
            let row = *rows.entry((op.program_id, op.name.clone())).or_insert(next);
            if row == next {
                let module = reader.module(&op);
                more.push((op, module));
            }
            Some(row)
        });
        let Some(row) = row else { continue };
        let flow = events.stat(source, event.index, flow_id).and_then(|v| v.as_u64_bits());
        let known = flow.and_then(|flow| of_flow.get(&flow).copied());
        match known {
            Some(at) => {
                let group = &mut shown[at];
                *group = (group.0, group.1.min(event.start_ps), group.2.max(event.end_ps), group.3 + 1);
            }
            None => {
                of_flow.extend(flow.map(|flow| (flow, shown.len())));
                shown.push((row, event.start_ps, event.end_ps, 1));
            }
        }
    }
    join(shown, all);
}

/// Puts what is shown beside the executions that have ops: of the same op, by time.
fn join(shown: Vec<(u32, i64, i64, u32)>, all: &mut Vec<Transfer>) {
    let mut of_row: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| all[*at].start_ps);
    for at in order {
        of_row.entry(all[at].row).or_default().push(at);
    }
    for (row, start_ps, end_ps, members) in shown {
        let own = of_row.get(&row).map_or(&[][..], Vec::as_slice);
        // The last that starts no later than the event ends, and that has not been taken: both begin together.
        let before = own.partition_point(|at| all[*at].start_ps <= start_ps);
        let beside = before.checked_sub(1).map(|i| own[i]).filter(|at| {
            all[*at].shown_end_ps.is_none() && all[*at].end_ps.max(all[*at].start_ps + 1) > start_ps
        });
        match beside {
            Some(at) => {
                let transfer = &mut all[at];
                transfer.shown_end_ps = Some(end_ps);
                if transfer.unpaired == Some(Unpaired::NoDone) {
                    // The line shows the whole of what the ops show only the start of.
                    transfer.unpaired = None;
                    transfer.end_ps = transfer.end_ps.max(end_ps);
                }
            }
            None => all.push(Transfer {
                row,
                start_ps,
                end_ps,
                shown_end_ps: Some(end_ps),
                done: None,
                events: Vec::new(),
                members,
                unpaired: None,
            }),
        }
    }
}
