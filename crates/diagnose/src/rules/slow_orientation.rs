//! On a CPU: a product that runs far slower than one of the same shape in the same run, because its operand lies the other way round.

use haloscope_hlo::FusionKind;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, SLOW_ORIENTATION};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "slow_orientation",
    standing: Standing::Cause,
    on: &[DeviceKind::Cpu],
    needs: "the HLO of the programs, which gives the shapes of products, and two products of one shape",
    threshold: Some(&SLOW_ORIENTATION),
    check,
};

/// One of two products of a shape is slow where the other is so many times as fast.
const TIMES: f64 = 3.0;
/// A product is this part of what its op costs, or more.
const MOST: f64 = 0.5;
/// Shorter executions are mostly the cost of starting one, picoseconds.
const SHORTEST_PS: f64 = 5e6;

/// What two products have alike that differ in how their operands lie: the shorter side of the result, the other side and the extent that
/// is summed over in order of size, how many products, and bits of an operand's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    short: u64,
    others: [u64; 2],
    batch: u64,
    bits: u32,
}

/// A product: its op, and how long an execution takes, picoseconds.
struct Product<'e, 'p> {
    op: &'e Op<'p>,
    shape: Shape,
    each_ps: f64,
    /// Whether the compiler writes the loop itself, and calls no library.
    is_own_loop: bool,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops = || evidence.ops().iter().filter(|op| op.self_ps > 0);
    if !evidence.has_programs() {
        return Outcome::unknown(
            "the profile does not have the programs, so the shapes of products are unknown",
        );
    }
    let all: Vec<Product<'_, '_>> = ops().filter_map(|op| product(evidence, op)).collect();
    let best = |shape: Shape| {
        let same = all.iter().filter(|one| one.shape == shape);
        same.min_by(|a, b| a.each_ps.total_cmp(&b.each_ps))
    };
    let slow = |one: &&Product<'_, '_>| {
        one.is_own_loop && best(one.shape).is_some_and(|best| one.each_ps >= TIMES * best.each_ps)
    };
    let slow: Vec<&Product<'_, '_>> = all.iter().filter(slow).collect();
    let lost = |one: &&Product<'_, '_>| {
        let best = best(one.shape).map_or(one.each_ps, |best| best.each_ps);
        one.op.self_ps as f64 * (1.0 - best / one.each_ps)
    };
    let share = evidence.of_active(slow.iter().map(lost).sum::<f64>() * evidence.compute_scale());
    let said = format!(
        "products that are {TIMES} times slower than others of their shape lose {} of the active window",
        units::share(share)
    );
    let found = slow.first().filter(|_| SLOW_ORIENTATION.grade(share) != Grade::Good);
    let Some((first, best)) = found.and_then(|first| Some((*first, best(first.shape)?))) else {
        return Outcome::clear(said);
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} takes {} an execution where {}, a product of the same shape, takes {}: {} of the active window",
            first.op.meta.name,
            units::duration_ps(first.each_ps),
            best.op.meta.name,
            units::duration_ps(best.each_ps),
            units::share(share)
        ),
        evidence: format!(
            "{} slow of {} products of known shapes: {}; XLA's CPU backend writes the loop itself where an operand lies the other way round",
            slow.len(),
            all.len(),
            common(slow.iter().map(|one| one.op))
        ),
        saved: Some(share),
        assuming: "if it took as long as the other one".into(),
        recommendation: "give the product its operand the way it lies in memory: multiply from the other side (`v @ A` in place of `A.T @ v`), or transpose it once outside of the loop and keep it (`AT = A.T + 0`, behind `jax.lax.optimization_barrier` or as an argument)".into(),
        falsifier: "with the operand stored transposed it takes just as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.op.meta.name.as_ref()), evidence.timeline_of(first.op)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// The one product that an op is, where its executions are long enough to be compared.
fn product<'e, 'p>(evidence: &Evidence<'_>, op: &'e Op<'p>) -> Option<Product<'e, 'p>> {
    let [product] = evidence.products(op)[..] else { return None };
    let (decoded, index) = evidence.instruction(op)?;
    let is_own_loop = decoded.module.instruction(index).attributes().fusion_kind == Some(FusionKind::Loop);
    let each_ps = op.self_ps as f64 / op.occurrences.max(1) as f64;
    // What else is in its fusion may take the time.
    let is_most =
        evidence.part_of(op, |module, index| module.matmul(index).is_some()).is_some_and(|part| part > MOST);
    let (short, long) = (product.m.min(product.n), product.m.max(product.n));
    let mut others = [long, product.k];
    others.sort_unstable();
    let shape = Shape { short, others, batch: product.batch, bits: product.lhs.bits()? };
    (is_most && each_ps >= SHORTEST_PS).then_some(Product { op, shape, each_ps, is_own_loop })
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check};

    /// Two products of a matrix with a vector, one with the matrix transposed, which takes so many us where the other takes 50.
    fn run(slow: i64, columns: u64, kind: &str) -> Outcome {
        let program = format!(
            "HloModule m

turned {{
  p = f32[{columns},512]{{1,0}} parameter(0)
  q = f32[512]{{0}} parameter(1)
  ROOT d = f32[{columns}]{{0}} dot(p, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}

ENTRY e {{
  a = f32[512,512]{{1,0}} parameter(0)
  b = f32[{columns},512]{{1,0}} parameter(1)
  v = f32[512]{{0}} parameter(2)
  fast = f32[512]{{0}} dot(a, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT slow = f32[{columns}]{{0}} fusion(b, v), kind={kind}, calls=turned
}}
"
        );
        let cpu = Made::cpu_ops(&[("fast", 0, 50 * US), ("slow", 50 * US, slow * US)]);
        check(&super::RULE, vec![cpu, Made::program(&program)])
    }

    #[test]
    fn a_product_that_is_slower_than_its_like_is_found() {
        let found = run(450, 512, "kLoop");
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("slow takes 450.0 us an execution where fast"), "{finding:?}");
        assert!((finding.speedup.unwrap() - 5.0).abs() < 1e-9, "{finding:?}");
    }

    #[test]
    fn one_of_another_shape_and_one_that_is_nearly_as_fast_are_clear() {
        assert_eq!(run(450, 4096, "kLoop").verdict, Verdict::Clear);
        assert_eq!(run(100, 512, "kLoop").verdict, Verdict::Clear);
        // A library's events may end before its work does.
        assert_eq!(run(450, 512, "kCustom").verdict, Verdict::Clear);
        assert_eq!(
            check(&super::RULE, vec![Made::cpu_ops(&[("slow", 0, 50 * US)])]).verdict,
            Verdict::Unknown
        );
    }
}
