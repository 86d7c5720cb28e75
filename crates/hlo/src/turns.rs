//! The order in which an execution of a program comes to its instructions.

use std::collections::HashMap;

use crate::{Module, Opcode};

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
    let mut turns = HashMap::new();
    let mut reached = vec![false; module.computations().len()];
    for (place, &index) in module.order(module.entry()).iter().enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;

    const LOOP: &str = "HloModule jit_step

%body (b: (s32[], f32[4])) -> (s32[], f32[4]) {
  %b = (s32[], f32[4]{0}) parameter(0)
  %i = s32[] get-tuple-element(%b), index=0
  %x = f32[4]{0} get-tuple-element(%b), index=1
  %double = f32[4]{0} add(%x, %x)
  ROOT %next = (s32[], f32[4]{0}) tuple(%i, %double)
}

%again (c: (s32[], f32[4])) -> pred[] {
  %c = (s32[], f32[4]{0}) parameter(0)
  %j = s32[] get-tuple-element(%c), index=0
  %most = s32[] constant(5)
  ROOT %less = pred[] compare(%j, %most), direction=LT
}

ENTRY %main (p: (s32[], f32[4])) -> f32[4] {
  %p = (s32[], f32[4]{0}) parameter(0)
  %while.1 = (s32[], f32[4]{0}) while(%p), condition=%again, body=%body
  %y = f32[4]{0} get-tuple-element(%while.1), index=1
  ROOT %last = f32[4]{0} negate(%y)
}
";

    #[test]
    fn ops_of_a_loop_have_its_turn() {
        let turns = turns(&Module::parse(LOOP).unwrap());
        let of = |name: &str| turns.get(name).copied();
        let around = of("while.1").unwrap();
        assert!(!around.is_looped);
        for inner in ["double", "less"] {
            assert_eq!(of(inner), Some(Turn { place: around.place, is_looped: true }), "{inner}");
        }
        let last = of("last").unwrap();
        assert!(!last.is_looped && last.place > around.place);
        assert_eq!(of("gone"), None);
    }
}
