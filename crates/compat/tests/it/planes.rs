//! Planes whose metadata and stats have names in place of ids.

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

/// Picoseconds in a microsecond.
pub(crate) const US: i64 = 1_000_000;

/// A plane that grows event by event.
pub(crate) struct Planned(Plane);

/// Words, as a stat.
pub(crate) fn words(text: &str) -> Value {
    Value::Str(text.into())
}

impl Planned {
    pub(crate) fn new(name: &str, facts: &[(&str, Value)]) -> Self {
        let mut planned = Self(Plane { name: name.into(), ..Plane::default() });
        planned.0.stats = planned.stats(facts);
        planned
    }

    pub(crate) fn line(&mut self, id: i64, name: &str, start_ns: i64) -> &mut Self {
        self.0.lines.push(Line { timestamp_ns: start_ns, ..Line::new(id, name) });
        self
    }

    fn stats(&mut self, stats: &[(&str, Value)]) -> Vec<Stat> {
        let stat = |(name, value): &(&str, Value)| {
            let known = self.0.stat_metadata.iter().find(|(_, m)| m.name == *name).map(|(id, _)| *id);
            let metadata_id = known.unwrap_or_else(|| {
                let id = self.0.stat_metadata.len() as i64 + 1;
                let meta = StatMetadata { id, name: (*name).into(), description: String::new() };
                self.0.stat_metadata.push((id, meta));
                id
            });
            Stat { metadata_id, value: value.clone() }
        };
        stats.iter().map(stat).collect()
    }

    /// Metadata with this id, for events that are looked up by it.
    pub(crate) fn meta(&mut self, id: i64, name: &str, stats: &[(&str, Value)]) -> &mut Self {
        let stats = self.stats(stats);
        let meta = EventMetadata { id, name: name.into(), stats, ..EventMetadata::default() };
        self.0.event_metadata.push((id, meta));
        self
    }

    /// An event on the line added last; one metadata a name, with the stats of the first of its events.
    pub(crate) fn event(&mut self, name: &str, at: (i64, i64), own: &[(&str, Value)]) -> &mut Self {
        self.op(name, "", at, &[], own)
    }

    /// The same with a display name and stats of its metadata.
    pub(crate) fn op(
        &mut self,
        name: &str,
        display: &str,
        (start_ps, duration_ps): (i64, i64),
        meta: &[(&str, Value)],
        own: &[(&str, Value)],
    ) -> &mut Self {
        let known = self.0.event_metadata.iter().find(|(_, m)| m.name == name).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let id = self.0.event_metadata.len() as i64 + 1;
            let stats = self.stats(meta);
            let display_name = display.into();
            let meta =
                EventMetadata { id, name: name.into(), display_name, stats, ..EventMetadata::default() };
            self.0.event_metadata.push((id, meta));
            id
        });
        let stats = self.stats(own);
        if let Some(line) = self.0.lines.last_mut() {
            line.events.push(Event { stats, ..Event::at(id, start_ps, duration_ps) });
        }
        self
    }
}

/// A host's file.
pub(crate) fn space(planes: Vec<Planned>) -> Space {
    Space {
        planes: planes.into_iter().map(|p| p.0).collect(),
        hostnames: vec!["host".into()],
        ..Space::default()
    }
}
