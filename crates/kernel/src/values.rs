//! Which lines of a program values come from, and go to.

use std::collections::{BTreeSet, VecDeque};

use haloscope_llo::{ById, InstructionIdx, Module, Operand};

use crate::lines::Lines;

/// Instructions that are looked at for one line.
const MOST_STEPS: usize = 64;

/// Who makes which value, and who uses it.
#[derive(Debug)]
pub(crate) struct Values<'m, 'a> {
    module: &'m Module<'a>,
    lines: Lines<'m, 'a>,
    by_id: ById,
    /// An instruction, and one that uses its result, sorted.
    uses: Vec<(u32, u32)>,
}

impl<'m, 'a> Values<'m, 'a> {
    /// Of a module.
    pub(crate) fn new(module: &'m Module<'a>) -> Self {
        let mut this = Self { module, lines: Lines::new(module), by_id: module.by_id(), uses: Vec::new() };
        let pair = |maker, row| Some((u32::try_from(maker).ok()?, u32::try_from(row).ok()?));
        let mut uses: Vec<_> = (0..module.instructions.len())
            .flat_map(|row| this.of_operands(row).filter_map(move |maker| pair(maker, row)))
            .collect();
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
        self.of_operands(row).collect()
    }

    fn of_operands(&self, row: InstructionIdx) -> impl Iterator<Item = InstructionIdx> {
        let operands = self.module.instructions.get(row).map_or(&[][..], |it| self.module.operands(it));
        operands.iter().filter_map(|operand| match operand {
            Operand::Result(id) => self.by_id.get(*id),
            _ => None,
        })
    }

    /// The instructions that take the result of one.
    fn users(&self, row: InstructionIdx) -> Vec<InstructionIdx> {
        let Ok(row) = u32::try_from(row) else { return Vec::new() };
        let first = self.uses.partition_point(|(maker, _)| *maker < row);
        let of_row = self.uses[first..].iter().take_while(|(maker, _)| *maker == row);
        of_row.map(|(_, user)| *user as InstructionIdx).collect()
    }
}
