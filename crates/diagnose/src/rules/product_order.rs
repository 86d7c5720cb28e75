//! A product of two matrices that is only multiplied by a third one of few rows: the other order costs a fraction.

use haloscope_hlo::{InstructionIdx, Matmul, Module, Opcode};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, PRODUCT_ORDER};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::op_class::body;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "product_order",
    standing: Standing::Cause,
    on: ANY,
    needs: "the HLO of the programs, which says what products are of",
    threshold: Some(&PRODUCT_ORDER),
    check,
};

/// The other order is worth it where it takes so many times fewer FLOPs.
const TIMES: f64 = 3.0;
/// Longer ways from a product to the next are not followed.
const DEPTH: usize = 12;

/// A product whose result only another product reads.
struct Inner<'e, 'p> {
    /// The op that it is in.
    op: &'e Op<'p>,
    /// What part of the op it is.
    part: f64,
    /// Additions behind it, which another order needs on fewer rows.
    additions: Vec<String>,
    product: Matmul,
    /// FLOPs of the inner product, and of what takes its place in the other order.
    flops: (f64, f64),
    /// Rows of what it is multiplied by.
    rows: u64,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops = || evidence.ops().iter().filter(|op| op.self_ps > 0);
    if !evidence.has_programs() {
        return Outcome::unknown(
            "the profile does not have the programs, so what products are of is unknown",
        );
    }
    let mut found: Vec<Inner<'_, '_>> = ops().filter_map(|op| inner(evidence, op)).collect();
    found.sort_by(|a, b| (b.op.self_ps as f64 * b.part).total_cmp(&(a.op.self_ps as f64 * a.part)));
    let saved = |one: &Inner<'_, '_>| one.op.self_ps as f64 * one.part * (1.0 - one.flops.1 / one.flops.0);
    let added = |one: &Inner<'_, '_>| -> f64 {
        let is_one = |op: &&Op<'_>| {
            op.meta.program_id == one.op.meta.program_id
                && one.additions.iter().any(|name| *name == op.meta.name)
        };
        ops().filter(is_one).map(|op| op.self_ps as f64).sum()
    };
    let time: f64 = found.iter().map(|one| saved(one) + added(one)).sum();
    let share = evidence.of_active(time * evidence.compute_scale());
    let said = format!(
        "products that another order of multiplication would not need take {} of the active window",
        units::share(share)
    );
    let Some(first) = found.first().filter(|_| PRODUCT_ORDER.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let Matmul { m, n, k, .. } = first.product;
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Products of two matrices that are then multiplied by {}, in {}: the other order would save {} of the active window",
            rows(first.rows),
            common(found.iter().map(|one| one.op)),
            units::share(share)
        ),
        evidence: format!(
            "{} multiplies {m}x{k} by {k}x{n} for {}; multiplying {} by one and then by the other takes {}",
            first.op.meta.name,
            units::flops(first.flops.0),
            rows(first.rows),
            units::flops(first.flops.1)
        ),
        saved: Some(share),
        assuming: "if they were multiplied one after the other".into(),
        recommendation: "change the order: `x @ W + (x @ A) @ B` in place of `x @ (W + A @ B)`, `A @ (B @ v)` in place of `(A @ B) @ v`; or compute the product once, outside of the step, where neither factor changes (merge adapters before serving)".into(),
        falsifier: "the other order takes just as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("hlo counters").table("matmuls"), evidence.timeline_of(first.op)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

fn rows(count: u64) -> String {
    if count == 1 { "a vector".into() } else { format!("{count} rows") }
}

/// The product of an op, if it is one whose result only another product of few rows reads.
fn inner<'e, 'p>(evidence: &'e Evidence<'p>, op: &'e Op<'p>) -> Option<Inner<'e, 'p>> {
    let (decoded, index) = evidence.instruction(op)?;
    let module = &decoded.module;
    let parts = body(module, index);
    let (at, product) = parts
        .iter()
        .filter_map(|part| Some((*part, module.matmul(*part)?)))
        .max_by_key(|(_, product)| product.flops().unwrap_or(0))?;
    if product.batch != 1 {
        return None;
    }
    let mut additions = Vec::new();
    let outer = reader(module, at, &mut additions, DEPTH)?;
    let result = product.m.checked_mul(product.n)?;
    // Of the other product, the side that is not this result.
    let rows = (outer.batch == 1 && outer.k.checked_mul(outer.n)? == result)
        .then_some(outer.m)
        .or_else(|| (outer.batch == 1 && outer.k.checked_mul(outer.m)? == result).then_some(outer.n))?;
    let flops = product.flops()? as f64;
    let instead = 2.0 * rows as f64 * (product.m as f64 + product.n as f64) * product.k as f64;
    // The sum that stands in place of one matrix is a product of its own then.
    if flops < TIMES * instead {
        return None;
    }
    let part = evidence.part_of(op, |_, part| part == at)?;
    Some(Inner { op, part, additions, product, flops: (flops, instead), rows })
}

/// The one product that reads a value, through additions and changes of type and layout; the additions are noted by the names of their ops.
fn reader(
    module: &Module,
    value: InstructionIdx,
    additions: &mut Vec<String>,
    depth: usize,
) -> Option<Matmul> {
    let depth = depth.checked_sub(1)?;
    let hlo = module.instruction(value);
    if module.computation(hlo.computation).root == value {
        let [caller] = module.callers(hlo.computation)[..] else { return None };
        let is_fusion = module.instruction(caller).opcode == Opcode::Fusion;
        return if is_fusion { reader(module, caller, additions, depth) } else { None };
    }
    let [user] = *module.users(value) else { return None };
    let other = module.instruction(user);
    if let Some(product) = module.matmul(user) {
        return Some(product);
    }
    match other.opcode {
        Opcode::Add | Opcode::Subtract => {
            let around = module.first_caller(other.computation);
            let is_op = around.is_none_or(|caller| module.instruction(caller).opcode != Opcode::Fusion);
            let op = if is_op { user } else { around? };
            // Additions that the product itself does are no op of their own.
            if module.instruction(op).called_computations.iter().all(|body| !multiplies(module, *body)) {
                additions.push(module.instruction(op).name.clone());
            }
            reader(module, user, additions, depth)
        }
        Opcode::Bitcast | Opcode::Copy | Opcode::Convert | Opcode::Transpose | Opcode::Reshape => {
            reader(module, user, additions, depth)
        }
        Opcode::Fusion => {
            let place = other.operands.iter().position(|operand| *operand == value)?;
            let body = module.computation(*other.called_computations.first()?);
            reader(module, *body.parameters().get(place)?, additions, depth)
        }
        _ => None,
    }
}

fn multiplies(module: &Module, body: haloscope_hlo::ComputationIdx) -> bool {
    module.computation(body).instructions().any(|inner| module.matmul(inner).is_some())
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check};

    /// An adapter of rank `rank` that is added to a weight of 256 x 256 before so many rows are multiplied by it. `also` reads the product.
    fn run(rank: u64, rows: u64, also: &str) -> Outcome {
        let program = format!(
            "HloModule m

ENTRY e {{
  x = f32[{rows},256]{{1,0}} parameter(0)
  w = f32[256,256]{{1,0}} parameter(1)
  a = f32[256,{rank}]{{1,0}} parameter(2)
  b = f32[{rank},256]{{1,0}} parameter(3)
  d = f32[256,256]{{1,0}} dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  s = f32[256,256]{{1,0}} add(w, d)
  y = f32[{rows},256]{{1,0}} dot(x, s), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT t = (f32[{rows},256]{{1,0}}, f32[256,256]{{1,0}}) tuple(y, {also})
}}
"
        );
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[
            ("d", "convolution", 0, 600 * US),
            ("s", "loop fusion", 600 * US, 100 * US),
            ("y", "convolution", 700 * US, 300 * US),
        ]);
        check(&super::RULE, vec![tpu, Made::program(&program)])
    }

    #[test]
    fn an_adapter_that_is_merged_for_a_few_rows_is_found() {
        let found = run(16, 8, "w");
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        // The other order takes 8 of 128 of the 600 us; the sum is not needed.
        let share = 0.6 * (1.0 - 2.0 * 8.0 / 256.0) + 0.1;
        assert!((finding.speedup.unwrap() - 1.0 / (1.0 - share)).abs() < 1e-9, "{finding:?}");
        assert!(finding.evidence.contains("d multiplies 256x16 by 16x256"), "{finding:?}");
    }

    #[test]
    fn many_rows_and_results_that_others_read_are_clear() {
        assert_eq!(run(16, 128, "w").verdict, Verdict::Clear);
        assert_eq!(run(16, 8, "d").verdict, Verdict::Clear);
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("d", "convolution", 0, 600 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
