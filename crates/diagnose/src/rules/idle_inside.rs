//! Gaps inside programs in which no op runs.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{BUBBLE, Grade};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;

pub(super) static RULE: Rule = Rule {
    id: "idle_inside",
    standing: Standing::Cause,
    on: ANY,
    needs: "program executions: the line XLA Modules, or ops that name their program",
    threshold: Some(&BUBBLE),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let has_programs = evidence.accounts().iter().flatten().any(|account| !account.launches.is_empty());
    if !has_programs {
        return Outcome::unknown("the profile does not say when programs ran");
    }
    // What launches, compilations and callbacks explain is theirs.
    let explained = evidence.of_active(evidence.host().explained_inside_ps as f64);
    let share = (evidence.share(Class::Inside) - explained).max(0.0);
    let said = format!("no op runs for {} of the active window, inside programs", units::share(share));
    if evidence.gaps_limit(&BUBBLE).grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let finding = Cause {
        id: RULE.id,
        claim: format!("Programs run no op for {} of the active window", units::share(share)),
        evidence: said.clone(),
        saved: Some(share),
        assuming: "if programs ran without gaps".into(),
        recommendation: "look at the longest gaps on the timeline: waits for the host or for other devices that no op shows, or kernels that are launched one by one".into(),
        falsifier: "the same gaps appear when the program runs alone on the device".into(),
        status: Status::Derived,
        links: vec![Link::to("idle").table("gaps"), Link::to("timeline")],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    #[test]
    fn a_long_gap_inside_a_program_is_found() {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 400 * US), ("fusion.2", "loop fusion", 600 * US, 400 * US)]);
        let found = check(&super::RULE, vec![tpu]);
        assert_eq!(found.verdict, Verdict::Found);
        assert!((found.findings[0].speedup.unwrap() - 1.25).abs() < 1e-9, "{:?}", found.findings[0]);
    }

    #[test]
    fn a_dense_program_is_clear() {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 1000 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_programs_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 400 * US), ("fusion.2", "loop fusion", 600 * US, 400 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
