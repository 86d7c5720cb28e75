//! A small profile with every kind of field, and a walk over everything that a profile offers.

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};
use haloscope_xspace::{EventTime, Fault, Faults, SpaceView};

fn stat(metadata_id: i64, value: Value) -> Stat {
    Stat { metadata_id, value }
}

/// Two planes, three lines, seven events, every kind of stat; under 600 bytes.
pub(crate) fn space() -> Space {
    let mut ops = Line::new(2, "XLA Ops");
    ops.timestamp_ns = 1_700_000_000_000_000_000;
    ops.duration_ps = 5_000;
    ops.display_id = 3;
    ops.display_name = "ops".into();
    ops.events = (0..4).map(|i| Event::at(1 + i % 2, i * 1_000, 900)).collect();
    ops.events[1].stats = vec![stat(1, Value::Uint(7)), stat(2, Value::Double(0.5)), stat(3, Value::Ref(4))];
    ops.events[2].stats = vec![stat(1, Value::Int(-3)), stat(3, Value::Str("dot".into()))];
    let mut sums = Line::new(-9, "sums");
    sums.events =
        vec![Event { metadata_id: 2, time: EventTime::Occurrences(12), duration_ps: 77, stats: Vec::new() }];
    let metadata = |id: i64, name: &str| EventMetadata {
        id,
        name: name.into(),
        metadata: vec![8, 1],
        display_name: format!("%{name}"),
        stats: vec![stat(1, Value::Uint(1 << 40)), stat(5, Value::Bytes(vec![0, 255]))],
        child_ids: vec![2, 300],
    };
    let names = [(1, "flops"), (2, "share"), (3, "tf_op"), (4, "jit(f)/dot"), (5, "Hlo Proto")];
    let device = Plane {
        id: 1,
        name: "/device:TPU:0".into(),
        lines: vec![ops, sums],
        event_metadata: vec![(1, metadata(1, "fusion.1")), (2, metadata(2, "copy.2"))],
        stat_metadata: names
            .map(|(id, name)| (id, StatMetadata { id, name: name.into(), description: "d".into() }))
            .into(),
        stats: vec![stat(2, Value::Double(275.0)), stat(3, Value::Str("TPU v5".into()))],
    };
    let mut thread = Line::new(i64::MAX, "python");
    thread.events = vec![Event::at(9, -5, 0), Event::at(0, 0, -1)];
    let host = Plane { id: 2, name: "/host:CPU".into(), lines: vec![thread], ..Plane::default() };
    Space {
        planes: vec![device, host],
        errors: vec!["late".into()],
        warnings: vec!["w".into()],
        hostnames: vec!["t1v-0".into(), "t1v-1".into()],
    }
}

/// Reads everything there is: what a profile gave, and all that was malformed.
pub(crate) fn walk(bytes: &[u8]) -> (Space, Faults) {
    let view = SpaceView::parse(bytes);
    let mut faults = view.faults.clone();
    for plane in &view.planes {
        for line in &plane.lines {
            let mut events = line.events();
            for event in events.by_ref() {
                drain(event.stats(), &mut faults);
            }
            faults.extend(&events.faults());
        }
        for (_, metadata) in &plane.event_metadata {
            drain(metadata.stats(), &mut faults);
        }
    }
    (Space::from(&view), faults)
}

fn drain(mut stats: haloscope_xspace::Stats<'_>, faults: &mut Faults) {
    assert!(stats.by_ref().count() <= 1 << 20);
    faults.extend(stats.faults());
}

/// The kept faults as (offset, message, text of the kind).
pub(crate) fn told(faults: &Faults) -> Vec<(u64, &'static str, String)> {
    faults
        .kept()
        .iter()
        .map(|Fault { offset, message, kind }| (*offset, *message, kind.to_string()))
        .collect()
}
