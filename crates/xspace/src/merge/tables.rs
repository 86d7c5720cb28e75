//! The tables of names of a plane that came in pieces.

use std::collections::BTreeMap;

use crate::PlaneView;
use crate::write::{Event, EventMetadata, Plane, Stat, StatMetadata, Value};

/// What the pieces so far said.
#[derive(Default)]
pub(super) struct Tables {
    events: BTreeMap<i64, EventMetadata>,
    /// The ids of each name.
    events_named: BTreeMap<String, Vec<i64>>,
    stats: BTreeMap<i64, StatMetadata>,
    stat_named: BTreeMap<String, i64>,
}

/// The ids of a piece that became others.
#[derive(Debug, Default)]
pub(super) struct Renamed {
    events: BTreeMap<i64, i64>,
    stats: BTreeMap<i64, i64>,
}

impl Renamed {
    pub(super) fn is_nothing(&self) -> bool {
        self.events.is_empty() && self.stats.is_empty()
    }

    pub(super) fn stat(&self, stat: &mut Stat) {
        if let Some(id) = self.stats.get(&stat.metadata_id) {
            stat.metadata_id = *id;
        }
        // The value is an entry of the same table.
        if let Value::Ref(id) = &mut stat.value
            && let Some(new) = self.stats.get(&(*id as i64))
        {
            *id = *new as u64;
        }
    }

    pub(super) fn event(&self, event: &mut Event) {
        if let Some(id) = self.events.get(&event.metadata_id) {
            event.metadata_id = *id;
        }
        event.stats.iter_mut().for_each(|stat| self.stat(stat));
    }
}

impl Tables {
    /// Adds the tables of a piece.
    pub(super) fn add(&mut self, plane: &PlaneView<'_>) -> Renamed {
        let mut renamed = Renamed::default();
        // A key may repeat: the last entry counts.
        let own: BTreeMap<i64, StatMetadata> =
            plane.stat_metadata.iter().map(|(key, view)| (*key, view.into())).collect();
        for (key, meta) in own {
            self.add_stat(key, meta, &mut renamed);
        }
        let own: BTreeMap<i64, _> = plane.event_metadata.iter().map(|(key, view)| (*key, view)).collect();
        let mut added = Vec::new();
        for (key, view) in own {
            let mut meta = EventMetadata::from(view);
            meta.stats.iter_mut().for_each(|stat| renamed.stat(stat));
            added.extend(self.add_event(key, meta, &mut renamed));
        }
        // Children may stand behind their parents.
        for id in added {
            for child in self.events.get_mut(&id).into_iter().flat_map(|meta| &mut meta.child_ids) {
                *child = renamed.events.get(child).copied().unwrap_or(*child);
            }
        }
        renamed
    }

    fn add_stat(&mut self, key: i64, mut meta: StatMetadata, renamed: &mut Renamed) {
        if self.stats.get(&key).is_some_and(|known| known.name == meta.name) {
            return;
        }
        let id = match self.stat_named.get(&meta.name) {
            Some(known) => *known,
            None => {
                let id = free(&self.stats, key);
                self.stat_named.insert(meta.name.clone(), id);
                if id != key {
                    meta.id = id;
                }
                self.stats.insert(id, meta);
                id
            }
        };
        if id != key {
            renamed.stats.insert(key, id);
        }
    }

    /// The id under which the entry was put, if it is new.
    fn add_event(&mut self, key: i64, mut meta: EventMetadata, renamed: &mut Renamed) -> Option<i64> {
        let says_same = |known: Option<&EventMetadata>| {
            known.is_some_and(|known| {
                (&known.name, &known.display_name, &known.metadata, &known.stats)
                    == (&meta.name, &meta.display_name, &meta.metadata, &meta.stats)
            })
        };
        if says_same(self.events.get(&key)) {
            return None;
        }
        let named = self.events_named.entry(meta.name.clone()).or_default();
        if let Some(known) = named.iter().find(|id| says_same(self.events.get(id))) {
            renamed.events.insert(key, *known);
            return None;
        }
        let id = free(&self.events, key);
        named.push(id);
        if id != key {
            meta.id = id;
            renamed.events.insert(key, id);
        }
        self.events.insert(id, meta);
        Some(id)
    }

    /// Puts the tables into the plane that they are of.
    pub(super) fn put_into(self, plane: &mut Plane) {
        plane.event_metadata = self.events.into_iter().collect();
        plane.stat_metadata = self.stats.into_iter().collect();
    }
}

/// The key itself where it is free, else an id that is.
fn free<T>(table: &BTreeMap<i64, T>, key: i64) -> i64 {
    if !table.contains_key(&key) {
        return key;
    }
    let above = table.last_key_value().and_then(|(last, _)| last.checked_add(1));
    above.or_else(|| (1..).find(|id| !table.contains_key(id))).unwrap_or(key)
}
