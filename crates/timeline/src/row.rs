//! One row of a line: events that do not overlap, by start, which is also by end.

use std::ops::Range;

use haloscope_profile::Events;

use super::view::{Piece, View};

/// Children of a node of [`Row::longest`].
const FAN: usize = 16;
/// Levels that are looked at: with one more, a row would have to hold more than 2^32 events.
const MOST_LEVELS: usize = 9;
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
        let mut at = self.seek(events, 0, view.start_ps, 0);
        // Pixels hold about as many events as the ones before them.
        let mut usual = 0;
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
                to = self.seek(events, to, pixel_end.min(view.end_ps), usual);
                usual = to - at;
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

    /// The first position, `from` or later, whose event starts at `time_ps` or later, `guess` or so behind `from`.
    fn seek(&self, events: &Events, from: usize, time_ps: i64, guess: usize) -> usize {
        let next = (from / STEP + 1).min(self.starts.len());
        // Among the sampled starts first: short ways are found without looking far, long ones without the events.
        let samples = &self.starts[next..];
        let skipped = gallop(samples.len(), guess / STEP, |block| samples[block] < time_ps);
        let from = if skipped == 0 { from } else { (next + skipped - 1) * STEP };
        let to = ((from / STEP + 1) * STEP).min(self.len).max(from);
        match &self.events {
            None => from + events.starts_ps()[from..to].partition_point(|start| *start < time_ps),
            Some(_) => from + gallop(to - from, 0, |at| self.start(events, from + at) < time_ps),
        }
    }

    /// The longest of the events at these positions, the first among equals.
    fn longest(&self, events: &Events, from: usize, to: usize) -> u32 {
        let durations = events.durations_ps();
        let event = |at: usize| durations.at(self.event(at) as usize);
        let mut best = Longest { duration_ps: i64::MIN, level: 0, nodes: from..from };
        // Up from the first event to larger and larger nodes, then down again to the last event.
        let (mut level, mut range) = (0, from..to);
        let mut last: [(usize, Range<usize>); MOST_LEVELS] = Default::default();
        loop {
            let above = level < self.longest.len().min(MOST_LEVELS - 1);
            let inner = range.start.div_ceil(FAN)..range.end / FAN;
            let is_last = !above || inner.is_empty();
            let head = if is_last { range.clone() } else { range.start..inner.start * FAN };
            best.look(level, head, |at| self.duration(level, at, &event));
            if is_last {
                break;
            }
            last[level] = (level, inner.end * FAN..range.end);
            (level, range) = (level + 1, inner);
        }
        for (level, tail) in last[..level].iter().rev() {
            best.look(*level, tail.clone(), |at| self.duration(*level, at, &event));
        }
        let at = best.nodes.clone().find(|at| self.duration(best.level, *at, &event) == best.duration_ps);
        let at = at.unwrap_or(from);
        best.level.checked_sub(1).map_or_else(|| self.event(at), |level| self.longest[level].event[at])
    }

    /// How long an event is, or the longest one of a node.
    #[inline]
    fn duration(&self, level: usize, at: usize, event: &impl Fn(usize) -> i64) -> i64 {
        level.checked_sub(1).map_or_else(|| event(at), |level| self.longest[level].duration_ps[at])
    }
}

/// The longest event so far: it is the first of this duration among these nodes of a level.
struct Longest {
    duration_ps: i64,
    level: usize,
    nodes: Range<usize>,
}

impl Longest {
    #[inline]
    fn look(&mut self, level: usize, nodes: Range<usize>, duration_ps: impl Fn(usize) -> i64) {
        let longest = nodes.clone().map(duration_ps).fold(i64::MIN, i64::max);
        if longest > self.duration_ps {
            *self = Self { duration_ps: longest, level, nodes };
        }
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

/// How many of the first `len` positions fulfil a condition that holds for the first ones only. Answers near the guess are
/// found without looking far.
fn gallop(len: usize, guess: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    let guess = guess.min(len);
    let mut reach = 1;
    if guess == 0 || holds(guess - 1) {
        low = guess;
        while low + reach <= len {
            if !holds(low + reach - 1) {
                high = low + reach - 1;
                break;
            }
            low += reach;
            reach *= 2;
        }
    } else {
        high = guess - 1;
        while reach <= high {
            if holds(high - reach) {
                low = high - reach + 1;
                break;
            }
            high -= reach;
            reach *= 2;
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_guess_finds_the_same() {
        for len in 0..40 {
            for found in 0..=len {
                for guess in 0..45 {
                    assert_eq!(gallop(len, guess, |at| at < found), found, "{len} {guess}");
                }
            }
        }
    }
}
