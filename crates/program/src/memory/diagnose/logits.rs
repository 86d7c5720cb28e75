//! Values with an extent of the vocabulary.

use super::Outcome;
use super::context::{Context, largest, size};
use super::thresholds::{LOGITS_SHARE, LOSS_CHUNKS};
use crate::attribution::bucket;
use crate::program_memory::Group;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};
use haloscope_time::fix::Fix;

static OF_TRAINING: Fix = Fix::jax_or(
    "compute logits and cross-entropy over chunks of tokens (a scan with jax.checkpoint, or a fused linear \
     cross-entropy kernel), shard the vocabulary, or keep logits in bf16",
    "compute logits and cross-entropy over chunks of tokens that are computed again in the backward pass (or a fused linear \
     cross-entropy kernel), shard the vocabulary, or keep logits in bf16",
);

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!("{} of the peak", units::share(LOGITS_SHARE));
    let attribution = context.attribution;
    let is_meant = |group| matches!(group, Group::Temporary | Group::Output);
    let found: Vec<_> = attribution
        .buffers
        .iter()
        .filter(|buffer| {
            is_meant(buffer.alive.group) && bucket::is(attribution.bucket(buffer.rule), bucket::LOGITS)
        })
        .collect();
    if found.is_empty() && context.is_training().is_none() {
        return Outcome::unknown(threshold, "no op has a name, and no shape has the size of a vocabulary");
    }
    if found.is_empty() && attribution.memory.is_without_trace() {
        return Outcome::unknown(
            threshold,
            "the program does not say which temporary buffers are alive at the peak",
        );
    }
    let bytes = units::sum(found.iter().map(|buffer| buffer.alive.bytes));
    let share = context.of_peak(bytes);
    let temporary = units::sum(
        found.iter().filter(|b| b.alive.group == Group::Temporary).map(|buffer| buffer.alive.bytes),
    );
    let saved = temporary - temporary / LOSS_CHUNKS;
    let is_guess = found.iter().any(|buffer| {
        buffer.rule.and_then(|rule| attribution.rules.all().get(rule)).is_some_and(|rule| rule.is_guess)
    });
    let is_training = context.is_training() == Some(true);
    let finding = (share >= LOGITS_SHARE).then(|| Finding {
        id: "vocabulary_sized_logits",
        severity: Severity::Warning,
        claim: format!(
            "{} at the peak {} an extent of the vocabulary{}",
            size(context, bytes),
            if found.len() == 1 { "has" } else { "have" },
            if is_guess { " (a guess: an extent of 100,000 or more)" } else { "" }
        ),
        evidence: largest(&found),
        ceiling: format!(
            "{} less, with {LOSS_CHUNKS} chunks and if nothing else becomes the peak",
            units::bytes(saved as f64)
        ),
        recommendation: if is_training {
            context.fix(&OF_TRAINING)
        } else {
            "compute logits for the last token only, or over chunks of the batch; shard the vocabulary"
                .to_owned()
        },
        falsifier: "the peak stays the same when the loss is computed in chunks".to_owned(),
        status: if is_guess { Status::Estimated } else { Status::Derived },
        ..Finding::default()
    });
    let said = if found.is_empty() { "none at the peak".to_owned() } else { largest(&found) };
    Outcome::measured(bytes, Some(share), threshold, said, finding)
}
