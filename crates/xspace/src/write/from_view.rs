//! From what was read to what can be written. Malformed parts, unknown fields and stats without a value stay behind.

use super::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};
use crate::{
    EventMetadataView, EventView, LineView, PlaneView, SpaceView, StatMetadataView, StatValue, StatView,
};

/// Bytes as a string; what is not UTF-8 becomes U+FFFD, as it does in every reader that needs a string.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl From<&SpaceView<'_>> for Space {
    fn from(view: &SpaceView<'_>) -> Self {
        let texts = |all: &[&[u8]]| all.iter().map(|t| text(t)).collect();
        Self {
            planes: view.planes.iter().map(Plane::from).collect(),
            errors: texts(&view.errors),
            warnings: texts(&view.warnings),
            hostnames: texts(&view.hostnames),
        }
    }
}

impl From<&PlaneView<'_>> for Plane {
    fn from(view: &PlaneView<'_>) -> Self {
        Self {
            id: view.id,
            name: text(view.name),
            lines: view.lines.iter().map(Line::from).collect(),
            event_metadata: view.event_metadata.iter().map(|(key, meta)| (*key, meta.into())).collect(),
            stat_metadata: view.stat_metadata.iter().map(|(key, meta)| (*key, meta.into())).collect(),
            stats: view.stats.iter().filter_map(Stat::from_view).collect(),
        }
    }
}

impl From<&LineView<'_>> for Line {
    fn from(view: &LineView<'_>) -> Self {
        Self {
            id: view.id,
            name: text(view.name),
            timestamp_ns: view.timestamp_ns,
            events: view.events().map(|event| Event::from(&event)).collect(),
            duration_ps: view.duration_ps,
            display_id: view.display_id,
            display_name: text(view.display_name),
        }
    }
}

impl From<&EventView<'_>> for Event {
    fn from(view: &EventView<'_>) -> Self {
        Self {
            metadata_id: view.metadata_id,
            time: view.time,
            duration_ps: view.duration_ps,
            stats: view.stats().filter_map(|stat| Stat::from_view(&stat)).collect(),
        }
    }
}

impl Stat {
    /// `None` for a stat without a value, which cannot be written.
    #[must_use]
    pub fn from_view(view: &StatView<'_>) -> Option<Self> {
        let value = match view.value? {
            StatValue::Double(v) => Value::Double(v),
            StatValue::Uint(v) => Value::Uint(v),
            StatValue::Int(v) => Value::Int(v),
            StatValue::Str(v) => Value::Str(text(v)),
            StatValue::Bytes(v) => Value::Bytes(v.to_owned()),
            StatValue::Ref(v) => Value::Ref(v),
            StatValue::Compressed(v) => Value::Compressed(v.to_owned()),
        };
        Some(Self { metadata_id: view.metadata_id, value })
    }
}

impl From<&EventMetadataView<'_>> for EventMetadata {
    fn from(view: &EventMetadataView<'_>) -> Self {
        Self {
            id: view.id,
            name: text(view.name),
            metadata: view.metadata.to_owned(),
            display_name: text(view.display_name),
            stats: view.stats().filter_map(|stat| Stat::from_view(&stat)).collect(),
            child_ids: view.child_ids(),
        }
    }
}

impl From<&StatMetadataView<'_>> for StatMetadata {
    fn from(view: &StatMetadataView<'_>) -> Self {
        Self { id: view.id, name: text(view.name), description: text(view.description) }
    }
}
