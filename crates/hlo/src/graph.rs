//! Read-only walks over a module: who uses a value, which computations are reached.

use crate::{
    index::{ComputationIdx, InstructionIdx},
    instruction::Instruction,
    module::Module,
};

/// For each instruction the instructions that read its value: one flat list, cut by offsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Users {
    offsets: Vec<u32>,
    users: Vec<InstructionIdx>,
}

impl Users {
    pub(crate) fn new(instructions: &[Instruction]) -> Self {
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
        pairs.sort_by_key(|pair| pair.0);
        let mut offsets = vec![0u32; instructions.len() + 1];
        for (operand, _) in &pairs {
            if let Some(count) = offsets.get_mut(*operand as usize + 1) {
                *count += 1;
            }
        }
        for position in 1..offsets.len() {
            offsets[position] += offsets[position - 1];
        }
        Self { offsets, users: pairs.into_iter().map(|pair| pair.1).collect() }
    }
}

impl Module {
    /// The instructions that read a value, each once, in the order of the proto. Control successors are not users.
    #[must_use]
    pub fn users(&self, instruction: InstructionIdx) -> &[InstructionIdx] {
        let at = |position: usize| self.users.offsets.get(position).map_or(0, |offset| *offset as usize);
        self.users.users.get(at(instruction.index())..at(instruction.index() + 1)).unwrap_or(&[])
    }

    /// A computation and all that it calls, directly or not, each once; callees after the caller that is met first.
    /// Circular calls, which no compiler writes, end the walk instead of repeating it.
    #[must_use]
    pub fn reachable_computations(&self, from: ComputationIdx) -> Vec<ComputationIdx> {
        let mut seen = vec![false; self.computations.len()];
        let mut order = Vec::new();
        let mut todo = vec![from];
        while let Some(computation) = todo.pop() {
            if std::mem::replace(&mut seen[computation.index()], true) {
                continue;
            }
            order.push(computation);
            for instruction in self.computation(computation).instructions().rev() {
                todo.extend(self.instruction(instruction).called_computations.iter().rev());
            }
        }
        order
    }

    /// The instructions that call a computation, in the order of the proto.
    #[must_use]
    pub fn callers(&self, computation: ComputationIdx) -> Vec<InstructionIdx> {
        let calls = |i: &Instruction| i.called_computations.contains(&computation);
        self.instructions().filter(|(_, i)| calls(i)).map(|(idx, _)| idx).collect()
    }

    /// Computations so ordered that each comes after those it calls, without recursion. Of a circle of calls, one is put
    /// before what it calls.
    pub(crate) fn callees_first(&self) -> Vec<ComputationIdx> {
        let mut order = Vec::with_capacity(self.computations.len());
        let mut state = vec![0u8; self.computations.len()];
        for root in 0..self.computations.len() as u32 {
            let mut todo = vec![ComputationIdx(root)];
            while let Some(&computation) = todo.last() {
                match state[computation.index()] {
                    0 => {
                        state[computation.index()] = 1;
                        for instruction in self.computation(computation).instructions() {
                            let called = &self.instruction(instruction).called_computations;
                            todo.extend(called.iter().filter(|c| state[c.index()] == 0));
                        }
                    }
                    1 => {
                        state[computation.index()] = 2;
                        order.push(computation);
                        todo.pop();
                    }
                    _ => {
                        todo.pop();
                    }
                }
            }
        }
        order
    }
}
