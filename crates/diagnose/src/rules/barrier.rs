//! Cores wait for each other at barriers: XProf's BarrierCoresRule.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{BARRIER, Grade};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "barrier",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: "ops with their names",
    threshold: Some(&BARRIER),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.ops().iter().all(|op| op.meta.name.is_empty()) {
        return Outcome::unknown("ops have no names");
    }
    let barriers: Vec<_> =
        evidence.ops().iter().filter(|op| op.meta.name.contains("barrier-cores")).collect();
    let share = evidence.of_active(barriers.iter().map(|op| op.self_ps as f64).sum());
    let said = format!("barriers between cores take {} of the active window", units::share(share));
    let Some(first) = barriers.first().filter(|_| BARRIER.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let count: u64 = barriers.iter().map(|op| op.occurrences).sum();
    let straggler = evidence.straggler_share().map_or_else(String::new, |share| {
        format!("; one device is a straggler and costs {} of the window, partly here", units::share(share))
    });
    let finding = Cause {
        id: RULE.id,
        claim: format!("Cores wait for each other at barriers for {} of the active window", units::share(share)),
        evidence: format!(
            "{count} barriers, {} each{straggler}",
            units::duration_ps(share * evidence.active_ps() / count.max(1) as f64)
        ),
        saved: Some(share),
        assuming: "if all cores reached the barriers together".into(),
        recommendation: "find the core that comes last and why (`hosts`): uneven work, input or clock; then use fewer barriers: fewer and larger collectives".into(),
        falsifier: "all cores wait equally long: then the cause is the barrier itself, not a late core".into(),
        status: Status::Derived,
        links: vec![
            Link::to("ops").row("ops", first.meta.name.as_ref()),
            Link::to("hosts").table("devices"),
            evidence.timeline_of(first),
        ],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn tpu(name: &str) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 800 * US), (name, "custom-call", 800 * US, 200 * US)]);
        tpu
    }

    #[test]
    fn long_barriers_are_found() {
        let found = check(&super::RULE, vec![tpu("barrier-cores.3")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.25).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn other_ops_are_no_barriers() {
        assert_eq!(check(&super::RULE, vec![tpu("opt-barrier.3")]).verdict, Verdict::Clear);
    }

    #[test]
    fn ops_without_names_are_unknown() {
        let mut tpu = Made::tpu(0);
        tpu.line("XLA Ops");
        tpu.event("", 0, 100 * US, &[]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
