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

/// The rules whose causes lie in what hosts do between programs, or in some steps: time in which other programs held the loop up is theirs.
const OF_HOSTS: [&str; 15] = [
    "blocking_reads",
    "compilation_in_window",
    "debug_callbacks",
    "debug_checks",
    "eager_execution",
    "host_bound",
    "input_bound",
    "interpreter_held",
    "large_transfers",
    "launch_bound",
    "periodic_stall",
    "python_loop",
    "recompilation",
    "slower_from_step",
    "step_jitter",
];

impl Cause {
    /// The finding: ceiling 1 / (1 - saved share) (Amdahl 1967), no more than hosts can launch, and a severity that follows from it. What lies
    /// on devices is a share of the time in which nothing else held the loop up: shorter steps are held up for less.
    pub(super) fn into_finding(self, evidence: &Evidence<'_>) -> Finding {
        let saved = self.saved.filter(|share| share.is_finite());
        let held_up = if OF_HOSTS.contains(&self.id) { 0.0 } else { evidence.interrupted() };
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
                let words = if held_up > 0.0 {
                    format!(
                        "{:.2}x: {} of the active window, {} of which does not count because other programs and the scheduler hold the loop up in it",
                        ceiling::speedup(of_rest(share, held_up)),
                        units::share(share),
                        units::share(held_up)
                    )
                } else {
                    speedup_words(share)
                };
                format!("{words}{}, {}{paced}", step.unwrap_or_default(), self.assuming)
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
            speedup: saved.map(|share| ceiling::speedup(of_rest(share, held_up))),
            recommendation: self.recommendation,
            falsifier: self.falsifier,
            status: self.status,
            links: self.links,
            ..Finding::default()
        }
    }
}

/// A share of the active window as one of what is left without another share.
fn of_rest(share: f64, without: f64) -> f64 {
    (share / (1.0 - without)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Made, US, launched, with_evidence};

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
    fn causes_of_hosts_are_rules() {
        for id in OF_HOSTS {
            assert!(crate::rules::ALL.iter().any(|rule| rule.id == id), "{id}");
        }
    }

    #[test]
    fn time_in_which_other_programs_hold_a_loop_up_does_not_stay() {
        // Programs of 900 us, and of twenty rounds five in which the loop calls nothing for 900 us more.
        let run = |late: i64| {
            let round = |n: i64| ((900 + 10 + if n % 4 == 1 { late } else { 0 }) * US, 900 * US, None);
            vec![Made::traced_cpu(&(0..20).map(round).collect::<Vec<_>>())]
        };
        let gain = |id, late| {
            let mut found = Finding::default();
            with_evidence(run(late), |evidence| {
                let cause = Cause { id, saved: Some(0.5), assuming: "if it went".into(), ..Cause::default() };
                found = cause.into_finding(evidence);
            });
            found
        };
        let found = gain("whole_sort", 900);
        // They are a fifth of the time.
        assert!((found.speedup.unwrap() - 1.0 / (1.0 - 0.5 / 0.8)).abs() < 0.05, "{found:?}");
        assert!(found.ceiling.contains("50.0% of the active window, 19"), "{found:?}");
        // Near misses: it is what hosts do that goes; so little is nothing.
        for (id, late) in [("host_bound", 900), ("whole_sort", 20)] {
            assert_eq!(gain(id, late).speedup, Some(2.0), "{id}");
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
