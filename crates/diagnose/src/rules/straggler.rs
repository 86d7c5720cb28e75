//! Devices, a chip or a host that work longer than the others, which wait for them.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use haloscope_comm::hosts::findings::{FALSIFIER, LEVER, Straggler};
use haloscope_comm::hosts::slow_ops::SlowOps;
use haloscope_comm::pattern::Pattern;
use haloscope_report::Status;

pub(super) static RULE: Rule = Rule {
    id: "straggler",
    standing: Standing::Cause,
    on: ANY,
    needs: "steps of two or more devices that run the same program; for two devices, four steps or more",
    threshold: None,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let measured = match evidence.measured() {
        Ok(measured) => measured,
        Err(why) => return Outcome::unknown(why),
    };
    if measured.obstacle.is_some() {
        return Outcome::unknown(measured.verdict());
    }
    let (Some(one), Some(cost)) = (measured.straggler(), evidence.waits().slow) else {
        return Outcome::clear(measured.verdict());
    };
    let slow = SlowOps::of(evidence.profile, measured);
    let Some(found) = Straggler::describe(evidence.profile, measured, one, &slow) else {
        return Outcome::clear(measured.verdict());
    };
    let finding = Cause {
        id: RULE.id,
        claim: found.claim,
        evidence: found.evidence + &evidence.last_words(),
        saved: Some(cost.saved),
        assuming: if cost.is_projected {
            "if its ops took as long as on the others, found by replaying the steps".into()
        } else {
            "if it worked as fast as the others".into()
        },
        recommendation: LEVER.into(),
        falsifier: FALSIFIER.into(),
        status: Status::Estimated,
        links: found.links,
    };
    let mut finding = finding.into_finding(evidence).explaining("exposed_communication", cost.communication);
    // Where it is not slow in all steps, those in which it is stand out as well.
    if measured.slow_when() != Some(Pattern::Constant) {
        for rule in ["slower_from_step", "periodic_stall", "step_jitter"] {
            finding = finding.explaining(rule, cost.saved);
        }
    }
    Outcome::found(measured.verdict(), vec![finding])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check_hosts};

    /// A host whose device works this long in each of eight steps of 1000 us and waits for the rest.
    fn host(work: i64) -> Vec<Made> {
        let mut tpu = Made::tpu(0);
        let starts = || (0..8).map(|i| i * 1000 * US);
        tpu.steps(&starts().enumerate().map(|(i, at)| (i as i64, at, 1000 * US)).collect::<Vec<_>>());
        tpu.programs(&starts().map(|at| ("jit_step(7)", at, 1000 * US)).collect::<Vec<_>>());
        let ops = starts().flat_map(|at| {
            [
                ("fusion.1", "loop fusion", at, work * US),
                ("all-reduce.1", "all-reduce", at + work * US, (1000 - work) * US),
            ]
        });
        tpu.ops(&ops.collect::<Vec<_>>());
        vec![tpu]
    }

    #[test]
    fn the_host_that_works_longest_is_named_with_what_it_costs() {
        let hosts =
            vec![("a", host(600)), ("b", host(602)), ("slow", host(900)), ("c", host(598)), ("d", host(601))];
        let found = check_hosts(&super::RULE, hosts);
        assert_eq!(found.verdict, Verdict::Found);
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("slow (slow/TPU:0)"), "{}", finding.claim);
        // 900 us of work against a median of the others of 600.5 in a step of 1000.
        assert!((finding.speedup.unwrap() - 1.0 / (1.0 - 0.2995)).abs() < 1e-3, "{finding:?}");
        assert!(finding.evidence.contains("equally slow, 1.50x"), "{}", finding.evidence);
        assert_eq!(finding.links[0].row.as_deref(), Some("slow/TPU:0"));
    }

    #[test]
    fn equal_hosts_are_clear() {
        let hosts = ["a", "b", "c", "d"].map(|name| (name, host(600))).to_vec();
        assert_eq!(check_hosts(&super::RULE, hosts).verdict, Verdict::Clear);
    }

    #[test]
    fn of_two_hosts_the_steps_tell_which_is_slow() {
        let hosts = vec![("a", host(600)), ("slow", host(900))];
        let found = check_hosts(&super::RULE, hosts);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.starts_with("slow (slow/TPU:0) works 50.0% longer"), "{found:?}");
        // Near miss: a difference that costs less than a hundredth of the step.
        let hosts = vec![("a", host(600)), ("b", host(608))];
        assert_eq!(check_hosts(&super::RULE, hosts).verdict, Verdict::Clear);
    }

    #[test]
    fn one_device_has_nobody_to_be_compared_with() {
        let found = check_hosts(&super::RULE, vec![("a", host(600))]);
        assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
    }
}
