//! In which pass of a training step the peak lies.

use super::Outcome;
use super::context::Context;
use super::thresholds::{BACKWARD_AFTER, FORWARD_BEFORE};
use crate::attribution::Phase;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};
use haloscope_time::fix::Fix;

static BACKWARD: Fix = Fix::jax_or(
    "save fewer activations (jax.checkpoint), reduce or scatter gradients as they come, and donate what the update \
     replaces",
    "save fewer activations, reduce or scatter gradients as they come, and reuse the buffers of what the update replaces",
);

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!(
        "by op names; else forward before {} of the schedule, backward after {}",
        units::share(FORWARD_BEFORE),
        units::share(BACKWARD_AFTER)
    );
    match context.is_training() {
        None => {
            return Outcome::unknown(threshold, "no op has a name, so whether this is training is unknown");
        }
        Some(false) => return Outcome::not_applicable(threshold, "the program computes no gradients"),
        Some(true) => {}
    }
    let Some(replay) = &context.attribution.memory.replay else {
        return Outcome::unknown(threshold, "the program has no heap simulator trace");
    };
    let at = replay.peak_event as f64 / context.event_count().max(1) as f64;
    let named = nearest(&context.phases, replay.peak_event);
    let (phase, status) = match named {
        Some(phase) => (phase, Status::Derived),
        None if at < FORWARD_BEFORE => (Phase::Forward, Status::Estimated),
        None if at > BACKWARD_AFTER => (Phase::Backward, Status::Estimated),
        None => {
            let why = format!(
                "the peak is at {} of the schedule, and no op near it says which pass it belongs to",
                units::share(at)
            );
            return Outcome { share: Some(at), ..Outcome::unknown(threshold, &why) };
        }
    };
    let how =
        if status == Status::Derived { "by the name of the nearest op" } else { "a guess from its place" };
    let said = format!("at {} of the schedule, {how}", units::share(at));
    let peak = context.totals.peak_bytes;
    let finding = Finding {
        id: "peak_phase",
        severity: Severity::Info,
        claim: match phase {
            Phase::Forward => "The peak is in the forward pass",
            Phase::Backward => "The peak is in the backward pass",
        }
        .to_owned(),
        evidence: said.clone(),
        ceiling: "no gain by itself: it shows which change lowers the peak".to_owned(),
        recommendation: match phase {
            Phase::Forward => {
                "reduce what one layer or the loss needs at once: chunked cross-entropy, attention that keeps no scores, smaller microbatches. Saving fewer activations does not help here"
                    .to_owned()
            }
            Phase::Backward => context.fix(&BACKWARD),
        },
        falsifier: "the curve of `memory peak` has its maximum elsewhere".to_owned(),
        status,
        ..Finding::default()
    };
    Outcome::measured(peak, Some(at), threshold, said, Some(finding))
}

/// The pass of the nearest event that has one, of two equally near the earlier.
fn nearest(phases: &[Option<Phase>], at: usize) -> Option<Phase> {
    let before = phases.iter().take(at + 1).rev().enumerate().find_map(|(d, phase)| phase.map(|p| (d, p)));
    let behind = phases.iter().skip(at + 1).enumerate().find_map(|(d, phase)| phase.map(|p| (d + 1, p)));
    match (before, behind) {
        (Some(before), Some(behind)) => Some(if behind.0 < before.0 { behind.1 } else { before.1 }),
        (one, other) => one.or(other).map(|(_, phase)| phase),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_counts() {
        let (f, b) = (Some(Phase::Forward), Some(Phase::Backward));
        assert_eq!(nearest(&[f, None, None, b], 1), f);
        assert_eq!(nearest(&[f, None, None, b], 2), b);
        assert_eq!(nearest(&[f, None, b], 1), f);
        assert_eq!(nearest(&[None, None], 1), None);
        assert_eq!(nearest(&[], 7), None);
    }
}
