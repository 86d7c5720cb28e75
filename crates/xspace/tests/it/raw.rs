//! Messages as raw fields, to be rewritten in ways that the writer does not write but protobuf allows.

use haloscope_xspace::wire::{Field, Fields, Value};

/// The messages of the schema that hold others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    Space,
    Plane,
    Line,
    Event,
    Stat,
    EventEntry,
    EventMetadata,
    StatEntry,
    StatMetadata,
}

impl Message {
    /// The message in field `number`, where there is one.
    fn child(self, number: u32) -> Option<Self> {
        Some(match (self, number) {
            (Self::Space, 1) => Self::Plane,
            (Self::Plane, 3) => Self::Line,
            (Self::Plane, 4) => Self::EventEntry,
            (Self::Plane, 5) => Self::StatEntry,
            (Self::Plane, 6) | (Self::Event, 4) | (Self::EventMetadata, 5) => Self::Stat,
            (Self::Line, 4) => Self::Event,
            (Self::EventEntry, 2) => Self::EventMetadata,
            (Self::StatEntry, 2) => Self::StatMetadata,
            _ => return None,
        })
    }
}

/// One field: its number and its bytes, the tag included.
pub(crate) type RawField = (u32, Vec<u8>);

/// Writes `bytes`, a message of type `of`, again: innermost messages first, the fields of each handed to `change`.
pub(crate) fn rewrite(
    bytes: &[u8],
    of: Message,
    change: &mut dyn FnMut(Message, Vec<RawField>) -> Vec<RawField>,
) -> Vec<u8> {
    let fields: Vec<Field<'_>> = Fields::new(bytes, 0).collect();
    let ends = fields.iter().skip(1).map(|f| f.offset as usize).chain([bytes.len()]);
    let mut raw = Vec::new();
    for (field, end) in fields.iter().zip(ends) {
        let written = match (of.child(field.number), field.value) {
            (Some(child), Value::Bytes(body)) => delimited(field.number, &rewrite(body, child, change)),
            _ => bytes[field.offset as usize..end].to_owned(),
        };
        raw.push((field.number, written));
    }
    change(of, raw).into_iter().flat_map(|(_, bytes)| bytes).collect()
}

pub(crate) fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// The same number in ten bytes, which protobuf readers accept.
pub(crate) fn long_varint(value: u64) -> Vec<u8> {
    (0..10).map(|i| (value >> (7 * i)) as u8 & 0x7f | if i < 9 { 0x80 } else { 0 }).collect()
}

pub(crate) fn delimited(number: u32, body: &[u8]) -> Vec<u8> {
    [varint(u64::from(number) << 3 | 2), varint(body.len() as u64), body.to_owned()].concat()
}

pub(crate) fn number(number: u32, value: i64) -> Vec<u8> {
    [varint(u64::from(number) << 3), varint(value as u64)].concat()
}
