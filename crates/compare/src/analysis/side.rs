//! One experiment held against the baseline: everything that the tables show, computed once.

use rustc_hash::FxHashMap;

use crate::samples::mean;
use crate::significance::{Test, welch};
use crate::verdict::{self, Change as OpChange};
use crate::{Effects, Group, How, Matches, RunSamples, SampledOp, StepVerdict, Waterfall};

/// Two runs with all that is known of their difference.
pub(super) struct Side<'s, 'p> {
    pub(super) a: &'s RunSamples<'p>,
    pub(super) b: &'s RunSamples<'p>,
    pub(super) matches: Matches<'p>,
    /// In the order of [`Waterfall::effects`].
    pub(super) changes: Vec<Change>,
    pub(super) waterfall: Waterfall,
    pub(super) verdict: StepVerdict,
}

/// What became of ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Became {
    Slower,
    Faster,
    New,
    Gone,
    Regrouped,
    Unchanged,
    /// Neither a change nor that there is none is shown.
    Undecided,
}

impl Became {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Regrouped => "regrouped",
            Self::Unchanged => "unchanged",
            Self::Undecided => "undecided",
        }
    }
}

/// An op, or ops that became others, in both runs.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) group: Group,
    /// How it was known again; `None` for what is in one run only, or was cut differently.
    pub(super) how: Option<How>,
    pub(super) became: Became,
    /// Whether its time changed beyond chance, whatever it became.
    pub(super) is_certain: bool,
    pub(super) baseline_ps: f64,
    pub(super) experiment_ps: f64,
    pub(super) effects: Effects,
    pub(super) test: Option<Test>,
    /// Its p, corrected for the number of ops that were tested; unknown with too few steps.
    pub(super) p: Option<f64>,
}

impl<'s, 'p> Side<'s, 'p> {
    pub(super) fn of(a: &'s RunSamples<'p>, b: &'s RunSamples<'p>, verdict: StepVerdict) -> Self {
        let matches = Matches::of(a, b);
        let (groups, hows): (Vec<Group>, Vec<Option<How>>) = Group::all(&matches).into_iter().unzip();
        let waterfall = Waterfall::of_groups(a, b, &groups);
        let samples: Vec<[Vec<f64>; 2]> =
            groups.iter().map(|group| [sum(a, &group.a), sum(b, &group.b)]).collect();
        let mut changes: Vec<Change> = groups
            .into_iter()
            .zip(hows)
            .zip(&waterfall.effects)
            .zip(&samples)
            .map(|(((group, how), effects), samples)| Change::of(group, how, *effects, samples))
            .collect();
        judge(&mut changes, &samples, a.mean_ps());
        Self { a, b, matches, changes, waterfall, verdict }
    }

    /// The changes, those that change the step's time most first, then those that take most time.
    pub(super) fn largest(&self) -> Vec<&Change> {
        let mut all: Vec<&Change> = self.changes.iter().collect();
        let time = |c: &Change| c.baseline_ps.max(c.experiment_ps);
        all.sort_by(|x, y| {
            let delta = |c: &Change| c.effects.delta_ps.unsigned_abs();
            let order = delta(y).cmp(&delta(x)).then_with(|| time(y).total_cmp(&time(x)));
            order.then_with(|| self.name(x).cmp(&self.name(y)))
        });
        all
    }

    /// The op, as the experiment calls it; as the baseline does, where only that has it.
    pub(super) fn op(&self, change: &Change) -> Option<&SampledOp<'p>> {
        let of = |run: &'s RunSamples<'p>, at: &[usize]| at.first().and_then(|at| run.ops.get(*at));
        of(self.b, &change.group.b).or_else(|| of(self.a, &change.group.a))
    }

    /// The names of a change's ops in the experiment; in the baseline, where only that has them.
    pub(super) fn name(&self, change: &Change) -> String {
        if change.group.b.is_empty() {
            names(self.a, &change.group.a)
        } else {
            names(self.b, &change.group.b)
        }
    }

    /// The names in the baseline.
    pub(super) fn was(&self, change: &Change) -> Option<String> {
        (!change.group.a.is_empty()).then(|| names(self.a, &change.group.a))
    }

    /// How many changes became this.
    pub(super) fn count(&self, became: &[Became]) -> usize {
        self.changes.iter().filter(|change| became.contains(&change.became)).count()
    }

    /// The share of a step of the baseline that a time is.
    pub(super) fn share(&self, ps: f64) -> Option<f64> {
        Some(self.a.mean_ps()).filter(|step| *step > 0.0).map(|step| ps / step)
    }
}

impl Change {
    fn of(group: Group, how: Option<How>, effects: Effects, [before, after]: &[Vec<f64>; 2]) -> Self {
        let became = match () {
            () if group.a.is_empty() => Became::New,
            () if group.b.is_empty() => Became::Gone,
            () if group.a.len() + group.b.len() > 2 => Became::Regrouped,
            () => Became::Undecided,
        };
        Self {
            is_certain: !group.is_in_both(),
            group,
            how,
            became,
            baseline_ps: mean(before),
            experiment_ps: mean(after),
            effects,
            test: welch(before, after),
            p: None,
        }
    }
}

/// Says of all that both runs have whether it changed.
fn judge(changes: &mut [Change], samples: &[[Vec<f64>; 2]], step_ps: f64) {
    let (mut both, mut times) = (Vec::new(), Vec::new());
    for (change, [before, after]) in changes.iter_mut().zip(samples) {
        if change.group.is_in_both() {
            both.push(change);
            times.push((&before[..], &after[..]));
        }
    }
    for (change, said) in both.into_iter().zip(verdict::of_ops(&times, step_ps)) {
        (change.p, change.test) = (said.p, said.test);
        change.is_certain = matches!(said.change, OpChange::Slower | OpChange::Faster);
        if change.became != Became::Regrouped {
            change.became = match said.change {
                OpChange::Slower => Became::Slower,
                OpChange::Faster => Became::Faster,
                OpChange::Unchanged => Became::Unchanged,
                OpChange::Undecided => Became::Undecided,
            };
        }
    }
}

/// The time of some ops in each step, picoseconds.
pub(super) fn sum(run: &RunSamples<'_>, ops: &[usize]) -> Vec<f64> {
    let mut all = vec![0.0; run.steps.len()];
    for op in ops.iter().filter_map(|at| run.ops.get(*at)) {
        add(&mut all, &op.step_ps);
    }
    all
}

/// Adds samples to samples.
pub(super) fn add(into: &mut [f64], more: &[f64]) {
    for (sum, ps) in into.iter_mut().zip(more) {
        *sum += ps;
    }
}

/// Names of ops in a row, of which a person reads three.
fn names(run: &RunSamples<'_>, ops: &[usize]) -> String {
    let named: Vec<&str> = ops.iter().filter_map(|at| run.ops.get(*at)).map(|op| &*op.meta.name).collect();
    match named.len() {
        0..=3 => named.join(" + "),
        more => format!("{} + {} more", named[..2].join(" + "), more - 2),
    }
}

/// Samples of both runs under one key, and keys in the order in which they came.
#[derive(Default)]
pub(super) struct Keyed<'k> {
    rows: Vec<(&'k str, [Vec<f64>; 2])>,
    row_of: FxHashMap<&'k str, usize>,
}

impl<'k> Keyed<'k> {
    /// Adds the samples of a side, 0 the baseline's and 1 the experiment's.
    pub(super) fn add(&mut self, key: &'k str, side: usize, steps: [usize; 2], samples: &[f64]) {
        let row = *self.row_of.entry(key).or_insert_with(|| {
            self.rows.push((key, steps.map(|count| vec![0.0; count])));
            self.rows.len() - 1
        });
        add(&mut self.rows[row].1[side], samples);
    }

    /// The rows, those that differ most first.
    pub(super) fn by_difference(mut self) -> Vec<(&'k str, [Vec<f64>; 2])> {
        let difference = |(_, [a, b]): &(&str, [Vec<f64>; 2])| (mean(b) - mean(a)).abs();
        self.rows.sort_by(|x, y| difference(y).total_cmp(&difference(x)).then(x.0.cmp(y.0)));
        self.rows
    }
}
