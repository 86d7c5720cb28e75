//! Products of 32-bit and wider operands, where 16 bits would do.

use haloscope_hlo::{ElementType, Matmul};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, WIDE_PRECISION};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "wide_precision",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "the HLO of the programs, in which the types of products' operands stand",
    threshold: Some(&WIDE_PRECISION),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let is_compute = |op: &&Op<'_>| Class::of(&op.meta) == Class::Compute && op.self_ps > 0;
    let mut multiplying: Vec<(&Op<'_>, Vec<Matmul>)> = Vec::new();
    for op in evidence.ops().iter().filter(is_compute) {
        let products = evidence.products(op);
        if !products.is_empty() {
            multiplying.push((op, products));
        }
    }
    if multiplying.is_empty() {
        let is_known = evidence.ops().iter().any(|op| evidence.instruction(op).is_some());
        return if is_known {
            Outcome::not_applicable("no op multiplies matrices")
        } else {
            Outcome::unknown("the profile does not hold the programs, and so not the types of operands")
        };
    }
    let wide: Vec<&Op<'_>> =
        multiplying.iter().filter(|(_, products)| is_wide(products)).map(|(op, _)| *op).collect();
    let time: f64 = wide.iter().map(|op| op.self_ps as f64).sum::<f64>() * evidence.compute_scale();
    let share = evidence.of_active(time);
    let said =
        format!("products of operands of 32 bits or more take {} of the active window", units::share(share));
    let Some(first) = wide.first().filter(|_| WIDE_PRECISION.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let types = multiplying.iter().find(|(op, _)| std::ptr::eq(*op, *first)).and_then(|(_, all)| all.first());
    let types = types.map_or_else(String::new, |p| format!("{} x {}", p.lhs.name(), p.rhs.name()));
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Products of 32-bit operands take {} of the active window: {}",
            units::share(share),
            common(wide.iter().copied()),
        ),
        evidence: format!("{said}; {} multiplies {types}", first.meta.name),
        saved: Some(share / 2.0),
        assuming: "if 16-bit operands halved their time, by half the bytes or twice the rate".into(),
        lever: "cast the operands to bfloat16 before the product and keep the accumulation in 32 bits (`preferred_element_type`), or lower `jax_default_matmul_precision`".into(),
        falsifier: "with 16-bit operands the products take as long: then neither bytes nor passes bound them".into(),
        status: Status::Estimated,
        links: vec![
            Link::to("hlo counters").table("matmuls"),
            Link::to("ops").row("ops", first.meta.name.as_ref()),
            evidence.timeline_of(first),
        ],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// Whether most FLOPs of an op are in products both of whose operands are wide floats.
fn is_wide(products: &[Matmul]) -> bool {
    let flops = |all: &mut dyn Iterator<Item = &Matmul>| -> f64 {
        all.map(|product| product.flops().unwrap_or(0) as f64).sum()
    };
    let wide_type = |kind: ElementType| kind.is_float() && kind.bits().is_some_and(|bits| bits >= 32);
    let is_wide = |product: &&Matmul| wide_type(product.lhs) && wide_type(product.rhs);
    flops(&mut products.iter().filter(is_wide)) > 0.5 * flops(&mut products.iter())
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 100 * US)]);
        tpu.ops(&[("d", "convolution", 0, 60 * US), ("n", "loop fusion", 60 * US, 40 * US)]);
        tpu
    }

    fn program(kind: &str) -> Made {
        let text = "HloModule m\n\nENTRY e {\n  p = T[64,32]{1,0} parameter(0)\n  q = T[32,16]{1,0} parameter(1)\n  d = f32[64,16]{1,0} dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  ROOT n = f32[64,16]{1,0} negate(d)\n}\n";
        Made::program(&text.replace("T[", &format!("{kind}[")))
    }

    #[test]
    fn a_product_of_32_bit_operands_is_found() {
        let found = check(&super::RULE, vec![run(), program("f32")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // Half of 60%.
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.7).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_32_bit_result_of_16_bit_operands_is_clear() {
        assert_eq!(check(&super::RULE, vec![run(), program("bf16")]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
    }
}
