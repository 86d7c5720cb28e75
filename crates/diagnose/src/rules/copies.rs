//! What the three rules about copies share: each takes those of one purpose, so that none is counted twice.

use crate::evidence::Evidence;
use crate::evidence::copies::{Mover, Purpose};
use crate::rule::Standing;
use haloscope_report::units;
use haloscope_time::account::Class;

/// The copies of one purpose.
pub(super) struct Group<'e, 'p> {
    /// Largest first.
    pub movers: Vec<Mover<'e, 'p>>,
    /// Their share of the active window.
    pub share: f64,
    active_ps: f64,
}

/// Those of the copies that a rule takes.
pub(super) fn group<'e, 'p>(
    evidence: &Evidence<'_>,
    mut movers: Vec<Mover<'e, 'p>>,
    takes: impl Fn(&Purpose) -> bool,
) -> Group<'e, 'p> {
    movers.retain(|mover| takes(&mover.purpose));
    let time: f64 = movers.iter().map(|mover| mover.time_ps).sum();
    Group { movers, share: evidence.of_active(time), active_ps: evidence.active_ps() }
}

/// A program that spends this share of the active window on copies has something wrong with it; less is what its design costs, in every run
/// of it, whatever went wrong in this one.
const FAULT: f64 = 0.25;

/// Where a finding of so large a share of the active window stands. Of what slow memory adds to copies these are not to blame.
pub(super) fn standing(evidence: &Evidence<'_>, share: f64) -> Standing {
    if share * evidence.memory_of_usual() >= FAULT { Standing::Cause } else { Standing::Cost }
}

/// The share of the active window in copies whose program the profile does not hold.
pub(super) fn unknown_share(group: &Group<'_, '_>) -> f64 {
    let unknown = group.movers.iter().filter(|mover| mover.purpose == Purpose::Unknown);
    unknown.map(|mover| mover.time_ps).sum::<f64>() / group.active_ps.max(1.0)
}

/// What part of the time in which ops work they have, where that says more than their share of the active window.
pub(super) fn of_ops(evidence: &Evidence<'_>, group: &Group<'_, '_>) -> String {
    let works = evidence.share(Class::Compute) + evidence.share(Class::Copy);
    if works <= 0.0 || works > 0.9 {
        return String::new();
    }
    format!(
        "; that is {} of the time in which ops compute or copy",
        units::share((group.share / works).min(1.0))
    )
}

/// The largest of them with their shares: `copy.1 3.0% (path), copy.2 1.0%, 7 more 0.2%`.
pub(super) fn list(evidence: &Evidence<'_>, group: &Group<'_, '_>) -> String {
    const NAMED: usize = 3;
    let one = |mover: &Mover<'_, '_>| {
        let share = units::share(evidence.of_active(mover.time_ps));
        let path = mover.op.meta.framework_op.as_ref();
        let name = mover.op.meta.name.as_ref();
        if path.is_empty() { format!("{name} {share}") } else { format!("{name} {share} (`{path}`)") }
    };
    let mut words: Vec<String> = group.movers.iter().take(NAMED).map(one).collect();
    let rest = group.movers.get(NAMED..).unwrap_or_default();
    if !rest.is_empty() {
        let time: f64 = rest.iter().map(|mover| mover.time_ps).sum();
        words.push(format!("{} more {}", rest.len(), units::share(evidence.of_active(time))));
    }
    words.join(", ")
}
