//! A drawing in the language of Graphviz, with the nodes, edges and labels of XLA's own.
//!
//! Two things differ from XLA's: ids are places in the module rather than addresses in memory, and no font is fetched from
//! elsewhere.

mod nodes;

use std::collections::BTreeMap;
use std::fmt::Write;

use haloscope_hlo::{ComputationIdx, Instruction, InstructionIdx, Module, Opcode};

use crate::{
    colours::{self, Colours},
    labels,
    neighbourhood::{Scope, Shown},
};

/// Computations nested deeper than this are not drawn.
const NESTING_LIMIT: usize = 64;

/// Operands that are written into a node; the others are left out.
const MOST_INLINED: usize = 32;

/// A tuple parameter with at least this many shown users, all of which take it apart, is merged into them.
const USERS_TO_MERGE: usize = 4;

/// What is drawn and how.
pub struct Drawing<'m> {
    /// Of which it is one.
    pub module: &'m Module,
    /// What of it is shown.
    pub scope: Scope,
    /// The computation around everything.
    pub outermost: ComputationIdx,
    /// The first line of the title.
    pub label: String,
    /// Write what the backend wants to know.
    pub with_backend_config: bool,
    /// Draw what is in fusions.
    pub with_fusions: bool,
}

/// A node of the drawing.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: String,
    /// Lines between `<br/>`, with `<b>`.
    pub(crate) body: String,
    pub(crate) shape: &'static str,
    pub(crate) tooltip: String,
    pub(crate) colours: Colours,
    /// The cluster around it: a place in [`Graph::clusters`].
    pub(crate) cluster: Option<usize>,
}

/// A computation that is drawn inside another.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) parent: Option<usize>,
    pub(crate) fill: &'static str,
    pub(crate) stroke: &'static str,
}

/// A line from one node to another.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) attributes: String,
    /// Words at its head.
    pub(crate) label: String,
    pub(crate) tooltip: String,
    pub(crate) dashed: bool,
}

/// What is drawn, in order: statements are nodes and clusters, which hold statements.
#[derive(Debug, Default)]
pub struct Graph {
    pub(crate) title: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) edges: Vec<Edge>,
    body: String,
}

impl Graph {
    /// The drawing in Graphviz's language.
    #[must_use]
    pub fn dot(&self) -> String {
        let edges: Vec<String> = self
            .edges
            .iter()
            .map(|edge| format!("{} -> {} [{}];", edge.from, edge.to, edge.attributes))
            .collect();
        format!(
            "digraph G {{\nrankdir = TB;\ncompound = true;\nlabel = <<b>{}</b>>;\nlabelloc = t;\n\
             // An empty tooltip would not turn it off.\ntooltip = \" \";\n\
             stylesheet=<\n  data:text/css,\n  svg text {{\n    font-family: 'Roboto', sans-serif;\n    \
             font-size: 12px;\n  }}\n\n{}\n>\n\n{}{}\n}}",
            self.title,
            self.hover_rules(),
            self.body,
            edges.join("\n")
        )
    }

    /// Rules that colour a node's edges while the pointer is over it. Graphviz numbers nodes and edges from 1.
    fn hover_rules(&self) -> String {
        let numbers: BTreeMap<&str, usize> =
            self.nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at + 1)).collect();
        let mut rules = String::new();
        for (at, edge) in self.edges.iter().enumerate() {
            for (end, colour) in [(&edge.from, "%231976d2"), (&edge.to, "%23d32f2f")] {
                let Some(node) = numbers.get(end.as_str()) else { continue };
                // Writing to a string cannot fail.
                let _ = writeln!(
                    rules,
                    "  %23node{node}:hover ~ %23edge{0} text {{ fill: {colour}; }}\n  \
                     %23node{node}:hover ~ %23edge{0} path {{ stroke: {colour}; stroke-width: .2em; }}\n  \
                     %23node{node}:hover ~ %23edge{0} polygon {{ fill: {colour}; stroke: {colour}; \
                     stroke-width: .2em; }}",
                    at + 1
                );
            }
        }
        rules
    }
}

impl Drawing<'_> {
    /// The drawing laid out in nodes, clusters and edges.
    #[must_use]
    pub fn graph(&self) -> Graph {
        let mut fusion_of = vec![None; self.module.computations().len()];
        for (index, instruction) in self.module.instructions().filter(|(_, i)| i.opcode == Opcode::Fusion) {
            for called in &instruction.called_computations {
                fusion_of[called.index()] = Some(index);
            }
        }
        let mut pen = Pen { drawing: self, fusion_of, cluster_of: BTreeMap::new(), graph: Graph::default() };
        pen.title();
        let mut body = pen.computation(self.outermost, None, 0);
        body.push_str(&pen.root_tag());
        pen.graph.body = body;
        pen.graph
    }
}

struct Pen<'a, 'm> {
    drawing: &'a Drawing<'m>,
    /// The fusion that a computation is the body of.
    fusion_of: Vec<Option<InstructionIdx>>,
    /// Computations that are drawn, by their places in [`Graph::clusters`].
    cluster_of: BTreeMap<ComputationIdx, usize>,
    graph: Graph,
}

fn node_id(index: InstructionIdx) -> String {
    (index.index() + 1).to_string()
}

fn cluster_id(index: ComputationIdx) -> String {
    format!("cluster_{}", index.index() + 1)
}

impl<'m> Pen<'_, 'm> {
    fn module(&self) -> &'m Module {
        self.drawing.module
    }

    fn instruction(&self, index: InstructionIdx) -> &'m Instruction {
        self.drawing.module.instruction(index)
    }

    fn shown(&self, index: InstructionIdx) -> Option<Shown> {
        self.drawing.scope.shown(self.module(), index)
    }

    fn is_fused(&self, instruction: &Instruction) -> bool {
        self.module().computation(instruction.computation).is_fusion
    }

    fn title(&mut self) {
        let (module, outermost) = (self.module(), self.drawing.outermost);
        let mut title =
            format!("{}<br/>Computation {}", self.drawing.label, module.computation(outermost).name);
        if let Some(fusion) = self.fusion_of[outermost.index()] {
            // Writing to a string cannot fail.
            let _ = write!(title, " (in fusion instruction {})", self.instruction(fusion).name);
        }
        if outermost == module.entry() {
            title.push_str("<br/>ENTRY computation");
        } else if self.fusion_of[outermost.index()].is_none() {
            let callers = module.callers(outermost).into_iter().map(|caller| self.instruction(caller));
            // What an asynchronous start runs is its own, whatever the end of it says.
            let starts = callers.filter(|c| !matches!(c.opcode, Opcode::AsyncUpdate | Opcode::AsyncDone));
            let names: Vec<&str> = starts.map(|caller| caller.name.as_str()).collect();
            // Writing to a string cannot fail.
            let _ = write!(title, "<br/>Caller instructions: {}", names.join(", "));
        }
        self.graph.title = title;
    }

    fn computation(&mut self, computation: ComputationIdx, cluster: Option<usize>, depth: usize) -> String {
        let mut text = String::new();
        for index in self.module().computation(computation).instructions() {
            if self.shown(index).is_none() {
                continue;
            }
            for called in &self.instruction(index).called_computations {
                if self.shows_computation(*called) {
                    text.push_str(&self.subcomputation(*called, index, cluster, depth + 1));
                }
            }
            self.node(index, cluster, &mut text);
        }
        text
    }

    fn shows_fusion(&self, instruction: &Instruction) -> bool {
        instruction.called_computations.first().is_some_and(|body| self.shows_computation(*body))
    }

    fn shows_computation(&self, computation: ComputationIdx) -> bool {
        let inner = self.module().computation(computation);
        if inner.is_fusion {
            let shown = self.fusion_of[computation.index()].and_then(|fusion| self.shown(fusion));
            let hidden = matches!(shown, None | Some(Shown::SomeOperandsOmitted | Shown::OperandsOmitted));
            if hidden || !self.drawing.with_fusions {
                return false;
            }
        } else if labels::trivial(self.module(), computation).is_some() {
            return false;
        }
        inner.instructions().any(|index| self.shown(index).is_some())
    }

    fn subcomputation(
        &mut self,
        computation: ComputationIdx,
        caller: InstructionIdx,
        around: Option<usize>,
        depth: usize,
    ) -> String {
        let module = self.module();
        let (inner, parent) = (module.computation(computation), self.instruction(caller));
        let id = cluster_id(computation);
        let is_fusion = parent.opcode == Opcode::Fusion;
        if !is_fusion {
            let from = self.end(inner.root);
            let tooltip = format!("{} -> {}", inner.name, parent.name);
            self.graph.edges.push(Edge {
                from: node_id(from),
                to: node_id(caller),
                attributes: format!("ltail=\"{id}\", style=\"dashed\" tooltip=\"{tooltip}\""),
                label: String::new(),
                tooltip,
                dashed: true,
            });
        }
        if self.cluster_of.contains_key(&computation) || depth > NESTING_LIMIT {
            return String::new();
        }
        let highlighted = self.shown(caller) == Some(Shown::Highlighted);
        let (fill, stroke) = match (is_fusion, highlighted) {
            (true, true) => ("#ffcdd2", "#b71c1c"),
            (true, false) => (
                parent.visualized_statistic().map_or("#f5f5f5", |(_, percent)| colours::heat(*percent)),
                "#c2c2c2",
            ),
            (false, _) => ("none", "black"),
        };
        let (label, style) = if is_fusion {
            let mut lines = vec![
                format!("Fused expression for <b>{}</b>", labels::sanitise(&parent.name)),
                module.xla_category(parent).to_owned(),
            ];
            lines.extend(self.extra_info(caller));
            lines.extend(self.backend_config(parent));
            (
                lines.join("<br/>"),
                format!("style=\"rounded,filled,bold\"; fillcolor=\"{fill}\"; color=\"{stroke};\""),
            )
        } else {
            let (name, inner) = (labels::sanitise(&parent.name), labels::sanitise(&inner.name));
            let label = format!("Subcomputation for <b>{name}</b><br/>{inner}");
            (label, "style=rounded; color=black;".to_owned())
        };
        let place = self.graph.clusters.len();
        self.cluster_of.insert(computation, place);
        self.graph.clusters.push(Cluster {
            id: id.clone(),
            label: label.clone(),
            parent: around,
            fill,
            stroke,
        });
        let body = self.computation(computation, Some(place), depth);
        format!(
            "subgraph {id} {{\n{style}\nlabel = <{label}>;\nlabelloc = t;\ntooltip = \" \";\n{body}\n}}  // {id}\n\n"
        )
    }

    /// The small circle that marks the result.
    fn root_tag(&mut self) -> String {
        let outermost = self.drawing.outermost;
        let from = self.end(self.module().computation(outermost).root);
        let root = self.instruction(from);
        if self.shown(from).is_none() || root.opcode == Opcode::Constant || self.is_inlined_broadcast(root) {
            return String::new();
        }
        let id = cluster_id(outermost);
        self.graph.edges.push(Edge {
            from: node_id(from),
            to: id.clone(),
            attributes: "tooltip=\" \"".to_owned(),
            label: String::new(),
            tooltip: String::new(),
            dashed: false,
        });
        let mut text = String::new();
        self.place(
            Node {
                id,
                body: "ROOT".to_owned(),
                shape: "circle",
                tooltip: " ".to_owned(),
                colours: colours::BROWN,
                cluster: None,
            },
            &mut text,
        );
        text
    }

    fn place(&mut self, node: Node, text: &mut String) {
        let c = node.colours;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} [label=<{}>, shape={}, tooltip=\"{}\", style=\"{}\", fontcolor=\"{}\", color=\"{}\", fillcolor=\"{}\"];",
            node.id, node.body, node.shape, node.tooltip, c.style, c.font, c.stroke, c.fill
        );
        self.graph.nodes.push(node);
    }
}
