//! Ops that take longer than in the baseline, for a gate.

use super::findings::{OF_STEP, of_op};
use super::side::{Became, Side};
use crate::{RunSamples, StepVerdict};
use haloscope_report::Finding;

/// Ops of two runs that got slower.
#[derive(Debug, Clone, Default)]
pub(crate) struct Regressions {
    /// Those that did beyond chance, by more than 0.5% of a step, the largest first: what `compare` says of each.
    pub slower: Vec<Finding>,
    /// Those that may have, by as much: nobody can tell.
    pub undecided: Vec<String>,
}

impl Regressions {
    /// Looks at all ops that both runs have.
    pub(crate) fn of(a: &RunSamples<'_>, b: &RunSamples<'_>, said: StepVerdict) -> Self {
        let side = Side::of(a, b, said);
        let mut all = Self::default();
        for change in side.largest().into_iter().filter(|change| change.group.is_in_both()) {
            let share = |ps: f64| side.share(ps).unwrap_or(0.0);
            if change.is_certain && share(change.effects.delta_ps as f64) > OF_STEP {
                all.slower.push(of_op(&side, change));
            } else if !change.is_certain
                && change.became == Became::Undecided
                && change.test.is_some_and(|test| share(test.high) > OF_STEP)
            {
                all.undecided.push(side.name(change));
            }
        }
        all
    }
}
