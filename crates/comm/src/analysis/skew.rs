//! Who comes last to collectives, who waits for it, and whether devices communicate alike.

use super::Measured;
use super::groups::Talk;
use crate::last::{Last, Late};
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status, Table, Unit, Value, row};

/// The table by device, in the selection's order.
pub(super) fn table(profile: &Profile, measured: &Measured<'_>, talk: &Talk) -> Table {
    let mut rows = Vec::new();
    for (own, all) in talk.skew.devices.iter().zip(&measured.comm.devices) {
        let device = profile.device(own.device);
        let per_step = |ps: i64| ps as f64 / all.steps.max(1) as f64;
        let known = |ps: i64| (own.shared > 0).then(|| per_step(ps));
        let row = row![
            text("device", "Device", "The device.", device.name.as_str()),
            text("host", "Host", "Its host.", profile.host(device.host).name.as_str()),
            count(
                "last",
                "Was last",
                "Executions in which it arrived last and the others waited longer than the uncertainty of the clocks; only executions with several captured members.",
                (own.shared > 0).then_some(own.last)
            ),
            count(
                "shared",
                "Of",
                "Executions in which it and other members of its group were captured.",
                own.shared
            ),
            duration(
                "caused_ps",
                "Others waited",
                "How long each of the others waited for it in a step, mean over them. Time that it had waited for another device before counts for that device.",
                known(own.caused_ps)
            ),
            duration(
                "waited_ps",
                "Waited",
                "How long it waited for others in a step: the extra exposed time that it spent in a collective compared with the fastest member.",
                known(own.waited_ps)
            ),
            duration(
                "transfer_ps",
                "Transfer",
                "The rest of the exposed time of those executions.",
                known(own.known_exposed_ps - own.waited_ps)
            ),
            duration(
                "unknown_ps",
                "Unknown",
                "Exposed time of executions in which no other member was captured, or whose ends on two devices do not match.",
                per_step(own.exposed_ps - own.known_exposed_ps)
            ),
            duration(
                "clock_offset_ps",
                "Clock offset",
                "How far its events lag behind those of the first device that must have ended at the same moment: the median over collectives. Nothing is shifted by it.",
                own.offset_ps
            ),
            duration(
                "clock_uncertainty_ps",
                "Uncertainty",
                "The spread of those ends: 1.4826 times the median absolute deviation, 1 ns at least.",
                own.uncertainty_ps
            ),
        ];
        rows.push(row);
    }
    Table::of("skew", "Who is last", rows)
}

/// How exposed time divides, who comes last, and how alike devices are.
pub(super) fn values(measured: &Measured<'_>, talk: &Talk) -> Vec<Value> {
    let parts = talk.skew.parts(&measured.comm);
    let time =
        |id, label, value: Option<f64>, doc| Value::new(id, label, value, Unit::Ps, Status::Estimated, doc);
    let latest = latest(measured, talk);
    let imbalance = imbalance(measured);
    let word = imbalance.map(|share| match share {
        share if share > IMBALANCED => "imbalanced",
        share if share < BALANCED => "balanced",
        _ => "nearly balanced",
    });
    vec![
        time(
            "waiting_ps_per_step",
            "Waiting for late members",
            parts.waiting_ps,
            "The part of the exposed time that is waiting for a later member: the extra time of a device in a collective compared with the fastest member. Only captured members count; unknown if no group had two.",
        ),
        time(
            "transfer_ps_per_step",
            "Transfer",
            parts.transfer_ps,
            "The rest of the exposed time of the same executions.",
        ),
        time(
            "waiting_unknown_ps_per_step",
            "Wait or transfer unknown",
            Some(parts.unknown_ps),
            "Exposed time of executions with only one captured member, or whose ends do not match: together with the other two it is `exposed_ps_per_step`.",
        ),
        Value::new(
            "last_device",
            "Last to arrive",
            latest.map(|late| late.name.as_str()),
            Unit::None,
            Status::Estimated,
            "The device, else the host, else the slice that causes more than half of the waiting, 1% of a step or more; unknown if there is none. Time that it had itself waited for another counts for the other.",
        ),
        Value::new(
            "last_words",
            "Who is last",
            talk.last.as_ref().map(Last::words),
            Unit::None,
            Status::Estimated,
            "The one that causes most of the waiting, and how long each of the other devices waits for it in a step; or that it changes, and the three that cause the most. `diagnose` says the same, and what the late one does meanwhile. Unknown if no device waits.",
        ),
        time(
            "last_caused_ps_per_step",
            "Others wait for it",
            latest.map(|late| late.caused_ps),
            "How long each of the other devices waits for it in a step.",
        ),
        Value::new(
            "balance",
            "Balance over devices",
            word,
            Unit::None,
            Status::Derived,
            "By `imbalance_share`: imbalanced above 5%, balanced below 1%; unknown for fewer than two devices.",
        ),
        Value::new(
            "imbalance_share",
            "Imbalance",
            imbalance,
            Unit::Share,
            Status::Derived,
            "The most exposed time of a device minus the least, divided by the mean.",
        ),
    ]
}

/// Exposed time differs by more than this share of the mean: imbalanced.
const IMBALANCED: f64 = 0.05;
/// By less than this: balanced.
const BALANCED: f64 = 0.01;
/// What costs less than this share of a step is not worth naming anybody for.
const WORTH: f64 = 0.01;

fn step_ps(measured: &Measured<'_>) -> f64 {
    measured.per_step(measured.sum(|d| d.step_ps))
}

/// Who comes last, where it is one and costs enough.
fn latest<'t>(measured: &Measured<'_>, talk: &'t Talk) -> Option<&'t Late> {
    talk.last.as_ref()?.one().filter(|one| one.caused_ps >= WORTH * step_ps(measured))
}

/// Exposed time by device, a step.
fn exposed(measured: &Measured<'_>) -> Vec<f64> {
    measured.comm.devices.iter().map(|d| d.exposed_ps as f64 / d.steps.max(1) as f64).collect()
}

fn imbalance(measured: &Measured<'_>) -> Option<f64> {
    let all = exposed(measured);
    let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
    let (most, least) =
        (all.iter().copied().fold(0.0, f64::max), all.iter().copied().fold(f64::MAX, f64::min));
    (all.len() > 1 && mean > 0.0).then(|| (most - least) / mean)
}

/// A late device; else devices that communicate unlike.
pub(super) fn findings(profile: &Profile, measured: &Measured<'_>, talk: &Talk) -> Vec<Finding> {
    match latest(measured, talk) {
        Some(own) => vec![late(measured, talk, own)],
        None => imbalanced(profile, measured).into_iter().collect(),
    }
}

fn late(measured: &Measured<'_>, talk: &Talk, own: &Late) -> Finding {
    let step = step_ps(measured);
    let speedup = step / (step - own.caused_ps).max(step * 0.01);
    let waiting = talk.last.as_ref().map_or(0.0, |last| last.waiting_ps);
    let clocks = talk.skew.devices.iter().filter_map(|d| d.uncertainty_ps).max().unwrap_or(0);
    Finding {
        id: "late_member",
        severity: Severity::Warning,
        claim: format!(
            "{} is last in collectives: each of the others waits {} a step for it",
            own.name,
            units::duration_ps(own.caused_ps)
        ),
        evidence: format!(
            "{} of all waiting, which is {} a step, mean over {} devices; {} executions with several captured members, clocks known to {}",
            units::share(own.share),
            units::duration_ps(waiting),
            measured.comm.devices.len(),
            talk.skew.seen - talk.skew.disagreeing,
            units::duration_ps(clocks as f64),
        ),
        ceiling: format!("{speedup:.2}x: {} a step, if it arrived with the others", units::duration_ps(own.caused_ps)),
        speedup: Some(speedup),
        recommendation: "find what takes longer on it than on the others (`hosts`): a slow chip or host, uneven shards, input or logging there".into(),
        falsifier: "in another capture another one is last, or it is not slower in the compute before the collective".into(),
        status: Status::Estimated,
        links: vec![Link::to("comm").table("skew"), Link::to("hosts").table("devices")],
        ..Finding::default()
    }
}

fn imbalanced(profile: &Profile, measured: &Measured<'_>) -> Option<Finding> {
    let share = imbalance(measured).filter(|share| *share > IMBALANCED)?;
    let all = exposed(measured);
    let most = all.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
    let least = all.iter().copied().fold(f64::MAX, f64::min);
    let (gain, step) = (most.1 - least, step_ps(measured));
    if gain < WORTH * step {
        return None;
    }
    let device = profile.device(measured.comm.devices.get(most.0)?.device);
    let speedup = step / (step - gain).max(step * 0.01);
    Some(Finding {
        id: "imbalanced_communication",
        severity: Severity::Info,
        claim: format!(
            "Devices spend different amounts of time in exposed communication: the most and the least differ by {} of the mean",
            units::share(share)
        ),
        evidence: format!(
            "{} spends {} a step in collectives, the least of the others {}",
            device.name,
            units::duration_ps(*most.1),
            units::duration_ps(least)
        ),
        ceiling: format!("{speedup:.2}x at most: {} a step, if all spent as little", units::duration_ps(gain)),
        speedup: Some(speedup),
        recommendation: "devices that spend least arrive last: `hosts` shows what takes longer on them; if all do the same work, compare what each group sends".into(),
        falsifier: "in another capture these devices spend equal amounts of time".into(),
        status: Status::Derived,
        links: vec![Link::to("comm").row("devices", device.name.clone()), Link::to("hosts")],
        ..Finding::default()
    })
}
