//! The instructions as text, in the form of XProf's debug string.

use std::fmt::Write;

use haloscope_kernel::carried::Carried;
use haloscope_llo::{Error, GroupIdx, Instruction, Kind, Module, Operand};

use super::modes::name;

/// The text of these ops.
pub(super) fn text(kernels: &[&Carried<'_>]) -> Result<String, (String, Error)> {
    let mut out = String::new();
    for kernel in kernels {
        let module = kernel.read().map_err(|error| (kernel.name.to_string(), error))?;
        // Writing to a text cannot fail.
        let _ = writeln!(out, "Module: {}", module.op);
        group(&module, 0, 1, &mut out);
    }
    Ok(out)
}

/// What stands in a group, inner groups where they stand between its instructions.
fn group(module: &Module<'_>, row: GroupIdx, indent: usize, out: &mut String) {
    let Some(own) = module.groups.get(row) else { return };
    let mut at = own.instructions.start;
    for inner in module.children(row) {
        let Some(child) = module.groups.get(inner) else { continue };
        instructions(module, at..child.instructions.start, indent, out);
        let word = match child.kind {
            Kind::Loop(_) => "loop",
            Kind::Predicated => "predicated",
            Kind::Region => child.part.word(),
        };
        let _ = writeln!(out, "{:width$}${word}:", "", width = 2 * indent);
        group(module, inner, indent + 1, out);
        at = child.instructions.end;
    }
    instructions(module, at..own.instructions.end, indent, out);
}

fn instructions(module: &Module<'_>, rows: std::ops::Range<usize>, indent: usize, out: &mut String) {
    for instruction in module.instructions.get(rows).unwrap_or_default() {
        let _ = writeln!(out, "{:width$}{}", "", line(module, instruction), width = 2 * indent);
    }
}

fn line(module: &Module<'_>, instruction: &Instruction) -> String {
    let result = instruction.register.map_or_else(String::new, |register| format!("%r{register} = "));
    let operands: Vec<String> = module
        .operands(instruction)
        .iter()
        .map(|operand| match operand {
            Operand::Constant(row) => format!("C{row}"),
            Operand::Result(id) => format!("%{id}"),
            Operand::Unknown => "?".to_owned(),
        })
        .collect();
    let space = if operands.is_empty() { "" } else { " " };
    format!("[{}] {result}{}{space}{}", instruction.id, name(instruction.opcode), operands.join(", "))
}
