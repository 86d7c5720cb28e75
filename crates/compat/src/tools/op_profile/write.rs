//! The tree as JSON: the messages `Profile`, `Node` and what is in them.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::fused::{Fused, Instruction};
use super::kernel_metadata;
use super::metrics::{Metrics, Sums};
use super::tree::{Content, Grouping, NodeId, ROOT, SHOWN, Tree};
use crate::db::{Db, Hardware, PerfEnv, Row, over};
use crate::proto_json::{Double, Uint64};

/// What all nodes are written with.
#[derive(Debug)]
pub(super) struct Context<'a, 'p> {
    pub(super) tree: Tree<'a, 'p>,
    pub(super) perf: PerfEnv,
    /// Where to look into fusions, if at all.
    pub(super) fused: Option<Fused<'p>>,
}

/// The answer: the tree with idle time and without.
#[derive(Debug)]
pub(super) struct Report<'a, 'p> {
    pub(super) context: &'a Context<'a, 'p>,
    pub(super) db: &'a Db<'p>,
    pub(super) hardware: Hardware,
}

impl Serialize for Report<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let root = |total_ps, idle| Some(Part::node(self.context, View { total_ps, idle }, ROOT, 0));
        let (whole, busy) = (root(self.db.total_ps, true), root(self.db.op_ps, false));
        let device_type = match self.hardware {
            Hardware::Tpu => "TPU",
            Hardware::Gpu => "GPU",
            Hardware::Cpu => "CPU_ONLY",
        };
        let [key, busy_key] = match self.context.tree.grouping {
            Grouping::Program => ["byProgram", "byProgramExcludeIdle"],
            Grouping::Category => ["byCategory", "byCategoryExcludeIdle"],
            Grouping::Provenance => ["byProvenance", "byProvenanceExcludeIdle"],
        };
        let mut map = to.serialize_map(None)?;
        map.serialize_entry(key, &whole)?;
        map.serialize_entry("deviceType", device_type)?;
        map.serialize_entry(busy_key, &busy)?;
        let slower = over(self.db.normalized_op_ps as f64, self.db.op_ps as f64);
        map.serialize_entry("aggDvfsTimeScaleMultiplier", &Double(slower))?;
        map.end()
    }
}

/// Which of the two trees is being written.
#[derive(Debug, Clone, Copy)]
struct View {
    /// The root's time.
    total_ps: u64,
    /// With idle time.
    idle: bool,
}

/// A node to be written.
#[derive(Debug, Clone, Copy)]
struct Part<'a, 'p> {
    context: &'a Context<'a, 'p>,
    view: View,
    what: What<'a, 'p>,
    /// Levels between the root and this node.
    level: usize,
}

#[derive(Debug, Clone, Copy)]
enum What<'a, 'p> {
    /// A node of the tree.
    Node(NodeId),
    /// An op that a SparseCore ran for another.
    Offloaded(&'a Row<'p>),
    /// An instruction inside a fusion.
    Fused(Instruction<'p>),
}

impl<'a, 'p> Part<'a, 'p> {
    fn node(context: &'a Context<'a, 'p>, view: View, id: NodeId, level: usize) -> Self {
        let part = Self { context, view, what: What::Node(id), level };
        // A group of ops that are copies of one another is only shown where there are several.
        match part.tree_children().as_slice() {
            [only] if part.is_duplicates() => Self { what: What::Node(*only), ..part },
            _ => part,
        }
    }

    /// The children of a tree's node that this view shows.
    fn tree_children(&self) -> Vec<NodeId> {
        let What::Node(id) = self.what else { return Vec::new() };
        let tree = &self.context.tree;
        let shown = |child: &NodeId| self.view.idle || !tree.op(*child).is_some_and(Row::is_idle);
        tree.nodes[id].children.iter().copied().filter(shown).collect()
    }

    /// True for groups of nothing but ops.
    fn is_duplicates(&self) -> bool {
        let tree = &self.context.tree;
        let What::Node(id) = self.what else { return false };
        let children = self.tree_children();
        tree.op(id).is_none() && !children.is_empty() && children.iter().all(|c| tree.op(*c).is_some())
    }

    fn children(&self) -> (Vec<Self>, usize) {
        let below = |what| Self { what, level: self.level + 1, ..*self };
        let inside = match self.what {
            What::Node(id) => match self.context.tree.op(id) {
                Some(row) => self.inside_op(row),
                None => {
                    let tree = &self.context.tree;
                    let shown = self.tree_children();
                    let all = tree.nodes[id].all_children + shown.len() - tree.nodes[id].children.len();
                    let node = |&child| Self::node(self.context, self.view, child, self.level + 1);
                    return (shown.iter().map(node).collect(), all);
                }
            },
            What::Offloaded(row) => self.inside_op(row),
            What::Fused(instruction) => {
                let fused = self.context.fused.as_ref().map(|f| f.inside(instruction)).unwrap_or_default();
                fused.into_iter().map(What::Fused).collect()
            }
        };
        let all = inside.len();
        let open = self.context.tree.grouping.open_levels() > self.level;
        let shown = if open { all } else { SHOWN };
        (inside.into_iter().take(shown).map(below).collect(), all)
    }

    /// What a SparseCore ran for an op, and what is fused in it: the largest first.
    fn inside_op(&self, row: &'a Row<'p>) -> Vec<What<'a, 'p>> {
        let mut offloaded: Vec<_> = row.offloaded.iter().flat_map(|db| &db.rows).collect();
        if row.category.ends_with(" fusion") {
            offloaded.sort_by(|a, b| b.model_flops.total_cmp(&a.model_flops));
        } else {
            offloaded.sort_by_key(|row| std::cmp::Reverse(row.time_ps));
        }
        let fused = self.context.fused.as_ref().map(|f| f.of_op(row)).unwrap_or_default();
        offloaded.into_iter().map(What::Offloaded).chain(fused.into_iter().map(What::Fused)).collect()
    }

    fn sums(&self) -> Sums {
        match self.what {
            What::Node(id) => {
                let sums = self.context.tree.nodes[id].sums;
                if id == ROOT { Sums { time_ps: self.view.total_ps, ..sums } } else { sums }
            }
            What::Offloaded(row) => Sums::new(row),
            // Executions of the fusion are not counted here: the instruction occurs once in it.
            What::Fused(_) => Sums { occurrences: 1, ..Sums::default() },
        }
    }

    /// The node's name, and what is said of the op where it is one, or a group of copies of one.
    fn name_and_op(&self) -> (Cow<'a, str>, Option<XlaInstruction<'a>>) {
        let of_row = |row: &'a Row<'p>| (Cow::Borrowed(&*row.name), Some(XlaInstruction::new(row)));
        match self.what {
            What::Offloaded(row) => of_row(row),
            What::Fused(instruction) => {
                let op = XlaInstruction::of_fused(instruction);
                (Cow::Owned(instruction.name().to_owned()), Some(op))
            }
            What::Node(id) => {
                let tree = &self.context.tree;
                match &tree.nodes[id].content {
                    Content::Op(row) => of_row(row),
                    Content::Group(name) => {
                        let first = self.tree_children().first().and_then(|child| tree.op(*child));
                        match first.filter(|_| self.is_duplicates()) {
                            Some(row) => {
                                let name = format!("{} and its duplicate(s)", row.name);
                                (Cow::Owned(name), Some(XlaInstruction::of_copies(row)))
                            }
                            None => (Cow::Owned(name.clone().into_owned()), None),
                        }
                    }
                }
            }
        }
    }
}

impl Serialize for Part<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (name, op) = self.name_and_op();
        let (children, all_children) = self.children();
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("name", &name)?;
        map.serialize_entry("metrics", &Metrics::new(&self.sums(), &self.context.perf, self.view.total_ps))?;
        map.serialize_entry("children", &List(&children))?;
        if let Some(op) = op {
            map.serialize_entry("xla", &op)?;
        }
        map.serialize_entry("numChildren", &all_children)?;
        map.end()
    }
}

struct List<'a, 'b, 'p>(&'b [Part<'a, 'p>]);

impl Serialize for List<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.0.len()))?;
        for part in self.0 {
            list.serialize_element(part)?;
        }
        list.end()
    }
}

/// The message of this name. What XProf never fills in says so by its type.
#[derive(Debug, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct XlaInstruction<'a> {
    op: &'static str,
    expression: Cow<'a, str>,
    provenance: Cow<'a, str>,
    category: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<Layout>,
    computation_primitive_size: u32,
    fingerprint: Uint64,
    program_id: Uint64,
    source_info: Source<'a>,
    xprof_kernel_metadata: String,
}

/// A layout without dimensions: nobody records any.
#[derive(Debug, Default, serde::Serialize)]
struct Layout {
    dimensions: [u32; 0],
}

#[derive(Debug, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Source<'a> {
    file_name: &'a str,
    line_number: i32,
    stack_frame: &'a str,
}

impl<'a> XlaInstruction<'a> {
    fn new(row: &'a Row<'_>) -> Self {
        let source = &row.source;
        Self {
            expression: Cow::Borrowed(&row.expression),
            provenance: Cow::Borrowed(&row.provenance),
            category: Cow::Borrowed(&row.category),
            program_id: Uint64(row.program_id),
            source_info: Source {
                file_name: &source.file,
                line_number: source.line,
                stack_frame: &source.stack,
            },
            xprof_kernel_metadata: kernel_metadata::of_expression(&row.expression),
            ..Self::default()
        }
    }

    /// Of a group of copies, from the first. Fusions in it may come from different scopes.
    fn of_copies(first: &'a Row<'_>) -> Self {
        let op = Self::new(first);
        if first.category.ends_with(" fusion") {
            Self { provenance: Cow::Borrowed(""), ..op }
        } else {
            Self { layout: Some(Layout::default()), ..op }
        }
    }

    fn of_fused(instruction: Instruction<'_>) -> Self {
        let expression = instruction.expression();
        Self {
            xprof_kernel_metadata: kernel_metadata::of_expression(&expression),
            expression: Cow::Owned(expression),
            provenance: Cow::Owned(instruction.provenance()),
            category: Cow::Owned(instruction.category().to_owned()),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashMap;
    use serde_json::{Value, json};

    use super::*;
    use crate::db::CoreType;

    fn op(name: impl Into<Cow<'static, str>>, category: &'static str, times: (u64, u64)) -> Row<'static> {
        Row {
            program_id: 7,
            name: name.into(),
            category: category.into(),
            occurrences: 5,
            time_ps: times.0,
            self_ps: times.1,
            core_type: CoreType::Tensor,
            ..Row::default()
        }
    }

    fn db(rows: Vec<Row<'static>>, total_ps: u64) -> Db<'static> {
        let mut db = Db::default();
        for row in rows {
            db.op_ps += row.self_ps;
            db.add(row);
        }
        db.finish(total_ps)
    }

    fn write(db: &Db<'_>, grouping: Grouping) -> Value {
        let names = FxHashMap::from_iter([(7, "jit_f")]);
        let tree = Tree::build(db, grouping, &names);
        let context = Context { tree, perf: PerfEnv::default(), fused: None };
        serde_json::to_value(Report { context: &context, db, hardware: Hardware::Tpu }).unwrap()
    }

    fn names(node: &Value) -> Vec<&str> {
        node["children"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect()
    }

    #[test]
    fn ops_of_a_sparse_core_stand_below_the_op_that_waits_for_them() {
        let sparse = |name, time| Row { core_type: CoreType::Sparse, ..op(name, "gather", (time, time)) };
        let inner = db(vec![sparse("add.7", 1_500_000), sparse("gather.1", 2_000_000)], 5_000_000);
        let waits =
            Row { offloaded: Some(Box::new(inner)), ..op("start.1", "async-start", (10_087_500, 87_500)) };
        let answer = write(&db(vec![waits], 20_000_000), Grouping::Program);
        // As in XProf, idle time of the SparseCore is shown even where the device's is not.
        for key in ["byProgram", "byProgramExcludeIdle"] {
            let program =
                answer[key]["children"].as_array().unwrap().iter().find(|c| c["name"] == "jit_f(7)").unwrap();
            assert_eq!(program["metrics"]["rawTime"], 87_500);
            let waits = &program["children"][0]["children"][0];
            assert_eq!(
                (&waits["name"], &waits["metrics"]["rawTime"]),
                (&json!("start.1"), &json!(10_087_500))
            );
            assert_eq!(names(waits), ["gather.1", "add.7", "IDLE"]);
            assert_eq!(waits["children"][0]["metrics"]["avgTimePs"], 400_000);
        }
    }

    #[test]
    fn ops_that_hold_others_count_their_own_time_only() {
        let rows = vec![
            Row { flops: 100.0, ..op("while.1", "while", (1000, 300)) },
            Row { flops: 70.0, ..op("dot.1", "dot", (700, 700)) },
            op("region_0.3", "region", (50, 50)),
        ];
        let answer = write(&db(rows, 2000), Grouping::Category);
        let root = &answer["byCategory"];
        assert_eq!(names(root), ["IDLE", "dot"]);
        assert_eq!((&root["metrics"]["rawTime"], &root["metrics"]["bf16Flops"]), (&json!(2000), &json!(70)));
        assert_eq!(answer["byCategoryExcludeIdle"]["metrics"]["rawTime"], 1050);
    }

    #[test]
    fn a_hundred_children_are_shown_and_all_counted() {
        let rows = (0..130).map(|i| op(format!("copy.{i:03}"), "copy", (10, 10))).collect();
        let answer = write(&db(rows, 2000), Grouping::Program);
        let copies = &answer["byProgram"]["children"][0]["children"][0];
        assert_eq!((names(copies).len(), &copies["numChildren"]), (100, &json!(130)));
        assert_eq!((&copies["metrics"]["rawTime"], names(copies)[0]), (&json!(1300), "copy.129"));
    }

    #[test]
    fn scopes_may_be_deep() {
        let deep = Row { provenance: "a/".repeat(100_000).into(), ..op("add.1", "add", (10, 10)) };
        let answer = write(&db(vec![deep], 10), Grouping::Provenance);
        let mut node = &answer["byProvenance"]["children"][0];
        let mut depth = 0;
        while let Some(next) = node["children"].get(0) {
            (node, depth) = (next, depth + 1);
        }
        assert_eq!((&node["name"], depth), (&json!("add.1"), 202));
    }
}
