//! Samples of hardware counters: events that carry a `counter_value`.

use haloscope_xspace::{StatValue, StatView};
use rustc_hash::FxHashMap;

use haloscope_profile::{Line, Plane, PlaneId, Profile, Source, StatId};

/// A counter's id, of an event or its metadata.
const COUNTER_ID: &str = "performance_counter_id";
/// What it counted.
pub const COUNTER_VALUE: &str = "counter_value";

/// The chip that a plane shows: `global_chip_id`, else `device_id`.
#[must_use]
pub fn chip_id(plane: &Plane) -> Option<i64> {
    let stat = |name| plane.stats.iter().rev().find(|(n, _)| n == name).and_then(|(_, v)| v.as_i64());
    let known = |id: &i64| *id != -1;
    stat("global_chip_id").filter(known).or_else(|| stat("device_id").filter(known))
}

/// The bits of a whole number; 0 for anything else, as XProf reads counters.
#[must_use]
pub fn count(value: StatValue<'_>) -> u64 {
    value.as_u64_bits().unwrap_or(0)
}

/// A count that may be written as a double: held inside 64 bits, its fraction dropped.
fn count_of_double(value: StatValue<'_>) -> u64 {
    match value {
        // A cast from a float saturates.
        StatValue::Double(v) => v as u64,
        value => count(value),
    }
}

/// The last value of each counter on a line, by its id; an event without the id stands for its metadata's id.
#[must_use]
pub fn sample(profile: &Profile, line: &Line) -> FxHashMap<u64, u64> {
    let plane = profile.plane(line.plane);
    let source = profile.source_of(plane);
    let mut values = FxHashMap::default();
    let Some(value_id) = plane.stat_id(COUNTER_VALUE) else { return values };
    let id_id = plane.stat_id(COUNTER_ID);
    let events = profile.events(line);
    for event in events.iter() {
        let own = pick(events.stats(source, event.index), id_id, value_id);
        let of_meta = || pick(plane.meta_stats(source, event.meta), id_id, value_id);
        let (id, value) = match own {
            (Some(id), Some(value)) => (Some(id), Some(value)),
            (id, value) => {
                let (other_id, other_value) = of_meta();
                (id.or(other_id), value.or(other_value))
            }
        };
        let id = id.map(count).filter(|id| *id != 0).unwrap_or(plane.metas[event.meta as usize].id as u64);
        if let Some(value) = value
            && id != 0
        {
            values.insert(id, count_of_double(value));
        }
    }
    values
}

type Picked<'a> = (Option<StatValue<'a>>, Option<StatValue<'a>>);

fn pick<'a>(stats: impl Iterator<Item = StatView<'a>>, id: Option<StatId>, value: StatId) -> Picked<'a> {
    let mut found: Picked<'a> = (None, None);
    for stat in stats {
        if Some(stat.metadata_id) == id {
            found.0 = found.0.or(stat.value);
        } else if stat.metadata_id == value {
            found.1 = found.1.or(stat.value);
        }
    }
    found
}

/// Whether any event of a plane carries a counter's value.
#[must_use]
pub fn any(profile: &Profile, plane: PlaneId) -> bool {
    let plane = profile.plane(plane);
    let Some(id) = plane.stat_id(COUNTER_VALUE) else { return false };
    let source: &Source = profile.source_of(plane);
    profile.lines_of(plane.id).any(|line| {
        let events = profile.events(line);
        (0..events.len()).any(|i| events.stat(source, i, Some(id)).is_some())
    })
}
