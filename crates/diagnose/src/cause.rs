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
                        "; not more, because the thread that launches is busy for {} in each step",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{launched, with_evidence};

    /// The finding of a rule that would save so much, where a step takes 1000 us and the thread that launches is busy for 500 of them, or
    /// where nobody knows for how long it is.
    fn finding(id: &'static str, saved: Option<f64>, is_launched: bool) -> Finding {
        let mut planes = launched(200, 300, 0);
        planes.truncate(if is_launched { 2 } else { 1 });
        let cause = Cause { id, saved, assuming: "if it went".into(), ..Cause::default() };
        let mut found = Finding::default();
        with_evidence(planes, |evidence| found = cause.into_finding(evidence));
        found
    }

    #[test]
    fn without_what_is_slow_on_a_device_steps_take_what_launching_takes() {
        for id in PACED {
            let found = finding(id, Some(0.8), true);
            assert!((found.speedup.unwrap() - 2.0).abs() < 1e-6, "{id}: {found:?}");
            assert!(found.ceiling.ends_with("busy for 500.0 us in each step"), "{id}: {}", found.ceiling);
        }
        // Near misses: less than launching leaves; what is slow on the host; a pace that nobody knows.
        let others = [("straggler", 0.4, true), ("host_bound", 0.8, true), ("straggler", 0.8, false)];
        for (id, saved, is_launched) in others {
            let found = finding(id, Some(saved), is_launched);
            assert!((found.speedup.unwrap() - 1.0 / (1.0 - saved)).abs() < 1e-6, "{id}: {found:?}");
            assert!(found.ceiling.ends_with("if it went"), "{id}: {}", found.ceiling);
        }
    }

    #[test]
    fn a_share_that_is_unknown_has_no_ceiling() {
        for saved in [None, Some(f64::NAN), Some(f64::INFINITY)] {
            let found = finding("straggler", saved, true);
            assert_eq!((found.speedup, found.severity), (None, Severity::Info), "{saved:?}");
            assert_eq!(found.ceiling, "not known: if it went");
        }
    }

    #[test]
    fn severity_follows_from_what_would_go() {
        let severity = |saved| finding("host_bound", Some(saved), true).severity;
        let warning = thresholds::WORTH_A_WARNING.good;
        assert_eq!(
            [0.5, 0.49, warning].map(severity),
            [Severity::Error, Severity::Warning, Severity::Warning]
        );
        assert_eq!(severity(warning - 0.001), Severity::Info);
    }
}
