//! Instructions of two computations, put together by ever weaker evidence.

use std::hash::Hash;

use super::{
    Alignment,
    fingerprint::{Fingerprints, hash, operands_first},
};
use crate::{
    index::{ComputationIdx, InstructionIdx},
    module::Module,
    opcode::Opcode,
};

/// Copies, casts and the like between a value and its reader that are looked through.
const LOOK_THROUGH: usize = 4;

pub(super) struct Matcher<'x, 'm> {
    alignment: &'x mut Alignment<'m>,
    /// What is not matched yet, in the order of the structure.
    left_a: Vec<InstructionIdx>,
    left_b: Vec<InstructionIdx>,
    /// Pairs whose operands and users have not been looked at, for each strength of evidence.
    fresh: Vec<(InstructionIdx, InstructionIdx)>,
    pairs: Vec<(InstructionIdx, InstructionIdx)>,
}

/// How much alike a neighbour of a pair must be.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Likeness {
    /// Same opcode, attributes, shape and layout.
    Same,
    /// The same but for the layout, or with another shape from the same scope.
    Near,
    /// The same opcode.
    Opcode,
}

/// A module with its fingerprints.
#[derive(Clone, Copy)]
struct Side<'a> {
    module: &'a Module,
    prints: &'a Fingerprints,
}

impl<'x, 'm> Matcher<'x, 'm> {
    pub(super) fn new(alignment: &'x mut Alignment<'m>, a: ComputationIdx, b: ComputationIdx) -> Self {
        let left_a = operands_first(alignment.a, a);
        let left_b = operands_first(alignment.b, b);
        Self { alignment, left_a, left_b, fresh: Vec::new(), pairs: Vec::new() }
    }

    pub(super) fn run(mut self) {
        self.by(true, |s, at| Some((s.prints.value[at], s.prints.use_[at])));
        self.by(true, |s, at| Some(s.prints.value[at]));
        self.by(true, |s, at| Some((s.prints.with_bodies[at], s.prints.use_[at])));
        self.by(true, |s, at| Some((s.prints.own[at], s.prints.use_[at])));
        // The results of both are each other's, whatever they are.
        self.roots();
        self.spread(Likeness::Same);
        self.by(true, |s, at| {
            Some((s.prints.own[at], s.prints.origin[at], s.around(at), s.prints.with_bodies[at]))
        });
        self.spread(Likeness::Same);
        self.by(true, |s, at| Some((s.prints.own[at], s.prints.origin[at], s.around(at))));
        self.spread(Likeness::Same);
        self.by(true, |s, at| Some((s.prints.own[at], s.prints.origin[at])));
        self.spread(Likeness::Near);
        self.by(true, |s, at| Some((s.prints.own_any_layout[at], s.prints.origin[at])));
        self.by(true, |s, at| Some((s.origin(at)?, s.opcode(at))));
        self.spread(Likeness::Near);
        // From here on the order has to do where the numbers differ.
        self.by(false, |s, at| Some((s.prints.own[at], s.prints.origin[at])));
        self.by(false, |s, at| Some((s.origin(at)?, s.prints.own_any_layout[at])));
        self.spread(Likeness::Opcode);
        self.by(false, |s, at| Some((s.origin(at)?, s.opcode(at))));
        self.by(true, |s, at| Some((s.prints.own_any_layout[at], s.name(at))));
    }

    fn roots(&mut self) {
        let (Some(&a), Some(&b)) = (self.left_a.first(), self.left_b.first()) else { return };
        let (a, b) = (self.alignment.a.instruction(a), self.alignment.b.instruction(b));
        let a = self.alignment.a.computation(a.computation).root;
        let b = self.alignment.b.computation(b.computation).root;
        if self.is_left(a, b) && self.is_like(a, b, Likeness::Opcode) {
            self.pair(a, b);
        }
    }

    fn is_left(&self, a: InstructionIdx, b: InstructionIdx) -> bool {
        self.alignment.in_b(a).is_none() && self.alignment.in_a(b).is_none()
    }

    fn pair(&mut self, a: InstructionIdx, b: InstructionIdx) {
        self.alignment.b_of_a[a.index()] = Some(b);
        self.alignment.a_of_b[b.index()] = Some(a);
        self.fresh.push((a, b));
    }

    /// Matches those that have a key in common; with `only_even` only where both sides have as many.
    fn by<K: Hash>(&mut self, only_even: bool, key: impl Fn(&Side<'_>, usize) -> Option<K>) {
        self.left_a.retain(|a| self.alignment.b_of_a[a.index()].is_none());
        self.left_b.retain(|b| self.alignment.a_of_b[b.index()].is_none());
        if self.left_a.is_empty() || self.left_b.is_empty() {
            return;
        }
        let keyed = |side: Side<'_>, left: &[InstructionIdx]| {
            let keys = left.iter().enumerate();
            let mut keys: Vec<(u64, usize)> =
                keys.filter_map(|(place, at)| Some((hash(key(&side, at.index())?), place))).collect();
            keys.sort_unstable();
            keys
        };
        let a = keyed(Side { module: self.alignment.a, prints: &self.alignment.prints_a }, &self.left_a);
        let b = keyed(Side { module: self.alignment.b, prints: &self.alignment.prints_b }, &self.left_b);
        let mut rest = b.as_slice();
        let mut found = Vec::new();
        for group in a.chunk_by(|x, y| x.0 == y.0) {
            let Some(first) = group.first() else { continue };
            rest = &rest[rest.partition_point(|entry| entry.0 < first.0)..];
            let same = rest.partition_point(|entry| entry.0 == first.0);
            if same > 0 && (!only_even || same == group.len()) {
                let both = group.iter().zip(&rest[..same]);
                found.extend(both.map(|(a, b)| (self.left_a[a.1], self.left_b[b.1])));
            }
        }
        for (a, b) in found {
            self.pair(a, b);
        }
    }

    /// Matches operands and users of pairs, and theirs.
    fn spread(&mut self, likeness: Likeness) {
        if self.left_a.is_empty() || self.left_b.is_empty() {
            return;
        }
        // Pairs of before may have neighbours that only now are alike enough.
        let mut todo = std::mem::take(&mut self.pairs);
        loop {
            todo.append(&mut self.fresh);
            if todo.is_empty() {
                break;
            }
            for (a, b) in std::mem::take(&mut todo) {
                self.pairs.push((a, b));
                self.spread_to_operands(a, b, likeness);
                self.spread_to_users(a, b, likeness);
            }
        }
    }

    fn spread_to_operands(&mut self, a: InstructionIdx, b: InstructionIdx, likeness: Likeness) {
        let (module_a, module_b) = (self.alignment.a, self.alignment.b);
        let (mine, theirs) = (&module_a.instruction(a).operands, &module_b.instruction(b).operands);
        for (&a, &b) in mine.iter().zip(theirs) {
            if self.is_left(a, b) && self.is_like(a, b, likeness) {
                self.pair(a, b);
                continue;
            }
            // A copy or cast may stand between on one side.
            for (a, b) in [
                (Some(a), self.beyond(module_b, b, a, likeness, true)),
                (self.beyond(module_a, a, b, likeness, false), Some(b)),
            ] {
                if let (Some(a), Some(b)) = (a, b) {
                    self.pair(a, b);
                    break;
                }
            }
        }
    }

    /// What lies behind copies and casts before `from` and is like `other`, neither of them matched.
    fn beyond(
        &self,
        module: &Module,
        from: InstructionIdx,
        other: InstructionIdx,
        likeness: Likeness,
        is_b: bool,
    ) -> Option<InstructionIdx> {
        let mut at = from;
        for _ in 0..LOOK_THROUGH {
            let instruction = module.instruction(at);
            let passes = matches!(
                instruction.opcode,
                Opcode::Copy
                    | Opcode::CopyDone
                    | Opcode::CopyStart
                    | Opcode::Bitcast
                    | Opcode::Convert
                    | Opcode::Reshape
                    | Opcode::Transpose
            );
            at = *instruction.operands.first().filter(|_| passes)?;
            let (a, b) = if is_b { (other, at) } else { (at, other) };
            if self.is_left(a, b) && self.is_like(a, b, likeness) {
                return Some(at);
            }
        }
        None
    }

    fn spread_to_users(&mut self, a: InstructionIdx, b: InstructionIdx, likeness: Likeness) {
        let (module_a, module_b) = (self.alignment.a, self.alignment.b);
        let kinds = |side: Side<'_>, at: InstructionIdx, is_left: &dyn Fn(InstructionIdx) -> bool| {
            let users = side.module.users(at).iter().filter(|user| is_left(**user));
            let mut users: Vec<(u64, u32, InstructionIdx)> = users
                .map(|user| {
                    let place = side.prints.place[user.index()];
                    (side.kind(user.index(), likeness), place, *user)
                })
                .collect();
            users.sort_unstable();
            users
        };
        let is_left_a = |at: InstructionIdx| self.alignment.in_b(at).is_none();
        let is_left_b = |at: InstructionIdx| self.alignment.in_a(at).is_none();
        let mine = kinds(Side { module: module_a, prints: &self.alignment.prints_a }, a, &is_left_a);
        if mine.is_empty() {
            return;
        }
        let theirs = kinds(Side { module: module_b, prints: &self.alignment.prints_b }, b, &is_left_b);
        let mut rest = theirs.as_slice();
        let mut found = Vec::new();
        for group in mine.chunk_by(|x, y| x.0 == y.0) {
            let Some(first) = group.first() else { continue };
            rest = &rest[rest.partition_point(|entry| entry.0 < first.0)..];
            let same = rest.partition_point(|entry| entry.0 == first.0);
            if same == group.len() {
                found.extend(group.iter().zip(&rest[..same]).map(|(a, b)| (a.2, b.2)));
            }
        }
        for (a, b) in found {
            if self.is_left(a, b) {
                self.pair(a, b);
            }
        }
    }

    fn is_like(&self, a: InstructionIdx, b: InstructionIdx, likeness: Likeness) -> bool {
        let side_a = Side { module: self.alignment.a, prints: &self.alignment.prints_a };
        let side_b = Side { module: self.alignment.b, prints: &self.alignment.prints_b };
        let is = |likeness| side_a.kind(a.index(), likeness) == side_b.kind(b.index(), likeness);
        is(likeness)
            || likeness == Likeness::Near && {
                let (a, b) = (a.index(), b.index());
                side_a.origin(a).is_some()
                    && side_a.origin(a) == side_b.origin(b)
                    && side_a.opcode(a) == side_b.opcode(b)
            }
    }
}

impl Side<'_> {
    fn kind(&self, at: usize, likeness: Likeness) -> u64 {
        match likeness {
            Likeness::Same => self.prints.own[at],
            Likeness::Near => self.prints.own_any_layout[at],
            Likeness::Opcode => self.opcode(at),
        }
    }

    fn opcode(&self, at: usize) -> u64 {
        hash(self.module.instructions[at].opcode_name())
    }

    fn name(&self, at: usize) -> u64 {
        hash(&self.module.instructions[at].name)
    }

    fn origin(&self, at: usize) -> Option<u64> {
        Some(self.prints.origin[at]).filter(|origin| *origin != 0)
    }

    /// Kinds of the operands and users.
    fn around(&self, at: usize) -> u64 {
        let instruction = &self.module.instructions[at];
        let operands = instruction.operands.iter().map(|operand| self.prints.own[operand.index()]);
        let users = self.module.users.row(at).iter().map(|user| self.prints.own[user.index()]);
        let mut users: Vec<u64> = users.collect();
        users.sort_unstable();
        hash((operands.collect::<Vec<u64>>(), users))
    }
}
