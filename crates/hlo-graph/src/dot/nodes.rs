//! Nodes with what is written into them, and the lines between them.

use haloscope_hlo::{Instruction, InstructionIdx, Opcode, TextOptions};

use super::{Edge, MOST_INLINED, NESTING_LIMIT, Node, Pen, USERS_TO_MERGE, node_id};
use crate::colours::{self, Colours, is_effective_scalar};
use crate::{labels, neighbourhood::Shown};

impl<'m> Pen<'_, 'm> {
    /// The constant that a fusion's parameter stands for.
    pub(super) fn constant_of(&self, parameter: &Instruction) -> Option<&'m Instruction> {
        let input = self.input_of(parameter)?;
        Some(input).filter(|input| input.opcode == Opcode::Constant)
    }

    /// The operand of a fusion that its parameter stands for.
    pub(super) fn input_of(&self, parameter: &Instruction) -> Option<&'m Instruction> {
        let number = parameter.attributes().parameter_number.filter(|_| self.is_fused(parameter))?;
        let fusion = self.instruction(self.fusion_of[parameter.computation.index()]?);
        let operand = fusion.operands.get(usize::try_from(number).ok()?)?;
        Some(self.instruction(*operand))
    }

    /// A broadcast of a scalar constant in a fusion, which is written into its users.
    pub(super) fn is_inlined_broadcast(&self, instruction: &Instruction) -> bool {
        let operand = instruction.operands.first().map(|o| self.instruction(*o));
        instruction.opcode == Opcode::Broadcast
            && self.is_fused(instruction)
            && operand.is_some_and(|o| o.opcode == Opcode::Constant && is_effective_scalar(&o.shape))
    }

    /// Whether an instruction is written into its users rather than drawn.
    pub(super) fn is_merged(&self, index: InstructionIdx) -> bool {
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
    pub(super) fn end(&self, index: InstructionIdx) -> InstructionIdx {
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

    pub(super) fn node(&mut self, index: InstructionIdx, cluster: Option<usize>, text: &mut String) {
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

    pub(super) fn colours(&self, index: InstructionIdx) -> Colours {
        let instruction = self.instruction(index);
        let is_small = labels::is_small(instruction);
        let has_parameter = instruction.operands.iter().any(|operand| {
            let inner = self.instruction(*operand);
            inner.opcode == Opcode::Parameter && self.is_merged(*operand) && self.constant_of(inner).is_none()
        });
        if has_parameter {
            return colours::parameter(is_small);
        }
        colours::node_colours(self.module(), instruction, self.is_fused(instruction), is_small)
    }

    pub(super) fn incoming(&mut self, index: InstructionIdx) {
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

    pub(super) fn edge(&mut self, from: InstructionIdx, to: InstructionIdx, number: usize, is_control: bool) {
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
    pub(super) fn extra_info(&self, index: InstructionIdx) -> Vec<String> {
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

    pub(super) fn backend_config(&self, instruction: &Instruction) -> Option<String> {
        let config = &instruction.attributes().backend_config;
        if !self.drawing.with_backend_config || config.is_empty() {
            return None;
        }
        Some(format!("backend_config=\"{}\"", String::from_utf8_lossy(config)))
    }

    /// Operands that are not drawn as nodes.
    pub(super) fn inlined_operands(&self, index: InstructionIdx) -> Vec<String> {
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

    pub(super) fn tuple_element(&self, taken: &Instruction) -> String {
        let number = taken.attributes().tuple_index.unwrap_or_default();
        let tuple = taken.operands.first().map_or("", |o| self.instruction(*o).name.as_str());
        format!("tuple-element {number} of {tuple} {}", taken.shape)
    }
}
