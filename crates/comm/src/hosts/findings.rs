//! What `hosts` says of a straggler.

use super::late::Late;
use super::levels::Level;
use super::measure::{Measured, OfDevice, OnDevice};
use super::slow_ops::SlowOps;
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::ceiling;
use haloscope_time::stats::quantile;

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
pub const LEVER: &str = "run the same program on that host alone: if it is slow there too, replace or drain it (clock, heat, a neighbour on the machine); if not, compare its load: uneven shards, input, logging or checkpoints on one host";
/// What would refute it.
pub const FALSIFIER: &str = "in another capture the same host is as fast as the others, or the slowness moves with the data and not with the host";

impl Straggler {
    /// What is said of devices that are slower than the others; `one` is the slowest of them. `None` where there are none.
    pub fn describe(
        profile: &Profile,
        measured: &Measured<'_>,
        one: &OfDevice<'_>,
        slow_ops: &SlowOps,
    ) -> Option<Self> {
        let (slow, units) = (measured.slow()?, measured.slow_units(profile)?);
        let when = measured.slow_when()?;
        let is_slow = |d: &&OfDevice<'_>| d.is_straggler();
        let middle = |own: bool, of: fn(&OnDevice) -> i64| {
            let some = measured.devices.iter().filter(|d| is_slow(d) == own);
            let mut means: Vec<f64> = some.filter_map(|d| d.mean(of)).collect();
            means.sort_by(f64::total_cmp);
            quantile(&means, 0.5)
        };
        let (own, usual) = (middle(true, OnDevice::work_ps), middle(false, OnDevice::work_ps));
        let devices = measured.devices.len();
        let whole = match units.level {
            Level::Host if units.is_one_a_host => format!(" ({})", one.device.name),
            Level::Slice | Level::Host | Level::Chip => {
                format!(" (all of its {})", plural(units.devices, "device"))
            }
            Level::Device => String::new(),
        };
        let (verb, them) = if units.names.len() == 1 { ("works", "it") } else { ("work", "them") };
        let beyond = match (
            units.level,
            measured.devices.iter().filter(|d| d.device.host == one.device.host).count(),
        ) {
            (Level::Host, _) if units.is_one_a_host => {
                "; one device of each host was captured: whether the host is slow or its chip is not known"
            }
            (Level::Slice, _) => "; the slice as a whole, not one host of it",
            (Level::Host, _) => "; the host as a whole, not one chip of it",
            (_, 2..) => "; the chip, not its host: the host's other devices are as fast as the rest",
            _ => "",
        };
        let t = slow.t.filter(|t| t.is_finite()).map_or_else(String::new, |t| {
            format!(", t over {} {t:.1}", plural(slow.excess_ps.len(), "step"))
        });
        let z = slow.z.filter(|z| z.is_finite()).map_or_else(String::new, |z| {
            format!("; {z:.1} robust deviations from the {}", plural(devices - units.devices, "other"))
        });
        Some(Self {
            cost_share: slow.cost_share,
            excess_ps: (own - usual).max(0.0),
            claim: format!(
                "{}{whole} {verb} {} longer a step than the median of the others, which wait for {them}, {}: {} of the step time is lost",
                units.words(),
                units::share(slow.factor - 1.0),
                when.words(),
                units::share(slow.cost_share),
            ),
            evidence: format!(
                "work a step {} against {}; exposed communication {} against {}{z}{t}{beyond}{}",
                units::duration_ps(own),
                units::duration_ps(usual),
                units::duration_ps(middle(true, OnDevice::communication_ps)),
                units::duration_ps(middle(false, OnDevice::communication_ps)),
                slow_ops.words(),
            ),
            links: vec![
                Link::to("hosts").row("devices", &one.device.name),
                Link::to("hosts").table("slow_ops"),
                Link::to("timeline").device(&one.device.name),
            ],
        })
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("{count} {word}") } else { format!("{count} {word}s") }
}

/// What to try where a host begins late.
pub const LATE_LEVER: &str = "look at what that host does before it launches: its loader, logging, checkpoints, garbage collection, another process; give it more prefetch, or let it launch ahead of the devices";
/// What would refute it.
pub const LATE_FALSIFIER: &str = "without that host's work before the launch (a batch made up in memory, garbage collection frozen), the step takes just as long";

/// Who begins late, in words: the claim.
#[must_use]
pub fn late_words(profile: &Profile, late: &Late) -> String {
    let (who, when) = (late.who(profile), late.pattern.words());
    format!(
        "{who} begins {} later than the others, which wait for it in collectives, {when}: {} of the step time is lost",
        units::duration_ps(late.mean_ps()),
        units::share(late.cost_share),
    )
}

/// `late_host` as `hosts` says it.
pub(super) fn late(profile: &Profile, late: &Late) -> Finding {
    let speedup = ceiling::speedup(late.cost_share);
    let first = late.steps.first();
    Finding {
        id: "late_host",
        severity: Severity::Warning,
        claim: late_words(profile, late),
        evidence: format!("late in {} of {} steps: {}", late.steps.len(), late.of_steps, late.hosts(profile)),
        ceiling: format!("{speedup:.2}x, if it began with the others"),
        speedup: Some(speedup),
        recommendation: LATE_LEVER.into(),
        falsifier: LATE_FALSIFIER.into(),
        status: Status::Estimated,
        links: std::iter::once(Link::to("hosts").table("steps"))
            .chain(first.map(|one| Link::to("timeline").window(one.span.0, one.span.1)))
            .collect(),
        ..Finding::default()
    }
}

pub(super) fn straggler(
    profile: &Profile,
    measured: &Measured<'_>,
    one: &OfDevice<'_>,
    slow: &SlowOps,
) -> Option<Finding> {
    let found = Straggler::describe(profile, measured, one, slow)?;
    let speedup = ceiling::speedup(found.cost_share);
    Some(Finding {
        id: "straggler",
        severity: Severity::Warning,
        claim: found.claim,
        evidence: found.evidence,
        ceiling: format!(
            "{speedup:.2}x: {} a step, if it worked as fast as the others",
            units::duration_ps(found.excess_ps)
        ),
        speedup: Some(speedup),
        recommendation: LEVER.into(),
        falsifier: FALSIFIER.into(),
        status: Status::Estimated,
        links: found.links,
        ..Finding::default()
    })
}
