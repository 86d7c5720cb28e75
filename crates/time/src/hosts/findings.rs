//! What `hosts` says of a straggler.

use super::measure::{self, Measured, OfDevice, OnDevice};
use super::slow_ops::SlowOps;
use crate::ceiling;
use crate::stats::quantile;
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};

/// A straggler in words.
pub struct Straggler {
    /// The share of the step time that it costs.
    pub(crate) cost_share: f64,
    /// Its work beyond that of the others in a step, picoseconds.
    pub(crate) excess_ps: f64,
    /// What is slow, and by how much.
    pub claim: String,
    /// The numbers that show it.
    pub evidence: String,
    /// Where the evidence is.
    pub links: Vec<Link>,
}

/// What to try.
pub const LEVER: &str = "run the same program on that host alone: if it is slow there too, replace or drain it (clock, heat, a neighbour on the machine); if not, compare what it is given: uneven shards, input, logging or checkpoints on one host";
/// What would refute it.
pub const FALSIFIER: &str = "the same host is as fast as the others in another capture, or the slow place moves with the data and not with the host";

impl Straggler {
    /// What is said of a device that is slower than the others.
    pub fn describe(profile: &Profile, measured: &Measured<'_>, one: &OfDevice<'_>, slow: &SlowOps) -> Self {
        let others = |of: fn(&OnDevice) -> i64| {
            let rest = measured.devices.iter().filter(|d| d.device.id != one.device.id);
            let mut means: Vec<f64> = rest.filter_map(|d| d.mean(of)).collect();
            means.sort_by(f64::total_cmp);
            quantile(&means, 0.5)
        };
        let own = |of: fn(&OnDevice) -> i64| one.mean(of).unwrap_or(0.0);
        let (work, usual) = (own(OnDevice::work_ps), others(OnDevice::work_ps));
        let standing = one.standing;
        let cost_share = standing.map_or(0.0, |s| s.cost_share);
        let name = measure::name(profile, one.device);
        let device = if name == one.device.name { String::new() } else { format!(" ({})", one.device.name) };
        let all = measured.devices.iter().filter(|d| d.is_straggler()).count();
        let more = if all > 1 { format!(" {all} devices in all are stragglers.") } else { String::new() };
        Self {
            cost_share,
            excess_ps: (work - usual).max(0.0),
            claim: format!(
                "{name}{device} works {} longer a step than the median of the others, which wait for it: {} of the step time is lost.{more}",
                units::share(work / usual.max(1.0) - 1.0),
                units::share(cost_share),
            ),
            evidence: format!(
                "work a step {} against {}; exposed communication {} against {}; modified z-score {:.1}; most work in {} of the steps{}",
                units::duration_ps(work),
                units::duration_ps(usual),
                units::duration_ps(own(OnDevice::communication_ps)),
                units::duration_ps(others(OnDevice::communication_ps)),
                standing.and_then(|s| s.z).unwrap_or(0.0),
                units::share(standing.map_or(0.0, |s| s.slowest_share)),
                slow.words(),
            ),
            links: vec![
                Link::to("hosts").row("devices", &one.device.name),
                Link::to("hosts").table("slow_ops"),
                Link::to("timeline").device(&one.device.name),
            ],
        }
    }
}

pub(super) fn straggler(
    profile: &Profile,
    measured: &Measured<'_>,
    one: &OfDevice<'_>,
    slow: &SlowOps,
) -> Finding {
    let found = Straggler::describe(profile, measured, one, slow);
    let speedup = ceiling::speedup(found.cost_share);
    Finding {
        id: "straggler",
        severity: Severity::Warning,
        claim: found.claim,
        evidence: found.evidence,
        ceiling: format!(
            "{speedup:.2}x: {} a step, if it worked as the others do",
            units::duration_ps(found.excess_ps)
        ),
        speedup: Some(speedup),
        lever: LEVER.into(),
        falsifier: FALSIFIER.into(),
        status: Status::Estimated,
        links: found.links,
        ..Finding::default()
    }
}
