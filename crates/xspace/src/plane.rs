//! `XPlane` and `XLine`.

use crate::event::{EVENTS_TAG, Events};
use crate::metadata::{EventMetadataView, MapEntry, StatMetadataView};
use crate::wire::Fields;
use crate::{Faults, StatView, part};

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
    /// Reads a plane but for its lines, which it puts where they are read later: `number` is the plane they belong to.
    pub(crate) fn outline(body: &'a [u8], offset: u64, number: usize, outline: &mut Outline<'a>) -> Self {
        let mut plane = Self { offset, ..Self::default() };
        let mut fields = Fields::new(body, offset);
        for field in fields.by_ref() {
            let part = match field.number {
                1 => field.int(PLANE).map(|v| plane.id = v),
                2 => field.text(PLANE).map(|v| plane.name = v),
                3 => field.bytes(PLANE).map(|body| {
                    outline.add(RawLine { plane: number, body, offset: field.content });
                }),
                4 => field.bytes(PLANE).map(|body| {
                    if let Some(entry) = MapEntry::parse(body, &field, &mut outline.faults) {
                        let value = EventMetadataView::parse(entry.value, entry.offset, &mut outline.faults);
                        // An entry without a key stands for key 0; writers that leave the key out set the inner id.
                        plane.event_metadata.push((entry.key.unwrap_or(value.id), value));
                    }
                }),
                5 => field.bytes(PLANE).map(|body| {
                    if let Some(entry) = MapEntry::parse(body, &field, &mut outline.faults) {
                        let value = StatMetadataView::parse(entry.value, entry.offset, &mut outline.faults);
                        plane.stat_metadata.push((entry.key.unwrap_or(value.id), value));
                    }
                }),
                6 => field.bytes(PLANE).map(|body| {
                    // A cut stat is reported as the cut of the plane, below.
                    if field.whole {
                        plane.stats.extend(StatView::parse(body, field.content, &mut outline.faults));
                    }
                }),
                _ => Ok(()),
            };
            if let Err(fault) = part {
                outline.faults.push(fault);
            }
        }
        if let Some(fault) = fields.fault(PLANE) {
            outline.faults.push(fault);
        }
        plane
    }
}

/// A line whose header has not been read yet. That takes a walk over all its events: nearly all the time that it takes to
/// read a file's structure.
#[derive(Debug, Clone, Copy)]
pub struct RawLine<'a> {
    /// Number of the plane it belongs to.
    pub(crate) plane: usize,
    body: &'a [u8],
    offset: u64,
}

impl<'a> RawLine<'a> {
    /// Its size in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// True for a line without anything in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Reads the header and counts the events.
    #[must_use]
    pub fn read(&self) -> (LineView<'a>, Faults) {
        let mut faults = Faults::default();
        let line = LineView::parse(self.body, self.offset, &mut faults);
        (line, faults)
    }
}

/// The lines of a file and the faults met between them.
#[derive(Debug, Default)]
pub(crate) struct Outline<'a> {
    pub(crate) lines: Vec<RawLine<'a>>,
    /// The faults before each line, and behind the one before it.
    before: Vec<Faults>,
    /// The faults behind the last line so far.
    pub(crate) faults: Faults,
}

impl<'a> Outline<'a> {
    fn add(&mut self, line: RawLine<'a>) {
        self.lines.push(line);
        self.before.push(std::mem::take(&mut self.faults));
    }

    /// All faults in the order in which they are met, given those of the lines.
    pub(crate) fn all_faults<'f>(&self, of_lines: impl Iterator<Item = &'f Faults>) -> Faults {
        let mut all = Faults::default();
        for (before, of_line) in self.before.iter().zip(of_lines) {
            all.extend(before);
            all.extend(of_line);
        }
        all.extend(&self.faults);
        all
    }
}

/// One stream or thread. The header has been read and the events counted; [`LineView::events`] decodes them.
#[derive(Debug, Clone, Default)]
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
    /// Events that the line had where it was recorded, of one that stands in a [part](crate::part) without them; else 0.
    pub left_out: u64,
    /// Where every [`LineView::STRIDE`]th event begins, from the line's first byte on: the first of these is event number
    /// `STRIDE`. A long line can be decoded in parts of which each begins at one.
    pub strides: Vec<u64>,
    /// The line's bytes, as far as they were there.
    pub body: &'a [u8],
    /// Offset of [`LineView::body`] in the file.
    pub offset: u64,
}

impl<'a> LineView<'a> {
    /// Events from one of [`LineView::strides`] to the next.
    pub const STRIDE: u64 = 1 << 16;

    fn parse(body: &'a [u8], offset: u64, faults: &mut Faults) -> Self {
        let mut line = Self { body, offset, ..Self::default() };
        let mut fields = Fields::new(body, offset);
        loop {
            let mut at = fields.at();
            while fields.next_place_of(EVENTS_TAG).is_some() {
                line.count(at - offset);
                at = fields.at();
            }
            let Some(field) = fields.next() else { break };
            let part = match field.number {
                4 => field.bytes(LINE).map(|_| {
                    if field.whole {
                        line.count(at - offset);
                    }
                }),
                1 => field.int(LINE).map(|v| line.id = v),
                2 => field.text(LINE).map(|v| line.name = v),
                3 => field.int(LINE).map(|v| line.timestamp_ns = v),
                9 => field.int(LINE).map(|v| line.duration_ps = v),
                10 => field.int(LINE).map(|v| line.display_id = v),
                11 => field.text(LINE).map(|v| line.display_name = v),
                part::LEFT_OUT => field.int(LINE).map(|v| line.left_out = u64::try_from(v).unwrap_or(0)),
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

    /// Counts an event that begins at `at`.
    #[inline]
    fn count(&mut self, at: u64) {
        if self.event_count > 0 && self.event_count.is_multiple_of(Self::STRIDE) {
            self.strides.push(at);
        }
        self.event_count += 1;
    }

    /// The events in file order.
    #[must_use]
    pub fn events(&self) -> Events<'a> {
        Events::new(self.body, self.offset)
    }
}
