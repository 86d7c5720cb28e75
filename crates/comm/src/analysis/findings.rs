//! What follows from the numbers of `comm`.

use super::groups::Talk;
use super::{Measured, unpaired};
use crate::{Collective, Execution, Form};
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::ceiling;

/// Shares of a step from which on exposed communication is worth knowing, and worth a warning.
const KNOWING: f64 = 0.05;
const WARNING: f64 = 0.10;
/// Asynchronous collectives should be hidden for this share at least.
const HIDDEN: f64 = 0.70;
/// ... if what is not hidden is this share of a step.
const OF_STEP: f64 = 0.01;
/// Waiting for late members is said from this share of the exposed time on.
const WAITING: f64 = 0.1;
/// More unpaired ones than this say that the capture is at fault.
const UNPAIRED: f64 = 0.5;

/// All findings, worst first.
pub(super) fn all(profile: &Profile, measured: &Measured<'_>, talk: &Talk) -> Vec<Finding> {
    let found = [exposed(profile, measured, talk), low_overlap(profile, measured), lacking(measured)];
    let mut found: Vec<Finding> = found.into_iter().flatten().collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.severity));
    found
}

fn status(measured: &Measured<'_>) -> Status {
    if measured.steps.source.is_inferred() || !measured.by_step { Status::Estimated } else { Status::Derived }
}

/// Where to look at a collective: its row, and its most exposed execution on the timeline.
fn links(profile: &Profile, one: &Collective<'_>) -> Vec<Link> {
    let mut links = vec![Link::to("comm").row("ops", one.meta.name.to_string())];
    if let Some(worst) = one.executions.iter().max_by_key(|e| e.exposed_ps) {
        let link = Link::to("timeline").device(profile.device(worst.device).name.clone());
        links.push(link.window(worst.start_ps, worst.end_ps.max(worst.start_ps + 1)));
    }
    links
}

fn exposed(profile: &Profile, measured: &Measured<'_>, talk: &Talk) -> Option<Finding> {
    let sum = measured.sum(|d| d.exposed_ps);
    let share = measured.share(sum).filter(|share| *share >= KNOWING)?;
    let worst = measured.comm.collectives.first()?;
    let time = |ps: i64| units::duration_ps(measured.per_step(ps));
    let of = |one: &Collective<'_>| one.sum(|e| e.exposed_ps);
    let synchronous = |one: &&Collective<'_>| one.form == Form::Synchronous;
    let blocking = units::sum(measured.comm.collectives.iter().filter(synchronous).map(of));
    let hidden = measured.sum(|d| d.hidden_ps);
    let speedup = ceiling::speedup(share);
    // What is waiting for a late member is no fault of the collective.
    let waiting = talk.skew.parts(&measured.comm).waiting_ps.map(|ps| ps / measured.per_step(sum));
    let waiting = waiting.filter(|waiting| *waiting >= WAITING);
    let waited = waiting.map(|w| format!("{} of it waiting for late members; ", units::share(w)));
    Some(Finding {
        id: "exposed_communication",
        severity: if share >= WARNING { Severity::Warning } else { Severity::Info },
        claim: format!(
            "Devices spend {} of a step ({}) in collectives that no compute hides",
            units::share(share),
            time(sum)
        ),
        evidence: format!(
            "{}{} of it in synchronous collectives; {} hidden behind compute; most in {} ({}, {} a step)",
            waited.unwrap_or_default(),
            units::share(blocking as f64 / sum.max(1) as f64),
            if hidden > 0 { format!("{} a step", time(hidden)) } else { "none".into() },
            worst.meta.name,
            worst.kind,
            time(of(worst))
        ),
        ceiling: format!("{speedup:.2}x, if all communication were hidden"),
        speedup: Some(speedup),
        recommendation: if waiting.is_some_and(|waiting| waiting > 0.5) {
            "find out which member is late and why (table `skew`, `hosts`) before changing how devices communicate".into()
        } else if blocking * 2 > sum {
            "make the collectives asynchronous, so that the scheduler can overlap them with compute; or communicate less: another sharding, larger shards, lower precision".into()
        } else {
            "start the collectives earlier, or give the scheduler more independent work to put between their start and done".into()
        },
        falsifier: "the step takes just as long with the collectives replaced by local copies; or the time is a wait for a slow device, which `hosts` names".into(),
        status: status(measured),
        links: links(profile, worst),
        ..Finding::default()
    })
}

fn low_overlap(profile: &Profile, measured: &Measured<'_>) -> Option<Finding> {
    let asynchronous = |one: &&Collective<'_>| one.form != Form::Synchronous;
    let of = |one: &Collective<'_>, part: fn(&Execution) -> i64| one.sum(part);
    let all: Vec<&Collective<'_>> = measured.comm.collectives.iter().filter(asynchronous).collect();
    let exposed = units::sum(all.iter().map(|one| of(one, |e| e.exposed_ps)));
    let hidden = units::sum(all.iter().map(|one| of(one, |e| e.hidden_ps)));
    let of_step = measured.share(exposed).filter(|share| *share >= OF_STEP)?;
    let ratio = hidden as f64 / hidden.saturating_add(exposed).max(1) as f64;
    if ratio >= HIDDEN {
        return None;
    }
    let worst = all.first()?;
    let speedup = ceiling::speedup(of_step);
    Some(Finding {
        id: "low_overlap",
        severity: if of_step >= KNOWING { Severity::Warning } else { Severity::Info },
        claim: format!(
            "Asynchronous collectives are hidden for only {} of their time",
            units::share(ratio)
        ),
        evidence: format!(
            "{} a step hidden, {} exposed ({} of a step); most in {} ({})",
            units::duration_ps(measured.per_step(hidden)),
            units::duration_ps(measured.per_step(exposed)),
            units::share(of_step),
            worst.meta.name,
            worst.kind
        ),
        ceiling: format!("{speedup:.2}x, if these were hidden"),
        speedup: Some(speedup),
        recommendation: "see on the timeline what runs at the same time: too little work, or work that needs its result; start it earlier, split it, or fetch the next layer's weights ahead".into(),
        falsifier: "it ends just as late when it starts earlier: then the transfer or a late member is slow, not the schedule".into(),
        status: status(measured),
        links: links(profile, worst),
        ..Finding::default()
    })
}

fn lacking(measured: &Measured<'_>) -> Option<Finding> {
    let (all, lacking) = unpaired(&measured.comm);
    let share = lacking as f64 / all.max(1) as f64;
    if share <= UNPAIRED {
        return None;
    }
    Some(Finding {
        id: "unpaired_collectives",
        severity: Severity::Warning,
        claim: format!(
            "{} of the asynchronous collectives have no start or no done in the capture: how much is hidden is not known",
            units::share(share)
        ),
        evidence: format!("{lacking} of {all} executions"),
        ceiling: "nothing: this is about the numbers, not the program".into(),
        recommendation: "capture whole steps, with a profiler that writes the line Async XLA Ops".into(),
        falsifier: "a longer capture of the same program has just as many".into(),
        status: Status::Derived,
        links: vec![Link::to("comm").table("ops")],
        ..Finding::default()
    })
}
