//! One row of a line: events that do not overlap, by start, which is also by end.

use crate::profile::Events;

use super::layout::{Piece, View};

/// Children of a node of [`Row::longest`].
const FAN: usize = 16;
/// One start of so many stands in [`Row::starts`].
const STEP: usize = 64;

/// A row, and what finds its events without touching those between: about one byte an event, and four more where the row
/// does not hold all events of its line.
#[derive(Debug)]
pub(super) struct Row {
    /// The events; `None` for all of the line.
    events: Option<Box<[u32]>>,
    len: usize,
    /// The start of every [`STEP`]th event, the first among them.
    starts: Box<[i64]>,
    /// The longest of each [`FAN`] events, then of each `FAN` of those, and so on.
    longest: Vec<Level>,
}

/// A level of the pyramid: the longest event of each node, the first among equals.
#[derive(Debug, Default)]
struct Level {
    duration_ps: Box<[i64]>,
    event: Box<[u32]>,
}

impl Row {
    /// A row of these events.
    pub(super) fn of(events: &Events, row: Box<[u32]>) -> Self {
        Self::build(events, row.len(), Some(row))
    }

    /// A row of all events of a line.
    pub(super) fn of_all(events: &Events) -> Self {
        Self::build(events, events.len(), None)
    }

    fn build(events: &Events, len: usize, row: Option<Box<[u32]>>) -> Self {
        let mut row = Self { events: row, len, starts: Box::default(), longest: Vec::new() };
        row.starts = (0..len).step_by(STEP).map(|at| row.start(events, at)).collect();
        // Nodes that are not full are not needed: a search for the longest event ends before them.
        let measured = |at: usize| (events.durations_ps().at(row.event(at) as usize), row.event(at));
        let first = (0..len / FAN).map(|node| longest((node * FAN..(node + 1) * FAN).map(measured)));
        let mut level = Level::of(first);
        while !level.event.is_empty() {
            let nodes = level.event.len() / FAN;
            let next =
                (0..nodes).map(|node| longest((node * FAN..(node + 1) * FAN).map(|child| level.node(child))));
            let next = Level::of(next);
            row.longest.push(level);
            level = next;
        }
        row
    }

    /// Whether an event of the line stands in this row.
    pub(super) fn holds(&self, event: u32) -> bool {
        self.events.as_ref().map_or((event as usize) < self.len, |row| row.binary_search(&event).is_ok())
    }

    /// The event at a position.
    #[inline]
    fn event(&self, at: usize) -> u32 {
        self.events.as_ref().map_or(at as u32, |events| events[at])
    }

    #[inline]
    fn start(&self, events: &Events, at: usize) -> i64 {
        events.starts_ps()[self.event(at) as usize]
    }

    #[inline]
    fn end(&self, events: &Events, at: usize) -> i64 {
        events.get(self.event(at) as usize).end_ps
    }

    /// Adds the pieces of a view.
    pub(super) fn pieces(&self, events: &Events, view: View, depth: u32, out: &mut Vec<Piece>) {
        let mut at = self.seek(events, 0, view.start_ps);
        // Only the last of those that begin before the view can reach into it.
        if at > 0 && self.end(events, at - 1) > view.start_ps {
            at -= 1;
        }
        while at < self.len {
            let first = events.get(self.event(at) as usize);
            if first.start_ps >= view.end_ps {
                break;
            }
            let mut to = at + 1;
            let mut end_ps = first.end_ps;
            let mut longest = first.index as u32;
            let pixel_end = view.pixel_end(first.start_ps);
            if first.start_ps >= view.start_ps && end_ps <= pixel_end {
                to = self.seek(events, to, pixel_end.min(view.end_ps));
                // Likewise, only the last of those that begin in the pixel can leave it.
                if to > at + 1 {
                    end_ps = self.end(events, to - 1);
                    if end_ps > pixel_end {
                        to -= 1;
                        end_ps = self.end(events, to - 1);
                    }
                    longest = self.longest(events, at, to);
                }
            }
            out.push(Piece {
                start_ps: first.start_ps,
                duration_ps: end_ps - first.start_ps,
                depth,
                first: first.index as u32,
                longest,
                meta: events.metas()[longest as usize],
                count: (to - at) as u32,
            });
            at = to;
        }
    }

    /// The first position, `from` or later, whose event starts at `time_ps` or later.
    fn seek(&self, events: &Events, from: usize, time_ps: i64) -> usize {
        let next = (from / STEP + 1).min(self.starts.len());
        // Among the sampled starts first: short ways are found without looking far, long ones without the events.
        let skipped = gallop(self.starts.len() - next, |block| self.starts[next + block] < time_ps);
        let from = if skipped == 0 { from } else { (next + skipped - 1) * STEP };
        let to = ((from / STEP + 1) * STEP).min(self.len).max(from);
        from + gallop(to - from, |at| self.start(events, from + at) < time_ps)
    }

    /// The longest of the events at these positions, the first among equals.
    fn longest(&self, events: &Events, from: usize, to: usize) -> u32 {
        let mut best = (i64::MIN, 0);
        let mut at = from;
        while at < to {
            // The largest node that starts here and ends in time.
            let mut size = 1;
            let mut node = None;
            for level in &self.longest {
                let larger = size * FAN;
                if !at.is_multiple_of(larger) || at + larger > to {
                    break;
                }
                node = Some(level.node(at / larger));
                size = larger;
            }
            let found = node.unwrap_or_else(|| {
                let event = self.event(at);
                (events.durations_ps().at(event as usize), event)
            });
            if found.0 > best.0 {
                best = found;
            }
            at += size;
        }
        best.1
    }
}

impl Level {
    fn of(nodes: impl Iterator<Item = (i64, u32)>) -> Self {
        let (duration_ps, event): (Vec<_>, Vec<_>) = nodes.unzip();
        Self { duration_ps: duration_ps.into(), event: event.into() }
    }

    fn node(&self, at: usize) -> (i64, u32) {
        (self.duration_ps[at], self.event[at])
    }
}

/// The event with the largest duration, the first among equals.
fn longest(all: impl Iterator<Item = (i64, u32)>) -> (i64, u32) {
    all.fold((i64::MIN, 0), |best, event| if event.0 > best.0 { event } else { best })
}

/// How many of the first `len` positions fulfil a condition that holds for the first ones only. Short answers are found
/// without looking far.
fn gallop(len: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut reach = 1;
    while reach <= len && holds(reach - 1) {
        reach *= 2;
    }
    let (mut low, mut high) = (reach / 2, (reach - 1).min(len));
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
