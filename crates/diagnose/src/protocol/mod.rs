//! The nine steps by which people who tune such programs go about it, in their order, each with a verdict.

mod baseline;
mod compare;
mod counters;
mod dominant;
mod hypotheses;
mod regime;
mod timeline;
mod utilisation;

pub(super) use baseline::Baseline;
pub(super) use utilisation::table as utilisation_table;

use super::evidence::Evidence;
use super::rule::{Checked, Verdict};
use super::thresholds::Grade;
use haloscope_report::{Cell, Finding, Link, Table, row};
use haloscope_time::analysis::Params;

/// One step of the protocol.
pub(super) struct Step {
    /// What is asked.
    pub question: &'static str,
    /// What came of it.
    pub verdict: Word,
    /// The numbers.
    pub said: String,
    /// Where they stand in full.
    pub see: Vec<Link>,
}

/// The verdict of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Good,
    Look,
    Bad,
    /// A statement, neither good nor bad.
    Stated,
    Unknown,
}

impl Word {
    const fn text(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Look => "worth a look",
            Self::Bad => "bad",
            Self::Stated => "stated",
            Self::Unknown => "unknown",
        }
    }

    /// The worse of two; what is known counts more than what is not.
    fn worse(self, other: Self) -> Self {
        let rank = |word| match word {
            Self::Unknown => 0,
            Self::Stated => 1,
            Self::Good => 2,
            Self::Look => 3,
            Self::Bad => 4,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Grade> for Word {
    fn from(grade: Grade) -> Self {
        match grade {
            Grade::Good => Self::Good,
            Grade::Warning => Self::Look,
            Grade::Bad => Self::Bad,
        }
    }
}

/// What the steps look at beside the evidence.
pub(super) struct Given<'a, 'p> {
    pub evidence: &'a Evidence<'p>,
    pub params: &'a Params,
    pub baseline: &'a Baseline,
    pub checked: &'a [Checked],
    /// Ranked.
    pub causes: &'a [Finding],
}

impl Given<'_, '_> {
    /// What a rule said, where it could tell: its verdict as a word, and its words.
    fn rule(&self, id: &str) -> Option<(Word, &str)> {
        let one = self.checked.iter().find(|one| one.rule.id == id)?;
        let word = match one.outcome.verdict {
            Verdict::Found => Word::Look,
            Verdict::Clear => Word::Good,
            Verdict::NotApplicable => return None,
            Verdict::Unknown => Word::Unknown,
        };
        Some((word, &one.outcome.said))
    }
}

/// The steps as a table.
pub(super) fn table(given: &Given<'_, '_>) -> Table {
    let steps = [
        baseline::step(given),
        regime::step(given),
        counters::step(given),
        timeline::step(given),
        dominant::step(given),
        utilisation::step(given),
        hypotheses::step(given),
        hypotheses::first(given),
        compare::step(given),
    ];
    let mut rows = Vec::new();
    for (place, step) in steps.into_iter().enumerate() {
        let see = step.see.first().map_or(Cell::Unknown, |link| link.question().into());
        let row = row![
            count("step", "Step", "Its place in the protocol.", place + 1),
            text("question", "Question", "What is asked.", step.question),
            text(
                "verdict",
                "Verdict",
                "`good`, `worth a look`, `bad`, `stated`, or `unknown`.",
                step.verdict.text()
            ),
            prose("said", "What was seen", "The numbers, or why there are none.", step.said),
            text("see", "See", "The command that shows them in full, without the run.", see),
        ];
        rows.push(row);
    }
    Table::of("protocol", "Nine steps", rows)
}
