//! A whole module: its header, then its computations.

use std::fmt;

use super::escape::Name;
use super::{
    TextOptions, attributes, instruction, list::Braced, list::join, metadata, order,
    wrapped::is_one_instruction,
};
use crate::{
    index::ComputationIdx,
    module::{Module, ProgramShape},
    opcode::Opcode,
    shape::Shape,
};

pub(super) fn write(f: &mut fmt::Formatter<'_>, module: &Module, options: &TextOptions) -> fmt::Result {
    write!(f, "HloModule {}", Name(&module.name))?;
    if module.has_schedule {
        f.write_str(", is_scheduled=true")?;
    }
    aliases(f, module)?;
    if let Some(shape) = &module.program_shape {
        f.write_str(", entry_computation_layout={")?;
        entry_layout(f, shape)?;
        f.write_str("}")?;
    }
    for (key, value) in &module.configuration {
        write!(f, ", {key}={value}")?;
    }
    if !module.frontend_attributes.is_empty() {
        write!(f, ", frontend_attributes={}", attributes::frontend_attributes(&module.frontend_attributes))?;
    }
    if options.metadata {
        metadata::stack_frames(f, &module.stack_frames)?;
    }
    f.write_str("\n\n")?;
    let sugared = sugared_computations(module, options);
    for index in order::computations(module) {
        if !sugared[index.index()] {
            computation(f, module, index, options)?;
            f.write_str("\n\n")?;
        }
    }
    Ok(())
}

fn aliases(f: &mut fmt::Formatter<'_>, module: &Module) -> fmt::Result {
    if !module.input_output_aliases.is_empty() {
        let mut aliases: Vec<_> = module.input_output_aliases.iter().collect();
        aliases.sort_by(|a, b| a.output_index.cmp(&b.output_index));
        f.write_str(", input_output_alias={ ")?;
        join(f, aliases, ", ", |f, alias| {
            let (output, parameter) = (Braced(&alias.output_index), Braced(&alias.parameter_index));
            let kind = if alias.must_alias { "must-alias" } else { "may-alias" };
            write!(f, "{output}: ({}, {parameter}, {kind})", alias.parameter)
        })?;
        f.write_str(" }")?;
    }
    if !module.buffer_donors.is_empty() {
        let mut donors: Vec<_> = module.buffer_donors.iter().collect();
        donors.sort();
        f.write_str(", buffer_donor={ ")?;
        join(f, donors, ", ", |f, (parameter, index)| write!(f, "({parameter}, {})", Braced(index)))?;
        f.write_str(" }")?;
    }
    Ok(())
}

fn entry_layout(f: &mut fmt::Formatter<'_>, shape: &ProgramShape) -> fmt::Result {
    f.write_str("(")?;
    shapes(f, &shape.parameters)?;
    write!(f, ")->{}", shape.result)
}

/// Shapes with layouts; every fifth is counted.
fn shapes(f: &mut fmt::Formatter<'_>, shapes: &[Shape]) -> fmt::Result {
    for (position, shape) in shapes.iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
            if position % 5 == 0 {
                write!(f, "/*index={position}*/")?;
            }
        }
        write!(f, "{shape}")?;
    }
    Ok(())
}

/// Computations that are not written because the instruction that starts them says it all.
fn sugared_computations(module: &Module, options: &TextOptions) -> Vec<bool> {
    let mut sugared = vec![false; module.computations().len()];
    if !options.async_sugar {
        return sugared;
    }
    for (_, instruction) in module.instructions().filter(|(_, i)| i.opcode == Opcode::AsyncStart) {
        if let Some(&called) = instruction.called_computations.first() {
            sugared[called.index()] = is_one_instruction(module, module.computation(called));
        }
    }
    sugared
}

pub(super) fn computation(
    f: &mut fmt::Formatter<'_>,
    module: &Module,
    index: ComputationIdx,
    options: &TextOptions,
) -> fmt::Result {
    let computation = module.computation(index);
    if index == module.entry() {
        f.write_str("ENTRY ")?;
    }
    let percent = if options.percent { "%" } else { "" };
    write!(f, "{percent}{} ", Name(&computation.name))?;
    if options.program_shape {
        f.write_str("(")?;
        join(f, computation.parameters(), ", ", |f, parameter| {
            let parameter = module.instruction(*parameter);
            write!(f, "{}: {:#}", Name(&parameter.name), parameter.shape)
        })?;
        write!(f, ") -> {:#} ", module.instruction(computation.root).shape)?;
    }
    f.write_str("{\n")?;
    let scheduled = module.schedule(index).filter(|order| !order.is_empty());
    let walked = scheduled.is_none().then(|| order::instructions(module, index));
    for &line in scheduled.or(walked.as_deref()).unwrap_or_default() {
        f.write_str(if line == computation.root { "  ROOT " } else { "  " })?;
        instruction::write(f, module, module.instruction(line), options)?;
        f.write_str("\n")?;
    }
    f.write_str("}")?;
    if let Some(thread) = computation.execution_thread.as_deref().filter(|thread| *thread != "main") {
        write!(f, ", execution_thread=\"{thread}\"")?;
    }
    Ok(())
}
