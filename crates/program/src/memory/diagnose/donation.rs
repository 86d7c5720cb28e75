//! Inputs whose memory an output of the same shape could have taken over.

use super::Outcome;
use super::context::{Context, size};
use super::thresholds::DONATION_SHARE;
use crate::donation::{self, Missed};
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};
use haloscope_time::fix::Fix;

static LEVER: Fix = Fix {
    jax: "jax.jit(..., donate_argnums or donate_argnames) for what the call replaces",
    tensorflow: "keep what the call replaces in a tf.Variable and assign to it, so that its buffer is reused",
    pytorch: "update in place what the call replaces, so that its buffer is reused",
    any: "donate to the call what it replaces, so that its buffer is reused",
};

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!("{} of the peak", units::share(DONATION_SHARE));
    let attribution = context.attribution;
    let missed = donation::missed(context.module(), &attribution.flow, |parameter| {
        let row = attribution.flow.parameter(parameter.number, &parameter.index)?;
        attribution.parameters.get(row)?.bytes
    });
    let bytes = units::sum(missed.iter().map(|one| one.bytes));
    let carried_on = units::sum(missed.iter().filter(|one| one.is_carried_on).map(|one| one.bytes));
    let share = context.of_peak(bytes);
    let word = |one: &Missed| {
        let how = if one.is_carried_on { "an output carries it on" } else { "an output has its shape" };
        format!("{} {} ({}, {how})", one.name, one.shape, units::bytes(one.bytes as f64))
    };
    let mut words: Vec<String> = missed.iter().take(4).map(word).collect();
    if missed.len() > words.len() {
        words.push(format!("{} more", missed.len() - words.len()));
    }
    let said = if missed.is_empty() {
        "no input that stays in memory has the shape of an output with its own memory".to_owned()
    } else {
        words.join("; ")
    };
    let finding = (share >= DONATION_SHARE).then(|| Finding {
        id: "donation_missed",
        severity: Severity::Warning,
        claim: format!(
            "{} of inputs stay in memory beside outputs of the same shape, because they are not donated",
            size(context, bytes)
        ),
        evidence: said.clone(),
        ceiling: format!(
            "{} less; {} of this is certain, where the output is the input changed in place",
            units::bytes(bytes as f64),
            units::bytes(carried_on as f64)
        ),
        recommendation: context.fix(&LEVER),
        falsifier: "the caller uses the inputs again after the call".to_owned(),
        status: if context.of_peak(carried_on) >= DONATION_SHARE {
            Status::Derived
        } else {
            Status::Estimated
        },
        ..Finding::default()
    });
    Outcome::measured(bytes, Some(share), threshold, said, finding)
}
