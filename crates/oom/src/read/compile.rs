//! What the compiler for TPUs says.

use super::{listing, short};
use crate::message::{Buffer, Form, Message, Named, What};
use crate::size::Size;
use haloscope_report::head;

use crate::text::{after, between};

/// Bytes of a message that are looked at for its numbers.
const NEAR: usize = 64 << 10;
/// Bytes of a message of one line.
const LINE: usize = 4 << 10;
/// Bytes of a word of a SparseCore's memories.
const WORD_BYTES: i64 = 4;

/// `Ran out of memory on HBM, the total memory required for HLO temporaries (21.04G) exceeds available HBM (15.75G). HLO module: x.`
pub(super) fn total(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], LINE);
    let rest = near.strip_prefix("Ran out of memory on ")?;
    let (space, rest) = rest.split_once(',')?;
    let mut message = Message::new(Form::HbmTotal, &space_of(space)?);
    let blamed = between(rest, "required for ", " (")?;
    message.blamed = short(blamed);
    let (required, rest) = Size::parse(after(rest, &format!("{blamed} ("))?)?;
    message.required = Some(required);
    message.limit = after(rest, "exceeds available").and_then(|rest| after(rest, "(")).and_then(size);
    if let Some(module) = after(rest, "HLO module:") {
        message.module = short(module.lines().next().unwrap_or_default()).trim_end_matches('.').to_owned();
    }
    Some(message)
}

/// `Ran out of memory in memory space hbm. Used 63.80G of 30.75G hbm. Exceeded hbm capacity by 33.05G.` with lists behind it, or
/// `... while allocating on stack for %x = ...`.
pub(super) fn in_space(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], NEAR);
    let rest = near.strip_prefix("Ran out of memory in memory space ")?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let space = space_of(&rest[..end])?;
    let rest = &rest[end..];
    if let Some(instruction) = rest.strip_prefix(" while allocating on stack for ") {
        return Some(on_stack(&space, instruction));
    }
    let mut message = Message::new(Form::LargestAllocations, &space);
    let used = after(head(rest, 400), "Used ").and_then(Size::parse);
    if let Some((used, rest)) = used {
        message.required = Some(used);
        message.limit = rest.strip_prefix(" of ").and_then(size);
        message.over =
            after(head(rest, 400), "Exceeded ").and_then(|rest| after(rest, "capacity by ")).and_then(size);
    }
    let estimated = between(head(rest, 400), "Estimated ", " exceeds ").and_then(size);
    message.required = message.required.or(estimated);
    listing::read(head(&text[at..], listing::MOST), &mut message);
    if message.parts.is_empty() && message.buffers.is_empty() && message.space == "hbm" {
        message.form = Form::HbmTotal;
    }
    Some(message)
}

/// The stack of an instruction.
fn on_stack(space: &str, text: &str) -> Message {
    let mut message = Message::new(Form::ScopedStack, space);
    let numbers = text.find("coped allocation with size ");
    let described = &text[..numbers.map_or_else(|| head(text, LINE).len(), |at| at.saturating_sub(1))];
    let described = described.split("\nSee https").next().unwrap_or(described);
    message.named = Some(named(described));
    if let Some(at) = numbers {
        scoped_sizes(&text[at..], &mut message);
    }
    message.buffers.extend(stack(&message));
    message
}

/// The numbers of `coped allocation with size 64.00M and limit 16.00M exceeded scoped vmem limit by 48.00M`, in older texts
/// `... with size 45108224 bytes exceeds the scoped vmem limit of 33554432`.
fn scoped_sizes(text: &str, message: &mut Message) -> Option<()> {
    let near = head(text, 400);
    let (required, rest) = Size::parse(after(near, "coped allocation with size ")?)?;
    message.required = Some(required);
    message.limit = after(rest, "limit ").and_then(|rest| size(rest.strip_prefix("of ").unwrap_or(rest)));
    if let Some(limit) = rest.strip_prefix(" and limit ") {
        message.limit = size(limit);
    }
    message.over = after(rest, "limit by ").and_then(size);
    Some(())
}

/// As [`on_stack`] where the instruction is not named.
pub(super) fn scoped_only(text: &str, at: usize) -> Option<Message> {
    let before = text[..at].rfind("while allocating on stack for ");
    if before.is_some_and(|before| at - before < NEAR) {
        return None;
    }
    let mut message = Message::new(Form::ScopedStack, "vmem");
    scoped_sizes(&text[at..], &mut message)?;
    message.buffers.extend(stack(&message));
    Some(message)
}

/// `Insufficient scoped vmem: 44.05M > 32M`.
pub(super) fn insufficient(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], 200);
    let (required, rest) = Size::parse(after(near, ":")?)?;
    let mut message = Message::new(Form::ScopedStack, "vmem");
    message.required = Some(required);
    message.limit = after(rest, ">").and_then(size);
    message.buffers.extend(stack(&message));
    Some(message)
}

/// The only buffer of such a message: the stack as a whole.
fn stack(message: &Message) -> Option<Buffer> {
    let size = message.required?;
    let named = message.named.clone().unwrap_or_default();
    Some(Buffer {
        what: What::Stack,
        size: Some(size),
        shape: named.shape,
        name: named.name,
        op_name: named.op_name,
        ..Buffer::default()
    })
}

/// `Allocation (size=262144) would exceed memory (size=2048) :: #allocation3 [shape = 's32[65536]{0}', space=sflag, size = 0x40000,
/// scoped, tag = 'scratch operand'] :: x.1`.
pub(super) fn one_allocation(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], LINE);
    let (required, rest) = Size::parse(near.strip_prefix("Allocation (size=")?)?;
    let (limit, rest) = Size::parse(after(rest, "would exceed memory (size=")?)?;
    let space = between(rest, "space=", ",").or_else(|| between(rest, "space=", "]")).unwrap_or("device");
    let mut message = Message::new(Form::OneAllocation, &space_of(space)?);
    message.required = Some(required);
    message.limit = Some(limit);
    let tag = between(rest, "tag = '", "']").or_else(|| between(rest, "tag = '", "'")).unwrap_or_default();
    let mut buffer = Buffer {
        size: Some(required),
        shape: between(rest, "shape = '", "'").map(short).unwrap_or_default(),
        name: rest
            .rsplit_once("] :: ")
            .map(|(_, name)| short(name.lines().next().unwrap_or_default()))
            .unwrap_or_default(),
        ..Buffer::default()
    };
    listing::tagged(tag, &mut buffer);
    message.named =
        Some(Named { name: buffer.name.clone(), opcode: "custom-call".to_owned(), ..Named::default() });
    message.buffers.push(buffer);
    Some(message)
}

/// `current allocation offset upper bound (4194303 words) exceeds the legitimate user allocatable offset upper bound (1048575 words)
/// in memory space spmem when allocating 4194304 words`.
pub(super) fn sparse_core(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], LINE);
    let (highest, rest) = Size::parse(after(near, "upper bound (")?)?;
    let (limit, rest) = Size::parse(after(rest, "upper bound (")?)?;
    let space = after(rest, "in memory space ").unwrap_or("spmem");
    let end = space.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(space.len());
    let mut message = Message::new(Form::SparseCoreOffset, &space_of(&space[..end])?);
    let asked = after(rest, "when allocating ").and_then(size);
    // What stood there already and what was to be added end at the highest offset.
    let required = highest.bytes.saturating_add(1).max(asked.map_or(0, |asked| asked.bytes));
    message.words = Some((required, limit.bytes));
    message.required = Some(Size::exact(required.saturating_mul(WORD_BYTES)));
    message.limit = Some(Size::exact(limit.bytes.saturating_mul(WORD_BYTES)));
    let op = between(rest, "current operation:", "\n")
        .or_else(|| after(rest, "current operation:"))
        .unwrap_or_default();
    let shape = between(op, "memref<", ",").map(short).unwrap_or_default();
    let asked = asked.map(|asked| Size::exact(asked.bytes.saturating_mul(WORD_BYTES)));
    message.buffers.push(Buffer {
        what: if op.contains("memref.alloca") { What::Scratch } else { What::Unknown },
        size: asked,
        unpadded: asked,
        shape,
        ..Buffer::default()
    });
    Some(message)
}

/// What a text says of an instruction: `%x.1 = f32[8,128]{1,0} custom-call(%y), ..., metadata={op_name="..."}`.
pub(super) fn named(text: &str) -> Named {
    let text = head(text.trim(), LINE);
    let (name, rest) = text.split_once(" = ").unwrap_or((text, ""));
    let shape = shape_at(rest);
    let opcode = rest[shape.len()..].trim_start();
    let operands = after(text, "operand_layout_constraints={").map(in_braces).unwrap_or_default();
    Named {
        name: short(name.trim_start_matches('%')),
        shape: short(shape),
        opcode: short(opcode.split('(').next().unwrap_or_default()),
        op_name: between(text, "op_name=\"", "\"").map(short).unwrap_or_default(),
        operands: shapes(operands),
    }
}

/// What stands before the brace that closes what was opened before the text.
fn in_braces(text: &str) -> &str {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return &text[..at],
            '}' => depth -= 1,
            _ => {}
        }
    }
    text
}

/// The shape at the start of a text, a tuple's too.
fn shape_at(text: &str) -> &str {
    let mut depth = 0usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => return &text[..at],
            _ => {}
        }
    }
    text
}

/// Shapes in a list of them.
fn shapes(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text;
    while all.len() < 64 && !rest.is_empty() {
        let mut depth = 0usize;
        let end = rest.char_indices().find(|(_, c)| {
            match c {
                '(' | '{' | '[' => depth += 1,
                ')' | '}' | ']' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => return true,
                _ => {}
            }
            false
        });
        let end = end.map_or(rest.len(), |(at, _)| at);
        all.push(short(&rest[..end]));
        rest = rest.get(end + 1..).unwrap_or_default().trim_start();
    }
    all
}

/// The size at the start of a text.
fn size(text: &str) -> Option<Size> {
    Size::parse(text).map(|(size, _)| size)
}

/// The name of a memory in lower case; `None` for what cannot be one.
fn space_of(text: &str) -> Option<String> {
    let text = text.trim();
    let is_name =
        !text.is_empty() && text.len() < 32 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| text.to_ascii_lowercase())
}
