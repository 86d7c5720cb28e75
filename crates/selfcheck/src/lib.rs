//! Sums that must hold in every report, whatever the run: [`ALL`] is the list, and one more is one entry of it.
//!
//! A report that breaks one is wrong somewhere, and says so: whoever answers a question adds what [`of_report`] found to its
//! remarks. What takes several reports to see (one number in two analyses, parts of a scope beside the whole) is looked at by
//! `haloscope inspect --selfcheck` and by the tests.
//!
//! Nothing is computed here but sums of what reports say. Where a report does not know a number there is nothing to hold.

mod contracts;
mod grid;
mod invariants;
mod tally;

use haloscope_report::{Quality, Report, Severity};

pub use invariants::ALL;
pub use tally::{Broken, Tally};

/// A sum that must hold.
#[derive(Debug, Clone, Copy)]
pub struct Invariant {
    /// Stable id, such as `parts_add_up`.
    pub id: &'static str,
    /// What must hold, in a sentence.
    pub says: &'static str,
    /// What it takes to see whether it does.
    pub holds: Holds,
}

/// What it takes to see whether an invariant holds.
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    /// One report.
    Alone(fn(&Report, &mut Tally)),
    /// All reports of one run in one scope.
    Together(fn(&[Report], &mut Tally)),
    /// The same question of a whole and of its parts: windows, devices, hosts or steps that have nothing in common and leave nothing
    /// out. The parts of which there is nothing to say are not there.
    Split(fn(&Report, &[Report], &mut Tally)),
}

/// What is broken in one report, by all invariants that look at one alone.
#[must_use]
pub fn of_report(report: &Report) -> Vec<(&'static Invariant, Tally)> {
    tallied(|invariant, tally| match invariant.holds {
        Holds::Alone(check) => check(report, tally),
        Holds::Together(_) | Holds::Split(_) => {}
    })
}

/// What all reports of one run in one scope say together.
#[must_use]
pub fn of_scope(reports: &[Report]) -> Vec<(&'static Invariant, Tally)> {
    tallied(|invariant, tally| match invariant.holds {
        Holds::Together(check) => check(reports, tally),
        Holds::Alone(_) | Holds::Split(_) => {}
    })
}

/// What a question's answer over a whole and those over its parts say together.
#[must_use]
pub fn of_parts(whole: &Report, parts: &[Report]) -> Vec<(&'static Invariant, Tally)> {
    tallied(|invariant, tally| match invariant.holds {
        Holds::Split(check) => check(whole, parts, tally),
        Holds::Alone(_) | Holds::Together(_) => {}
    })
}

fn tallied(check: impl Fn(&'static Invariant, &mut Tally)) -> Vec<(&'static Invariant, Tally)> {
    let each = |invariant: &'static Invariant| {
        let mut tally = Tally::default();
        check(invariant, &mut tally);
        (tally.checked > 0).then_some((invariant, tally))
    };
    ALL.iter().filter_map(each).collect()
}

/// The remarks on a report that breaks an invariant; none as a rule.
pub fn remarks(report: &Report) -> impl Iterator<Item = Quality> {
    let broken = of_report(report).into_iter().filter(|(_, tally)| tally.broken > 0);
    broken.map(|(invariant, tally)| remark(invariant, &tally))
}

/// A broken invariant as a remark on the data.
#[must_use]
pub fn remark(invariant: &Invariant, tally: &Tally) -> Quality {
    let more = match tally.broken {
        0 | 1 => String::new(),
        n => format!("; {n} such places in all"),
    };
    let first = tally.first.as_ref().map(Broken::to_string).unwrap_or_default();
    Quality {
        id: "sum_does_not_hold",
        severity: Severity::Error,
        message: format!("{}: {first}{more}", invariant.says),
        cost: "these numbers contradict each other: do not rely on them".into(),
        fix: "please report it with the output of `haloscope inspect --selfcheck RUN`".into(),
    }
}
