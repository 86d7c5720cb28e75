//! Reductions that take much of the time.

use haloscope_hlo::Opcode;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, REDUCE};
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::account::Class;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "reduce_heavy",
    standing: Standing::Fact,
    on: ANY,
    needs: "the HLO of the programs, which gives the results of fusions, or ops with their categories",
    threshold: Some(&REDUCE),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let is_compute = |op: &&Op<'_>| Class::of(&op.meta) == Class::Compute && op.self_ps > 0;
    let ops: Vec<&Op<'_>> = evidence.ops().iter().filter(is_compute).collect();
    if ops.iter().all(|op| op.meta.category.is_empty() && evidence.instruction(op).is_none()) {
        return Outcome::unknown("the profile holds neither the programs nor the ops' categories");
    }
    let own: Vec<&Op<'_>> = ops.into_iter().filter(|op| reduces(evidence, op)).collect();
    let time: f64 = own.iter().map(|op| op.self_ps as f64).sum();
    let share = evidence.of_active(time * evidence.compute_scale());
    let said = format!("reductions take {} of the active window", units::share(share));
    let Some(first) = own.first().filter(|_| REDUCE.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let shape = first.meta.expression.chars().take(120).collect::<String>();
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Reductions take {} of the active window: {}",
            units::share(share),
            common(own.iter().copied())
        ),
        evidence: format!("the largest, {}, takes {} of it: {shape}", first.meta.name, units::share(evidence.of_active(first.self_ps as f64))),
        saved: None,
        assuming: "this only says where to look".into(),
        recommendation: "reduce over the outermost dimension of the layout, reduce several values in one pass, use a product with ones if the matrix unit is idle, or reduce in the op that makes the value".into(),
        falsifier: "without the reduction (a constant as its result), the ops around it take that much longer".into(),
        status: Status::Derived,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

/// Whether the result of an op is a reduction: by its HLO where there is one, else by its category. Products are none.
fn reduces(evidence: &Evidence<'_>, op: &Op<'_>) -> bool {
    let Some((decoded, index)) = evidence.instruction(op) else {
        return matches!(op.meta.category.as_ref(), "reduce" | "reduce fusion" | "reduce-window");
    };
    let module = &decoded.module;
    let is_reduce = |opcode: Opcode| matches!(opcode, Opcode::Reduce | Opcode::ReduceWindow);
    let hlo = module.instruction(index);
    if is_reduce(hlo.opcode) {
        return true;
    }
    let body = hlo.called_computations.first().filter(|_| hlo.opcode == Opcode::Fusion);
    let root = body.map(|body| module.instruction(module.computation(*body).root));
    root.is_some_and(|root| {
        is_reduce(root.opcode)
            || root.opcode == Opcode::Tuple
                && root.operands.iter().any(|part| is_reduce(module.instruction(*part).opcode))
    }) && !evidence.is_matrix(op)
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn run(name: &str, category: &str) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 100 * US)]);
        tpu.ops(&[(name, category, 0, 60 * US), ("fusion.9", category, 60 * US, 40 * US)]);
        tpu
    }

    const PROGRAM: &str = "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n\nbody {\n  q = f32[64,32]{1,0} parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[64]{0} reduce(q, z), dimensions={1}, to_apply=add\n}\n\nENTRY e {\n  p = f32[64,32]{1,0} parameter(0)\n  n = f32[64,32]{1,0} negate(p)\n  ROOT f = f32[64]{0} fusion(n), kind=kInput, calls=body\n}\n";

    #[test]
    fn a_fusion_that_ends_in_a_reduction_is_found() {
        let found = check(&super::RULE, vec![run("f", "loop fusion"), Made::program(PROGRAM)]);
        assert!(found.findings[0].claim.starts_with("Reductions take 60.0%"), "{found:?}");
    }

    #[test]
    fn other_ops_are_clear() {
        let found = check(&super::RULE, vec![run("n", "loop fusion"), Made::program(PROGRAM)]);
        assert_eq!(found.verdict, Verdict::Clear);
    }

    #[test]
    fn without_program_and_categories_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run("f", "")]).verdict, Verdict::Unknown);
    }
}
