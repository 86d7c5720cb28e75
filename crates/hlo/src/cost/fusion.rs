//! Fusions: compute is the sum of the body, memory is only what crosses the fusion's border.

use super::{Cost, Counter};
use crate::{
    index::InstructionIdx,
    instruction::{FusionKind, Instruction},
    opcode::Opcode,
    shape::Shape,
};

/// Fusions nested deeper than this (compilers stop at two or three) count a parameter as read whole.
const NESTING_LIMIT: u32 = 32;

impl Counter<'_> {
    pub(super) fn fusion(&mut self, hlo: &Instruction) -> Cost {
        let module = self.module;
        let Some(&body) = hlo.called_computations.first() else { return Cost::UNKNOWN };
        let inner = module.computation(body);
        // A custom fusion around a gather or scatter costs what that costs: its tables are not read whole.
        if hlo.attributes().fusion_kind == Some(FusionKind::Custom) {
            for index in inner.instructions() {
                let instruction = module.instruction(index);
                match instruction.opcode {
                    Opcode::Gather => return self.leaf(instruction),
                    Opcode::Scatter => return self.scatter(instruction),
                    _ => {}
                }
            }
        }
        let body_cost = self.called(body);
        let mut bytes = self.fusion_output_bytes(hlo, module.instruction(inner.root));
        for index in inner.instructions() {
            let instruction = module.instruction(index);
            if instruction.opcode == Opcode::Constant
                && instruction.shape.element_count().is_none_or(|n| n > 1)
            {
                bytes = add(bytes, self.bytes(&instruction.shape));
            }
        }
        for &parameter in inner.parameters() {
            bytes = add(bytes, self.fusion_parameter_bytes(parameter));
        }
        Cost { bytes_accessed: bytes, ..body_cost }
    }

    /// Every array that the fusion returns; one that is updated in place counts its update.
    fn fusion_output_bytes(&self, hlo: &Instruction, root: &Instruction) -> Option<u64> {
        let written = |root: &Instruction, shape: &Shape| match root.opcode {
            Opcode::DynamicUpdateSlice => self.operand_shape(root, 1).and_then(|update| self.array(update)),
            _ => self.array(shape),
        };
        if !hlo.shape.is_tuple() {
            return written(root, &hlo.shape);
        }
        let mut bytes = Some(0);
        for (position, shape) in hlo.shape.tuple_shapes.iter().enumerate() {
            let part = match root.opcode {
                Opcode::Tuple => self.operand(root, position).unwrap_or(root),
                _ => root,
            };
            bytes = add(bytes, if shape.is_tuple() { self.array(shape) } else { written(part, shape) });
        }
        bytes
    }

    /// Bytes read of one parameter; of a tuple, of each element that is taken out of it.
    fn fusion_parameter_bytes(&mut self, parameter: InstructionIdx) -> Option<u64> {
        let shape = &self.module.instruction(parameter).shape;
        if !shape.is_tuple() {
            return self.read_bytes(parameter, 0);
        }
        let mut bytes = Some(0);
        let mut todo = vec![parameter];
        while let Some(value) = todo.pop() {
            for &user in self.module.users(value) {
                let taken = self.module.instruction(user);
                if taken.opcode != Opcode::GetTupleElement {
                    continue;
                }
                if taken.shape.is_tuple() {
                    todo.push(user);
                } else {
                    bytes = add(bytes, self.read_bytes(user, 0));
                }
            }
        }
        bytes
    }

    /// Bytes that the users of a fused value read of it. Slices read what they return; all that read it whole share one
    /// read; broadcasts and reshapes, as in XLA, read it again.
    fn read_bytes(&mut self, value: InstructionIdx, nesting: u32) -> Option<u64> {
        if let Some(known) = self.parameter_reads[value.index()] {
            return known;
        }
        let module = self.module;
        let whole = self.bytes(&module.instruction(value).shape);
        if nesting > NESTING_LIMIT {
            return whole;
        }
        let mut bytes = Some(0);
        let mut read_whole = false;
        for &index in module.users(value) {
            let user = module.instruction(index);
            match user.opcode {
                Opcode::Fusion => bytes = add(bytes, self.nested_read_bytes(value, index, nesting)),
                Opcode::Broadcast | Opcode::Reshape => bytes = add(bytes, whole),
                _ => bytes = add(bytes, self.part_read(value, user, &mut read_whole).unwrap_or(whole)),
            }
        }
        self.parameter_reads[value.index()] = Some(bytes);
        bytes
    }

    /// What one user reads of a value: part of it, nothing, or (`None`) all of it.
    fn part_read(
        &self,
        value: InstructionIdx,
        user: &Instruction,
        read_whole: &mut bool,
    ) -> Option<Option<u64>> {
        let is_sliced = user.operands.first() == Some(&value);
        match user.opcode {
            Opcode::Slice => Some(self.bytes(&user.shape)),
            Opcode::DynamicSlice if is_sliced => Some(self.bytes(&user.shape)),
            // Operand 0 is the output's memory.
            Opcode::DynamicUpdateSlice if is_sliced => Some(Some(0)),
            _ if std::mem::replace(read_whole, true) => Some(Some(0)),
            _ => None,
        }
    }

    /// What a fusion inside a fusion reads of a value. Where it only passes the value on, whoever slices its result
    /// slices the value.
    fn nested_read_bytes(
        &mut self,
        value: InstructionIdx,
        fusion: InstructionIdx,
        nesting: u32,
    ) -> Option<u64> {
        let module = self.module;
        let hlo = module.instruction(fusion);
        let Some(&body) = hlo.called_computations.first() else {
            return self.bytes(&module.instruction(value).shape);
        };
        let body = module.computation(body);
        let root = module.instruction(body.root);
        let mut bytes = Some(0);
        for (position, _) in hlo.operands.iter().enumerate().filter(|(_, operand)| **operand == value) {
            let Some(&parameter) = body.parameters().get(position) else { continue };
            let passes_on = root.operands.first().is_none_or(|operand| *operand == parameter);
            let users = module.users(fusion);
            if users.is_empty() {
                bytes = add(bytes, self.read_bytes(parameter, nesting + 1));
            }
            let mut read_whole = false;
            for &user in users {
                let user = module.instruction(user);
                let slices =
                    matches!(user.opcode, Opcode::Slice | Opcode::DynamicSlice | Opcode::DynamicUpdateSlice);
                if passes_on && slices {
                    let whole = self.bytes(&hlo.shape);
                    bytes = add(bytes, self.part_read(fusion, user, &mut read_whole).unwrap_or(whole));
                } else if !std::mem::replace(&mut read_whole, true) {
                    bytes = add(bytes, self.read_bytes(parameter, nesting + 1));
                }
            }
        }
        bytes
    }
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a?.checked_add(b?)
}
