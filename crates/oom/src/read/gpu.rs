//! What allocators of GPUs say, and what the runtime says of any device.

use super::{listing, short};
use crate::message::{Buffer, Form, Message, Part, What};
use crate::size::Size;
use haloscope_report::head;

use crate::text::{after, between, tail};

/// Bytes of a message.
const LINE: usize = 2 << 10;
/// Bytes around a message in which an allocator's numbers stand.
const AROUND: usize = 256 << 10;

/// `Out of memory while trying to allocate 7406166528 bytes.`, with XLA's buffers behind it where it knows them.
pub(super) fn while_trying(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], LINE);
    let (required, _) = Size::parse(after(near, "allocat").and_then(|rest| rest.split_once(' '))?.1)?;
    let mut message = begun(text, at, required);
    listing::read(head(&text[at..], listing::MOST), &mut message);
    Some(message)
}

/// `Failed to allocate request for 32.00MiB (33554432B) on device ordinal 0`.
pub(super) fn request(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], LINE);
    let (size, rest) = Size::parse(after(near, "request for ")?)?;
    let exact = between(rest, "(", ")").and_then(Size::parse).map(|(size, _)| size);
    let mut message = begun(text, at, exact.unwrap_or(size));
    message.device = after(rest, "on device ordinal ").map(first_word).unwrap_or_default();
    Some(message)
}

/// `failed to allocate 2.2KiB (2250 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) fn from_device(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], 300);
    let (size, rest) = Size::parse(after(near, "allocate ")?)?;
    if !near.lines().next()?.contains("from device") {
        return None;
    }
    let exact = between(rest, "(", ")").and_then(Size::parse).map(|(size, _)| size);
    Some(begun(text, at, exact.unwrap_or(size)))
}

/// `Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.25GiB`, which a program may live with.
pub(super) fn allocator(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], LINE);
    let (size, rest) = Size::parse(after(near, "trying to allocate ")?)?;
    let exact = between(head(rest, 60), "(rounded to ", ")").and_then(Size::parse).map(|(size, _)| size);
    let mut message = begun(text, at, exact.unwrap_or(size));
    message.is_warning = head(rest, 300).contains("not a failure");
    message.device = before(text, at)
        .rsplit_once('(')
        .and_then(|(_, name)| name.split_once(')'))
        .map(|(name, _)| short(name))
        .unwrap_or_default();
    Some(message)
}

/// `OOM when allocating tensor with shape[256,64,112,112] and type float on /job:localhost/.../device:GPU:0 by allocator GPU_0_bfc`.
pub(super) fn tensor(text: &str, at: usize) -> Option<Message> {
    let near = head(&text[at..], LINE);
    let dimensions = between(near, "shape[", "]")?;
    let kind = between(near, "and type ", " ").unwrap_or_default();
    let name = match kind {
        "float" => "f32",
        "half" => "f16",
        "bfloat16" => "bf16",
        "double" => "f64",
        "int32" => "s32",
        "int64" => "s64",
        "int8" => "s8",
        "uint8" => "u8",
        "bool" => "pred",
        _ => "",
    };
    let shape = format!("{name}[{}]", dimensions.replace(' ', ""));
    let size = crate::shape::unpadded_bytes(&shape).map(Size::exact);
    let mut message = begun(text, at, Size::exact(0));
    message.required = size;
    message.device = between(near, " on ", " by").map(short).unwrap_or_default();
    message.buffers.push(Buffer {
        what: What::Temporary,
        size,
        unpadded: size,
        shape: short(&shape),
        ..Buffer::default()
    });
    Some(message)
}

/// PyTorch's: `CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 14.21 GiB already allocated; 1.02 GiB
/// free; ...)`, in newer releases in sentences.
pub(super) fn tried(text: &str, at: usize) -> Option<Message> {
    if !before(text, at).contains("out of memory") {
        return None;
    }
    let near = head(&text[at..], LINE);
    let (size, rest) = Size::parse(after(near, "Tried to allocate ")?)?;
    let mut message = begun(text, at, size);
    message.space = "gpu".to_owned();
    let stated = |word: &str| {
        let end = rest.find(word)?;
        let number = rest[..end]
            .rfind(|c: char| !(c.is_ascii_digit() || c == '.' || c == ' ' || c.is_ascii_alphabetic()))?;
        let words = rest.get(number + 1..end)?;
        let from = words.find(|c: char| c.is_ascii_digit())?;
        Size::parse(&words[from..]).map(|(size, _)| size)
    };
    let sentence = |word: &str| after(rest, word).and_then(Size::parse).map(|(size, _)| size);
    message.limit = sentence("of which ").or_else(|| stated(" free"));
    let capacity = sentence("total capacity of ").or_else(|| stated(" total capacity"));
    let parts = [
        ("capacity", capacity),
        ("in use", stated(" already allocated").or_else(|| stated(" is allocated by PyTorch"))),
    ];
    for (name, size) in parts {
        message.parts.extend(size.map(|size| Part {
            list: "allocator",
            name: name.to_owned(),
            size,
            remark: String::new(),
        }));
    }
    Some(message)
}

/// A message of a running program that asked for so much.
fn begun(text: &str, at: usize, required: Size) -> Message {
    let from = (at.saturating_sub(AROUND / 4)..=at).find(|from| text.is_char_boundary(*from)).unwrap_or(at);
    let around = head(&text[from..], AROUND);
    let is_gpu = ["GPU", "CUDA", "cuda", "bfc_allocator", "_bfc"].iter().any(|mark| around.contains(mark));
    let is_tpu = ["TPU", "tpu_", "HBM0"].iter().any(|mark| around.contains(mark));
    let space = if is_gpu {
        "gpu"
    } else if is_tpu {
        "hbm"
    } else {
        "device"
    };
    let mut message = Message::new(Form::RuntimeAllocation, space);
    message.required = Some(required);
    // The numbers that a BFC allocator writes: they stand in front of the error as a rule.
    let stat = |name: &str| {
        let mut found = None;
        for line in around.lines() {
            if let Some(rest) =
                line.trim_start().strip_prefix(name).filter(|rest| rest.starts_with([' ', '\t']))
            {
                found = Size::parse(rest).map(|(size, _)| size).or(found);
            }
        }
        found
    };
    if let (Some(capacity), Some(in_use)) = (stat("Limit:"), stat("InUse:")) {
        message.limit = Some(capacity.minus(in_use));
        for (name, size) in [("capacity", capacity), ("in use", in_use)] {
            message.parts.push(Part {
                list: "allocator",
                name: name.to_owned(),
                size,
                remark: String::new(),
            });
        }
    }
    message
}

/// The end of what stands before a place.
fn before(text: &str, at: usize) -> &str {
    let from = (at.saturating_sub(200)..=at).find(|from| text.is_char_boundary(*from)).unwrap_or(at);
    tail(&text[from..at])
}

fn first_word(text: &str) -> String {
    short(text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default())
}
