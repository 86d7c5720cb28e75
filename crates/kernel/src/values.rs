//! Which lines of a program values come from, and go to.

use std::collections::{BTreeSet, VecDeque};

use haloscope_llo::{InstructionIdx, Module, Operand};
use rustc_hash::FxHashMap;

use crate::lines::Lines;

/// Instructions that are looked at for one line.
const MOST_STEPS: usize = 64;

/// Who makes which value, and who uses it.
#[derive(Debug)]
pub(crate) struct Values<'m, 'a> {
    module: &'m Module<'a>,
    lines: Lines<'m, 'a>,
    by_id: FxHashMap<i32, InstructionIdx>,
    /// An instruction, and one that uses its result, sorted.
    uses: Vec<(InstructionIdx, InstructionIdx)>,
}

impl<'m, 'a> Values<'m, 'a> {
    /// Of a module.
    pub(crate) fn new(module: &'m Module<'a>) -> Self {
        let mut this = Self { module, lines: Lines::new(module), by_id: module.by_id(), uses: Vec::new() };
        let rows = 0..module.instructions.len();
        let mut uses: Vec<_> =
            rows.flat_map(|row| this.makers(row).into_iter().map(move |maker| (maker, row))).collect();
        uses.sort_unstable();
        this.uses = uses;
        this
    }

    /// The line of an instruction: its own; else the nearest line that makes what it stores; of one that stores nothing, or nothing
    /// of a line, the nearest that uses what it, or what made it, gives.
    pub(crate) fn line(&self, row: InstructionIdx) -> Option<String> {
        let makers = self.makers(row);
        self.lines
            .line(row)
            .or_else(|| self.nearest(makers.clone(), |at| self.makers(at)))
            .or_else(|| {
                let all = makers.iter().flat_map(|maker| self.users(*maker)).filter(|user| *user != row);
                self.nearest(self.users(row).into_iter().chain(all).collect(), |at| self.users(at))
            })
            .or_else(|| self.nearest(self.users(row), |at| self.makers(at)))
    }

    fn nearest(
        &self,
        from: Vec<InstructionIdx>,
        next: impl Fn(InstructionIdx) -> Vec<InstructionIdx>,
    ) -> Option<String> {
        let mut seen: BTreeSet<InstructionIdx> = from.iter().copied().collect();
        let mut waiting = VecDeque::from(from);
        for _ in 0..MOST_STEPS {
            let at = waiting.pop_front()?;
            if let Some(line) = self.lines.line(at) {
                return Some(line);
            }
            waiting.extend(next(at).into_iter().filter(|at| seen.insert(*at)));
        }
        None
    }

    /// The instructions whose results one takes.
    fn makers(&self, row: InstructionIdx) -> Vec<InstructionIdx> {
        let Some(instruction) = self.module.instructions.get(row) else { return Vec::new() };
        let of = |operand: &Operand| match operand {
            Operand::Result(id) => self.by_id.get(id).copied(),
            _ => None,
        };
        self.module.operands(instruction).iter().filter_map(of).collect()
    }

    /// The instructions that take the result of one.
    fn users(&self, row: InstructionIdx) -> Vec<InstructionIdx> {
        let first = self.uses.partition_point(|(maker, _)| *maker < row);
        self.uses[first..].iter().take_while(|(maker, _)| *maker == row).map(|(_, user)| *user).collect()
    }
}
