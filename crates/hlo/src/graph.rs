//! Read-only walks over a module: who uses a value, which computations are reached.

use crate::{
    index::{ComputationIdx, InstructionIdx},
    module::Module,
};

impl Module {
    /// The instructions that read a value, each once, in the order of the proto. Control successors are not users.
    #[must_use]
    pub fn users(&self, instruction: InstructionIdx) -> &[InstructionIdx] {
        self.users.row(instruction.index())
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

    /// The instructions that call a computation, each once, in the order of the proto.
    #[must_use]
    pub fn callers(&self, computation: ComputationIdx) -> Vec<InstructionIdx> {
        self.callers.row(computation.index()).to_vec()
    }

    /// The instruction that calls a computation first in the order of the proto, if any does.
    #[must_use]
    pub fn first_caller(&self, computation: ComputationIdx) -> Option<InstructionIdx> {
        self.callers.row(computation.index()).first().copied()
    }

    /// The instructions that must wait for an instruction although no value flows, in the order of the proto.
    #[must_use]
    pub fn control_successors(&self, instruction: InstructionIdx) -> &[InstructionIdx] {
        self.control_successors.row(instruction.index())
    }

    /// Computations so ordered that each comes after those it calls, without recursion. Of a circle of calls, one is put
    /// before what it calls.
    #[must_use]
    pub fn callees_first(&self) -> Vec<ComputationIdx> {
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
