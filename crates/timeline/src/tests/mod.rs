use haloscope_xspace::write::{
    Event, EventMetadata, Line as WriteLine, Plane as WritePlane, Space, Stat, StatMetadata, Value,
};

use super::*;
use haloscope_profile::load;
use haloscope_report::Cell;

mod counters;
mod event;
mod framework;
mod rows;
mod stacks;
mod tile;

fn plane(name: &str, lines: Vec<WriteLine>) -> WritePlane {
    let meta = |id: i64, name: &str, display_name: &str| {
        (id, EventMetadata { id, name: name.into(), display_name: display_name.into(), ..Default::default() })
    };
    let stat = |id: i64, name: &str| (id, StatMetadata { id, name: name.into(), ..Default::default() });
    let mut event_metadata =
        vec![meta(1, "%dot.1 = f32[8]{0} dot(...)", "dot.1"), meta(2, "copy.2", ""), meta(3, "while", "")];
    event_metadata[0].1.stats = vec![
        Stat { metadata_id: 1, value: Value::Uint(1 << 60) },
        Stat { metadata_id: 2, value: Value::Uint(4096) },
        Stat { metadata_id: 3, value: Value::Ref(4) },
    ];
    let stat_metadata = vec![
        stat(1, "program_id"),
        stat(2, "bytes_accessed"),
        stat(3, "hlo_category"),
        stat(4, "convolution"),
        stat(5, "device_offset_ps"),
        stat(6, "blob"),
    ];
    WritePlane { name: name.into(), lines, event_metadata, stat_metadata, ..Default::default() }
}

fn line(id: i64, name: &str, events: &[(i64, i64, i64)]) -> WriteLine {
    let mut line = WriteLine::new(id, name);
    line.events = events.iter().map(|&(meta, start, duration)| Event::at(meta, start, duration)).collect();
    line
}

fn timeline(planes: Vec<WritePlane>) -> Timeline {
    let bytes = Space { planes, ..Default::default() }.to_bytes();
    Timeline::new(Arc::new(load::from_bytes("host-0.xplane.pb", bytes).unwrap()))
}

fn one_line(name: &str, events: &[(i64, i64, i64)]) -> Timeline {
    timeline(vec![plane("/device:TPU:0", vec![line(1, name, events)])])
}

fn depths(timeline: &Timeline, end: i64) -> Vec<(i64, i64, u32)> {
    let window = timeline.window(0, end, MAX_PX, &[LineId(0)]).unwrap();
    window.tracks[0].slices.iter().map(|s| (s.start_ps, s.duration_ps, s.depth)).collect()
}

#[test]
fn nested_events_stand_below_their_parent() {
    let t = one_line("XLA Ops", &[(3, 0, 100), (1, 0, 40), (2, 10, 5), (2, 40, 60), (1, 100, 7)]);
    assert_eq!(depths(&t, 200), [(0, 100, 0), (100, 7, 0), (0, 40, 1), (40, 60, 1), (10, 5, 2)]);
    assert_eq!(t.tracks().groups[0].tracks[0].depth, 3);
}

#[test]
fn overlapping_events_take_the_first_free_row_and_none_is_dropped() {
    let t = one_line(
        "Async XLA Ops",
        &[(1, 0, 100), (1, 50, 100), (2, 60, 10), (1, 70, 200), (2, 110, 5), (2, 160, 1)],
    );
    assert_eq!(
        depths(&t, 300),
        // 60..70 lies within 50..150, so it stands below that; 110..115 lies in 50..150 and in 70..270, the innermost.
        [(0, 100, 0), (50, 100, 1), (60, 10, 2), (70, 200, 2), (110, 5, 3), (160, 1, 3)]
    );
}

#[test]
fn thousands_at_once_get_a_row_each() {
    let events: Vec<_> = (0..5000).map(|i| (1, i, 5000 + i)).collect();
    let t = one_line("Async XLA Ops", &events);
    assert_eq!(t.tracks().groups[0].tracks[0].depth, 5000);
    let again: Vec<_> = (0..2000).map(|i| (1, i * 10, 10)).collect();
    assert_eq!(one_line("XLA Ops", &again).tracks().groups[0].tracks[0].depth, 1);
}

#[test]
fn events_of_no_duration_do_not_nest_in_one_that_has_just_ended() {
    let t = one_line("XLA Ops", &[(1, 0, 10), (2, 10, 0), (2, 10, 0), (1, 10, 5), (2, 5, 0)]);
    assert_eq!(depths(&t, 20), [(0, 10, 0), (10, 5, 0), (5, 0, 1), (10, 0, 1)]);
    let window = t.window(0, 20, MAX_PX, &[LineId(0)]).unwrap();
    assert_eq!(window.tracks[0].slices.iter().map(|s| s.count).sum::<u32>(), 5);
}

/// A line of nested and overlapping events that no regularity makes easy.
fn scattered(count: i64) -> Vec<(i64, i64, i64)> {
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below) as i64
    };
    (0..count)
        .map(|i| (1 + i % 3, i * 50 + random(200), if random(4) == 0 { random(3000) } else { random(30) }))
        .collect()
}

#[test]
fn counts_add_up_to_the_events_in_the_window_at_any_zoom() {
    let events = scattered(3000);
    let t = one_line("XLA Ops", &events);
    for (start, end) in [(-10, 200_000), (0, 1), (77_000, 77_500), (149_990, 160_000), (500, 90_001)] {
        let inside =
            |(_, at, duration): &&(i64, i64, i64)| *at < end && (at + duration > start || *at >= start);
        let expected = events.iter().filter(inside).count();
        for px in [1, 7, 300, 5000] {
            let window = t.window(start, end, px, &[LineId(0)]).unwrap();
            let slices = &window.tracks[0].slices;
            let count: u32 = slices.iter().map(|s| s.count).sum();
            assert_eq!(count as usize, expected, "{start}..{end} in {px} px");
            let depth = slices.iter().map(|s| s.depth as usize + 1).max().unwrap_or(0);
            assert!(slices.len() <= depth * (2 * px as usize + 2), "{} slices in {px} px", slices.len());
            for slice in slices {
                assert_eq!(slice.event.is_some(), slice.count == 1);
                let width = (end - start).div_euclid(i64::from(px)) + 1;
                assert!(slice.count == 1 || slice.duration_ps <= width);
            }
            // Within a row nothing overlaps and time goes on.
            for pair in slices.windows(2).filter(|p| p[0].depth == p[1].depth) {
                assert!(pair[0].start_ps + pair[0].duration_ps <= pair[1].start_ps);
            }
        }
    }
}

#[test]
fn a_merged_slice_has_the_name_of_its_longest_event() {
    let mut events: Vec<_> = (0..1000).map(|i| (2, i * 10, 3)).collect();
    events[777].0 = 3;
    events[777].2 = 5;
    let t = one_line("XLA Ops", &events);
    let window = t.window(0, 10_000, 1, &[LineId(0)]).unwrap();
    let slice = window.tracks[0].slices[0];
    assert_eq!((slice.count, slice.start_ps, slice.duration_ps, slice.event), (1000, 0, 9993, None));
    assert_eq!(window.names[slice.name as usize], "while");
}

#[test]
fn tracks_are_grouped_by_plane_in_reading_order() {
    let device = plane(
        "/device:TPU:0",
        vec![
            line(1, "XLA Ops", &[(1, 100, 10)]),
            line(2, "Framework Ops", &[(1, 100, 10)]),
            line(3, "Steps", &[(1, 90, 40)]),
            line(4, "XLA Modules", &[]),
        ],
    );
    let host = plane(
        "/host:CPU",
        vec![
            line(7, "python", &[(1, 50, 10)]),
            line(8, "pool", &[(1, 20, 10)]),
            line(9, "python", &[(1, 60, 200)]),
        ],
    );
    let sparse = plane("/device:TPU:0 SparseCore 1", vec![line(1, "Sparse Core Ops", &[(1, 100, 10)])]);
    let other = plane("/device:TPU:1", vec![line(1, "XLA Ops", &[(1, 100, 10)])]);
    let t = timeline(vec![host, other, sparse, device, plane("/host:metadata", vec![])]);
    let tracks = t.tracks();
    assert_eq!((tracks.start_ps, tracks.end_ps), (20, 260));
    let read: Vec<_> = tracks
        .groups
        .iter()
        .map(|g| (g.name.as_str(), g.kind, g.tracks.iter().map(|t| t.name.as_str()).collect::<Vec<_>>()))
        .collect();
    assert_eq!(
        read,
        [
            ("TPU:0", "device", vec!["Steps", "XLA Ops", "Framework Ops"]),
            ("TPU:0 SparseCore 1", "device", vec!["Sparse Core Ops"]),
            ("TPU:1", "device", vec!["XLA Ops"]),
            ("host:CPU", "host", vec!["pool", "python (7)", "python (9)"]),
        ]
    );
}

#[test]
fn an_event_says_everything_once() {
    let mut ops = line(1, "XLA Ops", &[(3, 0, 100), (1, 10, 20), (2, 12, 5), (2, 50, 30)]);
    ops.events[1].stats = vec![
        Stat { metadata_id: 2, value: Value::Int(512) },
        Stat { metadata_id: 5, value: Value::Uint(11) },
        Stat { metadata_id: 6, value: Value::Bytes(vec![0; 2048]) },
    ];
    let t = timeline(vec![plane("/device:TPU:0", vec![ops])]);
    let dot = t.event(LineId(0), 1).unwrap();
    assert_eq!((dot.name.as_str(), dot.start_ps, dot.duration_ps, dot.self_ps), ("dot.1", 10, 20, Some(15)));
    let stats: Vec<_> = dot.stats.iter().map(|s| (s.name.as_str(), s.value.clone(), s.unit)).collect();
    assert_eq!(
        stats,
        [
            ("bytes_accessed", Cell::Int(512), "B"),
            ("device_offset_ps", Cell::Int(11), "ps"),
            ("blob", "2.000 KiB of data".into(), ""),
            ("long_name", "%dot.1 = f32[8]{0} dot(...)".into(), ""),
            // More digits than a double holds, so as text.
            ("program_id", "1152921504606846976".into(), ""),
            ("hlo_category", "convolution".into(), ""),
        ]
    );
    assert_eq!(t.event(LineId(0), 0).unwrap().self_ps, Some(50));
    assert_eq!(t.event(LineId(0), 4).unwrap_err().exit_code(), 2);
}

#[test]
fn of_events_that_cross_the_later_one_has_the_time_of_both_but_among_ops() {
    let own = |name: &str| {
        let t = one_line(name, &[(1, 0, 100), (2, 60, 80)]);
        [0, 1].map(|index| t.event(LineId(0), index).unwrap().self_ps)
    };
    assert_eq!(own("python"), [Some(60), Some(80)]);
    assert_eq!(own("XLA Ops"), [Some(100), Some(80)]);
}

#[test]
fn overlapping_lines_have_no_self_time() {
    let t = one_line("Async XLA Ops", &[(1, 0, 100), (2, 10, 20)]);
    assert_eq!(t.event(LineId(0), 0).unwrap().self_ps, None);
}

#[test]
fn refuses_windows_that_cannot_be_drawn() {
    let t = one_line("XLA Ops", &[(1, 0, 10)]);
    let refused = [
        t.window(5, 5, 10, &[LineId(0)]),
        t.window(0, 5, 0, &[LineId(0)]),
        t.window(0, 5, MAX_PX + 1, &[LineId(0)]),
        t.window(0, 5, 10, &[LineId(99)]),
    ];
    for result in refused {
        assert_eq!(result.unwrap_err().exit_code(), 2);
    }
    assert_eq!(t.window(i64::MIN, i64::MAX, 1, &[LineId(0)]).unwrap().tracks[0].slices.len(), 1);
    // A window may be longer than a length can say; what ran in it is as long as it is.
    for (start, end) in [(i64::MIN, i64::MAX), (-5, i64::MAX), (i64::MIN, 5_000)] {
        let totals = t.totals(start, end, &[LineId(0)], 10).unwrap();
        assert_eq!((totals.span_ps, totals.union_ps, totals.by_op[0].total_ps), (i64::MAX, 10, 10));
        assert!(t.overlap(start, end, 10, Vec::new()).is_ok());
    }
}

#[test]
fn a_slice_is_six_numbers_in_json() {
    let t = one_line("XLA Ops", &[(1, 0, 10), (2, 900, 1), (2, 901, 1)]);
    let window = t.window(0, 1000, 10, &[LineId(0)]).unwrap();
    let json = serde_json::to_string(&window).unwrap();
    assert_eq!(
        json,
        r#"{"tracks":[{"id":0,"slices":[[0,10,0,0,1,0],[900,2,0,1,2,-1]]}],"names":["dot.1","copy.2"]}"#
    );
}
