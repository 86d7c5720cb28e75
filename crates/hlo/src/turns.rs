//! The order in which an execution of a program comes to its instructions.

use std::collections::HashMap;

use crate::{InstructionIdx, Module, Opcode};

/// When an op's turn comes in an execution of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The place in the entry's schedule of the instruction, or of the loop around it.
    pub place: usize,
    /// Whether it is of a loop.
    pub is_looped: bool,
}

/// The turns of a program's instructions by name: of those of the entry and of its loops, in linear time.
#[must_use]
pub fn turns(module: &Module) -> HashMap<String, Turn> {
    let entry = module.entry();
    let plain: Vec<InstructionIdx>;
    let order = match module.schedule(entry) {
        Some(order) => order,
        None => {
            plain = module.computation(entry).instructions().collect();
            &plain
        }
    };
    let mut turns = HashMap::new();
    let mut reached = vec![false; module.computations().len()];
    for (place, &index) in order.iter().enumerate() {
        let hlo = module.instruction(index);
        turns.insert(hlo.name.clone(), Turn { place, is_looped: false });
        let mut open: Vec<_> = match hlo.opcode {
            Opcode::While => hlo.called_computations.clone(),
            _ => Vec::new(),
        };
        while let Some(computation) = open.pop() {
            if std::mem::replace(&mut reached[computation.index()], true) {
                continue;
            }
            for inner in module.computation(computation).instructions() {
                let inner = module.instruction(inner);
                turns.insert(inner.name.clone(), Turn { place, is_looped: true });
                if matches!(inner.opcode, Opcode::While | Opcode::Call | Opcode::Conditional) {
                    open.extend(&inner.called_computations);
                }
            }
        }
    }
    turns
}
