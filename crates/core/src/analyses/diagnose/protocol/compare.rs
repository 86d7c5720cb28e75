//! Step 9: how to tell that a change helped.

use super::{Given, Step, Word};
use crate::derive::stats::Summary;
use crate::report::Link;
use crate::units;

/// Fewer steps than this say little of their own spread.
const FEW: usize = 5;

pub(super) fn step(given: &Given<'_, '_>) -> Step {
    let question = "How to tell that a change helped?";
    let see = vec![Link::to("steps")];
    let durations = given.evidence.steps().durations();
    let summary = Summary::of(&durations).filter(|summary| summary.count >= FEW);
    let Some((summary, spread)) = summary.and_then(|s| s.variation().map(|spread| (s, spread))) else {
        return Step {
            question,
            verdict: Word::Look,
            said: format!(
                "{} steps are too few to know the noise: capture 10 or more, with the same batch, shapes and versions",
                durations.len()
            ),
            see,
        };
    };
    // Two means of n samples each differ by more than this in 5% of cases by chance: 1.96 sd sqrt(2 / n).
    let floor = 1.96 * spread * (2.0 / summary.count as f64).sqrt();
    Step {
        question,
        verdict: Word::Stated,
        said: format!(
            "change one thing, capture as many steps again ({}) with the same batch, shapes and versions; steps spread by {}, so that a difference of means under {} is noise",
            summary.count,
            units::share(spread),
            units::share(floor)
        ),
        see,
    }
}
