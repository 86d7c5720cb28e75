//! Trees: a whole, its parts, and theirs, with the same columns at every level.

use serde::Serialize;

use super::{Cell, Column};

/// Levels below the top that a tree may have: readers of JSON give up on deeper nesting (two brackets a level).
pub const DEEPEST: usize = 48;

/// A tree: columns defined once, nodes with a label and as many values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tree {
    /// Stable id; no table of the same report has it.
    pub id: &'static str,
    /// What a person reads above it.
    pub title: &'static str,
    /// The columns of the nodes' values; the label has none.
    pub columns: &'static [Column],
    /// The nodes at the top, in the order in which they are best read.
    pub nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Node {
    /// What it is called among its siblings.
    pub label: String,
    /// A cell for each column.
    pub values: Vec<Cell>,
    /// Its parts, in the order in which they are best read.
    pub children: Vec<Node>,
}

/// A node where a walk over a tree comes by.
#[derive(Debug, Clone, Copy)]
pub struct Visit<'t, 'w> {
    /// The node.
    pub node: &'t Node,
    /// Labels from the top to this node, both included.
    pub path: &'w [&'t str],
}

impl Tree {
    /// A tree without nodes.
    #[must_use]
    pub fn new(id: &'static str, title: &'static str, columns: &'static [Column]) -> Self {
        Self { id, title, columns, nodes: Vec::new() }
    }

    /// Position of a column.
    #[must_use]
    pub fn column(&self, id: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.id == id)
    }

    /// All nodes, each before its children.
    pub fn walk<'t>(&'t self, each: &mut dyn FnMut(Visit<'t, '_>)) {
        let mut path = Vec::new();
        self.nodes.iter().for_each(|node| node.walk(&mut path, each));
    }

    /// The number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        let mut count = 0;
        self.walk(&mut |_| count += 1);
        count
    }

    /// True without nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl Node {
    fn walk<'t>(&'t self, path: &mut Vec<&'t str>, each: &mut dyn FnMut(Visit<'t, '_>)) {
        path.push(&self.label);
        each(Visit { node: self, path });
        self.children.iter().for_each(|child| child.walk(path, each));
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_knows_where_it_is() {
        let leaf = |label: &str| Node { label: label.into(), ..Node::default() };
        let top = Node { children: vec![leaf("b"), leaf("c")], ..leaf("a") };
        let tree = Tree { nodes: vec![top, leaf("d")], ..Tree::new("t", "", &[]) };
        let mut paths = Vec::new();
        tree.walk(&mut |at| paths.push(at.path.join("/")));
        assert_eq!(paths, ["a", "a/b", "a/c", "d"]);
        assert_eq!(tree.len(), 4);
    }
}
