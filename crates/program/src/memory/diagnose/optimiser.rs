//! Optimiser state in single precision.

use haloscope_hlo::ElementType;

use super::Outcome;
use super::context::{Context, largest, size};
use super::thresholds::OPTIMISER_SHARE;
use crate::attribution::bucket;
use crate::program_memory::Group;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!("{} of the peak", units::share(OPTIMISER_SHARE));
    let attribution = context.attribution;
    let state: Vec<_> = attribution
        .buffers
        .iter()
        .filter(|buffer| {
            buffer.alive.group == Group::Parameter
                && bucket::is(attribution.bucket(buffer.rule), bucket::OPTIMISER_STATE)
        })
        .collect();
    if state.is_empty() {
        return match context.is_training() {
            Some(false) => Outcome::not_applicable(threshold, "the program computes no gradients"),
            Some(true) => Outcome::measured(
                0,
                Some(0.0),
                threshold,
                "no parameter is known as optimiser state".to_owned(),
                None,
            ),
            None => Outcome::unknown(threshold, "no op has a name, so whether this is training is unknown"),
        };
    }
    let single: Vec<_> =
        state.iter().copied().filter(|buffer| buffer.shape.element_type == ElementType::F32).collect();
    let bytes = units::sum(single.iter().map(|buffer| buffer.alive.bytes));
    let share = context.of_peak(bytes);
    let is_guess = single.iter().any(|buffer| {
        buffer.rule.and_then(|rule| attribution.rules.all().get(rule)).is_some_and(|rule| rule.is_guess)
    });
    let finding = (share >= OPTIMISER_SHARE).then(|| Finding {
        id: "f32_optimiser_state",
        severity: Severity::Warning,
        claim: format!(
            "The optimiser keeps {} in f32{}",
            size(context, bytes),
            if is_guess { " (a guess by shape)" } else { "" }
        ),
        evidence: largest(&single),
        ceiling: format!("{} less with bf16 moments", units::bytes((bytes / 2) as f64)),
        recommendation: "keep the first moment in bf16 (optax: mu_dtype), use a factored or 8-bit optimiser, or shard the state over \
                the data axis"
            .to_owned(),
        falsifier: "the loss gets worse with moments in bf16".to_owned(),
        status: if is_guess { Status::Estimated } else { Status::Derived },
        ..Finding::default()
    });
    let said = if single.is_empty() { "none of it is f32".to_owned() } else { largest(&single) };
    Outcome::measured(bytes, Some(share), threshold, said, finding)
}
