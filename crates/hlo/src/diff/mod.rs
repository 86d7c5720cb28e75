//! Which instruction of one module is which of another, whatever they are called.
//!
//! A compiler numbers what it makes: after a small change, or none, `fusion.123` is `fusion.98`. Modules are therefore aligned
//! by structure. Every instruction gets fingerprints of what it is (opcode, shape, attributes, called computations), of the
//! value it computes (the same of its operands, and theirs) and of what its value is used for (the same of its users, and
//! theirs). The entries are aligned first, then the computations that aligned instructions call.
//!
//! Within a pair of computations, instructions are put together by ever weaker evidence: same value and same use; same
//! value; same kind and same use; same operand or user of a pair; same kind, scope and kinds of neighbours; same kind and
//! scope; same opcode and scope; same name. Where several have the same evidence they are taken in the order of the structure, and, as
//! long as there is other evidence to be had, only if both sides have as many. All of it is linear but for sorting.

mod difference;
mod fingerprint;
mod matching;

pub use difference::{Aspect, Difference};

use crate::{
    index::{ComputationIdx, InstructionIdx},
    module::Module,
};
use fingerprint::Fingerprints;

impl Module {
    /// The instructions of a computation, operands before users, beginning with what the root needs: an order that depends on
    /// neither names nor the order in the file, but for values that nobody uses.
    #[must_use]
    pub fn structure_order(&self, computation: ComputationIdx) -> Vec<InstructionIdx> {
        fingerprint::operands_first(self, computation)
    }
}

/// Two modules, aligned.
#[derive(Debug)]
pub struct Alignment<'m> {
    /// The first module.
    pub a: &'m Module,
    /// The second.
    pub b: &'m Module,
    prints_a: Fingerprints,
    prints_b: Fingerprints,
    b_of_a: Vec<Option<InstructionIdx>>,
    a_of_b: Vec<Option<InstructionIdx>>,
    computations: Vec<(ComputationIdx, ComputationIdx)>,
    b_of_a_computation: Vec<Option<ComputationIdx>>,
    a_of_b_computation: Vec<Option<ComputationIdx>>,
}

impl<'m> Alignment<'m> {
    /// Aligns two modules.
    #[must_use]
    pub fn new(a: &'m Module, b: &'m Module) -> Self {
        let mut alignment = Self {
            prints_a: Fingerprints::new(a),
            prints_b: Fingerprints::new(b),
            b_of_a: vec![None; a.instructions().len()],
            a_of_b: vec![None; b.instructions().len()],
            computations: Vec::new(),
            b_of_a_computation: vec![None; a.computations().len()],
            a_of_b_computation: vec![None; b.computations().len()],
            a,
            b,
        };
        alignment.match_all();
        alignment
    }

    /// The pairs of instructions, in the order of the first module.
    pub fn pairs(&self) -> impl Iterator<Item = (InstructionIdx, InstructionIdx)> {
        self.a.instructions().filter_map(|(a, _)| Some((a, self.in_b(a)?)))
    }

    /// The pairs of computations, callers before what they call.
    #[must_use]
    pub fn computations(&self) -> &[(ComputationIdx, ComputationIdx)] {
        &self.computations
    }

    /// The instruction of the second module that is this one of the first.
    #[must_use]
    pub fn in_b(&self, a: InstructionIdx) -> Option<InstructionIdx> {
        self.b_of_a.get(a.index()).copied().flatten()
    }

    /// The instruction of the first module that is this one of the second.
    #[must_use]
    pub fn in_a(&self, b: InstructionIdx) -> Option<InstructionIdx> {
        self.a_of_b.get(b.index()).copied().flatten()
    }

    /// The computation of the second module that is this one of the first.
    #[must_use]
    pub fn computation_in_b(&self, a: ComputationIdx) -> Option<ComputationIdx> {
        self.b_of_a_computation.get(a.index()).copied().flatten()
    }

    /// The computation of the first module that is this one of the second.
    #[must_use]
    pub fn computation_in_a(&self, b: ComputationIdx) -> Option<ComputationIdx> {
        self.a_of_b_computation.get(b.index()).copied().flatten()
    }

    fn pair_computations(&mut self, a: ComputationIdx, b: ComputationIdx) -> bool {
        if self.computation_in_b(a).is_some() || self.computation_in_a(b).is_some() {
            return false;
        }
        self.b_of_a_computation[a.index()] = Some(b);
        self.a_of_b_computation[b.index()] = Some(a);
        self.computations.push((a, b));
        true
    }

    fn match_all(&mut self) {
        self.pair_computations(self.a.entry(), self.b.entry());
        let mut next = 0;
        self.match_from(&mut next);
        // What nothing that is aligned calls, but is the same on both sides.
        let unpaired = |module: &Module, prints: &Fingerprints, pairs: &[Option<ComputationIdx>]| {
            let left = module.computations().filter(|(c, _)| pairs[c.index()].is_none());
            let mut left: Vec<(u64, ComputationIdx)> =
                left.map(|(c, _)| (prints.computations[c.index()], c)).collect();
            left.sort_unstable();
            left
        };
        let left_a = unpaired(self.a, &self.prints_a, &self.b_of_a_computation);
        let left_b = unpaired(self.b, &self.prints_b, &self.a_of_b_computation);
        let mut at = 0;
        for (print, a) in left_a {
            while left_b.get(at).is_some_and(|(other, _)| *other < print) {
                at += 1;
            }
            if let Some((_, b)) = left_b.get(at).filter(|(other, _)| *other == print) {
                self.pair_computations(a, *b);
                at += 1;
            }
        }
        self.match_from(&mut next);
    }

    /// Matches within pairs of computations, and pairs what matched instructions call.
    fn match_from(&mut self, next: &mut usize) {
        while let Some(&(a, b)) = self.computations.get(*next) {
            *next += 1;
            matching::Matcher::new(self, a, b).run();
            for at in self.a.computation(a).instructions() {
                let Some(other) = self.in_b(at) else { continue };
                let (mine, theirs) = (self.a.instruction(at), self.b.instruction(other));
                let (mine, theirs) = (fingerprint::called(mine), fingerprint::called(theirs));
                for (mine, theirs) in mine.iter().zip(theirs) {
                    self.pair_computations(*mine, *theirs);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
