//! What follows from the account of time.

use super::tables::Placed;
use crate::account::{Class, Times};
use crate::ceiling;
use crate::fix;
use crate::overview::findings::diluted;
use crate::usage::Usage;
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};

/// Idle time in the active window below this share is usual, above [`LARGE`] it is worth a warning (the thresholds that
/// people use for bubbles).
const SMALL: f64 = 0.05;
const LARGE: f64 = 0.10;

pub(super) fn all(profile: &Profile, usage: &Usage, sums: &Times, gaps: &[Placed]) -> Vec<Finding> {
    let mut out: Vec<Finding> = diluted(usage, None).into_iter().collect();
    out.extend(idle(profile, sums, gaps));
    out
}

/// The idle time inside the active window and the largest part of it.
fn idle(profile: &Profile, sums: &Times, gaps: &[Placed]) -> Option<Finding> {
    let classes = [Class::Between, Class::Input, Class::Inside];
    let active = sums.sum(|class| !matches!(class, Class::Before | Class::After));
    let idle = sums.sum(|class| classes.contains(&class));
    let share = |ps: i64| ps as f64 / active.max(1) as f64;
    let main = classes.into_iter().max_by_key(|class| sums.of(*class))?;
    if share(idle) < SMALL {
        return None;
    }
    let (what, recommendation, falsifier) = advice(profile, main);
    let own = |class: &Class| format!("{} {}", class.phrase(), units::share(share(sums.of(*class))));
    let parts: Vec<_> = classes.iter().filter(|class| sums.of(**class) > 0).map(own).collect();
    let longest = gaps.first().map(|Placed { gap, device, .. }| {
        let name = &profile.device(*device).name;
        format!("; longest gap {} on {name}", units::duration_ps((gap.end_ps - gap.start_ps) as f64))
    });
    Some(Finding {
        id: "idle_time",
        severity: if share(idle) > LARGE { Severity::Warning } else { Severity::Info },
        claim: format!(
            "Devices run no op for {} of the active window, most of it {what}",
            units::share(share(idle))
        ),
        evidence: format!("of the active window: {}{}", parts.join(", "), longest.unwrap_or_default()),
        ceiling: format!("{:.2}x, if no device were idle", ceiling::speedup(share(idle))),
        recommendation,
        falsifier: falsifier.into(),
        status: Status::Derived,
        speedup: Some(ceiling::speedup(share(idle))),
        links: vec![Link::to("idle").table("gaps"), Link::to("timeline")],
        ..Finding::default()
    })
}

/// What a class is in a sentence, what to try, and what would refute it.
fn advice(profile: &Profile, class: Class) -> (&'static str, String, &'static str) {
    match class {
        Class::Input => (
            "while the host prepares input",
            "prefetch, cache or parallelise the input pipeline: `ops --on host`".into(),
            "the step time does not change with synthetic input",
        ),
        Class::Inside => (
            "inside programs",
            "look at the longest gaps on the timeline: waits for the host or for other devices that no op shows, or kernels that are launched one by one".into(),
            "the same gaps appear when the program runs alone on the device",
        ),
        _ => (
            "between programs",
            format!(
                "launch ahead: do not wait for results in each step, use fewer and larger programs, {}",
                fix::STEPS_ON_DEVICE.for_run(profile)
            ),
            "a capture with less tracing on the host shows no such gaps",
        ),
    }
}
