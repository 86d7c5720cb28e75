//! A tree as rows under an indented first column: which nodes are shown where not all fit.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::{Cell, Column, Kind, Node, Tree};

/// Spaces a level.
const INDENT: usize = 2;

/// The first column, which holds the labels.
const LABEL: Column = Column::text("label", "Name", "");

/// The nodes of a tree that are shown, as rows.
pub(super) struct Outline {
    pub rows: Vec<Vec<Cell>>,
    /// How many nodes are not.
    pub left_out: usize,
}

/// How deep the node with this label in the first column lies.
pub(super) fn depth(label: &str) -> usize {
    (label.len() - label.trim_start_matches(' ').len()) / INDENT
}

/// The columns of the rows.
pub(super) fn heads(tree: &Tree) -> Vec<Column> {
    std::iter::once(LABEL).chain(tree.columns.iter().copied()).collect()
}

/// The nodes in the tree's order; with a limit (0 is none), the largest ones by the first column of numbers, none without
/// those that it is a part of.
pub(super) fn outline(tree: &Tree, limit: usize) -> Outline {
    let mut all = Vec::new();
    tree.nodes.iter().for_each(|node| flatten(node, 0, &mut all));
    let count = all.len();
    let keep = if limit == 0 || limit >= count { vec![true; count] } else { largest(tree, &all, limit) };
    let kept = all.iter().zip(&keep).filter(|(_, keep)| **keep);
    let row = |(flat, _): (&Flat<'_>, _)| {
        let label = format!("{}{}", " ".repeat(INDENT * flat.depth), flat.node.label);
        std::iter::once(Cell::from(label)).chain(flat.node.values.iter().cloned()).collect()
    };
    let rows: Vec<Vec<Cell>> = kept.map(row).collect();
    Outline { left_out: count - rows.len(), rows }
}

struct Flat<'t> {
    node: &'t Node,
    depth: usize,
    /// One past the last of the nodes below.
    end: usize,
}

fn flatten<'t>(node: &'t Node, depth: usize, all: &mut Vec<Flat<'t>>) {
    let own = all.len();
    all.push(Flat { node, depth, end: 0 });
    node.children.iter().for_each(|child| flatten(child, depth + 1, all));
    all[own].end = all.len();
}

/// A node by its size; of equals the first.
struct Sized {
    size: f64,
    at: usize,
}

impl Ord for Sized {
    fn cmp(&self, other: &Self) -> Ordering {
        self.size.total_cmp(&other.size).then(other.at.cmp(&self.at))
    }
}
impl PartialOrd for Sized {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Sized {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Sized {}

fn largest(tree: &Tree, all: &[Flat<'_>], limit: usize) -> Vec<bool> {
    let column = tree.columns.iter().position(|c| !matches!(c.kind, Kind::Text | Kind::Prose | Kind::Flag));
    let size = |at: usize| {
        let cell = column.and_then(|column| all[at].node.values.get(column));
        Sized { size: cell.and_then(Cell::number).unwrap_or(0.0), at }
    };
    let siblings = |mut at: usize, end: usize, heap: &mut BinaryHeap<Sized>| {
        while at < end {
            heap.push(size(at));
            at = all[at].end;
        }
    };
    let mut keep = vec![false; all.len()];
    let mut heap = BinaryHeap::new();
    siblings(0, all.len(), &mut heap);
    for _ in 0..limit {
        let Some(Sized { at, .. }) = heap.pop() else { break };
        keep[at] = true;
        siblings(at + 1, all[at].end, &mut heap);
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] = &[Column::text("kind", "Kind", ""), Column::duration("ps", "Time", "")];

    fn node(label: &str, ps: i64, children: Vec<Node>) -> Node {
        Node { label: label.into(), values: vec!["x".into(), Cell::Int(ps)], children }
    }

    #[test]
    fn the_largest_nodes_are_shown_with_what_they_are_part_of() {
        let small = node("small", 3, vec![node("s1", 2, vec![])]);
        let large = node("large", 7, vec![node("l1", 1, vec![]), node("l2", 6, vec![])]);
        let tree = Tree { nodes: vec![small, large], ..Tree::new("t", "", COLUMNS) };
        let labels = |limit| {
            let outline = outline(&tree, limit);
            let labels: Vec<_> = outline.rows.iter().map(|r| r[0].as_text().unwrap().to_owned()).collect();
            (labels, outline.left_out)
        };
        assert_eq!(labels(3), (vec!["small".into(), "large".into(), "  l2".into()], 2));
        assert_eq!(labels(0).0, ["small", "  s1", "large", "  l1", "  l2"]);
        assert_eq!(labels(9).1, 0);
    }
}
