//! What a check says first: its verdict, how many checks came out how, and a finding for each that does not pass.

use super::Checked;
use super::floor::Floor;
use super::gate::Against;
use super::metric::{OWN, Source};
use super::outcome::{Judged, Outcome};
use super::quantity::{cell, words};
use haloscope_report::Error;
use haloscope_report::{Finding, Gate, Link, Notes, Severity, Status, Table, Unit, Value, row};

/// So many ops that are faster than possible are named.
const NAMED: usize = 5;

/// The run's metrics, where there is no baseline to show beside them.
///
/// # Errors
/// None for these metrics; the signature is that of [`Source::read`].
pub(super) fn metrics(source: &Source<'_>) -> Result<Table, Error> {
    let mut rows = Vec::new();
    let of_compare = source.metrics().unwrap_or_default().iter().map(|metric| metric.id);
    for id in OWN.iter().map(|(id, _)| *id).chain(of_compare) {
        let reading = source.read(id)?;
        let value = reading.text.as_deref().map_or_else(|| cell(reading.value, reading.unit), Into::into);
        let row = row![
            text("metric", "Metric", "Its id, as budgets and claims name it.", id),
            text("unit", "Unit", "Unit of the value.", reading.unit.word()),
            quantity("value", "Value", "The run's value.", value),
            prose(
                "about",
                "About",
                "What it is measured over, or why it is unknown.",
                reading.about.as_str()
            ),
        ];
        rows.push(row);
    }
    Ok(Table::of("metrics", "Metrics", rows))
}

/// That nothing was asked, and what could be.
pub(super) fn nothing_asked(notes: &mut Notes) {
    notes.add(
        "nothing_asked",
        Severity::Warning,
        "no check was requested for this run",
        "there is no verdict, and the exit code says nothing",
        "give --baseline, --budget, --claim, --wall or --expect",
    );
}

/// The verdict in a word.
fn verdict(checked: &Checked, gate: Option<Gate>) -> &'static str {
    let fails = |one: &Judged| one.outcome == Outcome::Fail;
    match gate {
        None => "nothing asked",
        Some(Gate::Passed) => "passed",
        Some(Gate::NotComparable) => "not comparable",
        Some(Gate::Failed) if checked.all().any(|one| fails(one) && one.against_baseline) => "regressed",
        Some(Gate::Failed) if checked.all().any(fails) => "failed",
        Some(Gate::Failed) => "unknown",
    }
}

pub(super) fn values(checked: &Checked, gate: Option<Gate>, against: Option<&Against>) -> Vec<Value> {
    use Status::Derived;
    let count = |outcome| checked.all().filter(|one| one.outcome == outcome).count();
    let number = |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Derived, doc);
    let mut all = vec![
        Value::new(
            "verdict",
            "Verdict",
            Some(verdict(checked, gate)),
            Unit::None,
            Derived,
            "passed; regressed: worse than the baseline; failed: a budget, claim or expectation does not hold; unknown: could not be decided; not comparable; nothing asked.",
        ),
        Value::new(
            "passed",
            "Passed",
            gate.and_then(Gate::holds),
            Unit::None,
            Derived,
            "Whether all checks hold; unknown if nothing was asked or the runs cannot be compared.",
        ),
        number("checks", "Checks", checked.all().count(), "Number of limits that were checked."),
        number("checks_failed", "Failed", count(Outcome::Fail), "Checks that do not hold."),
        number(
            "checks_unknown",
            "Unknown",
            count(Outcome::Unknown),
            "Checks that could not be decided; they fail the gate unless `--unknown pass` is given.",
        ),
    ];
    all.extend(against.into_iter().flat_map(Against::values));
    all
}

pub(super) fn findings(checked: &Checked, against: Option<&Against>, beaten: &[Floor]) -> Vec<Finding> {
    let mut all = Vec::new();
    all.extend(against.into_iter().flat_map(Against::findings));
    for (table, group) in checked.groups() {
        all.extend(group.iter().filter(|one| one.blocks()).map(|one| finding(table, one)));
    }
    all.extend(beaten.iter().take(NAMED).map(impossible));
    if let Some(rest) = beaten.len().checked_sub(NAMED).filter(|rest| *rest > 0)
        && let Some(last) = all.last_mut()
    {
        last.evidence += &format!("; {rest} more ops are like it");
    }
    all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    all
}

fn finding(table: &'static str, one: &Judged) -> Finding {
    let fails = one.outcome == Outcome::Fail;
    let (id, recommendation, falsifier) = match (table, fails) {
        (_, false) => (
            "not_shown",
            "give what is missing, or allow it to be unknown: allow_unknown in the budget, or --unknown pass",
            "another source has the number",
        ),
        ("budgets", true) if one.against_baseline => (
            "regressed",
            "`compare BASELINE RUN` says which ops make up the difference",
            "a second pair of captures does not show the difference",
        ),
        ("budgets", true) => (
            "over_budget",
            "`diagnose` says where the time goes; if that is as intended, correct the budget",
            "another capture keeps the budget",
        ),
        ("claims", true) => (
            "claim_fails",
            "withdraw the claim, or show it with another capture",
            "another capture supports the claim",
        ),
        ("wall", true) => (
            "impossible",
            "find what was not timed: for example an asynchronous launch without waiting for its result",
            "the floor is wrong",
        ),
        ("wall_wins", true) => (
            "win_not_on_the_wall",
            "find what the wall time includes besides the device: launches, transfers, work that moved elsewhere",
            "the benchmark times something different from the profile",
        ),
        _ => (
            "not_as_predicted",
            "look at `hlo search` and `ops`: the change may not have reached the compiler",
            "the pattern is wrong",
        ),
    };
    let ceiling = match one.speedup {
        Some(speedup) => format!("{speedup:.3}x, if the limit were kept"),
        None => "this is not about time".into(),
    };
    Finding {
        id,
        severity: if fails { Severity::Error } else { Severity::Warning },
        claim: match one.outcome {
            Outcome::Fail => format!("{} does not hold", one.what),
            _ => format!("Whether {} holds could not be decided", one.what),
        },
        evidence: one.why.clone(),
        ceiling,
        speedup: one.speedup,
        recommendation: recommendation.into(),
        falsifier: falsifier.into(),
        status: if fails { Status::Derived } else { Status::Unknown },
        links: vec![Link::to(one.seen_in)],
        ..Finding::default()
    }
}

/// An op that took less than its work takes.
fn impossible(floor: &Floor) -> Finding {
    Finding {
        id: "faster_than_possible",
        severity: Severity::Warning,
        claim: format!(
            "{} is faster than its counted work can be: {} against {} at least",
            floor.what,
            words(floor.time_ps, Unit::Ps),
            words(floor.least_ps, Unit::Ps)
        ),
        evidence: floor.why(),
        ceiling: "nothing: this only says that a number is wrong".into(),
        recommendation: "correct the kernel's cost estimate, or make no claim based on its FLOPs".into(),
        falsifier: "the device's peak is higher than the one used: see the report's provenance".into(),
        status: Status::Derived,
        links: vec![Link::to("roofline").row("ops", floor.what.clone())],
        ..Finding::default()
    }
}
