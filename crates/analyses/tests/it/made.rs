//! Small TPU profiles written for one question each.

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

/// Picoseconds in a microsecond.
pub(crate) const US: i64 = 1_000_000;

/// A device plane with names in place of ids. States the peaks of a v5e.
pub(crate) struct Made {
    plane: Plane,
}

impl Made {
    pub(crate) fn tpu(ordinal: i64) -> Self {
        let mut made = Self { plane: Plane { name: format!("/device:TPU:{ordinal}"), ..Plane::default() } };
        made.fact("device_type_string", Value::Str("TPU v5 Lite".into()));
        made.fact("peak_teraflops_per_second", Value::Double(197.0));
        made.fact("peak_hbm_bw_gigabytes_per_second", Value::Double(819.0));
        made
    }

    /// A plane without facts.
    pub(crate) fn named(name: &str) -> Self {
        Self { plane: Plane { name: name.into(), ..Plane::default() } }
    }

    /// An event with whole numbers as stats, on the line added last. Metadata is shared by name.
    pub(crate) fn event(&mut self, name: &str, offset: i64, duration: i64, stats: &[(&str, i64)]) {
        let known = self.plane.event_metadata.iter().find(|(_, m)| m.name == name).map(|(id, _)| *id);
        let meta = known.unwrap_or_else(|| self.meta(name, &[]));
        let stats: Vec<Stat> =
            stats.iter().map(|(name, value)| self.stat(name, Value::Int(*value))).collect();
        if let Some(line) = self.plane.lines.last_mut() {
            line.events.push(Event { stats, ..Event::at(meta, offset, duration) });
        }
    }

    /// An event of known metadata with whole numbers as stats, on the line added last.
    pub(crate) fn event_of(&mut self, meta: i64, offset: i64, duration: i64, stats: &[(&str, i64)]) {
        let stats: Vec<Stat> =
            stats.iter().map(|(name, value)| self.stat(name, Value::Int(*value))).collect();
        if let Some(line) = self.plane.lines.last_mut() {
            line.events.push(Event { stats, ..Event::at(meta, offset, duration) });
        }
    }

    pub(crate) fn environment(start_ns: i64, stop_ns: i64) -> Self {
        let mut made = Self { plane: Plane { name: "Task Environment".into(), ..Plane::default() } };
        made.fact("profile_start_time", Value::Int(start_ns));
        made.fact("profile_stop_time", Value::Int(stop_ns));
        made
    }

    fn stat(&mut self, name: &str, value: Value) -> Stat {
        let known = self.plane.stat_metadata.iter().find(|(_, m)| m.name == name).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let id = self.plane.stat_metadata.len() as i64 + 1;
            let meta = StatMetadata { id, name: name.into(), description: String::new() };
            self.plane.stat_metadata.push((id, meta));
            id
        });
        Stat { metadata_id: id, value }
    }

    pub(crate) fn fact(&mut self, name: &str, value: Value) {
        let stat = self.stat(name, value);
        self.plane.stats.push(stat);
    }

    /// Event metadata with a name and stats; gives its id.
    pub(crate) fn meta(&mut self, name: &str, stats: &[(&str, Value)]) -> i64 {
        let id = self.plane.event_metadata.len() as i64 + 1;
        let stats: Vec<Stat> = stats.iter().map(|(name, value)| self.stat(name, value.clone())).collect();
        let mut meta = EventMetadata { id, name: name.into(), stats, ..EventMetadata::default() };
        if !meta.stats.is_empty() {
            // Ops carry the whole expression, and their name for display.
            meta.name = format!("%{name} = f32[8]{{0}} op()");
            meta.display_name = name.into();
        }
        self.plane.event_metadata.push((id, meta));
        id
    }

    /// A program's HLO in words, on the plane of metadata.
    pub(crate) fn program(&mut self, label: &str, hlo: &str) {
        let stat = self.stat("Hlo Proto", Value::Bytes(hlo.as_bytes().to_vec()));
        let id = self.plane.event_metadata.len() as i64 + 1;
        let meta = EventMetadata { id, name: label.into(), stats: vec![stat], ..EventMetadata::default() };
        self.plane.event_metadata.push((id, meta));
    }

    /// An op of program 7 with a category, FLOPs and bytes.
    pub(crate) fn op(&mut self, name: &str, category: &str, flops: i64, bytes: i64) -> i64 {
        self.meta(
            name,
            &[
                ("hlo_category", Value::Str(category.into())),
                ("program_id", Value::Uint(7)),
                ("flops", Value::Int(flops)),
                ("bytes_accessed", Value::Int(bytes)),
            ],
        )
    }

    /// An op of program 7 with a category and an expression of its own.
    pub(crate) fn instruction(&mut self, name: &str, category: &str, expression: &str) -> i64 {
        let id = self.op(name, category, 0, 0);
        if let Some((_, meta)) = self.plane.event_metadata.last_mut() {
            meta.name = expression.into();
        }
        id
    }

    /// Adds an event to the line added last.
    pub(crate) fn add(&mut self, meta: i64, offset: i64, duration: i64) {
        if let Some(line) = self.plane.lines.last_mut() {
            line.events.push(Event::at(meta, offset, duration));
        }
    }

    /// A line of events: metadata, offset and duration in picoseconds.
    pub(crate) fn line(&mut self, name: &str, timestamp_ns: i64, events: &[(i64, i64, i64)]) {
        let mut line = Line::new(self.plane.lines.len() as i64 + 1, name);
        line.timestamp_ns = timestamp_ns;
        line.events =
            events.iter().map(|(meta, offset, duration)| Event::at(*meta, *offset, *duration)).collect();
        self.plane.lines.push(line);
    }

    /// Adds a stat to the event in this place of the line added last.
    pub(crate) fn tag(&mut self, event: usize, name: &str, value: Value) {
        let stat = self.stat(name, value);
        if let Some(line) = self.plane.lines.last_mut() {
            line.events[event].stats.push(stat);
        }
    }
}

/// The profile of one host with these planes.
pub(crate) fn profile(planes: Vec<Made>) -> Profile {
    load::from_bytes("host.xplane.pb", bytes(planes)).unwrap()
}

pub(crate) fn bytes(planes: Vec<Made>) -> Vec<u8> {
    Space { planes: planes.into_iter().map(|m| m.plane).collect(), ..Space::default() }.to_bytes()
}
