//! On a CPU, of whose peaks nothing is known: products that are far slower than other products of the same run.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, SLOW_PRODUCTS};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::fix::Fix;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "slow_products",
    standing: Standing::Cause,
    on: &[DeviceKind::Cpu],
    needs: "the HLO of the programs, which gives the FLOPs of products, and products of several kinds to compare",
    threshold: Some(&SLOW_PRODUCTS),
    check,
};

static FASTER: Fix = Fix::jax_or(
    "give them a form that the library for products knows: a depthwise or grouped convolution as shifted multiplications and additions, one batched product in place of many thin ones, contracted dimensions last, 32-bit floats",
    "give them a form that the library for products knows: shifted multiplications and additions in place of a depthwise or grouped convolution, one batched product in place of many thin ones",
);

/// Products are slow where others reach so many times their rate: less is what shapes and caches make of it.
const TIMES: f64 = 8.0;
/// Shorter executions are mostly the cost of starting one, picoseconds.
const SHORTEST_PS: f64 = 20e6;

/// An op of products, and its FLOPs in all executions.
struct Product<'e, 'p> {
    op: &'e Op<'p>,
    flops: f64,
}

impl Product<'_, '_> {
    /// FLOP/s.
    fn rate(&self) -> f64 {
        self.flops / self.op.self_ps as f64 * 1e12
    }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let products: Vec<Product<'_, '_>> =
        evidence.ops().iter().filter_map(|op| product(evidence, op)).collect();
    let Some(best) = products.iter().map(Product::rate).reduce(f64::max) else {
        return Outcome::unknown("no op of the profile's programs multiplies for long enough to have a rate");
    };
    let slow: Vec<&Product<'_, '_>> = products.iter().filter(|one| one.rate() * TIMES < best).collect();
    let saved: f64 = slow.iter().map(|one| one.op.self_ps as f64 - one.flops / best * 1e12).sum();
    let share = evidence.of_active(saved * evidence.compute_scale());
    let said = format!(
        "the fastest products reach {}; those that reach less than an eighth of it lose {} of the active window",
        units::flop_rate(best),
        units::share(share)
    );
    let Some(first) = slow.first().filter(|_| SLOW_PRODUCTS.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let time: f64 = slow.iter().map(|one| one.op.self_ps as f64).sum();
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Products run at {} where others of this run reach {}: {}",
            units::flop_rate(slow.iter().map(|one| one.flops).sum::<f64>() / time * 1e12),
            units::flop_rate(best),
            common(slow.iter().map(|one| one.op))
        ),
        evidence: format!(
            "they take {} of the active window; FLOPs are counted from the HLO",
            units::share(evidence.of_active(time * evidence.compute_scale()))
        ),
        saved: Some(share),
        assuming: "if they ran as fast as the fastest products of this run".into(),
        recommendation: evidence.fix(&FASTER),
        falsifier: "in another form, with the same FLOPs, they take just as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.op.meta.name.as_ref()), evidence.timeline_of(first.op)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

fn product<'e, 'p>(evidence: &'e Evidence<'p>, op: &'e Op<'p>) -> Option<Product<'e, 'p>> {
    let runs = op.occurrences.max(1) as f64;
    if (op.self_ps as f64) < SHORTEST_PS * runs {
        return None;
    }
    let (products, convolutions) = (evidence.products(op), evidence.convolutions(op));
    let all = products.iter().chain(&convolutions);
    let flops: f64 = all.map(|product| product.flops().unwrap_or(0) as f64).sum::<f64>() * runs;
    (flops > 0.0).then_some(Product { op, flops })
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    /// Two products of as many FLOPs, of which the second takes so long.
    fn run(second: i64) -> Made {
        Made::cpu_ops(&[("d", 0, 100 * US), ("g", 100 * US, second * US)])
    }

    fn program() -> Made {
        Made::program(
            "HloModule m

ENTRY e {
  p = f32[256,256]{1,0} parameter(0)
  d = f32[256,256]{1,0} dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT g = f32[256,256]{1,0} dot(d, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
",
        )
    }

    #[test]
    fn products_at_a_twentieth_of_the_rate_of_others_are_found() {
        let found = check(&super::RULE, vec![run(2000), program()]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.ends_with(": g"), "{found:?}");
        // 2,100 us now, 200 with both alike.
        assert!((found.findings[0].speedup.unwrap() - 10.5).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_third_of_the_rate_is_clear_and_without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run(300), program()]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![run(2000)]).verdict, Verdict::Unknown);
    }
}
