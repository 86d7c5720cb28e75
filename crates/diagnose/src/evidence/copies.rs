//! What the ops that only move data on the device are for.

use rustc_hash::FxHashMap;

use super::Evidence;
use haloscope_hlo::{Instruction, InstructionIdx, Module, Opcode};
use haloscope_profile::Decoded;
use haloscope_program::copies::{self, Basis};
use haloscope_program::relayouts;
use haloscope_time::account::Class;
use haloscope_time::executions::Executions;
use haloscope_time::ops::Op;

/// What a copy is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Somebody would overwrite the value: why, in two forms, whether the graph proves it, and who reads the value itself afterwards.
    Defensive { why: &'static str, detail: String, is_proven: bool, late: Option<LateReader> },
    /// Another layout, next to compute that it feeds or that makes its value: what is done, and to whom.
    Relayout { what: &'static str, feeds: String },
    /// Anything else: why, as far as the graph says, else empty.
    Other { detail: String },
    /// The profile does not hold its program.
    Unknown,
}

/// An op that reads a value of which a copy has been made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LateReader {
    pub name: String,
    /// It makes the update that others write over the copy once more, for itself.
    pub updates: bool,
}

/// An op that moves data on the device, at a time when nothing computes.
#[derive(Debug, Clone)]
pub(crate) struct Mover<'e, 'p> {
    pub op: &'e Op<'p>,
    /// Self time summed over devices, picoseconds; scaled to the time that copies take where streams run side by side.
    pub time_ps: f64,
    pub purpose: Purpose,
}

impl<'p> Evidence<'p> {
    /// The ops that copy and change layouts, largest first: those of [`Class::Copy`], and of [`Class::Compute`] those that
    /// compute nothing.
    pub(crate) fn movers(&self) -> Vec<Mover<'_, 'p>> {
        let is_copy = |op: &Op<'_>| Class::of(&op.meta) == Class::Copy;
        let moves = |op: &&Op<'_>| op.self_ps > 0 && (is_copy(op) || self.only_moves(op));
        let ops: Vec<&Op<'p>> = self.ops().iter().filter(moves).collect();
        let copies: f64 = ops.iter().filter(|op| is_copy(op)).map(|op| op.self_ps as f64).sum();
        let of_copies =
            if copies > 0.0 { (self.times().of(Class::Copy) as f64 / copies).min(1.0) } else { 1.0 };
        let scale = |op: &Op<'_>| if is_copy(op) { of_copies } else { self.compute_scale() };
        let mut known: FxHashMap<u64, Option<FxHashMap<String, Purpose>>> = FxHashMap::default();
        let mut purpose = |op: &Op<'_>| {
            let Some(id) = op.meta.program_id else { return Purpose::Unknown };
            let of_program = known.entry(id).or_insert_with(|| self.program(id).map(purposes));
            let Some(of_program) = of_program else { return Purpose::Unknown };
            of_program.get(op.meta.name.as_ref()).cloned().unwrap_or(Purpose::Other { detail: String::new() })
        };
        let mover = |op: &'_ &Op<'p>| purpose(op);
        let found: Vec<Purpose> = ops.iter().map(mover).collect();
        let together = ops.into_iter().zip(found);
        together.map(|(op, purpose)| Mover { op, time_ps: op.self_ps as f64 * scale(op), purpose }).collect()
    }

    /// Whether an op counts as compute and moves data all the same: a fusion that only transposes, copies and converts to no wider type. By its
    /// HLO where there is one, else by the name that XLA's GPU compiler gives a kernel after the op that it is built around.
    pub(crate) fn only_moves(&self, op: &Op<'_>) -> bool {
        if Class::of(&op.meta) != Class::Compute {
            return false;
        }
        match self.instruction(op) {
            Some((decoded, index)) => moves(&decoded.module, index),
            None => is_kernel_that_moves(&op.meta.name),
        }
    }

    /// The HLO of a program, where the profile holds it.
    pub(crate) fn program(&self, id: u64) -> Option<&'p Decoded> {
        let entry = self.profile.modules.iter().find(|m| m.program_id == Some(id))?;
        entry.decode(self.profile).ok()
    }
}

/// Whether an instruction, or all inside of the fusion that it is, transposes or copies and computes nothing.
fn moves(module: &Module, index: InstructionIdx) -> bool {
    let hlo = module.instruction(index);
    let is_move = |opcode: Opcode| matches!(opcode, Opcode::Transpose | Opcode::Copy);
    match (hlo.opcode, hlo.called_computations.first()) {
        (Opcode::Fusion, Some(body)) => {
            let inner = || module.computation(*body).instructions().map(|inner| module.instruction(inner));
            let inside = || inner().map(|one| one.opcode);
            // A wider type is work of its own: without the move it reads and writes as much.
            let widens = |one: &Instruction| {
                let bits = |one: &Instruction| one.shape.element_type.bits();
                let from = one.operands.first().and_then(|from| bits(module.instruction(*from)));
                one.opcode == Opcode::Convert && bits(one).zip(from).is_some_and(|(to, from)| to > from)
            };
            let is_harmless = |opcode: Opcode| {
                is_move(opcode)
                    || matches!(
                        opcode,
                        Opcode::Parameter
                            | Opcode::Bitcast
                            | Opcode::Reshape
                            | Opcode::Convert
                            | Opcode::Tuple
                            | Opcode::GetTupleElement
                    )
            };
            inside().any(is_move) && inside().all(is_harmless) && !inner().any(widens)
        }
        (opcode, _) => is_move(opcode),
    }
}

/// `input_transpose_fusion_1.kd`, `wrapped_transpose`: kernels are named after the root of what they do.
fn is_kernel_that_moves(name: &str) -> bool {
    let name = name.strip_suffix(".kd").unwrap_or(name);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['_', '.']);
    matches!(
        name,
        "input_transpose_fusion"
            | "loop_transpose_fusion"
            | "wrapped_transpose"
            | "loop_copy_fusion"
            | "wrapped_copy"
    )
}

/// The purposes of the copies of a module by the names of their instructions.
fn purposes(decoded: &Decoded) -> FxHashMap<String, Purpose> {
    let module = &decoded.module;
    let executions = Executions::new(module);
    let name = |index| module.instruction(index).name.clone();
    let mut found = FxHashMap::default();
    for relayout in relayouts::find(module, &executions) {
        let neighbours = relayout.feeds.iter().copied().chain(relayout.from);
        let names: Vec<String> = neighbours.take(2).map(name).collect();
        if !names.is_empty() {
            let purpose = Purpose::Relayout { what: relayout.what, feeds: names.join(" and ") };
            found.insert(name(relayout.instruction), purpose);
        }
    }
    for copy in copies::find(module, &executions) {
        let reason = copy.reason;
        if reason.why.is_defensive() {
            let purpose = Purpose::Defensive {
                why: reason.why.word(),
                detail: reason.detail,
                is_proven: reason.basis == Basis::Derived,
                late: reason
                    .late_reader
                    .map(|late| LateReader { name: name(late.instruction), updates: late.updates }),
            };
            found.insert(name(copy.instruction), purpose);
        } else {
            let own = Purpose::Other { detail: reason.detail };
            found.entry(name(copy.instruction)).or_insert(own);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_move_are_told_by_their_name() {
        for name in [
            "input_transpose_fusion.kd",
            "input_transpose_fusion_1.kd",
            "wrapped_transpose",
            "loop_copy_fusion_12",
        ] {
            assert!(is_kernel_that_moves(name), "{name}");
        }
        for name in
            ["loop_convert_fusion.kd", "input_reduce_fusion_1", "gemm_transpose", "transpose_of_mine", ""]
        {
            assert!(!is_kernel_that_moves(name), "{name}");
        }
    }

    #[test]
    fn fusions_that_compute_something_do_not_only_move() {
        let converted = |from: &str, to: &str, inner: &str| {
            let text = format!(
                "HloModule m\n\nf {{\n  p = {from}[8,4]{{1,0}} parameter(0)\n  c = {to}[8,4]{{1,0}} convert(p)\n  {inner}\n  ROOT t = {to}[4,8]{{1,0}} transpose(x), dimensions={{1,0}}\n}}\n\nENTRY e {{\n  a = {from}[8,4]{{1,0}} parameter(0)\n  ROOT r = {to}[4,8]{{1,0}} fusion(a), kind=kInput, calls=f\n}}\n"
            );
            let module = Module::parse(&text).unwrap();
            moves(&module, module.instruction_by_name("r").unwrap())
        };
        let with = |inner: &str| converted("f32", "bf16", inner);
        assert!(with("x = bf16[8,4]{1,0} copy(c)"));
        assert!(!with("x = bf16[8,4]{1,0} negate(c)"));
        // A wider type is written with or without the move; another of the same width is no work.
        assert!(!converted("bf16", "f32", "x = f32[8,4]{1,0} copy(c)"));
        assert!(converted("f32", "s32", "x = s32[8,4]{1,0} copy(c)"));
    }
}
