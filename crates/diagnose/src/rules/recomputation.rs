//! Values of the forward pass that the backward pass computes again.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, RECOMPUTATION};
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::account::Class;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "recomputation",
    standing: Standing::Fact,
    on: ANY,
    needs: "ops with their scope paths, in which JAX marks what `jax.checkpoint` computes again",
    threshold: Some(&RECOMPUTATION),
    check,
};

/// The scope that JAX gives to what the backward pass computes again; `checkpoint` alone stands in the forward pass too.
const MARK: &str = "rematted_computation";

fn check(evidence: &Evidence<'_>) -> Outcome {
    let is_compute = |op: &&Op<'_>| Class::of(&op.meta) == Class::Compute && op.self_ps > 0;
    let ops: Vec<&Op<'_>> = evidence.ops().iter().filter(is_compute).collect();
    if ops.iter().all(|op| op.meta.framework_op.is_empty()) {
        return Outcome::unknown("no op has a scope path");
    }
    // What comes after the mark in the path is computed again; a gradient of it is not.
    let is_again = |op: &&Op<'_>| {
        let path = op.meta.framework_op.as_ref();
        path.split_once(MARK).is_some_and(|(_, inside)| !inside.contains("transpose("))
    };
    let again: Vec<&Op<'_>> = ops.into_iter().filter(is_again).collect();
    let time: f64 = again.iter().map(|op| op.self_ps as f64).sum();
    let share = evidence.of_active(time * evidence.compute_scale());
    let said =
        format!("ops that compute the forward pass again take {} of the active window", units::share(share));
    let Some(first) = again.first().filter(|_| RECOMPUTATION.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} of the active window computes the forward pass again for the gradients: {}",
            units::share(share),
            common(again.iter().copied())
        ),
        evidence: format!("their scope contains `{MARK}`, which `jax.checkpoint` adds; fusions are counted in full"),
        saved: None,
        assuming: "this is the price of using less memory; `memory` says whether some is left".into(),
        recommendation: "if memory is left, keep what is expensive to compute and cheap to store: a policy such as `dots_saveable`, or checkpoints around fewer layers".into(),
        falsifier: "the backward pass takes just as long with a policy that keeps everything".into(),
        status: Status::Derived,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref())],
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn run(path: &str) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.op("fusion.1", "convolution fusion", "", &[("tf_op", Value::Str(path.into()))]);
        tpu.programs(&[("jit_step(7)", 0, 100 * US)]);
        tpu.ops(&[("fusion.1", "", 0, 20 * US), ("fusion.2", "loop fusion", 20 * US, 80 * US)]);
        tpu
    }

    #[test]
    fn what_is_computed_again_is_a_fact() {
        let found = check(
            &super::RULE,
            vec![run("jit(f)/transpose(jvp())/checkpoint/rematted_computation/mlp/dot:")],
        );
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.starts_with("20.0% of the active window"), "{found:?}");
        assert_eq!(found.findings[0].speedup, None);
    }

    #[test]
    fn the_forward_pass_of_a_checkpoint_is_none() {
        let found = check(&super::RULE, vec![run("jit(f)/jvp()/checkpoint/mlp/dot:")]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
    }

    #[test]
    fn without_scopes_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run("")]).verdict, Verdict::Unknown);
    }
}
