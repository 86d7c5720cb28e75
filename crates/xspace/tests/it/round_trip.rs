//! What was written is read, in whatever form protobuf allows it to be written.

use haloscope_xspace::wire::{Fields, Value};
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, StatMetadata};
use haloscope_xspace::{EventTime, EventView, SpaceView, write};
use proptest::prelude::*;

use crate::raw::{Message, RawField, delimited, long_varint, number, rewrite, varint};
use crate::sample::{self, walk};
use crate::strategies;

/// Asserts that `bytes` reads as `expected` and holds nothing malformed.
fn assert_reads(bytes: &[u8], expected: &Space) {
    let (read, faults) = walk(bytes);
    assert_eq!(faults.kept(), []);
    assert_eq!(&read, expected);
}

/// Fields that no schema has: a varint, a fixed64, bytes, a fixed32.
fn unknown(pick: usize) -> RawField {
    let field = 12 + (pick as u32 % 900) * 17;
    let tag = |wire_type: u64| varint(u64::from(field) << 3 | wire_type);
    let bytes = match pick % 4 {
        0 => number(field, -(pick as i64)),
        1 => [tag(1), vec![0xff; 8]].concat(),
        2 => delimited(field, &[0x0a; 3]),
        _ => [tag(5), vec![0x80; 4]].concat(),
    };
    (field, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_is_read(space in strategies::space()) {
        assert_reads(&space.to_bytes(), &space);
    }

    #[test]
    fn unknown_fields_change_nothing(space in strategies::space(), picks in prop::collection::vec(0_usize..4000, 1..40)) {
        let mut picks = picks.into_iter().cycle();
        let bytes = rewrite(&space.to_bytes(), Message::Space, &mut |_, fields| {
            let mut out = Vec::new();
            for field in fields {
                out.push(unknown(picks.next().unwrap()));
                out.push(field);
            }
            out.push(unknown(picks.next().unwrap()));
            out
        });
        assert_reads(&bytes, &space);
        prop_assert!(SpaceView::parse(&bytes).unknown_fields >= 1);
    }

    #[test]
    fn the_order_of_fields_is_free(space in strategies::space()) {
        let bytes = rewrite(&space.to_bytes(), Message::Space, &mut |_, mut fields| {
            // Stable: parts of a list keep their order. The members of a oneof never meet in one message here.
            fields.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
            fields
        });
        assert_reads(&bytes, &space);
    }

    #[test]
    fn long_varints_are_read(space in strategies::space()) {
        let bytes = rewrite(&space.to_bytes(), Message::Space, &mut |_, fields| {
            fields.into_iter().map(|(n, bytes)| (n, lengthened(&bytes))).collect()
        });
        assert_reads(&bytes, &space);
    }

    #[test]
    fn the_last_of_a_repeated_scalar_counts(space in strategies::space(), wrong in strategies::int()) {
        let bytes = rewrite(&space.to_bytes(), Message::Space, &mut |of, fields| {
            let scalar = |n: u32| matches!((of, n), (Message::Plane | Message::Line | Message::Event, 1) | (Message::Line, 3 | 9 | 10));
            let before = fields.iter().filter(|(n, _)| scalar(*n)).map(|(n, _)| (*n, number(*n, wrong)));
            before.chain(fields.clone()).collect()
        });
        assert_reads(&bytes, &space);
    }

    #[test]
    fn child_ids_need_not_be_packed(ids in prop::collection::vec(strategies::int(), 1..5)) {
        let packed = EventMetadata { child_ids: ids.clone(), ..Default::default() };
        let space = Space { planes: vec![Plane { event_metadata: vec![(1, packed)], ..Default::default() }], ..Default::default() };
        let bytes = rewrite(&space.to_bytes(), Message::Space, &mut |of, fields| match of {
            Message::EventMetadata => ids.iter().map(|id| (6, number(6, *id))).collect(),
            _ => fields,
        });
        assert_reads(&bytes, &space);
    }
}

/// The field with its tag, and its number or its length, as ten-byte varints.
fn lengthened(bytes: &[u8]) -> Vec<u8> {
    let field = Fields::new(bytes, 0).next().unwrap();
    let tag = |wire_type: u64| long_varint(u64::from(field.number) << 3 | wire_type);
    match field.value {
        Value::Varint(v) => [tag(0), long_varint(v)].concat(),
        Value::Bytes(body) => [tag(2), long_varint(body.len() as u64), body.to_owned()].concat(),
        Value::Fixed64(_) => [tag(1), bytes[bytes.len() - 8..].to_owned()].concat(),
        Value::Fixed32(_) => [tag(5), bytes[bytes.len() - 4..].to_owned()].concat(),
    }
}

#[test]
fn the_sample_has_every_field_and_is_small() {
    let space = sample::space();
    let bytes = space.to_bytes();
    assert!(bytes.len() < 700, "{} bytes", bytes.len());
    assert_reads(&bytes, &space);
}

#[test]
fn negative_numbers_take_ten_bytes_and_come_back() {
    let mut line = Line::new(-1, "l");
    line.events = vec![Event::at(-2, i64::MIN, -3)];
    let space = Space {
        planes: vec![Plane { id: -4, lines: vec![line], ..Default::default() }],
        ..Default::default()
    };
    let bytes = space.to_bytes();
    assert_reads(&bytes, &space);
    let view = SpaceView::parse(&bytes);
    let event = view.planes[0].lines[0].events().next().unwrap();
    assert_eq!((event.metadata_id, event.time, event.duration_ps), (-2, EventTime::OffsetPs(i64::MIN), -3));
    assert_eq!(event.body.len(), 3 * 11);
}

#[test]
fn an_aggregated_event_has_no_place_on_its_line() {
    let bytes = sample::space().to_bytes();
    let view = SpaceView::parse(&bytes);
    let event = view.planes[0].lines[1].events().next().unwrap();
    assert_eq!((event.time, event.duration_ps), (EventTime::Occurrences(12), 77));
}

#[test]
fn of_the_two_kinds_of_time_the_last_written_counts() {
    let event = [number(2, 5), number(5, 3), number(2, 0)].concat();
    let bytes = delimited(1, &delimited(3, &[delimited(4, &event[..4]), delimited(4, &event)].concat()));
    let view = SpaceView::parse(&bytes);
    let times: Vec<_> = view.planes[0].lines[0].events().map(|e| e.time).collect();
    assert_eq!(times, [EventTime::Occurrences(3), EventTime::OffsetPs(0)]);
}

#[test]
fn repeated_map_keys_are_kept_in_file_order() {
    let named = |name: &str| StatMetadata { id: 3, name: name.into(), ..Default::default() };
    let plane = Plane {
        stat_metadata: vec![(3, named("old")), (4, named("x")), (3, named("new"))],
        ..Default::default()
    };
    let space = Space { planes: vec![plane], ..Default::default() };
    let bytes = space.to_bytes();
    assert_reads(&bytes, &space);
    let view = SpaceView::parse(&bytes);
    let last = view.planes[0].stat_metadata.iter().rfind(|(key, _)| *key == 3).unwrap();
    assert_eq!(last.1.name, b"new");
}

#[test]
fn an_entry_without_a_key_takes_the_inner_id_and_one_without_a_value_is_empty() {
    let value = delimited(2, &[number(1, 42), delimited(2, b"fusion")].concat());
    let plane = [delimited(4, &value), delimited(4, &number(1, 6)), delimited(4, b"")].concat();
    let bytes = delimited(1, &plane);
    let view = SpaceView::parse(&bytes);
    let read: Vec<_> = view.planes[0].event_metadata.iter().map(|(key, m)| (*key, m.id, m.name)).collect();
    assert_eq!(read, [(42, 42, &b"fusion"[..]), (6, 0, b""), (0, 0, b"")]);
    assert!(view.faults.is_empty());
}

#[test]
fn the_key_counts_where_it_differs_from_the_inner_id() {
    let metadata = EventMetadata { id: 8, name: "n".into(), ..Default::default() };
    let space = Space {
        planes: vec![Plane { event_metadata: vec![(0, metadata)], ..Default::default() }],
        ..Default::default()
    };
    assert_reads(&space.to_bytes(), &space);
}

#[test]
fn a_stat_of_a_later_schema_has_no_value() {
    let stat = [number(1, 5), delimited(9, b"new kind")].concat();
    let bytes = delimited(1, &delimited(6, &stat));
    let view = SpaceView::parse(&bytes);
    assert_eq!((view.planes[0].stats[0].metadata_id, view.planes[0].stats[0].value), (5, None));
    assert!(view.faults.is_empty());
}

#[test]
fn one_pass_hands_over_what_a_second_one_would_find() {
    let values = [
        write::Value::Int(-5),
        write::Value::Uint(7),
        write::Value::Uint(u64::MAX),
        write::Value::Str("x".into()),
        write::Value::Int(-6),
    ];
    // The last key is 0, which is not written.
    let stat = |(key, value)| write::Stat { metadata_id: key, value };
    let stats: Vec<_> = [1, 2, 3, 4, 0].into_iter().zip(values).map(stat).collect();
    let mut line = Line::new(1, "a");
    line.events.push(Event { stats, ..Event::at(1, -3, 9) });
    let bytes = Space { planes: vec![Plane { lines: vec![line], ..Plane::default() }], ..Space::default() }
        .to_bytes();
    let space = SpaceView::parse(&bytes);
    let mut seen = Vec::new();
    let mut events = space.planes[0].lines[0].events();
    let event = events.next_with(|stat| seen.push(stat.key_and_int().unwrap())).unwrap();
    let second: Vec<_> = event.stats().map(|s| (s.metadata_id, s.value.and_then(|v| v.as_i64()))).collect();
    assert_eq!(seen, second);
    assert_eq!(seen, [(1, Some(-5)), (2, Some(7)), (3, None), (4, None), (0, Some(-6))]);

    // An event with an unknown field in front is not written as profilers do, and gives the same.
    let odd = [&[0x78, 1], event.body].concat();
    let mut again = Vec::new();
    EventView::parse_with(&odd, 0, |stat| again.push(stat.key_and_int().unwrap())).unwrap();
    assert_eq!(again, second);
}
