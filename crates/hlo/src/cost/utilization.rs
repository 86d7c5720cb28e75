//! GPU fusions: how often each instruction of the body runs, and what of each parameter it reads.
//!
//! A fusion computes its result element by element, so that an instruction runs as often as the elements behind it ask
//! for it: a slice needs part of its operand, two users of different shapes need it twice. Elementwise users of one value
//! share it.

use std::collections::BTreeMap;

use super::{
    Cost, Counter,
    gpu::{Traffic, in_main_memory},
};
use crate::{
    index::InstructionIdx,
    instruction::{FusionKind, Instruction},
    opcode::Opcode,
    shape::Shape,
};

/// Constants of up to this many elements are part of the program.
const IMMEDIATE_ELEMENTS: u64 = 8;
/// Sets of users larger than this together (real fusions stay far below) count every instruction once.
const WALK_LIMIT: usize = 1 << 22;

/// One instruction of the body while users are walked before what they use.
#[derive(Clone, Debug, Default)]
struct Need {
    /// The values behind elementwise users, by position in the body, whose elements ask for this one's.
    roots: Vec<u32>,
    /// How often one element is asked for, if this value is one of those.
    as_root: f32,
}

impl Counter<'_> {
    pub(super) fn gpu_fusion(&mut self, index: InstructionIdx, hlo: &Instruction) -> Cost {
        let module = self.module;
        let Some(&body) = hlo.called_computations.first() else { return Cost::UNKNOWN };
        let inner = module.computation(body);
        if hlo.attributes().fusion_kind == Some(FusionKind::Custom) {
            for at in inner.instructions() {
                let instruction = module.instruction(at);
                if matches!(instruction.opcode, Opcode::Gather | Opcode::Scatter) {
                    self.traffic[index.index()] = self.gpu_traffic(instruction, hlo);
                    return self.leaf(instruction);
                }
            }
        }
        let first = inner.instructions().next().map_or(0, InstructionIdx::index);
        let used = self.utilization(inner.root, &inner.instructions().collect::<Vec<_>>(), first);
        let of = |at: InstructionIdx| at.index().checked_sub(first).and_then(|i| used.get(i)).copied();
        let share = |at: InstructionIdx| of(at).unwrap_or(0.0).min(1.0);
        let size = |shape: &Shape| self.array(shape).unwrap_or(0);
        let mut traffic = Traffic::default();
        let mut bytes = 0.0f32;
        for (written, shape) in self.written_parts(hlo, module.instruction(inner.root)) {
            bytes += written as f32;
            traffic.written += if in_main_memory(shape) { written } else { 0 };
        }
        let mut flops = 0.0f32;
        for at in inner.instructions() {
            let instruction = module.instruction(at);
            flops += of(at).unwrap_or(0.0) * self.instructions[at.index()].flops.unwrap_or(0) as f32;
            let elements = instruction.shape.element_count().unwrap_or(0);
            if instruction.opcode == Opcode::Constant && elements > IMMEDIATE_ELEMENTS {
                bytes += size(&instruction.shape) as f32 * share(at);
            }
        }
        for (position, &parameter) in inner.parameters().iter().enumerate() {
            let shape = &module.instruction(parameter).shape;
            let total = if shape.is_tuple() {
                self.tuple_read_bytes(parameter, share)
            } else {
                (size(shape) as f32 * share(parameter)) as u64
            };
            bytes += total as f32;
            if shape.is_tuple() || self.operand_shape(hlo, position).is_some_and(in_main_memory) {
                traffic.read += total;
            }
        }
        self.traffic[index.index()] = traffic;
        self.parameter_use.insert(index, inner.parameters().iter().map(|p| of(*p).unwrap_or(0.0)).collect());
        Cost { flops: Some(flops as u64), bytes_accessed: Some(bytes as u64), ..self.called(body) }
    }

    /// What a fusion reads of the elements of a tuple: those that are taken out of it, and the table of pointers for each
    /// that is not.
    fn tuple_read_bytes(&self, tuple: InstructionIdx, share: impl Fn(InstructionIdx) -> f32) -> u64 {
        let elements = &self.module.instruction(tuple).shape.tuple_shapes;
        let users = self.module.users(tuple).iter().copied();
        let taken: BTreeMap<i64, InstructionIdx> = users
            .filter_map(|user| Some((self.module.instruction(user).attributes().tuple_index?, user)))
            .collect();
        let read = |(number, shape): (usize, &Shape)| {
            let element = i64::try_from(number).ok().and_then(|n| taken.get(&n));
            let (value, bytes) = match element {
                Some(at) if shape.is_array() => (*at, self.array(shape).unwrap_or(0)),
                _ => (tuple, 8 * elements.len() as u64),
            };
            (bytes as f32 * share(value)) as u64
        };
        elements.iter().enumerate().map(read).fold(0, u64::saturating_add)
    }

    /// What the fusion writes of each array that it returns: the update alone where it updates in place.
    fn written_parts<'a>(&self, hlo: &'a Instruction, root: &Instruction) -> Vec<(u64, &'a Shape)> {
        let written = |root: &Instruction, shape: &Shape| {
            let update = || self.operand_shape(root, 1).and_then(|update| self.array(update));
            let whole = || self.array(shape);
            (if root.opcode == Opcode::DynamicUpdateSlice { update() } else { whole() }).unwrap_or(0)
        };
        if !hlo.shape.is_tuple() {
            return vec![(written(root, &hlo.shape), &hlo.shape)];
        }
        let parts = hlo.shape.tuple_shapes.iter().enumerate().filter(|(_, shape)| shape.is_array());
        let part = |position: usize| match root.opcode {
            Opcode::Tuple => self.operand(root, position).unwrap_or(root),
            _ => root,
        };
        parts.map(|(position, shape)| (written(part(position), shape), shape)).collect()
    }

    /// How often each instruction of a body runs for one run of the fusion, by position in the body.
    fn utilization(&self, root: InstructionIdx, body: &[InstructionIdx], first: usize) -> Vec<f32> {
        let at = |index: InstructionIdx| index.index().checked_sub(first).filter(|i| *i < body.len());
        let mut needs = vec![Need::default(); body.len()];
        let mut used = vec![0.0f32; body.len()];
        let Some(root_at) = at(root) else { return used };
        needs[root_at] = Need { roots: vec![root_at as u32], as_root: 1.0 };
        let mut walked = 0usize;
        // Instructions stand before their users.
        for (position, &index) in body.iter().enumerate().rev() {
            let hlo = self.module.instruction(index);
            let roots = std::mem::take(&mut needs[position].roots);
            let own: f32 = roots.iter().map(|r| needs[*r as usize].as_root).sum();
            used[position] = own;
            walked = walked.saturating_add(roots.len().saturating_mul(hlo.operands.len().max(1)));
            if walked > WALK_LIMIT {
                return vec![1.0; body.len()];
            }
            let in_place = index == root
                || self.module.instruction(root).opcode == Opcode::Tuple
                    && self.module.instruction(root).operands.contains(&index);
            let passes_on =
                hlo.opcode.is_elementwise() || matches!(hlo.opcode, Opcode::Tuple | Opcode::GetTupleElement);
            for (number, &operand) in hlo.operands.iter().enumerate() {
                let Some(operand_at) = at(operand) else { continue };
                if passes_on {
                    join(&mut needs[operand_at].roots, &roots);
                } else {
                    join(&mut needs[operand_at].roots, &[operand_at as u32]);
                    let asked = own * self.operand_use(index, hlo, number, in_place);
                    let elements =
                        self.module.instruction(operand).shape.element_count_recursive().unwrap_or(0) as f32;
                    // Whole elements are computed.
                    needs[operand_at].as_root +=
                        if elements > 0.0 { (asked * elements).ceil() / elements } else { 0.0 };
                }
            }
        }
        used
    }

    /// The share of an operand's elements that one run of an instruction asks for. `in_place` is whether the fusion
    /// writes the instruction's result where its first operand lies.
    fn operand_use(&self, index: InstructionIdx, hlo: &Instruction, number: usize, in_place: bool) -> f32 {
        let elements = |shape: Option<&Shape>| shape.and_then(Shape::element_count).unwrap_or(0) as f32;
        let (whole, result) = (elements(self.operand_shape(hlo, number)), elements(Some(&hlo.shape)));
        let share = |part: f32| if whole > 0.0 { part / whole } else { 0.0 };
        match hlo.opcode {
            Opcode::Slice | Opcode::DynamicSlice | Opcode::Gather if number == 0 => share(result),
            Opcode::DynamicUpdateSlice if number == 0 && in_place => 0.0,
            Opcode::DynamicUpdateSlice if number == 0 => share(result - elements(self.operand_shape(hlo, 1))),
            // Each element of the result begins with the initial value.
            Opcode::Reduce if number >= hlo.operands.len() / 2 => {
                elements(super::leaf::first_array(&hlo.shape))
            }
            Opcode::Fusion => {
                self.parameter_use.get(&index).and_then(|all| all.get(number)).copied().unwrap_or(1.0)
            }
            _ => 1.0,
        }
    }
}

/// Adds what a sorted set lacks of another.
fn join(into: &mut Vec<u32>, more: &[u32]) {
    if into.is_empty() {
        into.extend_from_slice(more);
        return;
    }
    for value in more {
        if let Err(place) = into.binary_search(value) {
            into.insert(place, *value);
        }
    }
}
