//! What a collective does and how large its message is.

use std::borrow::Cow;

use haloscope_hlo::{ElementType, Instruction, Module, Opcode, Shape};

use haloscope_time::op_meta::OpMeta;

/// What collectives are called, longer names first where one begins with another.
const KINDS: [&str; 10] = [
    "all-reduce-scatter",
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "ragged-all-to-all",
    "all-to-all",
    "collective-permute",
    "collective-broadcast",
    "send",
    "recv",
];

/// What collective kernels have in their names.
const KERNELS: [(&str, &str); 7] = [
    ("allreduce", "all-reduce"),
    ("allgather", "all-gather"),
    ("reducescatter", "reduce-scatter"),
    ("alltoall", "all-to-all"),
    ("sendrecv", "collective-permute"),
    ("broadcast", "collective-broadcast"),
    ("reduce", "reduce"),
];

/// The kind as the op's category or name says it; empty where neither does.
pub(super) fn word(op: &OpMeta<'_>) -> &'static str {
    let of = |text: &str| KINDS.iter().copied().find(|kind| text.starts_with(kind));
    if let Some(kind) = of(&op.category).or_else(|| of(&op.name)) {
        // XLA's `all-reduce-scatter` is a reduce-scatter in one op.
        return if kind == "all-reduce-scatter" { "reduce-scatter" } else { kind };
    }
    if op.category == "collective kernel" {
        let name = op.name.to_ascii_lowercase();
        return KERNELS.iter().find(|(part, _)| name.contains(part)).map_or("collective kernel", |(_, k)| k);
    }
    if op.category == "memcpy" { "copy between devices" } else { "" }
}

/// The instruction that an op stands for: itself, or the collective that it wraps (fusions, asynchronous wrappers).
pub(super) fn collective<'m>(module: &'m Module, name: &str) -> Option<&'m Instruction> {
    let own = module.instruction(module.instruction_by_name(name)?);
    let is =
        |one: &Instruction| one.opcode.is_collective() || matches!(one.opcode, Opcode::Send | Opcode::Recv);
    if is(own) {
        return Some(own);
    }
    // Wrappers nest: a fusion calls an asynchronous computation that calls the collective.
    let mut called = own.called_computations.clone();
    for _ in 0..4 {
        let inside: Vec<&Instruction> = called
            .iter()
            .flat_map(|c| module.computation(*c).instructions())
            .map(|i| module.instruction(i))
            .collect();
        if let Some(found) = inside.iter().find(|i| is(i)) {
            return Some(found);
        }
        called = inside.iter().flat_map(|i| i.called_computations.iter().copied()).collect();
    }
    None
}

/// What an instruction does, without the part of an asynchronous one that it is.
pub(super) fn kind(instruction: &Instruction) -> Cow<'static, str> {
    let name = instruction.opcode_name();
    let base = name.strip_suffix("-start").or_else(|| name.strip_suffix("-done")).unwrap_or(name);
    KINDS
        .iter()
        .find(|kind| **kind == base)
        .map_or_else(|| Cow::Owned(base.to_owned()), |kind| Cow::Borrowed(*kind))
}

/// The size of a device's message, bytes: of all operands or of the result, whichever is more. The result of a start is
/// made of its operands, the result proper and contexts, so that only that of `all-gather-start` is looked at.
pub(super) fn bytes(module: &Module, instruction: &Instruction) -> Option<f64> {
    let operands = instruction.operands.iter().map(|i| array_bytes(&module.instruction(*i).shape));
    let operands = operands.sum::<Option<u64>>();
    let result = match instruction.opcode {
        Opcode::AllGatherStart => instruction.shape.tuple_element(1).and_then(array_bytes),
        Opcode::Send | Opcode::Recv | Opcode::AllReduceStart | Opcode::CollectivePermuteStart => None,
        _ => array_bytes(&instruction.shape),
    };
    operands.into_iter().chain(result).max().filter(|b| *b > 0).map(|b| b as f64)
}

/// Bytes of the arrays in a shape; `None` for one whose size is not known.
fn array_bytes(shape: &Shape) -> Option<u64> {
    shape.leaves().into_iter().filter(|leaf| leaf.is_array()).map(Shape::bytes).sum()
}

/// The same from the text of an instruction, where the profile holds no module; `None` for one that wraps another.
pub(super) fn bytes_of_text(expression: &str) -> Option<f64> {
    let (_, right) = expression.split_once(" = ")?;
    let (result, rest) = split_result(right)?;
    let (opcode, operands) = rest.trim_start().split_once('(')?;
    let operands = text_bytes(operands.split(')').next().unwrap_or_default());
    let result = match opcode.trim() {
        // What an asynchronous computation does stands elsewhere.
        "async-start" | "fusion" => return None,
        "all-gather-start" => text_bytes(result).and_then(|all| all.checked_sub(operands.unwrap_or(0))),
        opcode if opcode.ends_with("-start") => None,
        _ => text_bytes(result),
    };
    operands.into_iter().chain(result).max().filter(|b| *b > 0).map(|b| b as f64)
}

/// The sizes of all operands and of the result in the text of an instruction, bytes.
pub(super) fn sizes_of_text(expression: &str) -> Option<(u64, u64)> {
    let (result, rest) = split_result(expression.split_once(" = ")?.1)?;
    let (_, operands) = rest.trim_start().split_once('(')?;
    Some((text_bytes(operands.split(')').next().unwrap_or_default())?, text_bytes(result)?))
}

/// The result's shape, and what follows it.
fn split_result(text: &str) -> Option<(&str, &str)> {
    if !text.starts_with('(') {
        return text.split_once(' ');
    }
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return Some(text.split_at(at + 1));
        }
    }
    None
}

/// Bytes of the shapes in a text: element types followed by dimensions in square brackets.
fn text_bytes(text: &str) -> Option<u64> {
    let mut total = None::<u64>;
    for (at, _) in text.match_indices('[') {
        let before = &text[..at];
        let from = before.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |i| i + 1);
        let Some(element) = ElementType::from_name(&before[from..]) else { continue };
        let Some((inside, _)) = text[at + 1..].split_once(']') else { continue };
        let dims = inside.split(',').filter(|d| !d.is_empty());
        let mut count = dims.map(|d| d.trim_start_matches("<=").trim().parse::<u64>().ok());
        let count = count.try_fold(1_u64, |product, d| product.checked_mul(d?));
        let bits = count?.checked_mul(u64::from(element.bits()?))?;
        total = Some(total.unwrap_or(0).checked_add(bits.div_ceil(8))?);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(category: &'static str, name: &'static str) -> OpMeta<'static> {
        OpMeta { category: category.into(), name: name.into(), ..OpMeta::default() }
    }

    #[test]
    fn kinds_by_category_then_by_name() {
        assert_eq!(word(&op("all-reduce", "x.1")), "all-reduce");
        assert_eq!(word(&op("all-reduce-scatter fusion", "fusion.1")), "reduce-scatter");
        assert_eq!(word(&op("async-start", "all-gather-start.3")), "all-gather");
        assert_eq!(word(&op("collective kernel", "ncclDevKernel_ReduceScatter_Sum")), "reduce-scatter");
        assert_eq!(word(&op("custom fusion", "async-collective-start.1")), "");
    }

    #[test]
    fn sizes_by_text() {
        let gather = "%ag = s32[32,2048,1]{1,0,2:T(8,128)S(1)} all-gather(s32[8,2048,1]{1,0,2} %x), channel_id=118, replica_groups=[4,4]<=[16]";
        assert_eq!(bytes_of_text(gather), Some(32.0 * 2048.0 * 4.0));
        let permute =
            "%p = (s32[8]{0}, s32[8]{0}, u32[]{:S(2)}) collective-permute-start(s32[8]{0} %f), channel_id=1";
        assert_eq!(bytes_of_text(permute), Some(32.0));
        let start = "%s = (f32[8]{0}, f32[32]{0}) all-gather-start(f32[8]{0} %p)";
        assert_eq!(bytes_of_text(start), Some(128.0));
        let two = "%r = (f32[16,2]{1,0}, bf16[]{:T(128)}) all-reduce(f32[16,2]{1,0} %a, bf16[] %b)";
        assert_eq!(bytes_of_text(two), Some(130.0));
        assert_eq!(bytes_of_text("collective-permute-done"), None);
        assert_eq!(bytes_of_text("%u = f32[?]{0} all-reduce(f32[?]{0} %a)"), None);
    }
}
