//! Rows of a line: where its events are drawn, and which of them a window shows.

use haloscope_profile::Events;

use super::row::Row;
use super::view::{Piece, View};

/// The events of a line in rows. Within a row no two events overlap.
///
/// An event that lies within another stands below it; one that overlaps another takes the first row that is free. No
/// event is left out, so the number of rows is the number of events at once at most.
#[derive(Debug)]
pub(super) struct Layout {
    rows: Vec<Row>,
}

impl Layout {
    pub(super) fn of(events: &Events) -> Self {
        if events.is_empty() {
            return Self { rows: Vec::new() };
        }
        if is_one_row(events) {
            return Self { rows: vec![Row::of_all(events)] };
        }
        let mut rows: Vec<Vec<u32>> = Vec::new();
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
                rows.resize_with(depth + 1, Vec::new);
            }
            rows[depth].push(event.index as u32);
        }
        drop((free, open));
        Self { rows: rows.into_iter().map(|row| Row::of(events, row.into_boxed_slice())).collect() }
    }

    pub(super) fn depth(&self) -> usize {
        self.rows.len()
    }

    /// The row that an event stands in.
    pub(super) fn depth_of(&self, event: u32) -> Option<u32> {
        self.rows.iter().position(|row| row.holds(event)).map(|depth| depth as u32)
    }

    /// The pieces of a view, by row, then by time.
    pub(super) fn pieces(&self, events: &Events, view: View) -> Vec<Piece> {
        let mut out = Vec::new();
        for (depth, row) in self.rows.iter().enumerate() {
            row.pieces(events, view, depth as u32, &mut out);
        }
        out
    }
}

/// Whether every event begins when those before it have ended.
fn is_one_row(events: &Events) -> bool {
    let mut free_ps = i64::MIN;
    events.iter().all(|event| event.start_ps >= std::mem::replace(&mut free_ps, event.end_ps))
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
