//! The event forest: which event encloses, launched or fed which.

use haloscope_profile::Packed;

/// No event.
pub(super) const NONE: u32 = u32::MAX;

/// Events as nodes, numbered through all lines, with edges from those that cause to those that are caused.
#[derive(Debug, Default)]
pub(super) struct Forest {
    /// The event around each, on its own line.
    enclosing: Vec<u32>,
    /// Other edges, by child once sealed.
    edges: Vec<(u32, u32)>,
    children_from: Vec<u32>,
    children: Vec<u32>,
    /// Marks of the search that saw a node last.
    seen: std::cell::RefCell<(u32, Vec<u32>)>,
}

impl Forest {
    /// Adds events that nothing encloses yet; the number of the first.
    pub(super) fn add(&mut self, count: usize) -> u32 {
        let first = self.enclosing.len();
        self.enclosing.resize(first + count, NONE);
        first as u32
    }

    pub(super) fn len(&self) -> usize {
        self.enclosing.len()
    }

    /// Nests the events of a line, whose first node is `first`; `skip` says which take no part.
    pub(super) fn nest(
        &mut self,
        first: u32,
        starts: &[i64],
        durations: Packed<'_>,
        skip: impl Fn(usize) -> bool,
    ) {
        let mut open: Vec<(i64, u32)> = Vec::new();
        for (i, (start, duration)) in starts.iter().zip(durations.iter()).enumerate() {
            if skip(i) {
                continue;
            }
            let end = start + duration;
            // Starts ascend, so an event is inside if it ends inside.
            while open.last().is_some_and(|(open_end, _)| *open_end < end) {
                open.pop();
            }
            let node = first + i as u32;
            if let Some((_, parent)) = open.last() {
                self.enclosing[node as usize] = *parent;
            }
            open.push((end, node));
        }
    }

    pub(super) fn connect(&mut self, parent: u32, child: u32) {
        self.edges.push((child, parent));
    }

    /// Makes edges searchable in both directions. To be called once, after the last edge.
    pub(super) fn seal(&mut self) {
        // Stable: a node's parents stay in the order in which they were found.
        self.edges.sort_by_key(|(child, _)| *child);
        let mut counts = vec![0u32; self.enclosing.len() + 1];
        let nested = self.enclosing.iter().enumerate().filter(|(_, p)| **p != NONE);
        let nested: Vec<(u32, u32)> = nested.map(|(c, p)| (c as u32, *p)).collect();
        for (_, parent) in nested.iter().chain(&self.edges) {
            counts[*parent as usize + 1] += 1;
        }
        for i in 1..counts.len() {
            counts[i] += counts[i - 1];
        }
        let mut at = counts.clone();
        self.children = vec![0; nested.len() + self.edges.len()];
        for (child, parent) in nested.iter().chain(&self.edges) {
            let slot = &mut at[*parent as usize];
            self.children[*slot as usize] = *child;
            *slot += 1;
        }
        self.children_from = counts;
        self.seen = (0, vec![0; self.enclosing.len()]).into();
    }

    pub(super) fn children(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.children[self.children_from[node] as usize..self.children_from[node + 1] as usize]
    }

    pub(super) fn parents(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let from = self.edges.partition_point(|(child, _)| *child < node);
        let others = self.edges[from..].iter().take_while(move |(child, _)| *child == node);
        let enclosing = Some(self.enclosing[node as usize]).filter(|p| *p != NONE);
        enclosing.into_iter().chain(others.map(|(_, parent)| *parent))
    }

    /// Visits `from` and what is reached by `next` from there, nearest first, each once, until `visit` gives something.
    /// `next` says where to go on from a node.
    fn search<T, I: Iterator<Item = u32>>(
        &self,
        from: u32,
        next: impl Fn(u32) -> I,
        mut visit: impl FnMut(u32) -> Visit<T>,
    ) -> Option<T> {
        let mut guard = self.seen.borrow_mut();
        let (round, seen) = &mut *guard;
        *round += 1;
        let mut queue = std::collections::VecDeque::from([from]);
        seen[from as usize] = *round;
        while let Some(node) = queue.pop_front() {
            match visit(node) {
                Visit::Found(value) => return Some(value),
                Visit::Stop => continue,
                Visit::GoOn => {}
            }
            for node in next(node) {
                if seen[node as usize] != *round {
                    seen[node as usize] = *round;
                    queue.push_back(node);
                }
            }
        }
        None
    }

    /// The nearest of an event and its causes for which `test` gives something.
    pub(super) fn nearest_cause<T>(&self, node: u32, mut test: impl FnMut(u32) -> Option<T>) -> Option<T> {
        self.search(node, |n| self.parents(n), |n| test(n).map_or(Visit::GoOn, Visit::Found))
    }

    /// Visits an event and all that it caused, nearest first; where `visit` says false, it goes no further.
    pub(super) fn spread(&self, node: u32, mut visit: impl FnMut(u32) -> bool) {
        let visit = |n| if visit(n) { Visit::GoOn } else { Visit::Stop };
        self.search::<(), _>(node, |n| self.children(n).iter().copied(), visit);
    }
}

enum Visit<T> {
    Found(T),
    Stop,
    GoOn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_nest_by_time_and_stop_at_the_enclosing_end() {
        let mut forest = Forest::default();
        let first = forest.add(5);
        // 0..100 holds 10..50 and 60..100; 20..50 is in the second; 90..110 reaches out of all.
        forest.nest(first, &[0, 10, 20, 60, 90], Packed::plain(&[100, 40, 30, 40, 20]), |_| false);
        forest.seal();
        assert_eq!(forest.parents(1).collect::<Vec<_>>(), [0]);
        assert_eq!(forest.parents(2).collect::<Vec<_>>(), [1]);
        assert_eq!(forest.parents(3).collect::<Vec<_>>(), [0]);
        assert_eq!(forest.parents(4).count(), 0);
        assert_eq!(forest.children(0), [1, 3]);
    }

    #[test]
    fn searches_see_every_node_once_and_the_nearest_first() {
        let mut forest = Forest::default();
        forest.add(4);
        for (parent, child) in [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)] {
            forest.connect(parent, child);
        }
        forest.seal();
        let mut visited = Vec::new();
        forest.spread(0, |n| {
            visited.push(n);
            true
        });
        assert_eq!(visited, [0, 1, 2, 3]);
        assert_eq!(forest.nearest_cause(3, |n| (n == 0).then_some(n)), Some(0));
        assert_eq!(forest.nearest_cause(3, |_| None::<u32>), None);
    }
}
