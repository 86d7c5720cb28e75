//! `XEvent`: the hot loop.

use crate::wire::Fields;
use crate::{Fault, Stats};

const EVENT: &str = "XEvent";
const LINE: &str = "XLine";

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

    /// `stats` (field 4), decoded as they are asked for.
    #[must_use]
    pub fn stats(&self) -> Stats<'a> {
        Stats::new(self.body, self.offset, 4)
    }
}

/// The events of a line, in file order. A malformed event is left out and kept in [`Events::faults`]; one that is cut
/// by the end of the line ends the iteration.
#[derive(Debug, Clone)]
pub struct Events<'a> {
    fields: Fields<'a>,
    faults: crate::Faults,
}

impl<'a> Events<'a> {
    pub(crate) fn new(line: &'a [u8], offset: u64) -> Self {
        Self { fields: Fields::new(line, offset), faults: crate::Faults::default() }
    }

    /// What was malformed so far: events that were left out, and what ended the line early.
    #[must_use]
    pub fn faults(&self) -> crate::Faults {
        let mut all = self.faults.clone();
        if let Some(fault) = self.fields.fault(LINE) {
            all.push(fault);
        }
        all
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = EventView<'a>;

    #[inline]
    fn next(&mut self) -> Option<EventView<'a>> {
        loop {
            let field = self.fields.next()?;
            if field.number != 4 || !field.whole {
                continue;
            }
            // A field 4 of another wire type is reported when the line's header is read.
            let Ok(body) = field.bytes(LINE) else { continue };
            match EventView::parse(body, field.content) {
                Ok(event) => return Some(event),
                Err(fault) => self.faults.push(fault),
            }
        }
    }
}
