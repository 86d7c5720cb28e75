//! The table of facts, and what the differing ones mean.

use crate::{Fact, Same};
use haloscope_report::{Finding, Link, Severity, Status, Table, row};

/// All facts, those that must match first.
pub(crate) fn table(facts: &[Fact]) -> Table {
    let mut rows = Vec::new();
    for fact in facts {
        let row = row![
            text("what", "Fact", "What is compared.", fact.label.as_str()),
            text(
                "baseline",
                "Baseline",
                "That of the baseline; unknown if its profile does not say.",
                fact.baseline.as_deref()
            ),
            text("experiment", "Experiment", "That of the experiment.", fact.experiment.as_deref()),
            text("same", "Same", "same, differs or unknown.", fact.same.word()),
            flag(
                "breaks",
                "Breaks",
                "Whether it means that the runs did different work: another chip, number of devices, mesh, type of products, shapes.",
                fact.breaks()
            ),
            text("fact", "Id", "A stable name of the fact.", fact.id.as_str()),
        ];
        rows.push(row);
    }
    Table::of("facts", "Facts about both runs", rows)
}

/// A finding for each fact that makes the runs incomparable, and one for versions and options that differ.
pub(crate) fn findings(facts: &[Fact], anyway: bool) -> Vec<Finding> {
    let mut all: Vec<Finding> =
        facts.iter().filter(|fact| fact.breaks()).map(|fact| breaks(fact, anyway)).collect();
    let others: Vec<&Fact> = facts.iter().filter(|fact| fact.same == Same::No && !fact.must_match).collect();
    if !others.is_empty() {
        all.push(also_differ(&others));
    }
    all
}

fn words(value: Option<&String>) -> &str {
    value.map_or("unknown", String::as_str)
}

fn breaks(fact: &Fact, anyway: bool) -> Finding {
    let label = lower(&fact.label);
    Finding {
        id: "not_comparable",
        severity: if anyway { Severity::Warning } else { Severity::Error },
        claim: format!("The runs are not comparable: they differ in {label}"),
        evidence: format!(
            "baseline: {}; experiment: {}",
            words(fact.baseline.as_ref()),
            words(fact.experiment.as_ref())
        ),
        ceiling: String::new(),
        speedup: None,
        recommendation: if anyway {
            "the step times are times of different work".to_owned()
        } else if fact.id == "step_source" {
            "mark the same steps in both programs (`jax.profiler.StepTraceAnnotation`) and profile them again; `--force` compares these anyway".to_owned()
        } else {
            "compare runs that do the same work; `--force` compares these anyway".to_owned()
        },
        falsifier: "the profiles differ in what they record, not in what ran".to_owned(),
        status: Status::Measured,
        links: vec![Link::to("compare").row("facts", fact.label.clone())],
        ..Finding::default()
    }
}

/// Facts that are listed in a sentence at most.
const LISTED: usize = 6;

fn also_differ(others: &[&Fact]) -> Finding {
    let mut list: Vec<String> = others
        .iter()
        .take(LISTED)
        .map(|f| {
            format!(
                "{}: {} and {}",
                lower(&f.label),
                words(f.baseline.as_ref()),
                words(f.experiment.as_ref())
            )
        })
        .collect();
    if others.len() > LISTED {
        list.push(format!("and {} more", others.len() - LISTED));
    }
    let what: Vec<String> = others.iter().take(LISTED).map(|f| lower(&f.label)).collect();
    Finding {
        id: "facts_differ",
        severity: Severity::Info,
        claim: format!("The runs also differ in {}", what.join(", ")),
        evidence: list.join("; "),
        ceiling: String::new(),
        speedup: None,
        recommendation: "change one thing at a time, so that a difference in time has one cause".to_owned(),
        falsifier: "the step takes just as long with only these changed".to_owned(),
        status: Status::Measured,
        links: vec![Link::to("compare").table("facts")],
        ..Finding::default()
    }
}

/// A label inside of a sentence; names in capitals stay.
fn lower(label: &str) -> String {
    let mut chars = label.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(label.chars().skip(1)).collect()
        }
        _ => label.to_owned(),
    }
}
