//! Name stacks of an area: which events lay in which, added up by name. What a flame graph shows, and of one name what it lay in and
//! what lay in it.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Timeline, label, nests};
use haloscope_profile::{Event, Line, LineId, MetaIdx};
use haloscope_report::Error;
use haloscope_report::stop;
use haloscope_time::intervals::Intervals;
use haloscope_time::nesting::Innermost;

/// What lay in what, in an area of the timeline.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct NameStacks {
    /// The time of all tracks, each by itself, in which an event was going on, picoseconds; of one name, the time of its events.
    pub total_ps: i64,
    /// Number of stacks that there are; the lists may hold fewer.
    pub rows: usize,
    /// Chosen tracks that are left out, because their events overlap without belonging to each other.
    pub left_out: u32,
    /// From the outside in, parents before what lies in them; of one name, that name and what lay in it.
    pub inside: Vec<StackNode>,
    /// Of one name: that name and what it lay in, from the inside out. Empty else.
    pub around: Vec<StackNode>,
}

/// The events of one name at one place in a stack.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StackNode {
    /// The events' label.
    pub name: String,
    /// Index of the node that it hangs on; `None` for those at the top.
    pub parent: Option<u32>,
    /// Time in the window in which one of the events, or of those inside, was the innermost, picoseconds.
    pub total_ps: i64,
    /// Of that, the time of the events themselves.
    pub self_ps: i64,
    /// Events that start in the window.
    pub count: u64,
}

/// A tree that grows: a node for each stack, parents before children.
#[derive(Debug, Default)]
struct Tree<N> {
    nodes: Vec<Node<N>>,
    known: FxHashMap<(u32, N), u32>,
}

#[derive(Debug, Clone, Copy)]
struct Node<N> {
    name: N,
    parent: u32,
    total_ps: i64,
    self_ps: i64,
    count: u64,
}

const NONE: u32 = u32::MAX;

impl<N: Copy + Eq + std::hash::Hash> Tree<N> {
    /// The node of a name below another.
    fn node(&mut self, parent: u32, name: N) -> u32 {
        let nodes = &mut self.nodes;
        *self.known.entry((parent, name)).or_insert_with(|| {
            nodes.push(Node { name, parent, total_ps: 0, self_ps: 0, count: 0 });
            u32::try_from(nodes.len() - 1).unwrap_or(NONE)
        })
    }

    fn add(&mut self, at: u32, self_ps: i64, count: u64) {
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.self_ps = node.self_ps.saturating_add(self_ps);
            node.count += count;
        }
    }

    fn add_total(&mut self, at: u32, total_ps: i64, count: u64) {
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.total_ps = node.total_ps.saturating_add(total_ps);
            node.count += count;
        }
    }

    /// Totals from self times: children stand behind their parents.
    fn total(&mut self) {
        for at in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[at];
            node.total_ps = node.total_ps.saturating_add(node.self_ps);
            let (total, parent) = (node.total_ps, node.parent as usize);
            if let Some(above) = self.nodes.get_mut(parent) {
                above.total_ps = above.total_ps.saturating_add(total);
            }
        }
    }
}

impl Timeline {
    /// What lay in what on `lines` between two times (picoseconds on the run's clock, the end excluded), with the `limit` largest
    /// stacks; of one label where `name` is given.
    ///
    /// # Errors
    /// [`Error::Usage`] for an empty window and for a line that there is not.
    pub fn stacks(
        &self,
        start_ps: i64,
        end_ps: i64,
        lines: &[LineId],
        name: Option<&str>,
        limit: usize,
    ) -> Result<NameStacks, Error> {
        if start_ps >= end_ps {
            return Err(Error::Usage(format!(
                "expected a window that ends after it starts, found {start_ps}..{end_ps} ps"
            )));
        }
        let mut chosen: Vec<&Line> = Vec::new();
        let mut left_out = 0;
        for id in &self.recorded(lines) {
            let line = self.line(*id)?;
            if chosen.iter().any(|l| l.id == line.id) {
                continue;
            }
            if nests(line) { chosen.push(line) } else { left_out += 1 }
        }
        let of_line = |line: &&Line| self.stacks_of(line, start_ps, end_ps);
        let of_lines: Vec<Tree<MetaIdx>> = chosen.par_iter().map(stop::carried(of_line)).collect();
        let (names, mut all) = self.together(&chosen, &of_lines);
        all.total();
        let Some(name) = name else {
            let tops = all.nodes.iter().filter(|node| node.parent == NONE);
            let total_ps = tops.map(|node| node.total_ps).fold(0, i64::saturating_add);
            let inside = largest(&all, &names, limit);
            return Ok(NameStacks { total_ps, rows: all.nodes.len(), left_out, inside, around: Vec::new() });
        };
        let wanted = names.iter().position(|one| one == name).and_then(|at| u32::try_from(at).ok());
        let (inside, around) = wanted.map(|wanted| split(&all, wanted)).unwrap_or_default();
        Ok(NameStacks {
            total_ps: inside.nodes.first().map_or(0, |node| node.total_ps),
            rows: inside.nodes.len() + around.nodes.len(),
            left_out,
            inside: largest(&inside, &names, limit),
            around: largest(&around, &names, limit),
        })
    }

    /// The stacks of one line.
    fn stacks_of(&self, line: &Line, from: i64, to: i64) -> Tree<MetaIdx> {
        let events = self.profile.events(line);
        let cut = Intervals::one(from, to);
        let mut tree: Tree<MetaIdx> = Tree::default();
        // Those that are going on, the outermost first, with the row of each in its line.
        let mut open: Vec<(usize, i64, u32)> = Vec::new();
        let mut innermost = Innermost::default();
        let mut gone: Vec<(u32, i64)> = Vec::new();
        let inside = (0..events.rows_before(to)).map(|i| events.get(i)).filter(|e| e.touches(from, to));
        for (at, event) in inside.enumerate() {
            if at.is_multiple_of(1 << 16) {
                stop::check();
            }
            let node_of =
                |event: &Event| open.iter().rev().find(|(row, ..)| *row == event.index).map(|one| one.2);
            innermost.push(event, |event, start, end| {
                gone.extend(node_of(event).map(|node| (node, cut.overlap(start, end))));
            });
            while open.pop_if(|(_, end, _)| *end <= event.start_ps).is_some() {}
            let parent = open.last().map_or(NONE, |one| one.2);
            let node = tree.node(parent, event.meta);
            tree.add(node, 0, u64::from(from <= event.start_ps && event.start_ps < to));
            open.push((event.index, event.end_ps, node));
            for (node, length) in gone.drain(..) {
                tree.add(node, length, 0);
            }
        }
        innermost.finish(|event, start, end| {
            let node = open.iter().rev().find(|(row, ..)| *row == event.index).map(|one| one.2);
            gone.extend(node.map(|node| (node, cut.overlap(start, end))));
        });
        for (node, length) in gone {
            tree.add(node, length, 0);
        }
        tree
    }

    /// The stacks of several lines as one tree, by label.
    fn together(&self, chosen: &[&Line], of_lines: &[Tree<MetaIdx>]) -> (Vec<String>, Tree<u32>) {
        let mut names: Vec<String> = Vec::new();
        let mut number: FxHashMap<String, u32> = FxHashMap::default();
        let mut all: Tree<u32> = Tree::default();
        for (line, tree) in chosen.iter().zip(of_lines) {
            let plane = self.profile.plane(line.plane);
            let mut of_meta: FxHashMap<MetaIdx, u32> = FxHashMap::default();
            let mut placed: Vec<u32> = Vec::with_capacity(tree.nodes.len());
            for node in &tree.nodes {
                let name = *of_meta.entry(node.name).or_insert_with(|| {
                    let text = label(&self.profile, plane, node.name).into_owned();
                    *number.entry(text).or_insert_with_key(|text| {
                        names.push(text.clone());
                        u32::try_from(names.len() - 1).unwrap_or(NONE)
                    })
                });
                let at = all.node(placed.get(node.parent as usize).copied().unwrap_or(NONE), name);
                all.add(at, node.self_ps, node.count);
                placed.push(at);
            }
        }
        (names, all)
    }
}

/// What lay in the events of a name, and what they lay in. Events of the name inside of others of it belong to the outermost.
fn split(all: &Tree<u32>, wanted: u32) -> (Tree<u32>, Tree<u32>) {
    let (mut inside, mut around) = (Tree::default(), Tree::default());
    let mut placed: Vec<u32> = Vec::with_capacity(all.nodes.len());
    for node in &all.nodes {
        let above = placed.get(node.parent as usize).copied().unwrap_or(NONE);
        let at = if above != NONE || node.name == wanted { inside.node(above, node.name) } else { NONE };
        inside.add(at, node.self_ps, node.count);
        placed.push(at);
        if at == NONE || above != NONE {
            continue;
        }
        let mut below = around.node(NONE, wanted);
        around.add_total(below, node.total_ps, node.count);
        let mut up = node.parent;
        while let Some(caller) = all.nodes.get(up as usize) {
            below = around.node(below, caller.name);
            around.add_total(below, node.total_ps, node.count);
            up = caller.parent;
        }
    }
    inside.total();
    // What is around has no time of its own: it is that of the name.
    (inside, around)
}

/// The largest nodes: a node is never smaller than what hangs on it, so that none of them hangs on nothing.
fn largest(tree: &Tree<u32>, names: &[String], limit: usize) -> Vec<StackNode> {
    let mut order: Vec<usize> = (0..tree.nodes.len()).collect();
    order.sort_by_key(|at| (-tree.nodes[*at].total_ps, *at));
    order.truncate(limit);
    let mut new_place: FxHashMap<u32, u32> = FxHashMap::default();
    let mut nodes = Vec::with_capacity(order.len());
    for (place, at) in order.into_iter().enumerate() {
        let node = &tree.nodes[at];
        new_place.insert(u32::try_from(at).unwrap_or(NONE), u32::try_from(place).unwrap_or(NONE));
        nodes.push(StackNode {
            name: names.get(node.name as usize).cloned().unwrap_or_default(),
            parent: new_place.get(&node.parent).copied(),
            total_ps: node.total_ps,
            self_ps: node.self_ps,
            count: node.count,
        });
    }
    nodes
}
