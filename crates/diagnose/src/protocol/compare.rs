//! Step 9: how to tell that a change helped.

use super::{Given, Step, Word};
use haloscope_compare::StepVerdict;
use haloscope_report::Link;
use haloscope_report::units;
use haloscope_time::stats::Summary;

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
    // As `compare` would tell it of another run whose steps spread alike.
    let floor = StepVerdict::of_times(&durations, &durations).noise_floor_share;
    Step {
        question,
        verdict: Word::Stated,
        said: format!(
            "change one thing, then capture as many steps again ({}) with the same batch, shapes and versions; step times vary by {}, so a difference of means under {} is noise",
            summary.count,
            units::share(spread),
            floor.map_or_else(|| "any size".to_owned(), units::share)
        ),
        see,
    }
}
