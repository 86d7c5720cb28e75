//! Table `copies`: copies, relayouts and collectives that only one of the runs has, and what they are for.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use haloscope_hlo::{InstructionIdx, Module, Opcode};

use crate::{Matches, RunSamples};
use haloscope_program::{copies, relayouts};
use haloscope_report::{Table, row};
use haloscope_time::executions::{Executions, Place};

struct Row {
    op: String,
    is_new: bool,
    opcode: String,
    purpose: String,
    time_ps: Option<f64>,
    moved_bytes: Option<u64>,
    executions: Option<u64>,
    framework_op: Option<String>,
    program: String,
}

/// What only one run has of what moves data, those that take most time first; `None` where no program has HLO in both.
pub(super) fn copies(
    a: &RunSamples<'_>,
    b: &RunSamples<'_>,
    matches: &Matches<'_>,
    limit: usize,
) -> Option<Table> {
    let mut rows = Vec::new();
    let mut is_known = false;
    for pair in &matches.programs {
        let (Some(alignment), Some(before), Some(after)) = (&pair.alignment, &pair.a, &pair.b) else {
            continue;
        };
        is_known = true;
        // An instruction without counterpart may still be an op that was matched by its form, or part of a group.
        let lost: BTreeSet<&str> = matches.gone.iter().map(|op| &*a.ops[*op].meta.name).collect();
        let came: BTreeSet<&str> = matches.new.iter().map(|op| &*b.ops[*op].meta.name).collect();
        let sides = [(alignment.a, a, before, lost, false), (alignment.b, b, after, came, true)];
        for (module, run, side, unmatched, is_new) in sides {
            let program = side.hlo.map(|program| program.label()).unwrap_or_default();
            let time = |at: InstructionIdx| {
                let name = &module.instruction(at).name;
                let op = run.ops.iter().find(|op| {
                    op.meta.name == *name && op.module == side.module && op.meta.program_id == side.program_id
                })?;
                Some(op.step_ps.iter().sum::<f64>() / op.step_ps.len().max(1) as f64)
            };
            let is_alone = |at: InstructionIdx| {
                let other = if is_new { alignment.in_a(at) } else { alignment.in_b(at) };
                let name = module.instruction(at).name.as_str();
                other.is_none() && (time(at).is_none() || unmatched.contains(name))
            };
            let executions = Executions::new(module);
            for (at, purpose, moved) in moving(module, &executions) {
                if !is_alone(at) {
                    continue;
                }
                let instruction = module.instruction(at);
                let ends = module.users(at).iter().filter(|_| is_start(instruction.opcode));
                let ends: f64 = ends.filter_map(|end| time(*end)).sum();
                let executions = executions.of(module, at);
                rows.push(Row {
                    op: instruction.name.clone(),
                    is_new,
                    opcode: instruction.opcode_name().to_owned(),
                    purpose,
                    time_ps: time(at).map(|own| own + ends),
                    moved_bytes: moved.zip(executions).and_then(|(bytes, times)| bytes.checked_mul(times)),
                    executions,
                    framework_op: instruction.op_name().map(str::to_owned),
                    program: program.clone(),
                });
            }
        }
    }
    rows.sort_by(|x, y| {
        let key = |row: &Row| Reverse(row.time_ps.map_or(0, |ps| ps as u64));
        key(x).cmp(&key(y)).then(y.moved_bytes.cmp(&x.moved_bytes)).then_with(|| x.op.cmp(&y.op))
    });
    let mut table = Vec::new();
    for row in rows.into_iter().take(limit) {
        let row = row![
            text("op", "Op", "The instruction.", row.op),
            text("change", "Change", "new or gone.", if row.is_new { "new" } else { "gone" }),
            text("opcode", "Opcode", "What it does.", row.opcode),
            prose(
                "purpose",
                "Purpose",
                "Its purpose, from the graph; a guess is marked as one.",
                row.purpose
            ),
            duration(
                "delta_ps",
                "Delta",
                "Its time in a step, including the end of an asynchronous one; negative if it is gone. Unknown if it was not seen to run.",
                row.time_ps.map(|ps| if row.is_new { ps } else { -ps })
            ),
            bytes(
                "moved_bytes",
                "Moves",
                "Bytes read and written, or exchanged, in one run of the program.",
                row.moved_bytes
            ),
            count(
                "executions",
                "Executions",
                "In one run of the program, if the trip counts are known.",
                row.executions
            ),
            text(
                "framework_op",
                "Framework op",
                "The scope path in JAX, PyTorch or TensorFlow.",
                row.framework_op
            ),
            text("program", "Program", "The program.", row.program),
        ];
        table.push(row);
    }
    is_known.then(|| Table::of("copies", "Copies, relayouts and collectives that only one run has", table))
}

fn is_start(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::CopyStart
            | Opcode::AsyncStart
            | Opcode::AllReduceStart
            | Opcode::AllGatherStart
            | Opcode::CollectivePermuteStart
    )
}

/// What moves data outside of fusions: purpose, and bytes of one execution.
fn moving(module: &Module, executions: &Executions) -> Vec<(InstructionIdx, String, Option<u64>)> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for copy in copies::find(module, executions) {
        if copy.kind != copies::CopyKind::Fused && seen.insert(copy.instruction) {
            let guess = if copy.reason.basis == copies::Basis::Guess { " (guess)" } else { "" };
            let detail = if copy.reason.detail.is_empty() {
                String::new()
            } else {
                format!(": {}", copy.reason.detail)
            };
            let purpose = format!("{}{guess}{detail}", copy.reason.why.word());
            found.push((copy.instruction, purpose, copy.moved_bytes));
        }
    }
    for relayout in relayouts::find(module, executions) {
        if seen.insert(relayout.instruction) {
            found.push((relayout.instruction, relayout.what.to_owned(), relayout.moved_bytes));
        }
    }
    for (at, instruction) in module.instructions() {
        if executions.place(instruction.computation) != Place::Control {
            continue;
        }
        if let Some((purpose, moved)) = moved_only(module, at)
            && seen.insert(at)
        {
            found.push((at, purpose, moved));
        }
        let own = instruction.opcode;
        let ends =
            matches!(own, Opcode::AllReduceDone | Opcode::AllGatherDone | Opcode::CollectivePermuteDone);
        let inside = (own == Opcode::AsyncStart)
            .then(|| module.bodies(at).first().map(|body| module.computation(*body).root))
            .flatten()
            .map(|root| module.instruction(root));
        let collective = if own.is_collective() && !ends { Some(instruction) } else { inside };
        let Some(collective) = collective.filter(|i| i.opcode.is_collective()) else { continue };
        if seen.insert(at) {
            let mut bytes =
                collective.operands.iter().map(|operand| module.instruction(*operand).shape.bytes());
            let bytes = bytes.try_fold(0u64, |sum, bytes| sum.checked_add(bytes?));
            found.push((at, format!("exchanges data between devices: {}", collective.opcode_name()), bytes));
        }
    }
    found
}

/// A fusion that gives its operand another view, and so copies it: purpose, and bytes of one execution.
fn moved_only(module: &Module, at: InstructionIdx) -> Option<(String, Option<u64>)> {
    let fusion = module.instruction(at);
    let [operand] = fusion.operands[..] else { return None };
    let body = module.bodies(at).first().filter(|_| fusion.opcode == Opcode::Fusion)?;
    let is_view =
        |at: InstructionIdx| matches!(module.instruction(at).opcode, Opcode::Parameter | Opcode::Bitcast);
    if !module.computation(*body).instructions().all(is_view) {
        return None;
    }
    let (from, to) = (&module.instruction(operand).shape, &fusion.shape);
    let purpose = if from.memory_space() == to.memory_space() {
        "copies a value that only changes its view"
    } else {
        "moves a value to another memory"
    };
    let moved =
        from.padded_bytes().zip(to.padded_bytes()).and_then(|(read, written)| read.checked_add(written));
    Some((purpose.to_owned(), moved))
}
