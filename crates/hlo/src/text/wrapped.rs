//! Asynchronous instructions that can be written as the one instruction that they run.

use super::TextOptions;
use crate::{
    instruction::{Computation, Instruction},
    module::Module,
    opcode::Opcode,
};

/// The computation that an asynchronous instruction runs, if it can be written as one instruction.
pub(super) fn wrapped<'m>(
    module: &'m Module,
    instruction: &'m Instruction,
    options: &TextOptions,
) -> Option<&'m Computation> {
    if !options.async_sugar {
        return None;
    }
    if !matches!(instruction.opcode, Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone) {
        return None;
    }
    // The start names the computation. It is found along operands, and where a loop carries it, through the loop's state.
    let mut at = instruction;
    for _ in 0..module.instructions().len() {
        if let (Opcode::AsyncStart | Opcode::AsyncUpdate | Opcode::AsyncDone, Some(called)) =
            (at.opcode, at.called_computations.first())
        {
            return Some(module.computation(*called)).filter(|called| is_one_instruction(module, called));
        }
        let operand = module.instruction(*at.operands.first()?);
        at = match at.opcode {
            Opcode::AsyncUpdate | Opcode::AsyncDone => operand,
            Opcode::GetTupleElement => {
                let state = match operand.opcode {
                    Opcode::While => module.instruction(*operand.operands.first()?),
                    Opcode::Parameter => {
                        let caller = module.first_caller(operand.computation)?;
                        module.instruction(*module.instruction(caller).operands.first()?)
                    }
                    _ => operand,
                };
                let element = usize::try_from(at.attributes().tuple_index?).ok()?;
                match state.opcode {
                    Opcode::Tuple => module.instruction(*state.operands.get(element)?),
                    _ => return None,
                }
            }
            _ => return None,
        };
    }
    None
}

/// Whether an asynchronous instruction can be written as the one instruction that its computation holds.
pub(super) fn is_one_instruction(module: &Module, computation: &Computation) -> bool {
    computation
        .instructions()
        .all(|index| index == computation.root || module.instruction(index).opcode == Opcode::Parameter)
}
