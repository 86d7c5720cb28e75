//! Temporaries that live through most of the program.

use super::Outcome;
use super::context::{Context, largest, size};
use super::thresholds::{CRITICAL_BYTES, LONG_LIVED_PEAK_SHARE, LONG_SHARE, VERY_LONG_SHARE};
use crate::attribution::Attributed;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};
use haloscope_time::fix::Fix;

static LEVER: Fix = Fix::jax_or(
    "compute them again where they are used (jax.checkpoint with a policy that does not save them), offload them \
     to the host, or make the loop's state smaller",
    "compute them again where they are used, offload them to the host, or make the loop's state smaller",
);

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!(
        "alive for over {} of the schedule, together {} of the peak",
        units::share(LONG_SHARE),
        units::share(LONG_LIVED_PEAK_SHARE)
    );
    if context.attribution.memory.replay.is_none() {
        return Outcome::unknown(threshold, "the program has no heap simulator trace");
    }
    let alive_for = |least: f64| {
        move |buffer: &&Attributed<'_, '_>| context.life_share(buffer).is_some_and(|share| share > least)
    };
    let long: Vec<_> = context.temporaries().filter(alive_for(LONG_SHARE)).collect();
    let very: Vec<_> = long.iter().copied().filter(alive_for(VERY_LONG_SHARE)).collect();
    let bytes = units::sum(long.iter().map(|buffer| buffer.alive.bytes));
    let very_bytes = units::sum(very.iter().map(|buffer| buffer.alive.bytes));
    let share = context.of_peak(bytes);
    let is_critical = very.iter().any(|buffer| buffer.alive.bytes > CRITICAL_BYTES);
    let finding = (share >= LONG_LIVED_PEAK_SHARE).then(|| Finding {
        id: "long_lived_temporaries",
        severity: if is_critical { Severity::Error } else { Severity::Warning },
        claim: format!(
            "{} of temporaries live for over {} of the schedule; of these {} for over {}",
            size(context, bytes),
            units::share(LONG_SHARE),
            units::bytes(very_bytes as f64),
            units::share(VERY_LONG_SHARE)
        ),
        evidence: largest(&long),
        ceiling: format!("{} less at the peak, if they were made only when needed", units::bytes(bytes as f64)),
        recommendation: context.fix(&LEVER),
        falsifier: "they are the state of a loop that is nearly the whole program, such as gathered weights or a cache"
            .to_owned(),
        status: Status::Derived,
        ..Finding::default()
    });
    let said = if long.is_empty() { "none at the peak".to_owned() } else { largest(&long) };
    Outcome::measured(bytes, Some(share), threshold, said, finding)
}
