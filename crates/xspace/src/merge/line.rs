//! One line of its parts.

use super::tables::Renamed;
use crate::wire::{Fields, Value};
use crate::write::{EncodedLine, Event, Line};
use crate::{EventTime, LineView};

/// A line as one piece has it.
pub(super) struct Part<'p, 'a> {
    pub(super) view: &'p LineView<'a>,
    pub(super) renamed: &'p Renamed,
}

/// The parts as one line, whose time is the earliest of theirs: events of the others are moved by the difference.
pub(super) fn merge(parts: &[Part<'_, '_>]) -> EncodedLine {
    let with_events = || parts.iter().filter(|part| part.view.event_count > 0);
    let earliest = with_events().map(|part| part.view.timestamp_ns).min();
    let timestamp_ns = earliest.or(parts.first().map(|part| part.view.timestamp_ns)).unwrap_or(0);
    let text = |of: &dyn Fn(&LineView<'_>) -> String| {
        parts.iter().map(|part| of(part.view)).find(|text| !text.is_empty()).unwrap_or_default()
    };
    let head = Line {
        id: parts.first().map_or(0, |part| part.view.id),
        name: text(&|view| String::from_utf8_lossy(view.name).into_owned()),
        timestamp_ns,
        events: Vec::new(),
        duration_ps: parts.iter().map(|part| part.view.duration_ps).max().unwrap_or(0),
        display_id: parts.iter().map(|part| part.view.display_id).find(|id| *id != 0).unwrap_or(0),
        display_name: text(&|view| String::from_utf8_lossy(view.display_name).into_owned()),
    };
    let mut line = EncodedLine::new(head);
    for part in parts {
        let later_ps = part.view.timestamp_ns.saturating_sub(timestamp_ns).saturating_mul(1000);
        if later_ps == 0 && part.renamed.is_nothing() {
            copy(part.view, &mut line);
        } else {
            for view in part.view.events() {
                let mut event = Event::from(&view);
                if let EventTime::OffsetPs(offset) = &mut event.time {
                    *offset = offset.saturating_add(later_ps);
                }
                part.renamed.event(&mut event);
                line.push(&event);
            }
        }
    }
    line
}

/// The events as they stand.
fn copy(view: &LineView<'_>, line: &mut EncodedLine) {
    for field in Fields::new(view.body, 0) {
        if let (4, true, Value::Bytes(body)) = (field.number, field.whole, field.value) {
            line.push_encoded(body);
        }
    }
}
