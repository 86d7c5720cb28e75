//! `XPlane` and `XLine`.

use crate::event::{EVENTS_TAG, Events};
use crate::metadata::{EventMetadataView, MapEntry, StatMetadataView};
use crate::wire::Fields;
use crate::{Faults, StatView};

const PLANE: &str = "XPlane";
const LINE: &str = "XLine";

/// One device or host: lines, stats, and the tables that give its ids a name.
#[derive(Debug, Clone, Default)]
pub struct PlaneView<'a> {
    /// `id` (field 1).
    pub id: i64,
    /// `name` (field 2), such as `/device:TPU:0`.
    pub name: &'a [u8],
    /// `lines` (field 3), in file order.
    pub lines: Vec<LineView<'a>>,
    /// `event_metadata` (field 4) by map key, in file order. A key may repeat: the last one counts (proto3).
    pub event_metadata: Vec<(i64, EventMetadataView<'a>)>,
    /// `stat_metadata` (field 5), likewise.
    pub stat_metadata: Vec<(i64, StatMetadataView<'a>)>,
    /// `stats` (field 6): facts about the plane, such as peak rates.
    pub stats: Vec<StatView<'a>>,
    /// Offset of the plane's content in the file.
    pub offset: u64,
}

impl<'a> PlaneView<'a> {
    pub(crate) fn parse(body: &'a [u8], offset: u64, faults: &mut Faults) -> Self {
        let mut plane = Self { offset, ..Self::default() };
        let mut fields = Fields::new(body, offset);
        for field in fields.by_ref() {
            let part = match field.number {
                1 => field.int(PLANE).map(|v| plane.id = v),
                2 => field.text(PLANE).map(|v| plane.name = v),
                3 => field.bytes(PLANE).map(|body| {
                    let line = LineView::parse(body, field.content, faults);
                    plane.lines.push(line);
                }),
                4 => field.bytes(PLANE).map(|body| {
                    if let Some(entry) = MapEntry::parse(body, &field, faults) {
                        let value = EventMetadataView::parse(entry.value, entry.offset, faults);
                        // An entry without a key stands for key 0; writers that leave the key out set the inner id.
                        plane.event_metadata.push((entry.key.unwrap_or(value.id), value));
                    }
                }),
                5 => field.bytes(PLANE).map(|body| {
                    if let Some(entry) = MapEntry::parse(body, &field, faults) {
                        let value = StatMetadataView::parse(entry.value, entry.offset, faults);
                        plane.stat_metadata.push((entry.key.unwrap_or(value.id), value));
                    }
                }),
                6 => field.bytes(PLANE).map(|body| {
                    // A cut stat is reported as the cut of the plane, below.
                    if field.whole {
                        plane.stats.extend(StatView::parse(body, field.content, faults));
                    }
                }),
                _ => Ok(()),
            };
            if let Err(fault) = part {
                faults.push(fault);
            }
        }
        if let Some(fault) = fields.fault(PLANE) {
            faults.push(fault);
        }
        plane
    }
}

/// One stream or thread. The header has been read and the events counted; [`LineView::events`] decodes them.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineView<'a> {
    /// `id` (field 1); unique within a plane as a rule, a thread id on host planes.
    pub id: i64,
    /// `name` (field 2).
    pub name: &'a [u8],
    /// `timestamp_ns` (field 3): the base to which event offsets are relative.
    pub timestamp_ns: i64,
    /// `duration_ps` (field 9).
    pub duration_ps: i64,
    /// `display_id` (field 10).
    pub display_id: i64,
    /// `display_name` (field 11).
    pub display_name: &'a [u8],
    /// Number of whole events (field 4).
    pub event_count: u64,
    /// The line's bytes, as far as they were there.
    pub body: &'a [u8],
    /// Offset of [`LineView::body`] in the file.
    pub offset: u64,
}

impl<'a> LineView<'a> {
    fn parse(body: &'a [u8], offset: u64, faults: &mut Faults) -> Self {
        let mut line = Self { body, offset, ..Self::default() };
        let mut fields = Fields::new(body, offset);
        loop {
            while fields.next_of(EVENTS_TAG).is_some() {
                line.event_count += 1;
            }
            let Some(field) = fields.next() else { break };
            let part = match field.number {
                4 => field.bytes(LINE).map(|_| line.event_count += u64::from(field.whole)),
                1 => field.int(LINE).map(|v| line.id = v),
                2 => field.text(LINE).map(|v| line.name = v),
                3 => field.int(LINE).map(|v| line.timestamp_ns = v),
                9 => field.int(LINE).map(|v| line.duration_ps = v),
                10 => field.int(LINE).map(|v| line.display_id = v),
                11 => field.text(LINE).map(|v| line.display_name = v),
                _ => Ok(()),
            };
            if let Err(fault) = part {
                faults.push(fault);
            }
        }
        if let Some(fault) = fields.fault(LINE) {
            faults.push(fault);
        }
        line
    }

    /// The events in file order.
    #[must_use]
    pub fn events(&self) -> Events<'a> {
        Events::new(self.body, self.offset)
    }
}
