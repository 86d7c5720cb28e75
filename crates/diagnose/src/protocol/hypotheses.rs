//! Steps 7 and 8: what might be the cause, ranked by what removing it gives at most, and which to try first.

use super::{Given, Step, Word};
use haloscope_report::{Finding, Link, capitalized};

/// Kinds of cause named in the step; the table has all.
const NAMED: usize = 3;

/// The kinds of cause in the order of their first, each with what its findings would give.
fn named(causes: &[Finding]) -> Vec<String> {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for finding in causes {
        let gain = finding.speedup.map_or_else(|| "unknown".to_owned(), |speedup| format!("{speedup:.2}x"));
        match kinds.iter_mut().find(|(id, _)| *id == finding.id) {
            Some((_, gains)) => gains.push(gain),
            None => kinds.push((finding.id, vec![gain])),
        }
    }
    kinds.iter().map(|(id, gains)| format!("{} {}", id.replace('_', " "), gains.join(" and "))).collect()
}

pub(super) fn step(given: &Given<'_, '_>) -> Step {
    let question = "Which causes are there, and what can removing each save at most?";
    let see = vec![Link::to("diagnose").table("causes")];
    let said = match given.causes {
        [] => "no rule found a cause of lost time; the checks say what could not be decided".into(),
        causes => {
            let mut kinds = named(causes);
            let more = kinds.len().saturating_sub(NAMED);
            kinds.truncate(NAMED);
            let rest = if more > 0 { format!("; {more} more kinds") } else { String::new() };
            format!("{}{rest}", kinds.join(", "))
        }
    };
    Step { question, verdict: if given.causes.is_empty() { Word::Good } else { Word::Stated }, said, see }
}

/// One change at a time: the cause with the highest ceiling, and what would prove it wrong before any code is written.
pub(super) fn first(given: &Given<'_, '_>) -> Step {
    let question = "Which single change should come first?";
    match given.causes.first() {
        Some(finding) => Step {
            question,
            verdict: Word::Stated,
            said: format!(
                "{}. Wrong if {}",
                capitalized(finding.recommendation.trim_end_matches('.')),
                finding.falsifier
            ),
            see: finding.links.clone(),
        },
        None => Step {
            question,
            verdict: Word::Good,
            said: "these rules suggest nothing: change the algorithm, the precision or the number of chips"
                .into(),
            see: Vec::new(),
        },
    }
}
