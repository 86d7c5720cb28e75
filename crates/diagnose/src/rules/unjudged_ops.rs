//! On a CPU, of which no peaks are known: where the ops' time goes, and that nothing says how fast they could be.

use std::collections::HashMap;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::{common, framework_tail};
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, UNJUDGED_OPS};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::op_meta::is_container;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "unjudged_ops",
    standing: Standing::Fact,
    on: &[DeviceKind::Cpu],
    needs: "ops",
    threshold: Some(&UNJUDGED_OPS),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops = || evidence.ops().iter().filter(|op| op.self_ps > 0 && !is_container(&op.meta.category));
    let all: f64 = ops().map(|op| op.self_ps as f64).sum();
    let mut groups: HashMap<(&str, String), Vec<&Op<'_>>> = HashMap::new();
    for op in ops() {
        groups.entry((op.module.as_ref(), framework_tail(&op.meta))).or_default().push(op);
    }
    let time = |group: &[&Op<'_>]| group.iter().map(|op| op.self_ps).sum::<i64>();
    let Some(most) = groups
        .into_iter()
        .max_by(|(a, x), (b, y)| time(x).cmp(&time(y)).then_with(|| b.cmp(a)))
        .map(|(_, most)| most)
    else {
        return Outcome::unknown("no op has time of its own");
    };
    let share = evidence.of_active(all * evidence.compute_scale());
    let said = format!("ops take {} of the active window", units::share(share));
    if UNJUDGED_OPS.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let own = evidence.of_active(time(&most) as f64 * evidence.compute_scale());
    let mut links = vec![Link::to("ops")];
    links.extend(most.first().map(|first| evidence.timeline_of(first)));
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Ops take {} of the active window, the largest part {} ({}); how fast this CPU could run them is not known",
            units::share(share),
            common(most.iter().copied()),
            units::share(own),
        ),
        evidence:
            "the rules for CPUs look for slow forms of some ops only: no peak of the processor is known"
                .into(),
        saved: None,
        assuming: "this only says where to look".into(),
        recommendation: "time this op in a small program of its own, in other forms and shapes".into(),
        falsifier: "in a capture of other inputs or steps, other ops take the most time".into(),
        status: Status::Measured,
        links,
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    #[test]
    fn where_the_time_of_a_cpu_goes_is_a_fact() {
        let cpu = Made::cpu_ops(&[("dot.1", 0, 70 * US), ("sine.2", 70 * US, 30 * US)]);
        let found = check(&super::RULE, vec![cpu]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(
            finding.claim.starts_with("Ops take 100.0% of the active window, the largest part dot.1 (70.0%)"),
            "{finding:?}"
        );
        assert_eq!(finding.speedup, None);
    }

    #[test]
    fn a_cpu_that_mostly_waits_is_clear() {
        // Ops for a tenth of the time.
        let found = check(&super::RULE, vec![Made::cpu(20, 1000 * US, 100 * US)]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert_eq!(
            check(&super::RULE, vec![Made::repeating(5, 100 * US, 90 * US)]).verdict,
            Verdict::NotApplicable
        );
    }
}
