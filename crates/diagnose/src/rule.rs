//! What a rule is, and what comes of it.

use super::evidence::Evidence;
use super::thresholds::Threshold;
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Columns, Finding, Row, row};
use haloscope_time::ceiling;

/// A question about a run that has an answer with consequences.
#[derive(Debug)]
pub(super) struct Rule {
    /// Stable id; the findings of the rule have it too.
    pub id: &'static str,
    /// Where its findings stand.
    pub standing: Standing,
    /// The kinds of device that the question makes sense for.
    pub on: &'static [DeviceKind],
    /// What a profile must hold.
    pub needs: &'static str,
    /// The number that it compares with, where it is one.
    pub threshold: Option<&'static Threshold>,
    /// Looks.
    pub check: fn(&Evidence<'_>) -> Outcome,
}

/// Where the findings of a rule stand among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// What may end the run, whatever it costs in time.
    Danger,
    /// A cause of lost time.
    Cause,
    /// Time that the program's design costs, without anything that went wrong: how it is sharded, what it copies.
    Cost,
    /// What looks like a cause and is the effect of another, which has its time.
    Symptom,
    /// What must be known of the capture to read the numbers.
    Caveat,
    /// Worth knowing; nothing would be faster at once.
    Fact,
}

impl Standing {
    /// Whether its findings are causes of lost time.
    pub(super) const fn costs_time(self) -> bool {
        matches!(self, Self::Cause | Self::Cost)
    }
}

/// All kinds of device.
pub(super) const ANY: &[DeviceKind] = &[DeviceKind::Tpu, DeviceKind::Gpu, DeviceKind::Cpu];

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// There is a finding.
    Found,
    /// There is none.
    Clear,
    /// The question does not arise.
    NotApplicable,
    /// The profile cannot tell.
    Unknown,
}

impl Verdict {
    /// The word used in tables.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Clear => "clear",
            Self::NotApplicable => "does not apply",
            Self::Unknown => "unknown",
        }
    }
}

/// What a rule says.
#[derive(Debug)]
pub(super) struct Outcome {
    pub verdict: Verdict,
    /// What was seen, with its number, or why it cannot be told.
    pub said: String,
    /// None unless found.
    pub findings: Vec<Finding>,
    /// Where the findings stand, where that is not where those of the rule do.
    pub standing: Option<Standing>,
}

impl Outcome {
    /// The profile cannot tell, for this reason.
    pub(super) fn unknown(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Unknown, said: why.into(), findings: Vec::new(), standing: None }
    }

    /// The question does not arise, for this reason.
    pub(super) fn not_applicable(why: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotApplicable, ..Self::unknown(why) }
    }

    /// Nothing was found; what was seen instead.
    pub(super) fn clear(said: impl Into<String>) -> Self {
        Self { verdict: Verdict::Clear, ..Self::unknown(said) }
    }

    /// Found; clear where there are no findings.
    pub(super) fn found(said: impl Into<String>, findings: Vec<Finding>) -> Self {
        let verdict = if findings.is_empty() { Verdict::Clear } else { Verdict::Found };
        Self { verdict, said: said.into(), findings, standing: None }
    }

    /// The same with findings that stand elsewhere than those of the rule do.
    pub(super) fn standing(self, standing: Standing) -> Self {
        Self { standing: Some(standing), ..self }
    }
}

/// A rule and what came of it.
#[derive(Debug)]
pub(super) struct Checked {
    pub rule: &'static Rule,
    pub outcome: Outcome,
}

impl Rule {
    /// Applies the rule where its devices are those of the run.
    pub(super) fn apply(&'static self, evidence: &Evidence<'_>) -> Checked {
        let outcome = if evidence.selection.devices.iter().any(|d| self.on.contains(&d.kind)) {
            (self.check)(evidence)
        } else {
            let kinds: Vec<_> = self.on.iter().map(|kind| kind.word()).collect();
            Outcome::not_applicable(format!("only on {}", kinds.join(" and ")))
        };
        Checked { rule: self, outcome }
    }
}

impl Checked {
    /// The share of the active window that would go at most: that of the finding with the largest.
    pub(super) fn saved_share(&self) -> Option<f64> {
        let speedups = self.outcome.findings.iter().filter_map(|finding| finding.speedup);
        speedups.reduce(f64::max).map(ceiling::saved_share)
    }

    /// Its row in the table of checks.
    pub(super) fn row(&self) -> Row<impl Columns + use<>> {
        row![
            text("rule", "Rule", "What was checked.", self.rule.id.replace('_', " ")),
            text(
                "verdict",
                "Verdict",
                "`found`, `clear`, `does not apply`, or `unknown` if the profile does not say.",
                self.outcome.verdict.word()
            ),
            share(
                "saved_share",
                "Saved at most",
                "Share of the active window that would be saved without the cause; of several findings the largest.",
                self.saved_share()
            ),
            text(
                "threshold",
                "Threshold",
                "The value from which it is a finding.",
                self.rule.threshold.map(Threshold::words)
            ),
            prose("said", "Seen", "What was seen, or why it is unknown.", self.outcome.said.as_str()),
            prose(
                "needs",
                "Needs",
                "What the profile must have for the check; only where the verdict is unknown.",
                Some(self.rule.needs).filter(|_| self.outcome.verdict == Verdict::Unknown)
            ),
        ]
    }
}

/// `1.29x` and the share behind it, in words: what a finding's ceiling begins with.
pub(super) fn speedup_words(share: f64) -> String {
    format!("{:.2}x: {} of the active window", ceiling::speedup(share), units::share(share))
}
