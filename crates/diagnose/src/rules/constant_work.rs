//! Tables that a program computes anew in each execution although no input changes them.

use std::collections::HashMap;

use haloscope_hlo::{InstructionIdx, Module, Opcode};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::inner::Inner;
use crate::evidence::names::common;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{CONSTANT_WORK, Grade};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::fix::Fix;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "constant_work",
    standing: Standing::Cause,
    on: ANY,
    needs: "the HLO of the programs, which shows what depends on an input",
    threshold: Some(&CONSTANT_WORK),
    check,
};

static ONCE: Fix = Fix {
    jax: "compute the table once outside of the jitted function and pass it as an argument, or compute it with NumPy so that it is a constant of the program",
    tensorflow: "compute the table once outside of the `tf.function` and pass it as an argument",
    pytorch: "compute the table once, outside of the step, and keep it as a buffer",
    any: "compute the table once outside of the program and pass it as an argument",
};

/// A smaller part of an op is none that could be had back.
const LEAST_PART: f64 = 0.1;
/// Deeper chains are not followed.
const DEPTH: usize = 64;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops: Vec<&Op<'_>> = evidence.ops().iter().filter(|op| op.self_ps > 0).collect();
    if !evidence.has_programs() {
        return Outcome::unknown(
            "the profile does not have the programs, so what depends on an input is unknown",
        );
    }
    let mut fixed = HashMap::new();
    let mut found: Vec<(&Op<'_>, f64)> =
        ops.into_iter().map(|op| (op, part(evidence, op, &mut fixed))).collect();
    found.retain(|(_, part)| *part >= LEAST_PART);
    found.sort_by(|a, b| (b.0.self_ps as f64 * b.1).total_cmp(&(a.0.self_ps as f64 * a.1)));
    let time: f64 = found.iter().map(|(op, part)| op.self_ps as f64 * part).sum();
    let share = evidence.of_active(time * evidence.compute_scale());
    let said = format!(
        "functions of constants, computed in each execution, take {} of the active window",
        units::share(share)
    );
    let Some((first, part)) = found.first().filter(|_| CONSTANT_WORK.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Each execution computes again what no input changes, such as tables of positions: {} of the active window, in {}",
            units::share(share),
            common(found.iter().map(|(op, _)| *op))
        ),
        evidence: format!(
            "about {} of what {} computes, by its instructions, depends on constants alone",
            units::share(*part),
            first.meta.name
        ),
        saved: Some(share),
        assuming: "if reading the table cost nothing".into(),
        recommendation: evidence.fix(&ONCE),
        falsifier: "with the table as an argument the step takes just as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// Which instructions of which module, by its place in memory, depend on constants alone: programs may have no id.
type Fixed = HashMap<(usize, InstructionIdx), bool>;

/// What part of an op computes functions of constants: counting and comparing positions is no table worth keeping.
fn part(evidence: &Evidence<'_>, op: &Op<'_>, fixed: &mut Fixed) -> f64 {
    let Some((module, inner)) = evidence.inner(op) else { return 0.0 };
    let is_function = |one: &Inner| module.instruction(one.index).opcode.is_transcendental();
    if !inner.iter().any(is_function) {
        return 0.0;
    }
    let (mut all, mut own, mut has_function) = (0.0, 0.0, false);
    for one in &inner {
        all += one.cost;
        if is_fixed(module, one.index, fixed, DEPTH) {
            own += one.cost;
            has_function |= is_function(one);
        }
    }
    if has_function { own / all } else { 0.0 }
}

/// Whether a value depends on constants alone.
fn is_fixed(module: &Module, index: InstructionIdx, fixed: &mut Fixed, depth: usize) -> bool {
    let key = (std::ptr::from_ref(module).addr(), index);
    if let Some(known) = fixed.get(&key) {
        return *known;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let hlo = module.instruction(index);
    let is = match hlo.opcode {
        Opcode::Constant | Opcode::Iota => true,
        // What a fusion reads from outside.
        Opcode::Parameter => {
            outside(module, index).is_some_and(|operand| is_fixed(module, operand, fixed, depth))
        }
        opcode if opcode.is_elementwise() || moves(opcode) => {
            !hlo.operands.is_empty()
                && hlo.operands.iter().all(|operand| is_fixed(module, *operand, fixed, depth))
        }
        Opcode::Fusion => {
            let root = hlo.called_computations.first().map(|body| module.computation(*body).root);
            root.is_some_and(|root| is_fixed(module, root, fixed, depth))
        }
        _ => false,
    };
    fixed.insert(key, is);
    is
}

/// What a fusion's parameter stands for: the operand, in the computation around it.
fn outside(module: &Module, parameter: InstructionIdx) -> Option<InstructionIdx> {
    let hlo = module.instruction(parameter);
    let number = usize::try_from(hlo.attributes().parameter_number?).ok()?;
    let [caller] = module.callers(hlo.computation)[..] else { return None };
    let caller = module.instruction(caller);
    (caller.opcode == Opcode::Fusion).then(|| caller.operands.get(number).copied())?
}

/// Opcodes whose result has no more in it than their operands have.
fn moves(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Bitcast
            | Opcode::Broadcast
            | Opcode::Concatenate
            | Opcode::Pad
            | Opcode::Reshape
            | Opcode::Reverse
            | Opcode::Slice
            | Opcode::Transpose
    )
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 100 * US)]);
        tpu.ops(&[("d", "loop fusion", 0, 60 * US), ("n", "loop fusion", 60 * US, 40 * US)]);
        tpu
    }

    /// A fusion that scales its input by the sine of this, which it is given beside it.
    fn program(angle: &str) -> Made {
        Made::program(&format!(
            "HloModule m

turn {{
  p = f32[64,64]{{1,0}} parameter(0)
  q = f32[64,64]{{1,0}} parameter(1)
  s = f32[64,64]{{1,0}} sine(q)
  ROOT y = f32[64,64]{{1,0}} multiply(p, s)
}}

ENTRY e {{
  p = f32[64,64]{{1,0}} parameter(0)
  i = s32[64,64]{{1,0}} iota(), iota_dimension=1
  f = f32[64,64]{{1,0}} convert(i)
  d = f32[64,64]{{1,0}} fusion(p, {angle}), kind=kLoop, calls=turn
  ROOT n = f32[64,64]{{1,0}} negate(d)
}}
"
        ))
    }

    #[test]
    fn a_table_of_positions_is_found_with_its_part_of_the_fusion() {
        let found = check(&super::RULE, vec![run(), program("f")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // The sine is 16 of 17 parts of 60 us.
        let speedup = found.findings[0].speedup.unwrap();
        assert!((speedup - 1.0 / (1.0 - 0.6 * 16.0 / 17.0)).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_function_of_an_input_is_clear_and_without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run(), program("p")]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
    }
}
