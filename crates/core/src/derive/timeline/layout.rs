//! Rows of a line: where its events are drawn, and which of them a window shows.

use crate::Error;
use crate::profile::Events;

use super::MAX_PX;

/// Children of a node of [`Row::longest`].
const FAN: usize = 8;

/// The events of a line in rows. Within a row no two events overlap.
///
/// An event that lies within another stands below it; one that overlaps another takes the first row that is free. No
/// event is left out, so the number of rows is the number of events at once at most.
#[derive(Debug)]
pub(super) struct Layout {
    rows: Vec<Row>,
}

#[derive(Debug, Default)]
struct Row {
    /// Events by start, which is also by end.
    events: Vec<u32>,
    /// The longest event and its duration of each [`FAN`] events, then of each `FAN` of those, and so on.
    longest: Vec<Vec<(i64, u32)>>,
}

/// A window of time in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) start_ps: i64,
    pub(super) end_ps: i64,
    /// One pixel, 1 or more.
    pub(super) width_ps: i64,
}

/// One box to draw: an event, or several of one row within one pixel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) start_ps: i64,
    pub(super) duration_ps: i64,
    pub(super) depth: u32,
    /// The first event.
    pub(super) first: u32,
    /// The longest one, the first among equals.
    pub(super) longest: u32,
    /// Number of events.
    pub(super) count: u32,
}

impl Piece {
    /// The event, where it is one.
    pub(super) fn event(&self) -> Option<u32> {
        (self.count == 1).then_some(self.first)
    }
}

impl Layout {
    pub(super) fn of(events: &Events) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        let mut free = FreeRows::default();
        // Events that may enclose later ones: ends descend, so that each event enters and leaves once.
        let mut open: Vec<(i64, usize)> = Vec::new();
        for event in events.iter() {
            let (start, end) = (event.start_ps, event.end_ps);
            while open.last().is_some_and(|(open_end, _)| *open_end < end || *open_end <= start) {
                open.pop();
            }
            let depth = free.first(open.last().map_or(0, |(_, depth)| depth + 1), start);
            free.occupy(depth, end);
            open.push((end, depth));
            if depth >= rows.len() {
                rows.resize_with(depth + 1, Row::default);
            }
            rows[depth].events.push(event.index as u32);
        }
        for row in &mut rows {
            row.find_longest(events.durations_ps());
        }
        Self { rows }
    }

    pub(super) fn depth(&self) -> usize {
        self.rows.len()
    }

    /// The row that an event stands in.
    pub(super) fn depth_of(&self, event: u32) -> Option<u32> {
        let holds = |row: &Row| row.events.binary_search(&event).is_ok();
        self.rows.iter().position(holds).map(|depth| depth as u32)
    }

    /// The pieces of a view, by row, then by time.
    pub(super) fn pieces(&self, events: &Events, view: View) -> Vec<Piece> {
        let mut out = Vec::new();
        for (depth, row) in self.rows.iter().enumerate() {
            row.pieces(events, view, |first, last, longest, count| {
                let start_ps = events.get(first as usize).start_ps;
                let duration_ps = events.get(last as usize).end_ps - start_ps;
                out.push(Piece { start_ps, duration_ps, depth: depth as u32, first, longest, count });
            });
        }
        out
    }
}

impl Row {
    fn find_longest(&mut self, durations_ps: &[i64]) {
        let measured = |e: &u32| (durations_ps[*e as usize], *e);
        let mut level: Vec<_> =
            self.events.chunks_exact(FAN).filter_map(|c| longest(c.iter().map(measured))).collect();
        while !level.is_empty() {
            let next = level.chunks_exact(FAN).filter_map(|c| longest(c.iter().copied())).collect();
            self.longest.push(level);
            level = next;
        }
    }

    /// Calls `emit(first, last, longest, count)` for each piece of a view.
    fn pieces(&self, events: &Events, view: View, mut emit: impl FnMut(u32, u32, u32, u32)) {
        let start = |event: u32| events.starts_ps()[event as usize];
        let end = |event: u32| events.get(event as usize).end_ps;
        let before = |e: &u32| start(*e) < view.start_ps && end(*e) <= view.start_ps;
        let mut at = self.events.partition_point(before);
        while let Some(&first) = self.events.get(at)
            && start(first) < view.end_ps
        {
            let mut to = at + 1;
            let pixel_end = view.pixel_end(start(first));
            if start(first) >= view.start_ps && end(first) <= pixel_end {
                let within = |e: u32| start(e) < pixel_end.min(view.end_ps) && end(e) <= pixel_end;
                to += gallop(&self.events[to..], within);
            }
            emit(first, self.events[to - 1], self.longest(at, to, events.durations_ps()), (to - at) as u32);
            at = to;
        }
    }

    /// The longest of the events at these positions of the row, the first among equals.
    fn longest(&self, from: usize, to: usize, durations_ps: &[i64]) -> u32 {
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
                node = Some(level[at / larger]);
                size = larger;
            }
            let found = node.unwrap_or_else(|| {
                let event = self.events[at];
                (durations_ps[event as usize], event)
            });
            if found.0 > best.0 {
                best = found;
            }
            at += size;
        }
        best.1
    }
}

/// The event with the largest duration, the first among equals.
fn longest(all: impl Iterator<Item = (i64, u32)>) -> Option<(i64, u32)> {
    all.reduce(|best, event| if event.0 > best.0 { event } else { best })
}

impl View {
    /// # Errors
    /// [`Error::Usage`] for an empty window, for 0 or more than [`MAX_PX`] pixels.
    pub(super) fn of(start_ps: i64, end_ps: i64, px: u32) -> Result<Self, Error> {
        if start_ps >= end_ps {
            return Err(Error::Usage(format!(
                "expected a window that ends after it starts, found {start_ps}..{end_ps} ps"
            )));
        }
        if !(1..=MAX_PX).contains(&px) {
            return Err(Error::Usage(format!("expected 1 to {MAX_PX} pixels, found {px}")));
        }
        let length = (i128::from(end_ps) - i128::from(start_ps)) as u128;
        let width_ps = i64::try_from(length.div_ceil(u128::from(px))).unwrap_or(i64::MAX);
        Ok(Self { start_ps, end_ps, width_ps })
    }

    /// The end of the pixel that holds `time_ps`; of the first pixel for times before the window.
    fn pixel_end(self, time_ps: i64) -> i64 {
        let into = i128::from(time_ps.max(self.start_ps)) - i128::from(self.start_ps);
        let end =
            i128::from(self.start_ps) + (into / i128::from(self.width_ps) + 1) * i128::from(self.width_ps);
        i64::try_from(end).unwrap_or(i64::MAX)
    }
}

/// How many events at the start of the list fulfil a condition that holds for the first ones only. Short answers are
/// found without looking far.
fn gallop(list: &[u32], holds: impl Fn(u32) -> bool) -> usize {
    let mut reach = 1;
    while list.get(reach - 1).is_some_and(|e| holds(*e)) {
        reach *= 2;
    }
    let known = reach / 2;
    let end = (reach - 1).min(list.len());
    known.min(end) + list[known.min(end)..end].partition_point(|e| holds(*e))
}

/// When each row is free again: a tree of minima over the rows' ends, so that thousands of events at once stay cheap.
#[derive(Default)]
struct FreeRows {
    /// Node `i` has the children `2i` and `2i + 1`; the leaves are the second half. Unused rows are free since ever.
    tree: Vec<i64>,
}

impl FreeRows {
    /// The first row, `from` or below, that is free at `time_ps`.
    fn first(&mut self, from: usize, time_ps: i64) -> usize {
        loop {
            let leaves = self.tree.len() / 2;
            if from < leaves
                && let Some(row) = self.search(leaves + from, time_ps)
            {
                return row;
            }
            self.grow();
        }
    }

    fn search(&self, mut node: usize, time_ps: i64) -> Option<usize> {
        let leaves = self.tree.len() / 2;
        while self.tree[node] > time_ps {
            // On to the next subtree on the right: up as long as this is a right child, then to the sibling.
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < leaves {
            node *= 2;
            if self.tree[node] > time_ps {
                node += 1;
            }
        }
        Some(node - leaves)
    }

    fn occupy(&mut self, row: usize, until_ps: i64) {
        let mut node = self.tree.len() / 2 + row;
        self.tree[node] = until_ps;
        while node > 1 {
            node /= 2;
            let first = self.tree[2 * node].min(self.tree[2 * node + 1]);
            if self.tree[node] == first {
                break;
            }
            self.tree[node] = first;
        }
    }

    fn grow(&mut self) {
        let old = self.tree.split_off(self.tree.len() / 2);
        let leaves = (old.len() * 2).max(8);
        self.tree = vec![i64::MIN; 2 * leaves];
        self.tree[leaves..leaves + old.len()].copy_from_slice(&old);
        for node in (1..leaves).rev() {
            self.tree[node] = self.tree[2 * node].min(self.tree[2 * node + 1]);
        }
    }
}
