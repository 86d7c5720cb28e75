//! Counters as curves.

use super::*;

/// A line of samples: time, counter, value.
fn samples(all: &[(i64, i64, Value)]) -> Timeline {
    let mut counters = line(1, "_counters_", &[]);
    for (time, counter, value) in all {
        let mut event = Event::at(*counter, *time, 0);
        event.stats = vec![Stat { metadata_id: 7, value: value.clone() }];
        counters.events.push(event);
    }
    let mut plane = plane("/device:TPU:0", vec![counters]);
    let stat = |id: i64, name: &str| (id, StatMetadata { id, name: name.into(), ..Default::default() });
    plane.stat_metadata.extend([stat(7, "counter_value"), stat(8, "power_bytes")]);
    timeline(vec![plane])
}

#[test]
fn a_pixel_has_the_smallest_the_largest_and_the_last_value() {
    let values = [3, 9, 1, 4, 7, 7];
    let all: Vec<_> = (0..6).map(|i| (i * 10, 2, Value::Int(values[i as usize]))).collect();
    let t = samples(&all);
    let found = t.counters(10, 50, 2, &[LineId(0)]).unwrap();
    let counter = &found.tracks[0].counters[0];
    assert_eq!((found.tracks[0].id, counter.name.as_str(), counter.unit), (0, "copy.2", ""));
    assert_eq!((counter.min, counter.max), (Some(1.0), Some(9.0)));
    let all = |v: f64| (Some(v), Some(v), Some(v));
    let point = |time, (min, max, last)| (time, min, max, last);
    assert_eq!(
        counter.points,
        [
            // Where the curve comes in; then 10..30 and 30..50.
            point(0, all(3.0)),
            (20, Some(1.0), Some(9.0), Some(1.0)),
            (40, Some(4.0), Some(7.0), Some(7.0)),
        ]
    );
    assert_eq!(t.counters(50, 51, 5, &[LineId(0)]).unwrap().tracks[0].counters[0].points.len(), 2);
    assert_eq!(t.counters(5, 5, 5, &[LineId(0)]).unwrap_err().exit_code(), 2);
}

#[test]
fn what_is_no_number_is_none_and_no_counter_is_no_curve() {
    let t = samples(&[
        (0, 2, Value::Double(f64::NAN)),
        (10, 2, Value::Double(2.0)),
        (20, 3, Value::Str("text".into())),
    ]);
    let found = t.counters(0, 100, 100, &[LineId(0)]).unwrap();
    assert_eq!(found.tracks[0].counters.len(), 1);
    let counter = &found.tracks[0].counters[0];
    assert_eq!(counter.points[0], (0, None, None, None));
    assert_eq!((counter.min, counter.max, counter.points[1].3), (Some(2.0), Some(2.0), Some(2.0)));
    assert!(t.tracks().groups[0].tracks[0].counter);
    let json = serde_json::to_string(&counter.points[0]).unwrap();
    assert_eq!(json, "[0,null,null,null]");
    assert!(
        one_line("XLA Ops", &[(1, 0, 1)]).counters(0, 9, 9, &[LineId(0)]).unwrap().tracks[0]
            .counters
            .is_empty()
    );
}

#[test]
fn numbers_of_one_sample_are_curves_of_their_own() {
    let mut counters = line(1, "_counters_", &[]);
    let mut event = Event::at(2, 0, 0);
    event.stats =
        vec![Stat { metadata_id: 1, value: Value::Uint(5) }, Stat { metadata_id: 2, value: Value::Uint(6) }];
    counters.events.push(event);
    let t = timeline(vec![plane("/host:CPU", vec![counters])]);
    let found = t.counters(0, 9, 9, &[LineId(0)]).unwrap();
    let named: Vec<_> = found.tracks[0].counters.iter().map(|c| (c.name.as_str(), c.unit)).collect();
    assert_eq!(named, [("copy.2: program_id", ""), ("copy.2: bytes_accessed", "B")]);
}

#[test]
fn a_thread_has_the_accounts_of_the_allocators_it_asked() {
    let mut thread = line(1, "main", &[]);
    for (time, bytes) in [(0, 100), (50, 300), (60, 0)] {
        let mut event = Event::at(1, time, 1);
        event.stats = vec![
            Stat { metadata_id: 7, value: Value::Int(bytes) },
            Stat { metadata_id: 8, value: Value::Str("GPU_0_bfc".into()) },
        ];
        thread.events.push(event);
    }
    let mut host = plane("/host:CPU", vec![thread, line(2, "other", &[(2, 0, 5)])]);
    host.event_metadata[0].1 = EventMetadata { id: 1, name: "MemoryAllocation".into(), ..Default::default() };
    let stat = |id: i64, name: &str| (id, StatMetadata { id, name: name.into(), ..Default::default() });
    host.stat_metadata.extend([stat(7, "bytes_allocated"), stat(8, "allocator_name")]);
    let found = timeline(vec![host]).counters(0, 100, 100, &[LineId(0), LineId(1)]).unwrap();
    assert_eq!(found.tracks[1].counters.len(), 0);
    let counter = &found.tracks[0].counters[0];
    assert_eq!((counter.name.as_str(), counter.unit), ("GPU_0_bfc: allocated", "B"));
    assert_eq!((counter.min, counter.max, counter.points.len()), (Some(0.0), Some(300.0), 3));
}

#[test]
fn units_of_a_kernel_are_curves_in_percent_and_spills_are_counted() {
    let mut counters = line(1, "_counters_", &[]);
    for (time, meta, stat, value) in [
        (0, 21, 31, Value::Double(60.0)),
        (0, 22, 32, Value::Uint(4)),
        (0, 23, 33, Value::Double(5.0)),
        (10, 21, 31, Value::Double(80.0)),
    ] {
        let mut event = Event::at(meta, time, 10);
        event.stats = vec![Stat { metadata_id: stat, value }];
        counters.events.push(event);
    }
    let mut plane = plane("/device:TPU:0", vec![counters]);
    for (id, name) in [(21, "MXU"), (22, "Vector Spills"), (23, "Mystery")] {
        plane.event_metadata.push((id, EventMetadata { id, name: name.into(), ..Default::default() }));
    }
    let stat = |id: i64, name: &str| (id, StatMetadata { id, name: name.into(), ..Default::default() });
    plane.stat_metadata.extend([stat(31, "% util"), stat(32, "spills"), stat(33, "level")]);
    let found = timeline(vec![plane]).counters(0, 100, 100, &[LineId(0)]).unwrap();
    let said: Vec<_> =
        found.tracks[0].counters.iter().map(|c| (c.name.as_str(), c.unit, c.min, c.max)).collect();
    assert_eq!(
        said,
        [
            ("MXU", "%", Some(60.0), Some(80.0)),
            ("Vector Spills", "", Some(4.0), Some(4.0)),
            // What it means nobody knows: a number under its own name.
            ("Mystery: level", "", Some(5.0), Some(5.0)),
        ]
    );
}
