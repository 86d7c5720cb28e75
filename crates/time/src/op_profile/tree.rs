//! The tree: which ops stand under which group, and what they add up to.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::columns::cells;
use super::paths::{Paths, Step};
use super::sums::Sums;
use crate::ops::Op;
use haloscope_profile::Peaks;
use haloscope_report::Node;

/// A node while the tree grows.
struct Growing<'a, 'p> {
    step: Step<'a>,
    sums: Sums<'a>,
    op: Option<&'a Op<'p>>,
    children: Vec<usize>,
}

struct Builder<'a, 'p> {
    nodes: Vec<Growing<'a, 'p>>,
    group_of: FxHashMap<(usize, Step<'a>), usize>,
}

const ROOT: usize = 0;

/// The root over all ops, and over idle time where it is to count. Ops come largest first.
pub(super) fn build(ops: &[Op<'_>], by: &str, idle_ps: Option<i64>, peaks: &Peaks) -> Node {
    let paths = Paths::of(ops);
    let root = if idle_ps.is_some() { "all time" } else { "all ops" };
    let mut builder = Builder { nodes: Vec::new(), group_of: FxHashMap::default() };
    builder.push(None, Step { kind: "all", label: root.into() });
    for op in ops {
        let mut at = ROOT;
        builder.nodes[at].sums.add(op);
        for step in paths.path(op, by) {
            at = builder.group(at, step);
            builder.nodes[at].sums.add(op);
        }
        let leaf = builder.push(Some(at), Step { kind: "op", label: op.meta.name.as_ref().into() });
        builder.nodes[leaf].sums.add(op);
        builder.nodes[leaf].op = Some(op);
    }
    if let Some(idle_ps) = idle_ps {
        let idle = builder.push(Some(ROOT), Step { kind: "idle", label: "idle".into() });
        builder.nodes[idle].sums.self_ps = idle_ps;
        let sums = &mut builder.nodes[ROOT].sums;
        sums.self_ps = sums.self_ps.saturating_add(idle_ps);
    }
    let root_ps = builder.nodes[ROOT].sums.self_ps;
    builder.finish(ROOT, root_ps, peaks)
}

impl<'a, 'p> Builder<'a, 'p> {
    fn push(&mut self, parent: Option<usize>, step: Step<'a>) -> usize {
        let id = self.nodes.len();
        self.nodes.push(Growing { step, sums: Sums::default(), op: None, children: Vec::new() });
        if let Some(parent) = parent {
            self.nodes[parent].children.push(id);
        }
        id
    }

    fn group(&mut self, parent: usize, step: Step<'a>) -> usize {
        if let Some(&id) = self.group_of.get(&(parent, step.clone())) {
            return id;
        }
        let id = self.push(Some(parent), step.clone());
        self.group_of.insert((parent, step), id);
        id
    }

    fn finish(&self, id: usize, root_ps: i64, peaks: &Peaks) -> Node {
        let node = &self.nodes[id];
        let copies = node.step.kind == "duplicates";
        // A group of copies is only shown where there are several.
        if let [only] = node.children[..]
            && copies
        {
            return self.finish(only, root_ps, peaks);
        }
        let mut children = node.children.clone();
        children.sort_by_key(|&child| {
            let child = &self.nodes[child];
            (Reverse(child.sums.self_ps), &child.step.label)
        });
        let first = children.first().and_then(|&child| self.nodes[child].op);
        let op = node.op.or(first.filter(|_| copies));
        let label = match op {
            Some(op) if copies => format!("{} and {} like it", op.meta.name, children.len() - 1),
            _ => node.step.label.clone().into_owned(),
        };
        let values = cells(&node.sums, node.step.kind, op, root_ps, peaks);
        let children = children.iter().map(|&child| self.finish(child, root_ps, peaks)).collect();
        Node { label, values, children }
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::COLUMNS;
    use super::*;
    use crate::op_meta::OpMeta;
    use haloscope_profile::{Peak, PeakSource};
    use haloscope_report::{Cell, Tree};

    fn op(name: &'static str, category: &'static str, self_ps: i64, flops: Option<f64>) -> Op<'static> {
        Op {
            meta: OpMeta {
                name: name.into(),
                category: category.into(),
                program_id: Some(7),
                framework_op: "jit(f)/a/dot".into(),
                source: "m.py:3".into(),
                ..OpMeta::default()
            },
            module: "jit_f".into(),
            occurrences: 2,
            total_ps: self_ps,
            self_ps,
            flops,
            hbm_bytes: flops.map(|_| 0.0),
            devices: 1,
            ..Op::default()
        }
    }

    fn peaks() -> Peaks {
        let peak = |rate| Some(Peak { rate, source: PeakSource::Table });
        Peaks { flops: peak(1e12), hbm: peak(1e12), flops_at_most: None }
    }

    fn cell(node: &Node, id: &str) -> Cell {
        node.values[Tree::new("", "", COLUMNS).column(id).unwrap()].clone()
    }

    #[test]
    fn children_add_up_and_copies_stand_together() {
        let mut ops = vec![
            op("while.1", "while", 500, Some(1000.0)),
            op("dot.1", "dot", 300, Some(150.0)),
            op("dot.2", "dot", 100, Some(50.0)),
            op("copy.1", "copy", 50, Some(0.0)),
        ];
        ops[1].meta.deduplicated_name = "dot.1".into();
        ops[2].meta.deduplicated_name = "dot.1".into();
        let root = build(&ops, "program", Some(50), &peaks());
        assert_eq!((root.label.as_str(), cell(&root, "self_ps")), ("all time", Cell::Int(1000)));
        let labels = |node: &Node| node.children.iter().map(|c| c.label.clone()).collect::<Vec<_>>();
        assert_eq!(labels(&root), ["jit_f", "idle"]);
        let program = &root.children[0];
        assert_eq!(labels(program), ["while", "dot", "copy"]);
        // The loop's FLOPs are those of the ops inside.
        assert_eq!((cell(program, "flops"), cell(program, "self_ps")), (Cell::Float(200.0), Cell::Int(950)));
        let copies = &program.children[1].children[0];
        assert_eq!(copies.label, "dot.1 and 1 like it");
        assert_eq!(labels(copies), ["dot.1", "dot.2"]);
        assert_eq!(labels(&program.children[2]), ["copy.1"]);
        // 200 FLOPs in 400 ps are half of the peak; half of its share is wasted.
        assert_eq!(cell(copies, "flop_share_of_peak"), Cell::Float(0.5));
        assert_eq!(cell(copies, "wasted_share"), Cell::Float(0.2));
        assert_eq!(cell(&root.children[1], "wasted_share"), Cell::Unknown);
    }

    #[test]
    fn what_nobody_counted_is_not_called_waste() {
        let root = build(&[op("call.1", "custom-call", 500, None)], "category", None, &peaks());
        assert_eq!((cell(&root, "wasted_share"), cell(&root, "flops")), (Cell::Unknown, Cell::Unknown));
        let copy = op("copy-start.1", "copy-start", 5, Some(0.0));
        let root = build(&[copy], "category", None, &peaks());
        assert_eq!(cell(&root, "wasted_share"), Cell::Unknown);
    }

    #[test]
    fn other_first_levels() {
        let ops = [op("dot.1", "dot", 300, None)];
        let chain = |by| {
            let (mut node, mut labels) = (build(&ops, by, None, &peaks()), Vec::new());
            while let Some(child) = node.children.pop() {
                labels.push(child.label.clone());
                node = child;
            }
            labels
        };
        assert_eq!(chain("provenance"), ["jit_f", "jit(f)", "a", "dot", "dot.1"]);
        assert_eq!(chain("source"), ["m.py", "3", "dot.1"]);
        assert_eq!(chain("category"), ["dot", "dot.1"]);
    }
}
