//! Links that are slower than others: groups of devices in which collectives take longer than in the other groups of the same
//! ops, an axis that carries less than another.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::counted;
use crate::rule::{Outcome, Rule, Standing};
use haloscope_comm::links::Links;
use haloscope_comm::peers::SlowLinks;
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "slow_link",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "steps of all members of several groups, and the programs, which say who is in which",
    threshold: None,
    check,
};

/// Less costs too little to look for a cable.
const WORTH: f64 = 0.005;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let waits = evidence.waits();
    if !waits.links_known {
        return Outcome::unknown(
            "nothing says which devices took part in which collective, in steps that all of them ran",
        );
    }
    let Some((links, cost)) = &waits.links else {
        return Outcome::clear(
            "no group of devices is slower than its peers in the same collectives, no axis slower than another",
        );
    };
    let (claim, evidence_words) = words(evidence, links);
    let said = format!("{claim}, which costs {} of the active window", units::share(cost.saved));
    if cost.saved < WORTH {
        return Outcome::clear(said);
    }
    let finding = Cause {
        id: RULE.id,
        claim: said.clone(),
        evidence: evidence_words,
        saved: Some(cost.saved),
        assuming: if cost.is_projected {
            "if it carried as much as its peers: the steps run again so, the waits of the others with it".into()
        } else {
            "if it carried as much as its peers".into()
        },
        lever: "look at the links of these chips (error counters, retraining, a cable or an optical switch), and swap or drain the machine; until then place the program so that its heaviest axis does not cross them".into(),
        falsifier: "the same devices are as slow after the program's axes were swapped: then it is what they send; an axis that is a line and not a ring carries half by design".into(),
        status: Status::Estimated,
        links: vec![Link::to("comm").table("groups"), Link::to("comm").table("axes")],
    };
    let finding = finding.into_finding(evidence).explaining("exposed_communication", cost.communication);
    Outcome::found(said, vec![finding])
}

fn rate(rate: f64) -> String {
    format!("{}/s", units::bytes(rate))
}

fn words(evidence: &Evidence<'_>, links: &SlowLinks) -> (String, String) {
    let peak = evidence.selection.devices.first().and_then(|d| Links::of(evidence.profile, d));
    let of_peak = |rate: f64| {
        peak.map_or_else(String::new, |p| {
            format!(" ({} of what its links carry)", units::share(rate / p.all()))
        })
    };
    if let Some(group) = links.groups.first() {
        let name = |id: &haloscope_profile::DeviceId| evidence.profile.device(*id).name.clone();
        let common = links.common();
        let names: Vec<String> = common.iter().map(name).collect();
        let between = if common.len() == 2 {
            "The link between "
        } else if common.len() == 1 {
            "A link of "
        } else {
            "A link among "
        };
        let worst = &group.worst;
        let rates = worst.rate.zip(worst.peers_rate).map_or_else(String::new, |(own, peers)| {
            format!(": {}{} against {}", rate(own), of_peak(own), rate(peers))
        });
        let several = if links.groups.len() > 1 {
            format!("; {} groups are slow", links.groups.len())
        } else {
            String::new()
        };
        return (
            format!(
                "{between}{} is slow: collectives take {:.1} times as long there as in {} like it",
                names.join(", "),
                group.ratio,
                counted(group.peers as u64, "group")
            ),
            format!(
                "by {}, from the arrival of the last member on; most in {} with {} against {}{rates}{several}",
                counted(group.ops as u64, "op"),
                worst.op,
                units::duration_ps(worst.own_ps),
                units::duration_ps(worst.peers_ps),
            ),
        );
    }
    match &links.axis {
        Some(axis) => (
            format!(
                "The links along {} are slow: they carry {} where those along {} carry {}",
                axis.name,
                rate(axis.rate),
                axis.best.0,
                rate(axis.best.1)
            ),
            format!(
                "bus bandwidth of large synchronous collectives ({}){}, the other axis{}",
                axis.kinds.join(", "),
                of_peak(axis.rate),
                of_peak(axis.best.1)
            ),
        ),
        None => ("No link is slow".into(), String::new()),
    }
}
