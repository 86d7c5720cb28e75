//! What stands above what: what may end the run, then a cause before its symptoms, every share of time counted once, and what is worth knowing last.

use super::rule::{Checked, Standing, speedup_words};
use super::thresholds::{FAULT, OP_WORTH, WORTH_A_WARNING};
use haloscope_report::units;
use haloscope_report::{Finding, Severity};
use haloscope_time::ceiling;

/// The findings of all rules: what may end the run, causes by what removing each gives, then what only shows that a cause is there, then what must
/// be known of the capture, then what is worth knowing.
pub(super) fn ranked(checked: &[Checked]) -> Vec<(Standing, Finding)> {
    let found = |one: &Checked| {
        let standing = one.outcome.standing.unwrap_or(one.rule.standing);
        one.outcome.findings.iter().map(|finding| (standing, finding.clone())).collect::<Vec<_>>()
    };
    let mut all: Vec<(Standing, Finding)> = checked.iter().flat_map(found).collect();
    explain(&mut all);
    all.sort_by(|(a, x), (b, y)| {
        let place = place(*a, x).cmp(&place(*b, y));
        place.then(gain(y).total_cmp(&gain(x))).then(y.severity.cmp(&x.severity)).then(x.id.cmp(y.id))
    });
    // Said by `explained_by` of the others from here on.
    all.iter_mut().for_each(|(_, finding)| finding.explains.clear());
    all
}

/// Something that went wrong stands before what the program's design costs, such as collectives that nothing hides: the
/// ceiling of a cost asks for all of it to be hidden, which few programs reach. A small fault stands by its gain among the costs.
fn place(standing: Standing, finding: &Finding) -> (Standing, bool) {
    match standing {
        Standing::Cost => (Standing::Cause, true),
        Standing::Cause => (Standing::Cause, gain(finding) < ceiling::speedup(FAULT.good)),
        other => (other, false),
    }
}

/// What a finding is ranked by: its ceiling; where nobody can tell, that of the symptoms it explains.
fn gain(finding: &Finding) -> f64 {
    let explained = || {
        let share: f64 = finding.explains.iter().map(|explained| explained.share).sum();
        if share > 0.0 { ceiling::speedup(share) } else { 0.0 }
    };
    finding.speedup.unwrap_or_else(explained)
}

/// Takes from each finding what others explain of it.
fn explain(all: &mut [(Standing, Finding)]) {
    let causes: Vec<Finding> = all.iter().map(|(_, finding)| finding.clone()).collect();
    let claims = |id: &str| -> f64 { causes.iter().filter(|other| other.id == id).filter_map(saved).sum() };
    for (standing, finding) in all.iter_mut().filter(|(standing, _)| standing.costs_time()) {
        let Some(own) = saved(finding) else { continue };
        let mut by: Vec<(&'static str, f64)> = Vec::new();
        for cause in causes.iter().filter(|cause| cause.id != finding.id) {
            for explained in cause.explains.iter().filter(|explained| explained.rule == finding.id) {
                by.push((cause.id, explained.share));
            }
        }
        by.sort_by(|a, b| b.1.total_cmp(&a.1));
        let Some((main, _)) = by.first().copied() else { continue };
        // Where a rule has several findings each loses as much of what it claims as the others.
        let part = by.iter().map(|(_, share)| share).sum::<f64>() / claims(finding.id).max(f64::MIN_POSITIVE);
        let left = own * (1.0 - part.clamp(0.0, 1.0));
        if left < own {
            reduce(standing, finding, main, own - left, left);
        }
    }
}

/// The share of the active window that a finding would save.
fn saved(finding: &Finding) -> Option<f64> {
    finding.speedup.map(ceiling::saved_share)
}

/// A finding of which `taken` is due to another, and `left` is its own: shares of the active window.
fn reduce(standing: &mut Standing, finding: &mut Finding, cause: &'static str, taken: f64, left: f64) {
    let name = cause.replace('_', " ");
    finding.explained_by = Some(cause);
    let due = format!(
        "of this, {} of the active window is due to the cause `{name}` and is counted there",
        units::share(taken)
    );
    finding.evidence = if finding.evidence.is_empty() { due } else { format!("{}; {due}", finding.evidence) };
    if left < OP_WORTH.good {
        *standing = Standing::Symptom;
        finding.severity = Severity::Info;
        finding.speedup = None;
        finding.ceiling = format!("nothing on its own: it goes away with the cause `{name}`");
    } else {
        finding.severity = finding.severity.min(if left >= WORTH_A_WARNING.bad {
            Severity::Error
        } else if left >= WORTH_A_WARNING.good {
            Severity::Warning
        } else {
            Severity::Info
        });
        finding.speedup = Some(ceiling::speedup(left));
        finding.ceiling =
            format!("{}, without the part that is due to the cause `{name}`", speedup_words(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{ANY, Outcome, Rule};

    static LATE: Rule = rule("late_host", Standing::Cause);
    static EXPOSED: Rule = rule("exposed_communication", Standing::Cause);
    static CAPTURE: Rule = rule("few_devices_profiled", Standing::Caveat);

    const fn rule(id: &'static str, standing: Standing) -> Rule {
        Rule { id, standing, on: ANY, needs: "", threshold: None, check: |_| Outcome::clear("") }
    }

    fn finding(id: &'static str, saved: Option<f64>) -> Finding {
        Finding {
            id,
            speedup: saved.map(ceiling::speedup),
            severity: Severity::Warning,
            ..Finding::default()
        }
    }

    fn checked(rule: &'static Rule, findings: Vec<Finding>) -> Checked {
        Checked { rule, outcome: Outcome::found("", findings) }
    }

    fn shares(ranked: &[(Standing, Finding)]) -> Vec<(Standing, &'static str, f64)> {
        ranked.iter().map(|(s, f)| (*s, f.id, (saved(f).unwrap_or(0.0) * 1e3).round() / 1e3)).collect()
    }

    #[test]
    fn a_symptom_stands_below_its_cause_and_counts_once() {
        let late = finding("late_host", Some(0.1)).explaining("exposed_communication", 0.3);
        // Two siblings: each loses in proportion.
        let exposed = ["a", "b"].map(|_| finding("exposed_communication", Some(0.2))).to_vec();
        let all = [checked(&EXPOSED, exposed), checked(&LATE, vec![late])];
        let all = ranked(&all);
        assert_eq!(
            shares(&all),
            [
                (Standing::Cause, "late_host", 0.1),
                (Standing::Cause, "exposed_communication", 0.05),
                (Standing::Cause, "exposed_communication", 0.05)
            ]
        );
        assert_eq!(all[1].1.explained_by, Some("late_host"));
        assert!(
            all[1].1.evidence.starts_with("of this, 15.0% of the active window is due to"),
            "{:?}",
            all[1]
        );
    }

    #[test]
    fn what_is_wholly_explained_is_no_cause() {
        let late = finding("late_host", Some(0.1)).explaining("exposed_communication", 0.3);
        let all = [
            checked(&EXPOSED, vec![finding("exposed_communication", Some(0.305))]),
            checked(&LATE, vec![late]),
        ];
        let all = ranked(&all);
        assert_eq!(shares(&all)[1], (Standing::Symptom, "exposed_communication", 0.0));
        assert_eq!(all[1].1.speedup, None);
        assert!(all[1].1.ceiling.starts_with("nothing on its own"), "{}", all[1].1.ceiling);
    }

    #[test]
    fn a_cause_of_unknown_gain_stands_above_what_it_explains() {
        let late = finding("late_host", None).explaining("exposed_communication", 0.2);
        let all = [
            checked(&EXPOSED, vec![finding("exposed_communication", Some(0.3))]),
            checked(&LATE, vec![late]),
        ];
        assert_eq!(shares(&ranked(&all))[0], (Standing::Cause, "late_host", 0.0));
    }

    #[test]
    fn what_is_known_of_the_capture_never_stands_above_a_cause() {
        let capture = Finding { severity: Severity::Error, ..finding("few_devices_profiled", None) };
        let all = [checked(&CAPTURE, vec![capture]), checked(&LATE, vec![finding("late_host", Some(0.02))])];
        let ids: Vec<_> = ranked(&all).into_iter().map(|(_, finding)| finding.id).collect();
        assert_eq!(ids, ["late_host", "few_devices_profiled"]);
    }

    #[test]
    fn facts_stand_below_causes_unless_they_may_end_the_run() {
        static MEMORY: Rule = rule("donation_missed", Standing::Fact);
        let ids = |standing: Option<Standing>| -> Vec<_> {
            let memory = Finding { severity: Severity::Error, ..finding("donation_missed", None) };
            let outcome = Outcome { standing, ..Outcome::found("", vec![memory]) };
            let all =
                [Checked { rule: &MEMORY, outcome }, checked(&LATE, vec![finding("late_host", Some(0.02))])];
            ranked(&all).into_iter().map(|(_, finding)| finding.id).collect()
        };
        assert_eq!(ids(None), ["late_host", "donation_missed"]);
        assert_eq!(ids(Some(Standing::Danger)), ["donation_missed", "late_host"]);
        assert!(!Standing::Danger.costs_time());
    }

    #[test]
    fn a_fault_stands_before_what_the_design_costs() {
        static COST: Rule = rule("exposed_communication", Standing::Cost);
        let ids = |fault: f64| -> Vec<_> {
            let all = [
                checked(&COST, vec![finding("exposed_communication", Some(0.3))]),
                checked(&LATE, vec![finding("late_host", Some(fault))]),
            ];
            ranked(&all).into_iter().map(|(_, finding)| finding.id).collect()
        };
        assert_eq!(ids(0.05), ["late_host", "exposed_communication"]);
        assert_eq!(ids(0.005), ["exposed_communication", "late_host"]);
    }

    #[test]
    fn nothing_is_taken_from_what_nobody_explains() {
        let all = [checked(&EXPOSED, vec![finding("exposed_communication", Some(0.3))])];
        assert_eq!(shares(&ranked(&all)), [(Standing::Cause, "exposed_communication", 0.3)]);
        assert_eq!(ranked(&all)[0].1.explained_by, None);
    }
}
