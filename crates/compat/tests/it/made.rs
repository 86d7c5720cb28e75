//! Small profiles written for one question each.

use haloscope_profile::Profile;
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

/// Picoseconds in a millisecond.
pub(crate) const MS: i64 = 1_000_000_000;
/// When lines begin, nanoseconds since 1970: more picoseconds than 64 bits hold.
const EPOCH_NS: i64 = 1_700_000_000_000_000_000;

/// A plane with names in place of ids.
pub(crate) struct Made(Plane);

impl Made {
    pub(crate) fn plane(name: &str, id: i64) -> Self {
        Self(Plane { name: name.into(), id, ..Plane::default() })
    }

    /// A core of a TPU that states where it is.
    pub(crate) fn tpu(name: &str, id: i64, ordinal: u8) -> Self {
        let mut made = Self::plane(name, id);
        made.fact("device_type_string", Value::Str("TPU v5p".into()));
        made.fact("core_details", Value::Bytes(vec![0x10, ordinal, 0x20, ordinal]));
        made
    }

    pub(crate) fn fact(&mut self, name: &str, value: Value) {
        let stat = self.stat(name, value);
        self.0.stats.push(stat);
    }

    pub(crate) fn line(&mut self, id: i64, name: &str) {
        self.0.lines.push(Line { timestamp_ns: EPOCH_NS, ..Line::new(id, name) });
    }

    fn stat(&mut self, name: &str, value: Value) -> Stat {
        let known = self.0.stat_metadata.iter().find(|(_, m)| m.name == name).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let id = self.0.stat_metadata.len() as i64 + 1;
            self.0
                .stat_metadata
                .push((id, StatMetadata { id, name: name.into(), description: String::new() }));
            id
        });
        Stat { metadata_id: id, value }
    }

    fn stats(&mut self, stats: &[(&str, Value)]) -> Vec<Stat> {
        stats.iter().map(|(name, value)| self.stat(name, value.clone())).collect()
    }

    fn meta(&mut self, name: &str, stats: &[(&str, Value)]) -> i64 {
        if let Some((id, _)) = self.0.event_metadata.iter().find(|(_, m)| m.name == name) {
            return *id;
        }
        let id = self.0.event_metadata.len() as i64 + 1;
        let stats = self.stats(stats);
        self.0
            .event_metadata
            .push((id, EventMetadata { id, name: name.into(), stats, ..EventMetadata::default() }));
        id
    }

    /// An event on the line added last.
    pub(crate) fn event(&mut self, name: &str, offset: i64, duration: i64, stats: &[(&str, Value)]) {
        let meta = self.meta(name, &[]);
        let stats = self.stats(stats);
        if let Some(line) = self.0.lines.last_mut() {
            line.events.push(Event { stats, ..Event::at(meta, offset, duration) });
        }
    }

    /// An execution of an HLO op of this category on the line added last.
    pub(crate) fn op(&mut self, category: &str, offset: i64, duration: i64) {
        let symbol = self.0.event_metadata.len() as u64 + 1;
        let stats = [
            ("hlo_category", Value::Str(category.into())),
            ("program_id", Value::Uint(7)),
            ("symbol_id", Value::Uint(symbol)),
        ];
        let meta = self.meta(category, &stats);
        if let Some(line) = self.0.lines.last_mut() {
            line.events.push(Event::at(meta, offset, duration));
        }
    }
}

/// A host's file.
pub(crate) fn space(host: &str, planes: Vec<Made>) -> Space {
    let mut space = Space { planes: planes.into_iter().map(|made| made.0).collect(), ..Space::default() };
    space.hostnames.push(host.into());
    for line in space.planes.iter_mut().flat_map(|plane| &mut plane.lines) {
        let key = |event: &Event| match event.time {
            haloscope_xspace::EventTime::OffsetPs(offset) => (offset, -event.duration_ps),
            haloscope_xspace::EventTime::Occurrences(_) => (0, 0),
        };
        line.events.sort_by_key(key);
    }
    space
}

/// A run of several hosts.
pub(crate) fn run(spaces: &[(&str, Space)]) -> Profile {
    let file = |(name, space): &(&str, Space)| {
        let bytes: haloscope_profile::Bytes = Box::new(space.to_bytes());
        (format!("{name}.xplane.pb").into(), bytes)
    };
    Profile::from_files(spaces.iter().map(file).collect())
}

/// Two TensorCores and a SparseCore, `steps` steps of 90 ms every 100 ms, the first at `from_ms`. All take longer with
/// every step.
pub(crate) fn tpu_host(host: &str, from_ms: i64, steps: i64) -> Space {
    let mut planes = Vec::new();
    for core in 0..2_i64 {
        let mut made = Made::tpu(&format!("/device:TPU:{core}"), 2 + core, core as u8);
        made.line(1, "Steps");
        for step in 0..steps {
            made.event(&step.to_string(), (from_ms + step * 100) * MS, (90 + core) * MS, &[]);
        }
        made.line(2, "XLA Ops");
        for step in 0..steps {
            let mut at = (from_ms + step * 100) * MS;
            for (category, ms) in [
                ("convolution", 20 + step + core),
                ("infeed", 5 + 2 * core),
                ("all-reduce", 4),
                ("async-done", 3),
                ("host send", 2),
                ("outfeed", 1 + core),
                ("sparsecorev0 infeed", 6),
            ] {
                made.op(category, at, ms * MS);
                at += ms * MS;
            }
        }
        planes.push(made);
    }
    let mut sparse = Made::tpu("/device:TPU:0 SparseCore 0", 100, 0);
    sparse.line(1, "Sparse Core Ops");
    for step in 0..steps {
        sparse.op("gather", (from_ms + step * 100 + 30) * MS, (10 + step) * MS);
        sparse.op("infeed", (from_ms + step * 100 + 60) * MS, 10 * MS);
    }
    planes.push(sparse);
    space(host, planes)
}
