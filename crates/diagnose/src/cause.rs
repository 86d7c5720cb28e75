//! A cause of lost time in words and numbers: the one place where a ceiling is computed.

use super::evidence::Evidence;
use super::rule::speedup_words;
use super::thresholds;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::ceiling;

/// A cause of lost time, without what follows from its share.
#[derive(Debug, Clone, Default)]
pub(super) struct Cause {
    /// The rule's id.
    pub id: &'static str,
    /// One sentence, with the number that matters.
    pub claim: String,
    /// The numbers it rests on.
    pub evidence: String,
    /// The share of the active window that would go at most if the cause did, 0 to 1; `None` where nobody can tell.
    pub saved: Option<f64>,
    /// What the ceiling assumes, such as `if no device waited for input`; follows the number.
    pub assuming: String,
    /// What to try, specific and one change at a time.
    pub recommendation: String,
    /// The observation that would refute it.
    pub falsifier: String,
    /// How it is known.
    pub status: Status,
    /// Where to look.
    pub links: Vec<Link>,
}

impl Cause {
    /// The finding: ceiling 1 / (1 - saved share) (Amdahl 1967), and a severity that follows from it.
    pub(super) fn into_finding(self, evidence: &Evidence<'_>) -> Finding {
        let saved = self.saved.filter(|share| share.is_finite());
        let ceiling = match saved {
            Some(share) => {
                let step = evidence.step_ps().map(|step| {
                    format!(
                        ", {} of each step of {}",
                        units::duration_ps(share * step),
                        units::duration_ps(step)
                    )
                });
                format!("{}{}, {}", speedup_words(share), step.unwrap_or_default(), self.assuming)
            }
            None => format!("not known: {}", self.assuming),
        };
        Finding {
            id: self.id,
            severity: match saved {
                Some(share) if share >= 0.5 => Severity::Error,
                Some(share) if share >= thresholds::WORTH_A_WARNING.good => Severity::Warning,
                _ => Severity::Info,
            },
            claim: self.claim,
            evidence: self.evidence,
            ceiling,
            speedup: saved.map(ceiling::speedup),
            recommendation: self.recommendation,
            falsifier: self.falsifier,
            status: self.status,
            links: self.links,
            ..Finding::default()
        }
    }
}
