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

/// The rules whose causes lie on devices, or in what one host does: without them steps take what launching takes still.
const PACED: [&str; 10] = [
    "below_roofline",
    "expert_imbalance",
    "exposed_communication",
    "exposed_copies",
    "late_host",
    "late_members",
    "slow_compute",
    "slow_link",
    "slow_memory",
    "straggler",
];

impl Cause {
    /// The finding: ceiling 1 / (1 - saved share) (Amdahl 1967), no more than hosts can launch, and a severity that follows from it.
    pub(super) fn into_finding(self, evidence: &Evidence<'_>) -> Finding {
        let saved = self.saved.filter(|share| share.is_finite());
        let launched = evidence.pace_ps().zip(evidence.step_ps()).filter(|_| PACED.contains(&self.id));
        let most = launched.map(|(pace, step)| (1.0 - pace / step.max(1.0)).clamp(0.0, 1.0));
        let is_paced = saved.zip(most).is_some_and(|(saved, most)| saved > most);
        let saved = saved.map(|saved| saved.min(most.unwrap_or(1.0)));
        let ceiling = match saved {
            Some(share) => {
                let step = evidence.step_ps().map(|step| {
                    format!(
                        ", {} of each step of {}",
                        units::duration_ps(share * step),
                        units::duration_ps(step)
                    )
                });
                let paced = launched.filter(|_| is_paced).map_or_else(String::new, |(pace, _)| {
                    format!(
                        "; no more, for the thread that launches is busy for {} in each step",
                        units::duration_ps(pace)
                    )
                });
                format!("{}{}, {}{paced}", speedup_words(share), step.unwrap_or_default(), self.assuming)
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
