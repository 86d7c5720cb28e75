//! A list of instructions for each row of a table.

use crate::{index::InstructionIdx, instruction::Instruction};

/// For each row of a table a list of instructions: one flat list, cut by offsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    offsets: Vec<u32>,
    instructions: Vec<InstructionIdx>,
}

impl Lists {
    /// The instructions that read the value of each instruction.
    pub(crate) fn users(instructions: &[Instruction]) -> Self {
        // One pair for each distinct operand, in the order of users.
        let mut pairs = Vec::new();
        for (position, instruction) in instructions.iter().enumerate() {
            let start = pairs.len();
            pairs.extend(
                instruction.operands.iter().map(|operand| (operand.0, InstructionIdx(position as u32))),
            );
            pairs[start..].sort_unstable_by_key(|pair: &(u32, InstructionIdx)| pair.0);
        }
        pairs.dedup();
        Self::new(instructions.len(), pairs)
    }

    /// The instructions that call each computation.
    pub(crate) fn callers(instructions: &[Instruction], computations: usize) -> Self {
        let mut pairs = Vec::new();
        for (position, instruction) in instructions.iter().enumerate() {
            let start = pairs.len();
            let called = instruction.called_computations.iter();
            pairs.extend(called.map(|called| (called.0, InstructionIdx(position as u32))));
            pairs[start..].sort_unstable_by_key(|pair: &(u32, InstructionIdx)| pair.0);
        }
        pairs.dedup();
        Self::new(computations, pairs)
    }

    /// The instructions that must wait for each instruction although no value flows.
    pub(crate) fn control_successors(instructions: &[Instruction]) -> Self {
        let mut pairs = Vec::new();
        for (position, instruction) in instructions.iter().enumerate() {
            let successor = InstructionIdx(position as u32);
            pairs.extend(instruction.control_predecessors.iter().map(|before| (before.0, successor)));
        }
        Self::new(instructions.len(), pairs)
    }

    /// From pairs of row and instruction; those of one row keep their order.
    fn new(rows: usize, mut pairs: Vec<(u32, InstructionIdx)>) -> Self {
        pairs.sort_by_key(|pair| pair.0);
        let mut offsets = vec![0u32; rows + 1];
        for (row, _) in &pairs {
            if let Some(count) = offsets.get_mut(*row as usize + 1) {
                *count += 1;
            }
        }
        for position in 1..offsets.len() {
            offsets[position] += offsets[position - 1];
        }
        Self { offsets, instructions: pairs.into_iter().map(|pair| pair.1).collect() }
    }

    /// The list of a row; empty for rows that are not there.
    pub(crate) fn row(&self, row: usize) -> &[InstructionIdx] {
        let at = |position: usize| self.offsets.get(position).map_or(0, |offset| *offset as usize);
        self.instructions.get(at(row)..at(row + 1)).unwrap_or(&[])
    }
}
