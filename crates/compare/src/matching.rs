//! Which op of one run is which of the other, whatever a compiler calls them.
//!
//! Where both runs hold the HLO of a program, its modules are aligned by structure and an op is what its instruction is. Where
//! one does not, ops are the same that have the same form: what they do, to which shapes, for which framework op, in the order
//! of their first execution. A name counts only where there is nothing else. What is left over on both sides may be one op
//! that became several, or several that became one; the rest is gone, or new.

mod form;
mod regroup;

use rustc_hash::FxHashMap;

use super::programs::{self, ProgramPair, Seen};
use super::samples::RunSamples;
use haloscope_profile::Profile;

/// How an op was known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Its instruction is the other's in the aligned modules.
    Structure,
    /// It does the same to the same shapes for the same framework op.
    Form,
    /// It has the same name, and nothing else is known of it.
    Name,
}

impl How {
    /// Its name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Form => "form",
            Self::Name => "name",
        }
    }
}

/// An op of both runs: places in [`RunSamples::ops`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// In the baseline.
    pub a: usize,
    /// In the experiment.
    pub b: usize,
    /// How it was known again.
    pub how: How,
}

/// Ops that the compiler cut differently: one that became several, or several that became one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regrouped {
    /// In the baseline, by place.
    pub a: Vec<usize>,
    /// In the experiment, by place.
    pub b: Vec<usize>,
}

/// The ops of two runs, each of them in one of the lists.
#[derive(Debug, Default)]
pub struct Matches<'p> {
    /// The same op, by place in the baseline.
    pub pairs: Vec<Pair>,
    /// The same work in other portions.
    pub regrouped: Vec<Regrouped>,
    /// Ops that only the baseline has.
    pub gone: Vec<usize>,
    /// Ops that only the experiment has.
    pub new: Vec<usize>,
    /// The programs, longest first.
    pub programs: Vec<ProgramPair<'p>>,
}

impl<'p> Matches<'p> {
    /// Matches the ops of two runs, the first of them the baseline.
    #[must_use]
    pub fn of(a: &RunSamples<'p>, b: &RunSamples<'p>) -> Self {
        let order = [form::Order::of(a), form::Order::of(b)];
        Self::of_ops([a.profile, b.profile], [&seen(a), &seen(b)], &order)
    }

    /// The share of the baseline's op time that is matched or regrouped; `None` where its ops took no time.
    #[must_use]
    pub fn matched_share(&self, time_of_a: impl Fn(usize) -> f64) -> Option<f64> {
        let regrouped = self.regrouped.iter().flat_map(|group| &group.a);
        let known = self.pairs.iter().map(|pair| &pair.a).chain(regrouped);
        let known: f64 = known.map(|a| time_of_a(*a)).sum();
        let gone: f64 = self.gone.iter().map(|a| time_of_a(*a)).sum();
        (known + gone > 0.0).then(|| known / (known + gone))
    }

    fn of_ops(
        profiles: [&'p Profile; 2],
        seen: [&[Seen<'_, 'p>]; 2],
        order: &[form::Order<'_, 'p>; 2],
    ) -> Self {
        let (programs, program_of) = programs::pair(profiles, seen);
        let mut matcher = Matcher {
            seen,
            program_of,
            programs: &programs,
            pairs: Vec::new(),
            b_of_a: Vec::new(),
            a_of_b: Vec::new(),
        };
        matcher.b_of_a = vec![None; seen[0].len()];
        matcher.a_of_b = vec![None; seen[1].len()];
        matcher.by_structure();
        matcher.by_form(order);
        matcher.by_name();
        let regrouped = matcher.regroup();
        let mut pairs = matcher.pairs;
        let taken = |op: usize, of: fn(&Regrouped) -> &Vec<usize>| {
            regrouped.iter().any(|group| of(group).contains(&op))
        };
        pairs.retain(|pair| !taken(pair.a, |group| &group.a));
        pairs.sort_by_key(|pair| pair.a);
        let left = |matched: &[Option<usize>], of: fn(&Regrouped) -> &Vec<usize>| {
            let left = matched.iter().enumerate().filter(|(op, other)| other.is_none() && !taken(*op, of));
            left.map(|(op, _)| op).collect()
        };
        let gone = left(&matcher.b_of_a, |group| &group.a);
        let new = left(&matcher.a_of_b, |group| &group.b);
        Self { pairs, gone, new, regrouped, programs }
    }
}

fn seen<'x, 'p>(run: &'x RunSamples<'p>) -> Vec<Seen<'x, 'p>> {
    let steps = run.steps.len().max(1) as f64;
    let each = run.ops.iter().map(|op| Seen {
        meta: &op.meta,
        module: &op.module,
        time_ps: op.step_ps.iter().sum::<f64>() / steps,
    });
    each.collect()
}

struct Matcher<'x, 'p> {
    seen: [&'x [Seen<'x, 'p>]; 2],
    /// For each op the place of its program's pair.
    program_of: [Vec<usize>; 2],
    programs: &'x [ProgramPair<'p>],
    pairs: Vec<Pair>,
    b_of_a: Vec<Option<usize>>,
    a_of_b: Vec<Option<usize>>,
}

impl<'p> Matcher<'_, 'p> {
    fn pair(&mut self, a: usize, b: usize, how: How) {
        if self.b_of_a[a].is_none() && self.a_of_b[b].is_none() {
            self.b_of_a[a] = Some(b);
            self.a_of_b[b] = Some(a);
            self.pairs.push(Pair { a, b, how });
        }
    }

    /// Ops of one side that have no counterpart yet.
    fn left(&self, side: usize) -> impl Iterator<Item = usize> + '_ {
        let matched = if side == 0 { &self.b_of_a } else { &self.a_of_b };
        matched.iter().enumerate().filter(|(_, other)| other.is_none()).map(|(op, _)| op)
    }

    /// The instruction of an op in the module that its program's pair is aligned by.
    fn instruction(&self, side: usize, op: usize) -> Option<haloscope_hlo::InstructionIdx> {
        let alignment = self.programs[self.program_of[side][op]].alignment.as_ref()?;
        let module = if side == 0 { alignment.a } else { alignment.b };
        module.instruction_by_name(&self.seen[side][op].meta.name)
    }

    fn by_structure(&mut self) {
        let mut op_of: FxHashMap<(usize, &str), usize> = FxHashMap::default();
        for (op, seen) in self.seen[1].iter().enumerate() {
            op_of.entry((self.program_of[1][op], &*seen.meta.name)).or_insert(op);
        }
        let mut found = Vec::new();
        for a in 0..self.seen[0].len() {
            let program = self.program_of[0][a];
            let Some(alignment) = &self.programs[program].alignment else { continue };
            let Some(other) = self.instruction(0, a).and_then(|at| alignment.in_b(at)) else { continue };
            if let Some(b) = op_of.get(&(program, alignment.b.instruction(other).name.as_str())) {
                found.push((a, *b));
            }
        }
        for (a, b) in found {
            self.pair(a, b, How::Structure);
        }
    }

    /// By name, where the structure could not say anything: not where an aligned module has an instruction of this name.
    fn by_name(&mut self) {
        let mut op_of: FxHashMap<(usize, &str, &str), usize> = FxHashMap::default();
        for b in self.left(1).filter(|b| self.instruction(1, *b).is_none()) {
            let meta = self.seen[1][b].meta;
            op_of.entry((self.program_of[1][b], &*meta.name, &*meta.category)).or_insert(b);
        }
        let mut found = Vec::new();
        for a in self.left(0).filter(|a| self.instruction(0, *a).is_none()) {
            let meta = self.seen[0][a].meta;
            if let Some(b) = op_of.get(&(self.program_of[0][a], &*meta.name, &*meta.category)) {
                found.push((a, *b));
            }
        }
        for (a, b) in found {
            self.pair(a, b, How::Name);
        }
    }
}

#[cfg(test)]
mod tests;
