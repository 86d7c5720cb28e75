//! `XEventMetadata` and `XStatMetadata`: what the ids of events and stats stand for.

use crate::wire::{Field, Fields, Value};
use crate::{Faults, Stats};

const EVENT: &str = "XEventMetadata";
const STAT: &str = "XStatMetadata";

/// What an event's `metadata_id` stands for.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventMetadataView<'a> {
    /// `id` (field 1); writers set it to the map key.
    pub id: i64,
    /// `name` (field 2): on TPU ops the whole HLO expression.
    pub name: &'a [u8],
    /// `metadata` (field 3): an opaque message of the writer.
    pub metadata: &'a [u8],
    /// `display_name` (field 4): on TPU ops the instruction's name.
    pub display_name: &'a [u8],
    body: &'a [u8],
    offset: u64,
}

impl<'a> EventMetadataView<'a> {
    /// Reads the bytes of an `XEventMetadata` that stand at `offset` in the file.
    #[must_use]
    pub fn new(body: &'a [u8], offset: u64) -> Self {
        Self::parse(body, offset, &mut Faults::default())
    }

    /// The message's bytes, for [`EventMetadataView::new`].
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    pub(crate) fn parse(body: &'a [u8], offset: u64, faults: &mut Faults) -> Self {
        let mut meta = Self { body, offset, ..Self::default() };
        let mut fields = Fields::new(body, offset);
        for field in fields.by_ref() {
            let part = match field.number {
                1 => field.int(EVENT).map(|v| meta.id = v),
                2 => field.text(EVENT).map(|v| meta.name = v),
                3 => field.text(EVENT).map(|v| meta.metadata = v),
                4 => field.text(EVENT).map(|v| meta.display_name = v),
                _ => Ok(()),
            };
            if let Err(fault) = part {
                faults.push(fault);
            }
        }
        if let Some(fault) = fields.fault(EVENT) {
            faults.push(fault);
        }
        meta
    }

    /// `stats` (field 5): facts that hold for every event with this metadata, such as FLOPs of an HLO op.
    #[must_use]
    pub fn stats(&self) -> Stats<'a> {
        Stats::new(self.body, self.offset, 5, EVENT)
    }

    /// `child_id` (field 6), packed or not: metadata ids of the parts, such as the instructions of a fusion.
    #[must_use]
    pub fn child_ids(&self) -> Vec<i64> {
        let mut ids = Vec::new();
        for field in Fields::new(self.body, self.offset).filter(|f| f.number == 6) {
            match field.value {
                Value::Varint(v) => ids.push(v as i64),
                Value::Bytes(packed) => {
                    let mut pos = 0;
                    while let Ok((v, next)) = crate::wire::varint(packed, pos) {
                        ids.push(v as i64);
                        pos = next;
                    }
                }
                Value::Fixed32(_) | Value::Fixed64(_) => {}
            }
        }
        ids
    }
}

/// What a stat's `metadata_id` stands for. A `ref` stat points here too: then the name is the string.
#[derive(Debug, Clone, Copy, Default)]
pub struct StatMetadataView<'a> {
    /// `id` (field 1).
    pub id: i64,
    /// `name` (field 2).
    pub name: &'a [u8],
    /// `description` (field 3).
    pub description: &'a [u8],
    /// Offset in the file of the metadata message.
    pub offset: u64,
}

impl<'a> StatMetadataView<'a> {
    pub(crate) fn parse(body: &'a [u8], offset: u64, faults: &mut Faults) -> Self {
        let mut meta = Self { offset, ..Self::default() };
        let mut fields = Fields::new(body, offset);
        for field in fields.by_ref() {
            let part = match field.number {
                1 => field.int(STAT).map(|v| meta.id = v),
                2 => field.text(STAT).map(|v| meta.name = v),
                3 => field.text(STAT).map(|v| meta.description = v),
                _ => Ok(()),
            };
            if let Err(fault) = part {
                faults.push(fault);
            }
        }
        if let Some(fault) = fields.fault(STAT) {
            faults.push(fault);
        }
        meta
    }
}

/// An entry of a protobuf map from integers to messages.
pub(crate) struct MapEntry<'a> {
    /// Field 1, where it is there.
    pub(crate) key: Option<i64>,
    /// The content of field 2; empty where it is not there.
    pub(crate) value: &'a [u8],
    /// Offset in the file of `value`.
    pub(crate) offset: u64,
}

impl<'a> MapEntry<'a> {
    /// Reads `field`, an entry. `None` for an entry that was cut before its value, which says nothing.
    pub(crate) fn parse(body: &'a [u8], field: &Field<'a>, faults: &mut Faults) -> Option<Self> {
        const ENTRY: &str = "map entry";
        let mut entry = Self { key: None, value: &body[..0], offset: field.content };
        let mut has_value = false;
        let mut fields = Fields::new(body, field.content);
        for part in fields.by_ref() {
            let part = match part.number {
                1 => part.int(ENTRY).map(|v| entry.key = Some(v)),
                2 => part.bytes(ENTRY).map(|v| {
                    (entry.value, entry.offset) = (v, part.content);
                    has_value = true;
                }),
                _ => Ok(()),
            };
            if let Err(fault) = part {
                faults.push(fault);
            }
        }
        if let Some(fault) = fields.fault(ENTRY) {
            faults.push(fault);
        }
        (field.whole || has_value).then_some(entry)
    }
}
