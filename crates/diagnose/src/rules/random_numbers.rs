//! Random numbers that take much of the time.

use haloscope_hlo::{InstructionIdx, Module, Opcode};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, RANDOM_NUMBERS};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::fix::Fix;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "random_numbers",
    standing: Standing::Cause,
    on: ANY,
    needs: "ops with their scope paths, or the HLO of the programs, which say what draws random numbers",
    threshold: Some(&RANDOM_NUMBERS),
    check,
};

static CHEAPER: Fix = Fix {
    jax: "draw them with a cheaper generator (`jax.config.update(\"jax_default_prng_impl\", \"unsafe_rbg\")`, or `\"rbg\"`), draw fewer bits (`jax.random.bits` of 8 or 16 for dropout), or draw once what every step may share",
    tensorflow: "use `tf.random.Generator` with the Philox algorithm, or draw once what every step may share",
    pytorch: "draw fewer or narrower numbers, or draw once what every step may share",
    any: "draw them with a cheaper generator, draw fewer bits, or draw once what every step may share",
};

/// Parts of scope paths that JAX's generators leave: the functions of `jax.random` and what they are made of.
const SCOPES: &[&str] = &[
    "threefry2x32",
    "random_bits",
    "random_gamma",
    "rng_bit_generator",
    "rng_uniform",
    "(_normal)",
    "(_normal_real)",
    "(_uniform)",
    "(_truncated_normal)",
    "(_bernoulli)",
    "(_gumbel)",
    "(_randint)",
    "(_exponential)",
    "(_shuffle)",
];
/// A smaller part of an op is none that could be had back.
const LEAST_PART: f64 = 0.1;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops: Vec<&Op<'_>> = evidence.ops().iter().filter(|op| op.self_ps > 0).collect();
    let is_known = |op: &&&Op<'_>| !op.meta.framework_op.is_empty() || evidence.instruction(op).is_some();
    if ops.iter().find(is_known).is_none() {
        return Outcome::unknown("no op has a scope path, and the profile does not have the programs");
    }
    let mut drawing: Vec<(&Op<'_>, f64)> = ops.into_iter().map(|op| (op, part(evidence, op))).collect();
    drawing.retain(|(_, part)| *part >= LEAST_PART);
    drawing.sort_by(|a, b| (b.0.self_ps as f64 * b.1).total_cmp(&(a.0.self_ps as f64 * a.1)));
    let time: f64 = drawing.iter().map(|(op, part)| op.self_ps as f64 * part).sum();
    let share = evidence.of_active(time * evidence.compute_scale());
    let said = format!("ops that draw random numbers take {} of the active window", units::share(share));
    let Some((first, _)) = drawing.first().filter(|_| RANDOM_NUMBERS.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Random numbers take {} of the active window: {}",
            units::share(share),
            common(drawing.iter().map(|(op, _)| *op))
        ),
        evidence: "these ops, or instructions inside of them, are in scopes of the random number generator; of a fusion that does other work too, the part is estimated from its instructions".into(),
        saved: Some(share),
        assuming: "if drawing them cost nothing".into(),
        recommendation: evidence.fix(&CHEAPER),
        falsifier: "with an array of constants in their place the step takes just as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// What part of an op draws random numbers.
fn part(evidence: &Evidence<'_>, op: &Op<'_>) -> f64 {
    let is_in_scope = |path: &str| SCOPES.iter().any(|scope| path.contains(scope));
    let draws = |module: &Module, index: InstructionIdx| {
        let hlo = module.instruction(index);
        matches!(hlo.opcode, Opcode::Rng | Opcode::RngBitGenerator) || hlo.op_name().is_some_and(is_in_scope)
    };
    if let Some(part) = evidence.part_of(op, draws).filter(|part| *part > 0.0) {
        return part;
    }
    let path = &op.meta.framework_op;
    if !path.is_empty() {
        return f64::from(u8::from(is_in_scope(path)));
    }
    // An op without a scope has that of the loop or call around it.
    let around = evidence.outwards(op).find_map(|(module, index)| module.instruction(index).op_name());
    f64::from(u8::from(around.is_some_and(is_in_scope)))
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn run(path: &str) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.op("fusion.1", "loop fusion", "", &[("tf_op", Value::Str(path.into()))]);
        tpu.programs(&[("jit_step(7)", 0, 100 * US)]);
        tpu.ops(&[("fusion.1", "", 0, 40 * US), ("fusion.2", "loop fusion", 40 * US, 60 * US)]);
        tpu
    }

    #[test]
    fn ops_in_a_generators_scope_are_found() {
        let found = check(&super::RULE, vec![run("jit(step)/jit(_normal)/jit(_uniform)/threefry2x32:")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.6).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn other_scopes_are_clear_and_without_any_nobody_can_tell() {
        // Near miss: a layer of that name.
        let found = check(&super::RULE, vec![run("jit(step)/uniform_attention/dot_general:")]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert_eq!(check(&super::RULE, vec![run("")]).verdict, Verdict::Unknown);
    }

    /// A loop of the generator: its copy has no scope, and a fusion scales what it draws.
    fn program(scope: &str) -> Made {
        let text = r#"HloModule m

more {
  q = u32[64,64]{1,0} parameter(0)
  a = u32[64,64]{1,0} add(q, q), metadata={op_name="SCOPE/while/body/add"}
  b = u32[64,64]{1,0} xor(a, q), metadata={op_name="SCOPE/while/body/xor"}
  c = f32[64,64]{1,0} convert(b), metadata={op_name="jit(step)/mul"}
  ROOT d = u32[64,64]{1,0} xor(b, a), metadata={op_name="SCOPE/while/body/xor"}
}

body {
  p = (u32[64,64]{1,0}) parameter(0)
  g = u32[64,64]{1,0} get-tuple-element(p), index=0
  fusion.2 = u32[64,64]{1,0} fusion(g), kind=kLoop, calls=more
  fusion.1 = u32[64,64]{1,0} copy(fusion.2)
  ROOT t = (u32[64,64]{1,0}) tuple(fusion.1)
}

until {
  p = (u32[64,64]{1,0}) parameter(0)
  ROOT f = pred[] constant(false)
}

ENTRY e {
  x = u32[64,64]{1,0} parameter(0)
  s = (u32[64,64]{1,0}) tuple(x)
  w = (u32[64,64]{1,0}) while(s), condition=until, body=body, metadata={op_name="SCOPE/while"}
  ROOT o = u32[64,64]{1,0} get-tuple-element(w), index=0
}
"#;
        Made::program(&text.replace("SCOPE", scope))
    }

    #[test]
    fn copies_in_a_generators_loop_and_parts_of_fusions_count() {
        let found = check(&super::RULE, vec![run(""), program("jit(step)/jit(_normal)/threefry2x32")]);
        // The copy takes 40 us, and three of the fusion's four instructions draw: 45 of 60 us.
        assert!(found.findings[0].claim.starts_with("Random numbers take 85.0%"), "{found:?}");
        assert_eq!(check(&super::RULE, vec![run(""), program("jit(step)/scan")]).verdict, Verdict::Clear);
    }
}
