//! Kernels of which nobody counted the FLOPs: utilisation leaves them out.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, UNKNOWN_FLOPS};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::account::Class;
use haloscope_time::fix::Fix;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "unknown_flops",
    standing: Standing::Caveat,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "ops with their categories",
    threshold: Some(&UNKNOWN_FLOPS),
    check,
};

/// Kernels, which carry FLOPs only where their author gave an estimate; other ops without FLOPs compute none. Calls that the
/// HLO shows to compute nothing, such as allocations, are no kernels.
pub(super) fn is_uncounted(evidence: &Evidence<'_>, op: &Op<'_>) -> bool {
    let is_nothing = || {
        let found = evidence.instruction(op);
        found.is_some_and(|(decoded, index)| decoded.costs.instruction(index).flops == Some(0))
    };
    let category = op.meta.category.as_ref();
    Class::of(&op.meta) == Class::Compute
        && (category.starts_with("custom-call") || category == "custom call")
        && op.flops.is_none_or(|flops| flops <= 0.0)
        && op.self_ps > 0
        && !is_nothing()
}

static LEVER: Fix = Fix::jax_or(
    "give a Pallas kernel a cost estimate (`pl.pallas_call(..., cost_estimate=pl.CostEstimate(...))`), or state FLOPs per token: `compute mfu`",
    "state FLOPs per token (`compute mfu`): this needs no count for the kernel",
);

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.ops().iter().all(|op| op.meta.category.is_empty()) {
        return Outcome::unknown("the profile has no categories of ops, so kernels are unknown");
    }
    let ops: Vec<&Op<'_>> = evidence.ops().iter().filter(|op| is_uncounted(evidence, op)).collect();
    let time: f64 = ops.iter().map(|op| op.self_ps as f64).sum();
    let share = evidence.of_active(time * evidence.compute_scale());
    let said = format!("kernels without counted FLOPs take {} of the active window", units::share(share));
    let Some(first) = ops.first().filter(|_| UNKNOWN_FLOPS.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Kernels without a FLOP count take {} of the active window: utilisation and roofline leave them out",
            units::share(share)
        ),
        evidence: common(ops.iter().copied()),
        saved: None,
        assuming: "this changes what is known, not the time".into(),
        // Pallas kernels of TPUs state an estimate; what a library's kernel on a GPU computes, no profiler counts.
        recommendation: if evidence.is_tpu() { evidence.fix(&LEVER) } else { LEVER.any.to_owned() },
        falsifier: "the kernels move data and compute nothing".into(),
        status: Status::Measured,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref()), Link::to("compute mfu")],
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn run(flops: Option<f64>, category: &str) -> Made {
        let mut tpu = Made::tpu(0);
        if let Some(flops) = flops {
            tpu.op("kernel.1", category, "", &[("flops", Value::Double(flops))]);
        }
        tpu.ops(&[("kernel.1", category, 0, 40 * US), ("fusion.1", "loop fusion", 40 * US, 60 * US)]);
        tpu
    }

    #[test]
    fn a_kernel_without_flops_is_found() {
        let found = check(&super::RULE, vec![run(None, "custom-call")]);
        assert!(found.findings[0].claim.contains("40.0%"), "{found:?}");
    }

    #[test]
    fn one_with_an_estimate_and_a_plain_op_are_clear() {
        assert_eq!(check(&super::RULE, vec![run(Some(1e9), "custom-call")]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![run(None, "loop fusion")]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_categories_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("kernel.1", "", 0, 40 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
