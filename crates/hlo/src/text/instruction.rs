//! One instruction on one line.

use std::borrow::Cow;
use std::fmt;

use super::escape::Name;
use super::{TextOptions, attributes, escape, literal, metadata, origin, wrapped::wrapped};
use crate::{instruction::Instruction, module::Module, opcode::Opcode};

/// Operands that a shortened list shows.
const COMPACT_OPERANDS: usize = 4;

pub(super) fn write(
    f: &mut fmt::Formatter<'_>,
    module: &Module,
    instruction: &Instruction,
    options: &TextOptions,
) -> fmt::Result {
    let percent = if options.percent { "%" } else { "" };
    write!(f, "{percent}{} = ", Name(&instruction.name))?;
    shape(f, instruction, options)?;
    f.write_str(" ")?;
    opcode(f, module, instruction, options)?;
    f.write_str("(")?;
    operands(f, module, instruction, options)?;
    f.write_str(")")?;
    for attribute in attributes::all(module, instruction, options) {
        write!(f, ", {attribute}")?;
    }
    let rare = instruction.attributes().rare.as_ref();
    if let Some(value) = rare.and_then(|rare| rare.original_value.as_ref()) {
        write!(f, ", origin={{{}}}", origin::origin_text(value, &instruction.shape))?;
    }
    if let Some(origin) =
        instruction.metadata.as_ref().filter(|m| options.metadata && metadata::is_worth_writing(m))
    {
        write!(f, ", metadata={{{}}}", metadata::metadata_text(origin))?;
    }
    let config = &instruction.attributes().backend_config;
    if options.backend_config && !config.is_empty() {
        let config = if options.former_queues { Cow::Borrowed(&config[..]) } else { without_queues(config) };
        write!(f, ", backend_config={}", escape::value(&config))?;
    }
    Ok(())
}

/// A backend's configuration without an empty `wait_on_operation_queues`: see [`TextOptions::former_queues`].
fn without_queues(config: &[u8]) -> Cow<'_, [u8]> {
    const FIELD: &[u8] = br#""wait_on_operation_queues":[],"#;
    let Some(at) = config.windows(FIELD.len()).position(|part| part == FIELD) else {
        return Cow::Borrowed(config);
    };
    Cow::Owned([&config[..at], &config[at + FIELD.len()..]].concat())
}

fn shape(f: &mut fmt::Formatter<'_>, instruction: &Instruction, options: &TextOptions) -> fmt::Result {
    if options.layouts { write!(f, "{}", instruction.shape) } else { write!(f, "{:#}", instruction.shape) }
}

fn opcode(
    f: &mut fmt::Formatter<'_>,
    module: &Module,
    instruction: &Instruction,
    options: &TextOptions,
) -> fmt::Result {
    match wrapped(module, instruction, options) {
        None => f.write_str(instruction.opcode_name()),
        Some(called) => {
            f.write_str(module.instruction(called.root).opcode_name())?;
            f.write_str(match instruction.opcode {
                Opcode::AsyncStart => "-start",
                Opcode::AsyncUpdate => "-update",
                _ => "-done",
            })
        }
    }
}

fn operands(
    f: &mut fmt::Formatter<'_>,
    module: &Module,
    instruction: &Instruction,
    options: &TextOptions,
) -> fmt::Result {
    match instruction.opcode {
        Opcode::Parameter => {
            return write!(f, "{}", instruction.attributes().parameter_number.unwrap_or_default());
        }
        Opcode::Constant => return constant(f, instruction, options),
        _ => {}
    }
    let shown = match instruction.operands.len() {
        count if options.compact_operands => count.min(COMPACT_OPERANDS),
        count => count,
    };
    let percent = if options.percent { "%" } else { "" };
    for (position, operand) in instruction.operands.iter().take(shown).enumerate() {
        if position > 0 {
            f.write_str(", ")?;
            if options.operand_index && position % 5 == 0 {
                write!(f, "/*index={position}*/")?;
            }
        }
        let operand = module.instruction(*operand);
        if options.operand_shape {
            shape(f, operand, options)?;
            f.write_str(" ")?;
        }
        write!(f, "{percent}{}", Name(&operand.name))?;
    }
    match instruction.operands.len() - shown {
        0 => Ok(()),
        left => write!(f, ", ...(+{left})"),
    }
}

fn constant(f: &mut fmt::Formatter<'_>, instruction: &Instruction, options: &TextOptions) -> fmt::Result {
    let is_small = instruction.shape.element_count().is_some_and(|count| count <= 10);
    match &instruction.attributes().literal {
        Some(bytes) if options.large_constants || is_small => literal::write(f, bytes, false),
        _ => f.write_str("{...}"),
    }
}

#[cfg(test)]
mod tests {
    use super::without_queues;

    #[test]
    fn an_empty_list_of_queues_is_not_written() {
        let old =
            br#"{"operation_queue_id":"0","wait_on_operation_queues":[],"force_earliest_schedule":false}"#;
        let new = br#"{"operation_queue_id":"0","force_earliest_schedule":false}"#;
        assert_eq!(&*without_queues(old), new);
        assert_eq!(&*without_queues(new), new);
        let waits = br#"{"operation_queue_id":"0","wait_on_operation_queues":["1"]}"#;
        assert_eq!(&*without_queues(waits), waits);
    }
}
