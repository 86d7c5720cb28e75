//! Words in and about a node.

use haloscope_hlo::{ComputationIdx, ElementType, FusionKind, Instruction, Module, Opcode, Shape, text};

use crate::colours::is_effective_scalar;

/// Attributes that name many devices are cut here.
const LONGEST_DEVICES: usize = 128;
/// Shapes are cut here.
const LONGEST_SHAPE: usize = 64;
/// Constants with more elements, or more characters, are named instead.
const MOST_ELEMENTS: u64 = 8;
const LONGEST_CONSTANT: usize = 64;
/// An array with fewer elements is small.
const SMALL_ELEMENTS: u64 = 4096;

/// Text that stands between tags.
pub(crate) fn sanitise(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text cut to a length, with dots in place of what is left out.
fn cut(text: String, longest: usize) -> String {
    if text.len() <= longest {
        return text;
    }
    let mut end = longest.saturating_sub(3);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", &text[..end])
}

/// One line that says what the instruction is: its name, and its opcode where the name does not begin with it.
pub(crate) fn name(instruction: &Instruction) -> String {
    if instruction.opcode == Opcode::Parameter {
        return format!("<b>Parameter {}</b>", instruction.attributes().parameter_number.unwrap_or_default());
    }
    let (name, opcode) = (sanitise(&instruction.name), instruction.opcode_name());
    if instruction.name.starts_with(opcode) {
        return format!("<b>{name}</b>");
    }
    match instruction.opcode {
        Opcode::Fusion => {
            let kind = instruction.attributes().fusion_kind.as_ref().map_or("", FusionKind::name);
            format!("<b>{name}</b><br/>{opcode}:{kind}")
        }
        _ => format!("<b>{name}</b><br/>{opcode}"),
    }
}

/// The outline of a node.
pub(crate) fn shape(instruction: &Instruction) -> &'static str {
    if instruction.opcode == Opcode::While { "ellipse" } else { "rect" }
}

/// An attribute as a line.
pub(crate) fn attribute(text: &str) -> String {
    let names_devices = text.starts_with("replica_groups=") || text.starts_with("source_target_pairs=");
    sanitise(&if names_devices { cut(text.to_owned(), LONGEST_DEVICES) } else { text.to_owned() })
}

/// The shape, with the layout where there can be several.
pub(crate) fn shape_text(instruction: &Instruction) -> String {
    let shape = &instruction.shape;
    let has_choice = shape.leaves().iter().any(|leaf| leaf.dimensions.len() > 1);
    let text = if has_choice && instruction.opcode != Opcode::Tuple {
        shape.to_string()
    } else {
        format!("{shape:#}")
    };
    sanitise(&cut(text, LONGEST_SHAPE))
}

/// Whether a value is small: few elements, or nothing that has elements.
pub(crate) fn is_small(instruction: &Instruction) -> bool {
    let leaves = instruction.shape.leaves();
    let has_none = |shape: &&Shape| matches!(shape.element_type, ElementType::Opaque | ElementType::Token);
    leaves.iter().any(has_none)
        || instruction.shape.element_count_recursive().is_some_and(|count| count < SMALL_ELEMENTS)
}

/// What a node's tooltip says: framework op and source, then the call stack.
pub(crate) fn tooltip(module: &Module, instruction: &Instruction) -> String {
    let Some(metadata) = &instruction.metadata else { return String::new() };
    let mut lines = Vec::new();
    lines.extend(metadata.op_name.as_deref().map(sanitise));
    lines.extend(metadata.op_type.as_deref().map(|t| format!("op_type: {}", sanitise(t))));
    if let (Some(file), Some(line)) = (&metadata.source_file, metadata.source_line) {
        lines.push(format!("source: {file}:{line}"));
    }
    for frame in module.stack_frames.stack(metadata.stack_frame_id.unwrap_or(0)) {
        let at = frame.location;
        lines.push(format!("{}:{}:{}:{}", frame.file, frame.function, at.line, at.column));
    }
    lines.join("\n")
}

/// A constant's value if it is short, else its name and shape.
pub(crate) fn constant(constant: &Instruction, shape: &Shape) -> String {
    if shape.element_count() == Some(0) {
        return format!("{{}} ({:#})", constant.shape);
    }
    let is_few = shape.is_array() && constant.shape.element_count().is_some_and(|n| n <= MOST_ELEMENTS);
    if let (true, Some(bytes)) = (is_few, &constant.attributes().literal) {
        let value = text::literal(bytes);
        if value.len() <= LONGEST_CONSTANT {
            return format!("{shape:#} {value}");
        }
    }
    let prefix = if constant.name.starts_with("constant") { "" } else { "constant " };
    format!("{prefix}{} {shape:#}", constant.name)
}

/// Which of its computations are simple enough to be named.
pub(crate) fn trivial_subcomputations(module: &Module, instruction: &Instruction) -> Vec<String> {
    if instruction.opcode == Opcode::Fusion {
        return Vec::new();
    }
    let called = &instruction.called_computations;
    let line = |(number, computation): (usize, &ComputationIdx)| {
        let name = trivial(module, *computation)?;
        let which = if called.len() == 1 { String::new() } else { format!(" {number}") };
        Some(format!("Subcomputation{which}: <b>{name}</b>"))
    };
    called.iter().enumerate().filter_map(line).collect()
}

/// The name of a computation that does one thing to two scalars.
pub(crate) fn trivial(module: &Module, computation: ComputationIdx) -> Option<&'static str> {
    let computation = module.computation(computation);
    let root = module.instruction(computation.root);
    if computation.instructions().len() != 3 || root.operands.len() != 2 {
        return None;
    }
    let is_scalar = |instruction: &Instruction| is_effective_scalar(&instruction.shape);
    let mut numbers = Vec::new();
    for operand in &root.operands {
        let operand = module.instruction(*operand);
        numbers.push(operand.attributes().parameter_number.filter(|_| is_scalar(operand))?);
    }
    numbers.sort_unstable();
    if numbers != [0, 1] || !is_scalar(root) {
        return None;
    }
    match root.opcode {
        Opcode::Add => Some("add"),
        Opcode::Multiply => Some("multiply"),
        Opcode::Minimum => Some("min"),
        Opcode::Maximum => Some("max"),
        Opcode::Xor => Some("xor"),
        Opcode::And => Some("and"),
        Opcode::Or => Some("or"),
        Opcode::Compare => match root.attributes().comparison_direction.as_deref()? {
            "LE" => Some("less-or-equal"),
            "GE" => Some("greater-or-equal"),
            "GT" => Some("greater-than"),
            "LT" => Some("less-than"),
            "EQ" => Some("equal-to"),
            "NE" => Some("not-equal-to"),
            _ => None,
        },
        _ => None,
    }
}
