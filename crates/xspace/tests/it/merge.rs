//! Pieces of a profile become one.

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};
use haloscope_xspace::{EventTime, SpaceView, merge};

fn meta(id: i64, name: &str) -> (i64, EventMetadata) {
    (id, EventMetadata { id, name: name.into(), ..Default::default() })
}

fn stat(id: i64, name: &str) -> (i64, StatMetadata) {
    (id, StatMetadata { id, name: name.into(), ..Default::default() })
}

fn line(timestamp_ns: i64, events: Vec<Event>) -> Line {
    Line { timestamp_ns, events, ..Line::new(5, "XLA Ops") }
}

fn space(planes: Vec<Plane>) -> Vec<u8> {
    Space { planes, hostnames: vec!["h".into()], ..Default::default() }.to_bytes()
}

fn read(pieces: &[Vec<u8>]) -> Space {
    let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
    let bytes = merge(&pieces);
    let view = SpaceView::parse(&bytes);
    assert!(view.faults.is_empty());
    Space::from(&view)
}

#[test]
fn lines_of_one_id_are_one_line_on_the_earliest_clock() {
    let plane = |at, events| Plane {
        name: "/device:TPU:0".into(),
        lines: vec![line(at, events)],
        event_metadata: vec![meta(1, "fusion.1")],
        ..Default::default()
    };
    let aggregated = Event { time: EventTime::Occurrences(3), ..Event::at(1, 0, 9) };
    let merged = read(&[
        space(vec![plane(2_000, vec![Event::at(1, 10, 1), aggregated.clone()])]),
        space(vec![
            plane(1_000, vec![Event::at(1, 20, 2)]),
            Plane { name: "other".into(), ..Default::default() },
        ]),
    ]);
    assert_eq!(merged.hostnames, ["h"]);
    assert_eq!(merged.planes.len(), 2);
    let lines = &merged.planes[0].lines;
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].timestamp_ns, 1_000);
    assert_eq!(lines[0].events, [Event::at(1, 1_000_010, 1), aggregated, Event::at(1, 20, 2)]);
    assert_eq!(merged.planes[0].event_metadata, [meta(1, "fusion.1")]);
}

#[test]
fn an_id_that_means_something_else_in_another_piece_becomes_another() {
    let plane = |op: &str, stats: [&str; 2]| Plane {
        name: "/device:TPU:0".into(),
        lines: vec![line(
            1_000,
            vec![Event {
                stats: vec![
                    Stat { metadata_id: 1, value: Value::Int(7) },
                    Stat { metadata_id: 2, value: Value::Ref(1) },
                ],
                ..Event::at(1, 10, 1)
            }],
        )],
        event_metadata: vec![
            (
                1,
                EventMetadata {
                    stats: vec![Stat { metadata_id: 2, value: Value::Double(1.5) }],
                    child_ids: vec![2],
                    ..meta(1, op).1
                },
            ),
            meta(2, "child"),
        ],
        stat_metadata: vec![stat(1, stats[0]), stat(2, stats[1])],
        stats: vec![Stat { metadata_id: 1, value: Value::Int(1) }],
        ..Default::default()
    };
    let merged = read(&[
        space(vec![plane("fusion.1", ["flops", "bytes"])]),
        space(vec![plane("fusion.2", ["bytes", "other"])]),
        space(vec![plane("fusion.1", ["flops", "bytes"])]),
    ]);
    let plane = &merged.planes[0];
    let names: Vec<(i64, &str)> = plane.stat_metadata.iter().map(|(id, m)| (*id, &*m.name)).collect();
    assert_eq!(names, [(1, "flops"), (2, "bytes"), (3, "other")]);
    let ops: Vec<(i64, &str)> = plane.event_metadata.iter().map(|(id, m)| (*id, &*m.name)).collect();
    assert_eq!(ops, [(1, "fusion.1"), (2, "child"), (3, "fusion.2")]);
    let second = &plane.event_metadata[2].1;
    assert_eq!((second.id, second.stats[0].metadata_id, &second.child_ids), (3, 3, &vec![2]));
    let ids: Vec<(i64, i64, &Value)> = plane.lines[0]
        .events
        .iter()
        .map(|e| (e.metadata_id, e.stats[0].metadata_id, &e.stats[1].value))
        .collect();
    assert_eq!(ids, [(1, 1, &Value::Ref(1)), (3, 2, &Value::Ref(2)), (1, 1, &Value::Ref(1))]);
    // What is said of the plane is taken from the first piece that says it.
    let said: Vec<i64> = plane.stats.iter().map(|stat| stat.metadata_id).collect();
    assert_eq!(said, [1, 2]);
}

#[test]
fn one_piece_is_what_it_was_and_two_lines_of_one_name_stay_two() {
    let twice = || vec![line(1, vec![Event::at(1, 1, 1)]), line(1, vec![Event::at(1, 2, 1)])];
    let plane = || Plane { name: "p".into(), lines: twice(), ..Default::default() };
    let one = space(vec![plane()]);
    assert_eq!(merge(&[&one]), one);
    let merged = read(&[one.clone(), one]);
    assert_eq!(merged.planes.len(), 1);
    let counts: Vec<usize> = merged.planes[0].lines.iter().map(|line| line.events.len()).collect();
    assert_eq!(counts, [2, 2]);
    assert!(merge(&[]).is_empty());
}
