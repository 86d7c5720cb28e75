//! A drawing in the language of Graphviz, with the nodes, edges and labels of XLA's own.
//!
//! Two things differ from XLA's: ids are places in the module rather than addresses in memory, and no font is fetched from
//! elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write;

use haloscope_hlo::{ComputationIdx, FusionKind, Instruction, InstructionIdx, Module, Opcode, TextOptions};

use super::{
    colours::{self, Colours, is_effective_scalar},
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
pub(super) struct Drawing<'m> {
    pub(super) module: &'m Module,
    pub(super) scope: Scope,
    /// The computation around everything.
    pub(super) outermost: ComputationIdx,
    /// The first line of the title.
    pub(super) label: String,
    /// Write what the backend wants to know.
    pub(super) with_backend_config: bool,
    /// Draw what is in fusions.
    pub(super) with_fusions: bool,
}

/// A node of the drawing.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) id: String,
    /// Lines between `<br/>`, with `<b>`.
    pub(super) body: String,
    pub(super) shape: &'static str,
    pub(super) tooltip: String,
    pub(super) colours: Colours,
    /// The cluster around it: a place in [`Graph::clusters`].
    pub(super) cluster: Option<usize>,
}

/// A computation that is drawn inside another.
#[derive(Debug, Clone)]
pub(super) struct Cluster {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) parent: Option<usize>,
    pub(super) fill: &'static str,
    pub(super) stroke: &'static str,
}

/// A line from one node to another.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) attributes: String,
    /// Words at its head.
    pub(super) label: String,
    pub(super) tooltip: String,
    pub(super) dashed: bool,
}

/// What is drawn, in order: statements are nodes and clusters, which hold statements.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) title: String,
    pub(super) nodes: Vec<Node>,
    pub(super) clusters: Vec<Cluster>,
    pub(super) edges: Vec<Edge>,
    body: String,
}

impl Graph {
    /// The drawing in Graphviz's language.
    pub(super) fn dot(&self) -> String {
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
    /// Draws.
    pub(super) fn graph(&self) -> Graph {
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
        self.drawing.scope.of(self.module(), index)
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
                labels::fusion_category(parent).to_owned(),
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

    /// The constant that a fusion's parameter stands for.
    fn constant_of(&self, parameter: &Instruction) -> Option<&'m Instruction> {
        let input = self.input_of(parameter)?;
        Some(input).filter(|input| input.opcode == Opcode::Constant)
    }

    /// The operand of a fusion that its parameter stands for.
    fn input_of(&self, parameter: &Instruction) -> Option<&'m Instruction> {
        let number = parameter.attributes().parameter_number.filter(|_| self.is_fused(parameter))?;
        let fusion = self.instruction(self.fusion_of[parameter.computation.index()]?);
        let operand = fusion.operands.get(usize::try_from(number).ok()?)?;
        Some(self.instruction(*operand))
    }

    /// A broadcast of a scalar constant in a fusion, which is written into its users.
    fn is_inlined_broadcast(&self, instruction: &Instruction) -> bool {
        let operand = instruction.operands.first().map(|o| self.instruction(*o));
        instruction.opcode == Opcode::Broadcast
            && self.is_fused(instruction)
            && operand.is_some_and(|o| o.opcode == Opcode::Constant && is_effective_scalar(&o.shape))
    }

    /// Whether an instruction is written into its users rather than drawn.
    fn is_merged(&self, index: InstructionIdx) -> bool {
        let instruction = self.instruction(index);
        let is_root = self.module().computation(instruction.computation).root == index;
        if instruction.opcode == Opcode::GetTupleElement && !is_root
            || self.constant_of(instruction).is_some()
        {
            return true;
        }
        let is_tuple = instruction.opcode == Opcode::Parameter && instruction.shape.is_tuple();
        if !is_tuple || self.is_fused(instruction) {
            return false;
        }
        let users = self.module().users(index);
        let mut shown = users.iter().filter(|user| self.shown(**user).is_some()).peekable();
        let count = shown.clone().count();
        count >= USERS_TO_MERGE
            && shown.peek().is_some()
            && shown.all(|user| self.instruction(*user).opcode == Opcode::GetTupleElement)
    }

    /// Where an edge from an instruction starts: at what a tuple element is taken from, and at the root of a drawn fusion.
    fn end(&self, index: InstructionIdx) -> InstructionIdx {
        let mut end = index;
        if self.instruction(end).opcode == Opcode::GetTupleElement {
            end = self.instruction(end).operands.first().copied().unwrap_or(end);
        }
        for _ in 0..NESTING_LIMIT {
            let instruction = self.instruction(end);
            match instruction.called_computations.first() {
                Some(body) if instruction.opcode == Opcode::Fusion && self.shows_computation(*body) => {
                    end = self.module().computation(*body).root;
                }
                _ => break,
            }
        }
        end
    }

    fn node(&mut self, index: InstructionIdx, cluster: Option<usize>, text: &mut String) {
        let instruction = self.instruction(index);
        let is_root = self.module().computation(instruction.computation).root == index;
        let is_inlined = instruction.opcode == Opcode::Constant || self.is_inlined_broadcast(instruction);
        let is_drawn_inside = instruction.opcode == Opcode::Fusion && self.shows_fusion(instruction);
        if is_inlined && !is_root || self.is_merged(index) || is_drawn_inside {
            return;
        }
        self.incoming(index);
        let (mut shape, mut colours) = (labels::shape(instruction), self.colours(index));
        match self.shown(index) {
            Some(Shown::Highlighted) => {
                shape = "diamond";
                colours = colours::DARK_RED;
            }
            Some(Shown::SomeUsersOmitted | Shown::SomeOperandsOmitted | Shown::OperandsOmitted) => {
                colours = colours::DASHED;
            }
            Some(Shown::Normal) | None => {}
        }
        if let Some((_, percent)) = instruction.visualized_statistic() {
            colours = colours::with_heat(colours, *percent);
        }
        let mut lines = vec![labels::name(instruction)];
        lines.extend(labels::trivial_subcomputations(self.module(), instruction));
        lines.extend(self.extra_info(index));
        lines.extend(self.inlined_operands(index));
        lines.extend(self.backend_config(instruction));
        let node = Node {
            id: node_id(index),
            body: lines.join("<br/>"),
            shape,
            tooltip: labels::tooltip(self.module(), instruction),
            colours,
            cluster,
        };
        self.place(node, text);
    }

    fn colours(&self, index: InstructionIdx) -> Colours {
        let instruction = self.instruction(index);
        let is_small = labels::is_small(instruction);
        let has_parameter = instruction.operands.iter().any(|operand| {
            let inner = self.instruction(*operand);
            inner.opcode == Opcode::Parameter && self.is_merged(*operand) && self.constant_of(inner).is_none()
        });
        if has_parameter {
            return colours::parameter(is_small);
        }
        colours::of(self.module(), instruction, self.is_fused(instruction), is_small)
    }

    fn incoming(&mut self, index: InstructionIdx) {
        let instruction = self.instruction(index);
        if instruction.opcode == Opcode::Parameter && self.is_fused(instruction) {
            // Of the outermost computation, the fusion is not drawn.
            let fusion = self.fusion_of[instruction.computation.index()];
            let number = instruction.attributes().parameter_number.and_then(|n| usize::try_from(n).ok());
            if let (Some(fusion), Some(number)) = (fusion, number)
                && instruction.computation != self.drawing.outermost
                && let Some(operand) = self.instruction(fusion).operands.get(number)
            {
                self.edge(*operand, index, 0, false);
            }
            return;
        }
        for (number, operand) in instruction.operands.iter().enumerate() {
            self.edge(*operand, index, number, false);
        }
        for before in &instruction.control_predecessors {
            self.edge(*before, index, 0, true);
        }
    }

    fn edge(&mut self, from: InstructionIdx, to: InstructionIdx, number: usize, is_control: bool) {
        let from = self.end(from);
        let (source, target) = (self.instruction(from), self.instruction(to));
        if self.shown(from).is_none()
            || source.opcode == Opcode::Constant
            || self.is_inlined_broadcast(source)
            || self.is_merged(from)
        {
            return;
        }
        let (label, words) = match is_control {
            true => ("ctrl".to_owned(), "style=\"dotted\" color=\"gray\" label=\"ctrl\"".to_owned()),
            false if target.operands.len() > 1 => {
                (number.to_string(), format!(" headlabel=\"{number}\", labeldistance=2"))
            }
            false => (String::new(), String::new()),
        };
        let arrow = if labels::is_small(source) { "empty" } else { "normal" };
        let tooltip = format!("{} -> {}", source.name, target.name);
        self.graph.edges.push(Edge {
            from: node_id(from),
            to: node_id(to),
            attributes: format!("arrowhead={arrow} tooltip=\"{tooltip}\" {words}"),
            label,
            tooltip,
            dashed: is_control,
        });
    }

    /// Attributes and shape.
    fn extra_info(&self, index: InstructionIdx) -> Vec<String> {
        let instruction = self.instruction(index);
        let options = TextOptions {
            metadata: true,
            infeed_outfeed_config: false,
            subcomputations: false,
            ..TextOptions::LONG
        };
        let attributes = self.module().attribute_texts(index, &options);
        let mut lines: Vec<String> = attributes.iter().map(|text| labels::attribute(text)).collect();
        if instruction.opcode != Opcode::Fusion || !self.shows_fusion(instruction) {
            lines.push(labels::shape_text(instruction));
        }
        lines
    }

    fn backend_config(&self, instruction: &Instruction) -> Option<String> {
        let config = &instruction.attributes().backend_config;
        if !self.drawing.with_backend_config || config.is_empty() {
            return None;
        }
        Some(format!("backend_config=\"{}\"", String::from_utf8_lossy(config)))
    }

    /// Operands that are not drawn as nodes.
    fn inlined_operands(&self, index: InstructionIdx) -> Vec<String> {
        let instruction = self.instruction(index);
        let mut lines = Vec::new();
        for (number, operand) in instruction.operands.iter().enumerate() {
            if lines.len() == MOST_INLINED {
                lines.push("...".to_owned());
                break;
            }
            let inner = self.instruction(*operand);
            let text = if inner.opcode == Opcode::Constant {
                labels::constant(inner, &inner.shape)
            } else if self.is_inlined_broadcast(inner) {
                let constant = self.instruction(inner.operands[0]);
                labels::constant(constant, &inner.shape)
            } else if self.is_merged(*operand) {
                match (inner.opcode, self.constant_of(inner)) {
                    (Opcode::Parameter, Some(constant)) => labels::constant(constant, &constant.shape),
                    (Opcode::Parameter, None) => {
                        format!("Parameter {}", inner.attributes().parameter_number.unwrap_or_default())
                    }
                    (Opcode::GetTupleElement, _) => self.tuple_element(inner),
                    _ => inner.name.clone(),
                }
            } else {
                continue;
            };
            let which = if instruction.operands.len() > 1 { format!(" {number}") } else { String::new() };
            lines.push(format!("<b>operand{which}</b> = {text}"));
        }
        if instruction.opcode == Opcode::Parameter
            && let Some(input) = self.input_of(instruction)
            && input.opcode == Opcode::GetTupleElement
        {
            lines.push(self.tuple_element(input));
        }
        lines
    }

    fn tuple_element(&self, taken: &Instruction) -> String {
        let number = taken.attributes().tuple_index.unwrap_or_default();
        let tuple = taken.operands.first().map_or("", |o| self.instruction(*o).name.as_str());
        format!("tuple-element {number} of {tuple} {}", taken.shape)
    }
}

/// The name of a fusion's kind.
pub(super) fn kind_name(kind: Option<&FusionKind>) -> &str {
    match kind {
        Some(FusionKind::Loop) => "kLoop",
        Some(FusionKind::Input) => "kInput",
        Some(FusionKind::Output) => "kOutput",
        Some(FusionKind::Custom) => "kCustom",
        Some(FusionKind::Other(other)) => other,
        None => "",
    }
}
