//! Lines that are encoded while their events come, for files of more events than one wants to hold as structs.

use super::{Event, Line, Plane, message};

/// A line whose events are bytes already.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EncodedLine {
    /// Everything but the events.
    pub head: Line,
    events: Vec<u8>,
}

impl EncodedLine {
    /// A line without events; those of `head` come first.
    #[must_use]
    pub fn new(head: Line) -> Self {
        Self { head, events: Vec::new() }
    }

    /// Adds an event.
    pub fn push(&mut self, event: &Event) {
        message(&mut self.events, 4, |out| event.encode(out));
    }

    /// Adds an event that was written by somebody else.
    pub(crate) fn push_encoded(&mut self, event: &[u8]) {
        super::bytes(&mut self.events, 4, event);
    }

    /// Bytes that the events take.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True if no event was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

impl Plane {
    /// Appends the plane to an `XSpace` under construction, with these lines behind its own.
    pub fn append_to(&self, lines: &[EncodedLine], space: &mut Vec<u8>) {
        message(space, 1, |out| {
            self.encode(out);
            for line in lines {
                message(out, 3, |out| {
                    line.head.encode(out);
                    out.extend_from_slice(&line.events);
                });
            }
        });
    }
}
