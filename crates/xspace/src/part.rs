//! A part of a space: the same planes, with the events of some lines only.
//!
//! A part is a space itself. A line without its events keeps all else, and says in a field of its own how many it had: readers that
//! do not know that field pass over it.

use crate::wire::{Field, Fields, Value};
use crate::write::{field as put_field, oneof_int as put_number};

/// The field of a line that says how many events it had. No profiler writes it.
pub const LEFT_OUT: u32 = 40_001;

/// The bytes of a space without the events of lines that are not kept. `keeps` is asked for each line in file order, with the number
/// of its plane and its own number in the plane. The bytes must have no [fault](crate::SpaceView::faults).
#[must_use]
pub fn of(space: &[u8], mut keeps: impl FnMut(usize, usize) -> bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut number = 0;
    each(space, |field, whole| match (field.number, field.value) {
        (1, Value::Bytes(body)) => {
            put_field(&mut out, 1, &plane(body, |line| keeps(number, line)));
            number += 1;
        }
        _ => out.extend_from_slice(whole),
    });
    out
}

fn plane(body: &[u8], mut keeps: impl FnMut(usize) -> bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut number = 0;
    each(body, |field, whole| match (field.number, field.value) {
        (3, Value::Bytes(line)) => {
            if keeps(number) {
                out.extend_from_slice(whole);
            } else {
                put_field(&mut out, 3, &without_events(line));
            }
            number += 1;
        }
        _ => out.extend_from_slice(whole),
    });
    out
}

fn without_events(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut events = 0_u64;
    each(line, |field, whole| match field.number {
        4 => events += 1,
        // Of a part of a part: those that were left out before.
        LEFT_OUT => {
            let before = field.int("XLine").ok().and_then(|count| u64::try_from(count).ok());
            events = events.saturating_add(before.unwrap_or(0));
        }
        _ => out.extend_from_slice(whole),
    });
    if events > 0 {
        put_number(&mut out, LEFT_OUT, events);
    }
    out
}

/// Calls `take` for each field, with all its bytes.
fn each<'a>(message: &'a [u8], mut take: impl FnMut(&Field<'a>, &'a [u8])) {
    let mut fields = Fields::new(message, 0);
    while let Some(field) = fields.next() {
        let (from, to) = (field.offset as usize, fields.at() as usize);
        take(&field, message.get(from..to).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SpaceView, write};

    fn space() -> Vec<u8> {
        let line = |name: &str, events: i64| {
            let mut line = write::Line::new(events, name);
            line.timestamp_ns = 77;
            line.events = (0..events).map(|at| write::Event::at(1, at * 10, 5)).collect();
            line
        };
        let planes = vec![
            write::Plane {
                name: "/device:TPU:0".into(),
                lines: vec![line("XLA Ops", 9)],
                ..Default::default()
            },
            write::Plane {
                name: "/host:CPU".into(),
                lines: vec![line("python", 300), line("main", 2), line("none", 0)],
                event_metadata: vec![(
                    1,
                    write::EventMetadata { id: 1, name: "f".into(), ..Default::default() },
                )],
                ..Default::default()
            },
        ];
        write::Space { planes, hostnames: vec!["h".into()], ..Default::default() }.to_bytes()
    }

    #[test]
    fn lines_that_are_not_kept_say_how_many_events_they_had() {
        let whole = space();
        assert_eq!(of(&whole, |_, _| true), whole);
        let part = of(&whole, |plane, line| (plane, line) != (1, 0) && (plane, line) != (1, 2));
        assert!(part.len() < whole.len() / 2);
        let view = SpaceView::parse(&part);
        assert!(view.faults.is_empty());
        let seen: Vec<_> = view
            .planes
            .iter()
            .flat_map(|p| &p.lines)
            .map(|l| (l.name, l.timestamp_ns, l.event_count, l.left_out))
            .collect();
        let expected: [(&[u8], i64, u64, u64); 4] =
            [(b"XLA Ops", 77, 9, 0), (b"python", 77, 0, 300), (b"main", 77, 2, 0), (b"none", 77, 0, 0)];
        assert_eq!(seen, expected);
        assert_eq!(view.planes[1].event_metadata.len(), 1);
        assert_eq!(view.hostnames, [b"h"]);
        // A part of a part: what was left out before is still.
        let less = of(&part, |_, _| false);
        let view = SpaceView::parse(&less);
        let left_out: Vec<u64> = view.planes.iter().flat_map(|p| &p.lines).map(|l| l.left_out).collect();
        assert_eq!(left_out, [9, 300, 2, 0]);
    }

    #[test]
    fn damage_makes_no_panic() {
        let whole = space();
        for cut in 0..whole.len() {
            let _ = of(&whole[..cut], |_, line| line == 0);
        }
    }
}
