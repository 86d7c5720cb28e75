//! Random messages for property tests.
//!
//! They are small, since the wire format has few rules and each shows within a few fields, and lean towards the numbers
//! on which varints turn: 0, negative ones (ten bytes), the ends of the range.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use haloscope_xspace::EventTime;
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

/// Integers of every varint length, of both signs.
pub(crate) fn int() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 0_i64..300,
        1 => Just(0),
        1 => Just(-1),
        1 => Just(i64::MIN),
        1 => Just(i64::MAX),
        4 => (any::<i64>(), 0_u32..64).prop_map(|(v, shift)| v >> shift),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z/:%.0-9]{1,9}", "\\PC{0,4}"]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..6)
}

/// Every kind of stat; doubles are numbers, because a property cannot compare NaN.
pub(crate) fn stat() -> impl Strategy<Value = Stat> {
    let value = prop_oneof![
        any::<f64>().prop_filter("a number", |v| !v.is_nan()).prop_map(Value::Double),
        any::<u64>().prop_map(Value::Uint),
        int().prop_map(Value::Int),
        text().prop_map(Value::Str),
        bytes().prop_map(Value::Bytes),
        any::<u64>().prop_map(Value::Ref),
        bytes().prop_map(Value::Compressed),
    ];
    (int(), value).prop_map(|(metadata_id, value)| Stat { metadata_id, value })
}

/// Events at an offset, and aggregated ones.
pub(crate) fn event() -> impl Strategy<Value = Event> {
    let time =
        prop_oneof![4 => int().prop_map(EventTime::OffsetPs), 1 => int().prop_map(EventTime::Occurrences)];
    (int(), time, int(), vec(stat(), 0..3)).prop_map(|(metadata_id, time, duration_ps, stats)| Event {
        metadata_id,
        time,
        duration_ps,
        stats,
    })
}

/// Lines, empty ones among them.
pub(crate) fn line() -> impl Strategy<Value = Line> {
    (int(), text(), int(), vec(event(), 0..4), int(), int(), text()).prop_map(
        |(id, name, timestamp_ns, events, duration_ps, display_id, display_name)| Line {
            id,
            name,
            timestamp_ns,
            events,
            duration_ps,
            display_id,
            display_name,
        },
    )
}

/// Event metadata with stats and child ids.
pub(crate) fn event_metadata() -> impl Strategy<Value = EventMetadata> {
    (int(), text(), bytes(), text(), vec(stat(), 0..3), vec(int(), 0..3)).prop_map(
        |(id, name, metadata, display_name, stats, child_ids)| EventMetadata {
            id,
            name,
            metadata,
            display_name,
            stats,
            child_ids,
        },
    )
}

/// Stat metadata.
pub(crate) fn stat_metadata() -> impl Strategy<Value = StatMetadata> {
    (int(), text(), text()).prop_map(|(id, name, description)| StatMetadata { id, name, description })
}

/// Planes whose map keys are free of the inner ids, and may repeat.
pub(crate) fn plane() -> impl Strategy<Value = Plane> {
    (
        int(),
        text(),
        vec(line(), 0..3),
        vec((int(), event_metadata()), 0..3),
        vec((int(), stat_metadata()), 0..3),
        vec(stat(), 0..3),
    )
        .prop_map(|(id, name, lines, event_metadata, stat_metadata, stats)| Plane {
            id,
            name,
            lines,
            event_metadata,
            stat_metadata,
            stats,
        })
}

/// Whole profiles.
pub(crate) fn space() -> impl Strategy<Value = Space> {
    (vec(plane(), 0..3), vec(text(), 0..2), vec(text(), 0..2), vec(text(), 0..3))
        .prop_map(|(planes, errors, warnings, hostnames)| Space { planes, errors, warnings, hostnames })
}
