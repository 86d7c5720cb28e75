//! Where a value of a module comes from and who reads it, past instructions that move nothing.

use haloscope_hlo::{InstructionIdx, Module, Opcode};

/// At most this many instructions are followed either way.
const LIMIT: usize = 64;

/// Whether the instruction hands its operand on without touching memory.
#[must_use]
pub fn is_free(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Bitcast | Opcode::GetTupleElement | Opcode::Tuple | Opcode::OptimizationBarrier)
}

/// A value that is traced back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The instruction that makes it: a copy, a computation, a loop, a parameter, a constant.
    pub instruction: InstructionIdx,
    /// Path into the tuple that this instruction makes.
    pub path: Vec<i64>,
}

/// What makes a value, through bitcasts, the ends of asynchronous copies and the elements of tuples.
#[must_use]
pub fn origin(module: &Module, value: InstructionIdx) -> Origin {
    let mut at = value;
    let mut path: Vec<i64> = Vec::new();
    for _ in 0..LIMIT {
        let hlo = module.instruction(at);
        let first = hlo.operands.first().copied();
        let next = match hlo.opcode {
            Opcode::Bitcast | Opcode::CopyDone | Opcode::OptimizationBarrier => first,
            Opcode::GetTupleElement => {
                path.extend(hlo.attributes().tuple_index);
                first
            }
            Opcode::Tuple => {
                let part = path.last().and_then(|step| hlo.operands.get(usize::try_from(*step).ok()?));
                if part.is_some() {
                    path.pop();
                }
                part.copied()
            }
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    path.reverse();
    Origin { instruction: at, path }
}

/// Somebody who reads a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// The reader.
    pub instruction: InstructionIdx,
    /// Which of its operands the value is.
    pub operand: usize,
}

/// Who reads a value, through bitcasts and the ends of asynchronous copies. Tuples are readers: what becomes of them is
/// another question. At most some dozens are given.
#[must_use]
pub fn readers(module: &Module, value: InstructionIdx) -> Vec<Reader> {
    let mut found = Vec::new();
    let mut todo = vec![value];
    let mut steps = 0;
    while let Some(at) = todo.pop() {
        for &user in module.users(at) {
            steps += 1;
            if steps > LIMIT {
                return found;
            }
            let hlo = module.instruction(user);
            match hlo.opcode {
                Opcode::Bitcast | Opcode::CopyDone | Opcode::OptimizationBarrier => todo.push(user),
                _ => {
                    let places = hlo.operands.iter().enumerate().filter(|(_, operand)| **operand == at);
                    found.extend(places.map(|(operand, _)| Reader { instruction: user, operand }));
                }
            }
        }
    }
    found.sort_unstable_by_key(|reader| (reader.instruction, reader.operand));
    found
}
