//! Values that are kept from the forward to the backward pass although they are cheap to compute again.

use haloscope_hlo::{Instruction, Module, Opcode};

use super::Outcome;
use super::context::{Context, largest, size};
use super::thresholds::REMAT_SHARE;
use crate::attribution::{Attributed, Phase};
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};
use haloscope_time::fix::Fix;

static LEVER: Fix = Fix {
    jax: "jax.checkpoint with a policy such as dots_with_no_batch_dims_saveable or save_only_these_names: elementwise \
          and broadcast results are computed again",
    tensorflow: "tf.recompute_grad around the layer: its results are computed again in the backward pass",
    pytorch: "torch_xla.utils.checkpoint around the layer: its results are computed again in the backward pass",
    any: "compute elementwise and broadcast results again in the backward pass instead of keeping them",
};

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!("{} of the peak", units::share(REMAT_SHARE));
    match context.is_training() {
        None => {
            return Outcome::unknown(threshold, "no op has a name, so whether this is training is unknown");
        }
        Some(false) => return Outcome::not_applicable(threshold, "the program computes no gradients"),
        Some(true) => {}
    }
    let Some(first_backward) = context.first_backward() else {
        return Outcome::unknown(threshold, "no event of the heap belongs to the backward pass");
    };
    let is_kept = |buffer: &&Attributed<'_, '_>| {
        buffer.phase == Some(Phase::Forward)
            && buffer.alive.span.is_some_and(|(from, until)| from < first_backward && until > first_backward)
    };
    let kept: Vec<_> = context.temporaries().filter(is_kept).collect();
    let module = context.module();
    let cheap: Vec<_> =
        kept.iter().copied().filter(|buffer| is_cheap(module, buffer.alive.instruction())).collect();
    let kept_bytes = units::sum(kept.iter().map(|buffer| buffer.alive.bytes));
    let bytes = units::sum(cheap.iter().map(|buffer| buffer.alive.bytes));
    let share = context.of_peak(bytes);
    let finding = (share >= REMAT_SHARE).then(|| Finding {
        id: "rematerialisation_candidates",
        severity: Severity::Warning,
        claim: format!(
            "{} of forward values are kept for the backward pass although they are cheap to compute again",
            size(context, bytes)
        ),
        evidence: format!(
            "{}; {} of forward values are kept in all",
            largest(&cheap),
            units::bytes(kept_bytes as f64)
        ),
        ceiling: format!("{} less, if their inputs are kept anyway", units::bytes(bytes as f64)),
        recommendation: context.fix(&LEVER),
        falsifier: "their inputs are not kept: then the inputs must be kept, and nothing is saved".to_owned(),
        status: Status::Estimated,
        ..Finding::default()
    });
    let said = if cheap.is_empty() {
        format!("{} kept from forward to backward, none of it cheap", units::bytes(kept_bytes as f64))
    } else {
        largest(&cheap)
    };
    Outcome::measured(bytes, Some(share), threshold, said, finding)
}

/// Whether an instruction computes each element from a few: elementwise work, broadcasts, and fusions of nothing else.
fn is_cheap(module: &Module, instruction: &Instruction) -> bool {
    let is_light = |opcode: Opcode| {
        opcode.is_elementwise()
            || matches!(
                opcode,
                Opcode::Broadcast
                    | Opcode::Iota
                    | Opcode::Constant
                    | Opcode::Parameter
                    | Opcode::Bitcast
                    | Opcode::Reshape
                    | Opcode::Transpose
                    | Opcode::Tuple
                    | Opcode::GetTupleElement
            )
    };
    match (instruction.opcode, instruction.called_computations.first()) {
        (Opcode::Fusion, Some(body)) => {
            let mut body = module.computation(*body).instructions();
            body.all(|inside| is_light(module.instruction(inside).opcode))
        }
        (Opcode::Broadcast | Opcode::Iota, _) => true,
        // A copy is no computation: what it copies is kept as well.
        (Opcode::Copy, _) => false,
        (opcode, _) => opcode.is_elementwise(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fusions_are_as_cheap_as_what_they_hold() {
        let text = "HloModule m\n\n%light (p: f32[8]) -> f32[8] {\n  %p = f32[8] parameter(0)\n  ROOT %e = f32[8] exponential(%p)\n}\n\n\
                    %sum (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %c = f32[] add(%a, %b)\n}\n\n\
                    %heavy (q: f32[8,8]) -> f32[8] {\n  %q = f32[8,8] parameter(0)\n  %z = f32[] constant(0)\n  ROOT %r = f32[8] reduce(%q, %z), dimensions={1}, to_apply=%sum\n}\n\n\
                    ENTRY %main (x: f32[8], y: f32[8,8]) -> f32[8] {\n  %x = f32[8] parameter(0)\n  %y = f32[8,8] parameter(1)\n  %f = f32[8] fusion(%x), kind=kLoop, calls=%light\n  \
                    %g = f32[8] fusion(%y), kind=kInput, calls=%heavy\n  %k = f32[8] copy(%f)\n  ROOT %s = f32[8] add(%k, %g)\n}\n";
        let module = Module::parse(text).unwrap();
        let cheap =
            |name: &str| is_cheap(&module, module.instruction(module.instruction_by_name(name).unwrap()));
        assert_eq!(["f", "g", "k", "s"].map(cheap), [true, false, false, true]);
    }
}
