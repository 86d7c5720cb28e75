//! `XEvent`: the hot loop.

use crate::wire::{Fields, varint_before};
use crate::{Fault, RawStat, Stats};

const EVENT: &str = "XEvent";
const LINE: &str = "XLine";

/// The tag of a line's events: field 4, length-delimited.
pub(crate) const EVENTS_TAG: u8 = 4 << 3 | 2;

/// When an event happened: at a place on its line, or so many times without one (aggregated).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventTime {
    /// `offset_ps` (field 2), relative to the line's `timestamp_ns`. An event without either field starts at 0.
    OffsetPs(i64),
    /// `num_occurrences` (field 5): `duration_ps` is then the total of that many events.
    Occurrences(i64),
}

/// One event: three integers decoded, the stats left in place.
#[derive(Debug, Clone, Copy)]
pub struct EventView<'a> {
    /// `metadata_id` (field 1): key of the plane's event metadata.
    pub metadata_id: i64,
    /// `offset_ps` or `num_occurrences`.
    pub time: EventTime,
    /// `duration_ps` (field 3); negative in damaged files only.
    pub duration_ps: i64,
    /// The event's bytes.
    pub body: &'a [u8],
    /// Offset of [`EventView::body`] in the file.
    pub offset: u64,
}

impl<'a> EventView<'a> {
    /// Decodes the bytes of one event.
    ///
    /// # Errors
    /// The first malformed field.
    #[inline]
    pub fn parse(body: &'a [u8], offset: u64) -> Result<Self, Fault> {
        Self::parse_with(body, offset, |_| {})
    }

    /// Decodes the bytes of one event, and hands each of its stats to `stat` on the way: one pass where
    /// [`EventView::stats`] makes a second one. A stat may be handed over twice where the event is malformed or not
    /// written as profilers do.
    ///
    /// # Errors
    /// The first malformed field.
    #[inline]
    pub fn parse_with(body: &'a [u8], offset: u64, mut stat: impl FnMut(RawStat<'a>)) -> Result<Self, Fault> {
        match Self::parse_known((body, offset), (0, body.len()), &mut stat) {
            Some(event) => Ok(event),
            None => Self::parse_any_with(body, offset, stat),
        }
    }

    /// An event of known fields only, whole, with tags of one byte: what profilers write. `None` for any other, of which
    /// [`EventView::parse_any`] finds what is wrong, if anything is. The event stands from `from` to `end` in `data`, whose
    /// first byte is at `base` in the file.
    #[inline]
    fn parse_known(
        (data, base): (&'a [u8], u64),
        (from, end): (usize, usize),
        stat: &mut impl FnMut(RawStat<'a>),
    ) -> Option<Self> {
        let (mut metadata_id, mut time, mut duration_ps) = (0, EventTime::OffsetPs(0), 0);
        let body = data.get(from..end)?;
        let mut pos = from;
        while pos < end {
            let tag = *data.get(pos)?;
            let (value, next) = varint_before(data, pos + 1, end)?;
            pos = next;
            match tag {
                0x08 => metadata_id = value as i64,
                0x10 => time = EventTime::OffsetPs(value as i64),
                0x18 => duration_ps = value as i64,
                // The value is the length of a stat.
                0x22 => {
                    pos = next.checked_add(usize::try_from(value).ok()?).filter(|pos| *pos <= end)?;
                    stat(RawStat { data, from: next, end: pos });
                }
                0x28 => time = EventTime::Occurrences(value as i64),
                _ => return None,
            }
        }
        Some(Self { metadata_id, time, duration_ps, body, offset: base + from as u64 })
    }

    #[cold]
    fn parse_any_with(body: &'a [u8], offset: u64, stat: impl FnMut(RawStat<'a>)) -> Result<Self, Fault> {
        let event = Self::parse_any(body, offset)?;
        let stats = Fields::new(body, offset).filter(|f| f.number == 4);
        stats.filter_map(|f| f.bytes(EVENT).ok()).map(RawStat::of).for_each(stat);
        Ok(event)
    }

    #[cold]
    fn parse_any(body: &'a [u8], offset: u64) -> Result<Self, Fault> {
        let mut event = Self { metadata_id: 0, time: EventTime::OffsetPs(0), duration_ps: 0, body, offset };
        let mut fields = Fields::new(body, offset);
        for field in fields.by_ref() {
            match field.number {
                1 => event.metadata_id = field.int(EVENT)?,
                2 => event.time = EventTime::OffsetPs(field.int(EVENT)?),
                3 => event.duration_ps = field.int(EVENT)?,
                5 => event.time = EventTime::Occurrences(field.int(EVENT)?),
                _ => {}
            }
        }
        match fields.fault(EVENT) {
            Some(fault) => Err(fault),
            None => Ok(event),
        }
    }

    /// The bytes of the event that begins at `offset` ([`Events::at`]), and where they stand in the file. `line` is what the
    /// line has from there on. Empty where there is no event.
    #[inline]
    #[must_use]
    pub fn body_at(line: &'a [u8], offset: u64) -> (&'a [u8], u64) {
        let mut fields = Fields::new(line, offset);
        if let Some(found) = fields.next_of(EVENTS_TAG) {
            return found;
        }
        let field = fields.next().filter(|field| field.number == 4 && field.whole);
        field.and_then(|f| Some((f.bytes(LINE).ok()?, f.content))).unwrap_or((&[], offset))
    }

    /// `stats` (field 4), decoded as they are asked for.
    #[must_use]
    pub fn stats(&self) -> Stats<'a> {
        Stats::of_event(self.body, self.offset)
    }
}

/// The events of a line, in file order. A malformed event is left out and kept in [`Events::faults`]. One that is cut by
/// the end of the line is left out too; that was reported when the line's header was read
/// ([`SpaceView::faults`](crate::SpaceView::faults)), so adding the two together counts nothing twice.
#[derive(Debug, Clone)]
pub struct Events<'a> {
    fields: Fields<'a>,
    faults: crate::Faults,
    at: u64,
}

impl<'a> Events<'a> {
    pub(crate) fn new(line: &'a [u8], offset: u64) -> Self {
        Self { fields: Fields::new(line, offset), faults: crate::Faults::default(), at: offset }
    }

    /// Where the event that was given last begins in the file: its tag, from which [`EventView::body_at`] finds it again.
    #[inline]
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The malformed events so far, which were left out.
    #[must_use]
    pub fn faults(&self) -> crate::Faults {
        self.faults.clone()
    }

    /// The next event; its stats go to `stat`, see [`EventView::parse_with`].
    #[inline]
    pub fn next_with(&mut self, mut stat: impl FnMut(RawStat<'a>)) -> Option<EventView<'a>> {
        loop {
            self.at = self.fields.at();
            if let Some((from, end)) = self.fields.next_place_of(EVENTS_TAG) {
                let (data, base) = self.fields.data();
                if let Some(event) = EventView::parse_known((data, base), (from, end), &mut stat) {
                    return Some(event);
                }
                match EventView::parse_any_with(&data[from..end], base + from as u64, &mut stat) {
                    Ok(event) => return Some(event),
                    Err(fault) => self.faults.push(fault),
                }
                continue;
            }
            let field = self.fields.next()?;
            // A field 4 of another wire type is reported when the line's header is read.
            let (body, offset) = match field.bytes(LINE) {
                Ok(body) if field.number == 4 && field.whole => (body, field.content),
                _ => continue,
            };
            match EventView::parse_with(body, offset, &mut stat) {
                Ok(event) => return Some(event),
                Err(fault) => self.faults.push(fault),
            }
        }
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = EventView<'a>;

    #[inline]
    fn next(&mut self) -> Option<EventView<'a>> {
        self.next_with(|_| {})
    }
}
