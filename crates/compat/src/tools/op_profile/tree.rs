//! The tree: which ops stand under which group, and what they add up to.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::metrics::Sums;
use crate::db::{CoreType, Db, Row};

/// What the first levels of the tree are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grouping {
    /// Program, category.
    Program,
    /// Category.
    Category,
    /// Program, then the framework's scopes, category.
    Provenance,
}

/// A place in [`Tree::nodes`].
pub(super) type NodeId = usize;

/// The root's place.
pub(super) const ROOT: NodeId = 0;

/// A group, or an op.
#[derive(Debug)]
pub(super) struct Node<'a, 'p> {
    pub(super) content: Content<'a, 'p>,
    pub(super) sums: Sums,
    /// Largest time first; no more than are shown.
    pub(super) children: Vec<NodeId>,
    /// How many there were before those that are not shown were left out.
    pub(super) all_children: usize,
}

/// What a node stands for.
#[derive(Debug)]
pub(super) enum Content<'a, 'p> {
    /// A group of this name.
    Group(Cow<'a, str>),
    /// An op.
    Op(&'a Row<'p>),
}

/// What tells the groups below one node apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key<'a> {
    Program(u64),
    Scope(&'a str),
    /// Its name, and whether the op named a scope: those that name none stand apart.
    Category(&'a str, bool),
    Duplicates(&'a str),
}

#[derive(Debug)]
pub(super) struct Tree<'a, 'p> {
    pub(super) grouping: Grouping,
    pub(super) nodes: Vec<Node<'a, 'p>>,
    group_of: FxHashMap<(NodeId, Key<'a>), NodeId>,
}

/// No more children are shown below the levels that [`Grouping::open_levels`] says.
pub(super) const SHOWN: usize = 100;

/// Scopes deeper than this count to the one at this depth: a limit for files that mean harm.
const DEEPEST_SCOPE: usize = 200;

impl Grouping {
    /// The name of the root.
    fn root(self) -> &'static str {
        match self {
            Self::Program => "by_program",
            Self::Category => "by_category",
            Self::Provenance => "by_provenance",
        }
    }

    /// The number of levels, from the root, whose children are all shown.
    pub(super) fn open_levels(self) -> usize {
        match self {
            Self::Program => 2,
            Self::Category => 1,
            Self::Provenance => 100,
        }
    }
}

impl<'a, 'p> Tree<'a, 'p> {
    /// The tree of all ops, idle time among them.
    pub(super) fn build(db: &'a Db<'p>, grouping: Grouping, program_names: &FxHashMap<u64, &'a str>) -> Self {
        let mut tree = Self { grouping, nodes: Vec::new(), group_of: FxHashMap::default() };
        tree.add(None, Content::Group(Cow::Borrowed(grouping.root())));
        // Computations of reductions and sorts are no ops.
        for row in db.rows.iter().filter(|row| !row.name.starts_with("region")) {
            tree.place(row, program_names);
        }
        tree.prune(ROOT, grouping.open_levels());
        tree
    }

    fn add(&mut self, parent: Option<NodeId>, content: Content<'a, 'p>) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(Node { content, sums: Sums::default(), children: Vec::new(), all_children: 0 });
        if let Some(parent) = parent {
            self.nodes[parent].children.push(id);
        }
        id
    }

    fn group(&mut self, parent: NodeId, key: Key<'a>, name: impl FnOnce() -> Cow<'a, str>) -> NodeId {
        if let Some(&id) = self.group_of.get(&(parent, key)) {
            return id;
        }
        let id = self.add(Some(parent), Content::Group(name()));
        self.group_of.insert((parent, key), id);
        id
    }

    /// Puts an op where it belongs and adds it to all that it belongs to. Programs and scopes add up the self times of
    /// all ops in them; categories and what is below, the times of ops that contain no others.
    fn place(&mut self, row: &'a Row<'p>, program_names: &FxHashMap<u64, &'a str>) {
        let within = Sums::within(row);
        self.nodes[ROOT].sums.add(&within);
        let mut at = ROOT;
        if !row.is_idle() && self.grouping != Grouping::Category {
            let id = row.program_id;
            at = self.group(ROOT, Key::Program(id), || match program_names.get(&id) {
                Some(name) => Cow::Owned(format!("{name}({id})")),
                None => Cow::Borrowed("main"),
            });
            self.nodes[at].sums.add(&within);
        }
        if row.time_ps != row.self_ps && !has_offloaded(row) {
            return;
        }
        let whole = Sums::new(row);
        if !row.is_idle() {
            let scoped = self.grouping == Grouping::Provenance && !row.provenance.is_empty();
            if scoped {
                for scope in scopes(&row.provenance) {
                    at = self.group(at, Key::Scope(scope), || Cow::Borrowed(scope));
                    self.nodes[at].sums.add(&within);
                }
            }
            at = self.group(at, Key::Category(&row.category, scoped), || Cow::Borrowed(&row.category));
            self.nodes[at].sums.add(&whole);
            let shared = if row.deduplicated_name.is_empty() { &row.name } else { &row.deduplicated_name };
            at = self.group(at, Key::Duplicates(shared), || Cow::Borrowed(shared));
            self.nodes[at].sums.add(&whole);
        }
        let leaf = self.add(Some(at), Content::Op(row));
        self.nodes[leaf].sums = whole;
    }

    fn prune(&mut self, id: NodeId, open_levels: usize) {
        let mut children = std::mem::take(&mut self.nodes[id].children);
        self.nodes[id].all_children = children.len();
        // XProf leaves to chance which of equal ones come first, and which are cut. Here the last by name come first.
        let key = |&child: &NodeId| (self.nodes[child].sums.time_ps, self.name(child));
        children.sort_by(|a, b| key(b).cmp(&key(a)));
        if open_levels == 0 {
            children.truncate(SHOWN);
        }
        for &child in &children {
            self.prune(child, open_levels.saturating_sub(1));
        }
        self.nodes[id].children = children;
    }

    fn name(&self, id: NodeId) -> &str {
        match &self.nodes[id].content {
            Content::Group(name) => name,
            Content::Op(row) => &row.name,
        }
    }

    /// The op that a node stands for, if it is one.
    pub(super) fn op(&self, id: NodeId) -> Option<&'a Row<'p>> {
        match self.nodes[id].content {
            Content::Op(row) => Some(row),
            Content::Group(_) => None,
        }
    }
}

/// True if a SparseCore ran ops for this one.
fn has_offloaded(row: &Row<'_>) -> bool {
    row.offloaded.as_ref().is_some_and(|db| db.rows.iter().any(|r| r.core_type == CoreType::Sparse))
}

/// The scopes of a path, outermost first; the last without the op's type.
fn scopes(provenance: &str) -> impl Iterator<Item = &str> {
    let last = provenance.split('/').filter(|part| !part.is_empty()).count().saturating_sub(1);
    let parts = provenance.split('/').filter(|part| !part.is_empty()).enumerate();
    let parts =
        parts.map(move |(i, part)| if i == last { part.split(':').next().unwrap_or(part) } else { part });
    parts.take(DEEPEST_SCOPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_of_paths() {
        let all = |path| scopes(path).collect::<Vec<_>>();
        assert_eq!(all("jit(f)/a:b//dot_general:Dot:x"), ["jit(f)", "a:b", "dot_general"]);
        assert_eq!(all(":"), [""]);
        assert!(all("/").is_empty() && all("").is_empty());
        assert_eq!(all(&"a/".repeat(100_000)).len(), DEEPEST_SCOPE);
    }
}
