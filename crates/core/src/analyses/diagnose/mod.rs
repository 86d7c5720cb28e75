//! `diagnose`: why a run is slow, what removing each cause could give, and what would prove it wrong.
//!
//! [`rules`] has one rule a file; a rule looks at [`Evidence`], compares it with [`thresholds`], and says what came of it. The
//! causes that were found are ranked by the share of time that would go at most.

mod cause;
mod evidence;
mod rule;
mod rules;
mod thresholds;

use super::{Analysis, Params, Run};
use crate::Error;
use crate::derive::quality;
use crate::profile::Profile;
use crate::report::{Column, Finding, Notes, Report, Table};
use crate::scope::Scope;
use evidence::Evidence;
use rule::{Checked, Standing};

pub(super) static ANALYSIS: Analysis = Analysis {
    id: "diagnose",
    question: "Why is this run slow, what would removing each cause give at most, and what would prove that wrong?",
    params: &[],
    needs: &[
        "a device's op lines (TPU, GPU) or host events that name HLO ops (CPU)",
        "step markers, host events, HLO modules: each check says what it lacks",
    ],
    example: "diagnose logs",
    run: Run::Of(run),
};

const CHECKS: &[Column] = &[
    Column::text("rule", "Rule", "What was checked."),
    Column::text(
        "verdict",
        "Verdict",
        "`found`, `clear`, `does not apply`, or `unknown` where the profile cannot tell.",
    ),
    Column::share(
        "saved_share",
        "Saved at most",
        "Share of the active window that would go if the cause did; of several findings the largest.",
    ),
    Column::text("threshold", "Threshold", "From where on it is a finding."),
    Column::text("said", "What was seen", "What was seen, or why it cannot be told."),
    Column::text("needs", "Needs", "What a profile must hold for the check."),
];

fn run(profile: &Profile, scope: &Scope, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let evidence = Evidence::new(profile, None, scope)?;
    if evidence.ops().is_empty() {
        return Err(quality::no_ops(profile, &evidence.selection));
    }
    quality::remarks(profile, &evidence.selection, evidence.ops(), notes);
    quality::steps(evidence.steps(), notes);
    let checked: Vec<Checked> = rules::ALL.iter().map(|rule| rule.apply(&evidence)).collect();
    let mut table = Table::new("checks", "What was checked", CHECKS);
    for one in &checked {
        table.push(one.row());
    }
    Ok(Report { tables: vec![table], findings: ranked(checked), ..Report::default() })
}

/// What must be known to read the numbers first, then causes by what removing them gives, then what is worth knowing.
fn ranked(checked: Vec<Checked>) -> Vec<Finding> {
    let mut all: Vec<(Standing, Finding)> = checked
        .into_iter()
        .flat_map(|one| {
            let standing = one.rule.standing;
            one.outcome.findings.into_iter().map(move |finding| (standing, finding))
        })
        .collect();
    let gain = |finding: &Finding| finding.speedup.unwrap_or(0.0);
    all.sort_by(|(a, x), (b, y)| {
        a.cmp(b).then(gain(y).total_cmp(&gain(x))).then(y.severity.cmp(&x.severity)).then(x.id.cmp(y.id))
    });
    all.into_iter().map(|(_, finding)| finding).collect()
}

#[cfg(test)]
pub(crate) mod tests;
