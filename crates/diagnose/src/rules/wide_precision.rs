//! Floats that are wider than the device is fast at: products of 32-bit operands on accelerators, 64-bit floats everywhere.

use std::collections::BTreeSet;

use haloscope_hlo::{ElementType, InstructionIdx, Matmul, Module};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, WIDE_PRECISION};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Status};
use haloscope_time::account::Class;
use haloscope_time::fix::Fix;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "wide_precision",
    standing: Standing::Cause,
    on: ANY,
    needs: "the HLO of the programs, which gives the types of operands and results",
    threshold: Some(&WIDE_PRECISION),
    check,
};

/// What part of an op's time goes with 32-bit floats in place of 64: half the bytes and twice the lanes are a half, and the
/// libraries for products have kernels tuned for 32 bits (oneDNN, YNNPACK) where 64 bits take a general one.
const OF_64_BITS: f64 = 0.75;
/// The same on TPUs, which have no unit for 64 bits: each number is a pair of 32-bit ones, an addition of two pairs at least ten
/// instructions (Dekker 1971).
const OF_64_BITS_EMULATED: f64 = 0.9;
/// What part of a product's time goes with 16-bit operands in place of 32.
const OF_32_BITS: f64 = 0.5;

/// The same where the operands count in full on an NVIDIA GPU with tensor cores, which then multiplies without them: vendors state
/// 7.4 times the rate with them for an H100 (494.7 TFLOP/s of TF32 to 67) and 8 times for an A100 (156 to 19.5).
const OF_EXACT_32_BITS: f64 = 1.0 - 1.0 / 7.4;

/// A smaller part of an op in 64-bit floats is a scale or a sum, which costs nothing.
const LEAST_PART: f64 = 0.1;

/// For 64-bit floats.
static NARROWER: Fix = Fix::jax_or(
    "leave `jax_enable_x64` off, or give arrays a type of 32 bits or fewer: NumPy's own default is float64",
    "give arrays a type of 32 bits or fewer: NumPy's own default is float64",
);

/// For products of 32-bit operands.
static HALVES: Fix = Fix {
    jax: "cast the operands to bfloat16 before the product and keep the accumulation in 32 bits (`preferred_element_type`), or lower `jax_default_matmul_precision`",
    tensorflow: "compute in bfloat16 and keep variables in 32 bits (the Keras policy `mixed_bfloat16`), or cast the operands before the product",
    pytorch: "compute in bfloat16 (`torch.autocast`), or lower `torch.set_float32_matmul_precision`",
    any: "cast the operands to bfloat16 before the product and keep the accumulation in 32 bits",
};

/// For products of 32-bit operands in full precision.
static ROUNDED: Fix = Fix {
    jax: "leave `precision` and `jax_default_matmul_precision` at their default if the model tolerates it: products then run as TF32; or cast the operands to bfloat16",
    tensorflow: "leave `tf.config.experimental.enable_tensor_float_32_execution` on, or compute in bfloat16 (the Keras policy `mixed_bfloat16`)",
    pytorch: "set `torch.set_float32_matmul_precision('high')`, or compute in bfloat16 (`torch.autocast`)",
    any: "let products of 32-bit floats run as TF32, or cast the operands to bfloat16",
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let is_compute = |op: &&Op<'_>| Class::of(&op.meta) == Class::Compute && op.self_ps > 0;
    let ops: Vec<&Op<'_>> = evidence.ops().iter().filter(is_compute).collect();
    if ops.iter().all(|op| evidence.instruction(op).is_none()) {
        return Outcome::unknown(
            "the profile does not have the programs, so the types of values are unknown",
        );
    }
    let is_cpu = evidence.is_cpu();
    let programs = programs_of_64_bits(evidence, &ops);
    let (mut doubles, mut rest, mut doubles_ps) = (Vec::new(), Vec::new(), 0.0);
    for op in ops {
        let has_any = op.meta.program_id.is_none_or(|id| programs.contains(&id));
        let part = if has_any { of_64_bits(evidence, op) } else { 0.0 };
        if part < LEAST_PART {
            rest.push(op);
        } else {
            doubles.push(op);
            doubles_ps += op.self_ps as f64 * part;
        }
    }
    let singles: Vec<&Op<'_>> =
        rest.into_iter().filter(|op| !is_cpu && is_wide(&evidence.products(op), 32)).collect();
    let of_active = |ps: f64| evidence.of_active(ps * evidence.compute_scale());
    let share = |ops: &[&Op<'_>]| of_active(ops.iter().map(|op| op.self_ps as f64).sum());
    let said = format!(
        "work on 64-bit floats takes {} of the active window{}",
        units::share(of_active(doubles_ps)),
        if is_cpu {
            String::new()
        } else {
            format!(", products of 32-bit operands {}", units::share(share(&singles)))
        }
    );
    let mut findings = Vec::new();
    let (exact, singles): (Vec<&Op<'_>>, Vec<&Op<'_>>) =
        singles.into_iter().partition(|op| has_tensor_cores(evidence) && evidence.is_exact_product(op));
    for (ops, share, finding) in [
        (&doubles, of_active(doubles_ps), of_doubles as fn(&Evidence<'_>, &[&Op<'_>], f64) -> Finding),
        (&exact, share(&exact), of_exact),
        (&singles, share(&singles), of_singles),
    ] {
        if WIDE_PRECISION.grade(share) != Grade::Good {
            findings.push(finding(evidence, ops, share));
        }
    }
    Outcome::found(said, findings)
}

fn of_doubles(evidence: &Evidence<'_>, ops: &[&Op<'_>], share: f64) -> Finding {
    let (gone, why) = if evidence.is_tpu() {
        (
            OF_64_BITS_EMULATED,
            "if 32-bit floats took a tenth of their time: the chip has no 64-bit unit and works in pairs",
        )
    } else {
        (
            OF_64_BITS,
            "if 32-bit floats took a quarter of their time: half the bytes, twice the lanes, kernels tuned for them",
        )
    };
    Cause {
        id: RULE.id,
        claim: format!(
            "Work on 64-bit floats takes {} of the active window: {}",
            units::share(share),
            common(ops.iter().copied()),
        ),
        evidence: ops
            .first()
            .map_or_else(String::new, |op| format!("{} has {}", op.meta.name, types(evidence, op))),
        saved: Some(share * gone),
        assuming: why.into(),
        recommendation: evidence.fix(&NARROWER),
        falsifier: "these ops take just as long with float32 arrays".into(),
        status: Status::Estimated,
        links: links(evidence, ops),
    }
    .into_finding(evidence)
}

fn of_singles(evidence: &Evidence<'_>, ops: &[&Op<'_>], share: f64) -> Finding {
    Cause {
        id: RULE.id,
        claim: format!(
            "Products of 32-bit operands take {} of the active window: {}",
            units::share(share),
            common(ops.iter().copied()),
        ),
        evidence: ops
            .first()
            .map_or_else(String::new, |op| format!("{} has {}", op.meta.name, types(evidence, op))),
        saved: Some(share * OF_32_BITS),
        assuming: "if 16-bit operands halved their time, by half the bytes or twice the rate".into(),
        recommendation: evidence.fix(&HALVES),
        falsifier:
            "the products take just as long with 16-bit operands: then neither bytes nor passes limit them"
                .into(),
        status: Status::Estimated,
        links: links(evidence, ops),
    }
    .into_finding(evidence)
}

fn of_exact(evidence: &Evidence<'_>, ops: &[&Op<'_>], share: f64) -> Finding {
    Cause {
        id: RULE.id,
        claim: format!(
            "Products of 32-bit operands in full precision, which tensor cores do not support, take {} of the active window: {}",
            units::share(share),
            common(ops.iter().copied()),
        ),
        evidence: ops.first().map_or_else(String::new, |op| {
            format!("{} has {} at precision HIGHEST", op.meta.name, types(evidence, op))
        }),
        saved: Some(share * OF_EXACT_32_BITS),
        assuming: "if TF32 on tensor cores took a seventh of their time, as vendors' peaks say".into(),
        recommendation: evidence.fix(&ROUNDED),
        falsifier: "the products take just as long with the default precision".into(),
        status: Status::Estimated,
        links: links(evidence, ops),
    }
    .into_finding(evidence)
}

/// Whether a selected device is an NVIDIA GPU that multiplies 32-bit floats on tensor cores (TF32), as those of compute capability 8
/// and later do.
fn has_tensor_cores(evidence: &Evidence<'_>) -> bool {
    evidence.selection.devices.iter().any(|device| {
        let plane = evidence.profile.plane(device.plane);
        let is_nvidia = plane.stat("device_vendor").and_then(|v| v.as_text()) == Some("Nvidia");
        let major = plane.stat("compute_cap_major").and_then(|v| v.as_f64());
        device.kind == DeviceKind::Gpu && is_nvidia && major.is_some_and(|major| major >= 8.0)
    })
}

fn links(evidence: &Evidence<'_>, ops: &[&Op<'_>]) -> Vec<Link> {
    let mut links = vec![Link::to("hlo counters").table("matmuls")];
    if let Some(first) = ops.first() {
        links.extend([Link::to("ops").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)]);
    }
    links
}

/// The types of an op in words: `f64 x f64`, of its largest product, else of its result.
fn types(evidence: &Evidence<'_>, op: &Op<'_>) -> String {
    let products = evidence.products(op);
    let part = of_64_bits(evidence, op);
    if (LEAST_PART..1.0).contains(&part) {
        return format!(
            "64-bit floats in about {} of what it computes, by its instructions",
            units::share(part)
        );
    }
    match (products.iter().max_by_key(|product| product.flops()), evidence.instruction(op)) {
        (Some(product), _) => format!("operands of {} x {}", product.lhs.name(), product.rhs.name()),
        (None, Some((decoded, index))) => format!("a result of {}", decoded.module.instruction(index).shape),
        (None, None) => "unknown types".into(),
    }
}

/// The programs in which some instruction gives 64-bit floats: of the others no op needs a look.
fn programs_of_64_bits(evidence: &Evidence<'_>, ops: &[&Op<'_>]) -> BTreeSet<u64> {
    let ids: BTreeSet<u64> = ops.iter().filter_map(|op| op.meta.program_id).collect();
    let has_any = |id: &u64| {
        let module = evidence.program(*id).map(|decoded| &decoded.module);
        module.is_some_and(|module| module.instructions().any(|(index, _)| gives(module, index)))
    };
    ids.into_iter().filter(has_any).collect()
}

/// Whether some of what an instruction gives are 64-bit floats.
fn gives(module: &Module, index: InstructionIdx) -> bool {
    module.instruction(index).shape.leaves().iter().any(|leaf| is_float(leaf.element_type, 64))
}

/// What part of an op's time goes to 64-bit floats: all of it where it multiplies them or gives them as its result, else that of the
/// instructions inside of it that compute them.
fn of_64_bits(evidence: &Evidence<'_>, op: &Op<'_>) -> f64 {
    let Some((decoded, index)) = evidence.instruction(op) else { return 0.0 };
    let products = evidence.products(op);
    if is_wide(&products, 64) || products.is_empty() && gives(&decoded.module, index) {
        return 1.0;
    }
    let reads = |module: &Module, index: InstructionIdx| {
        let operand = module.instruction(index).operands.first();
        operand.is_some_and(|operand| gives(module, *operand))
    };
    // A conversion from 64 bits, and a comparison of them, have results of another type.
    evidence.part_of(op, |module, index| gives(module, index) || reads(module, index)).unwrap_or(0.0)
}

fn is_float(kind: ElementType, bits: u32) -> bool {
    kind.is_float() && kind.bits_of_number().is_some_and(|own| own >= bits)
}

/// Whether most FLOPs of an op are in products both of whose operands are floats of so many bits or more.
fn is_wide(products: &[Matmul], bits: u32) -> bool {
    let flops = |all: &mut dyn Iterator<Item = &Matmul>| -> f64 {
        all.map(|product| product.flops().unwrap_or(0) as f64).sum()
    };
    let is_wide = |product: &&Matmul| is_float(product.lhs, bits) && is_float(product.rhs, bits);
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
    fn ops_on_64_bit_floats_are_found_on_any_device() {
        let found = check(&super::RULE, vec![run(), program("f64")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // The product alone: what follows it is of 32 bits, as are its results. Nine tenths of 60% go.
        assert!(found.findings[0].claim.starts_with("Work on 64-bit floats takes 60.0%"), "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.46).abs() < 1e-9, "{found:?}");
        assert_eq!(found.findings.len(), 1);
    }

    /// A fusion that takes 60 of 100 us and computes on this type inside of it: operands and results are of 32 bits.
    fn inside(kind: &str) -> Made {
        let text = "HloModule m\n\nsoft {\n  p = f32[64,64]{1,0} parameter(0)\n  c = T[64,64]{1,0} convert(p)\n  x = T[64,64]{1,0} exponential(c)\n  y = T[64,64]{1,0} multiply(x, x)\n  ROOT o = f32[64,64]{1,0} convert(y)\n}\n\nENTRY e {\n  p = f32[64,64]{1,0} parameter(0)\n  d = f32[64,64]{1,0} fusion(p), kind=kLoop, calls=soft\n  ROOT n = f32[64,64]{1,0} negate(d)\n}\n";
        Made::program(&text.replace("T[", &format!("{kind}[")))
    }

    #[test]
    fn what_is_of_64_bits_inside_of_a_fusion_counts_by_its_part() {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 100 * US)]);
        tpu.ops(&[("d", "loop fusion", 0, 60 * US), ("n", "loop fusion", 60 * US, 40 * US)]);
        let found = check(&super::RULE, vec![tpu, inside("f64")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // Everything but nothing: each instruction reads or gives 64 bits.
        assert!(found.findings[0].claim.starts_with("Work on 64-bit floats takes 60.0%"), "{found:?}");
        // Near miss: the same in 32 bits.
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 100 * US)]);
        tpu.ops(&[("d", "loop fusion", 0, 60 * US), ("n", "loop fusion", 60 * US, 40 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu, inside("f32")]).verdict, Verdict::Clear);
    }

    #[test]
    fn a_complex_number_of_64_bits_is_two_floats_of_32() {
        let found = |kind: &str| {
            let mut cpu = Made::cpu_ops(&[("d", 0, 60 * US), ("n", 60 * US, 40 * US)]);
            cpu.line("more");
            let text = "HloModule m\n\nENTRY e {\n  p = T[64,32]{1,0} parameter(0)\n  d = T[64,32]{1,0} fft(p), fft_type=FFT, fft_length={32}\n  ROOT n = T[64,32]{1,0} negate(d)\n}\n";
            check(&super::RULE, vec![cpu, Made::program(&text.replace("T[", &format!("{kind}[")))]).verdict
        };
        assert_eq!((found("c64"), found("c128")), (Verdict::Clear, Verdict::Found));
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
    }
}
