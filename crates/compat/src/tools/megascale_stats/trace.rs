//! What a Perfetto trace of a host's TPUs is made of: tracks of events with arguments, and counters.

use std::collections::BTreeMap;

use haloscope_profile::{Event, HostId, Line, Plane, Profile, Source};
use haloscope_xspace::{StatValue, StatView};
use rustc_hash::FxHashMap;

/// The lines of a TPU that the trace shows.
const LINES: [&str; 4] = ["Steps", "XLA Modules", "XLA Ops", "XLA TraceMe"];
/// Stats that say nothing to people.
const HIDDEN: [&str; 13] = [
    "_a",
    "_c",
    "_ct",
    "_p",
    "_pt",
    "_r",
    "flops",
    "flow",
    "kernel_details",
    "program_id",
    "source",
    "source_stack",
    "symbol_id",
];

/// The value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
}

/// An event of a track.
#[derive(Debug, Clone, Default)]
pub(super) struct Slice {
    pub(super) name: String,
    /// On the profiler's clock.
    pub(super) start_ps: i64,
    pub(super) duration_ps: i64,
    /// Keys may repeat.
    pub(super) args: Vec<(String, Value)>,
    /// The execution of a program that it belongs to.
    pub(super) run_id: Option<i64>,
    /// Arrows that start at its end.
    pub(super) flows_out: Vec<u64>,
    /// Arrows that end at its start.
    pub(super) flows_in: Vec<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Track {
    pub(super) name: String,
    pub(super) slices: Vec<Slice>,
}

/// The tracks of one TPU.
#[derive(Debug, Default)]
pub(super) struct Tpu {
    pub(super) lines: Option<Vec<Track>>,
    pub(super) graphs: Option<Vec<Track>>,
}

/// A counter and its values, by time in picoseconds.
#[derive(Debug, Default)]
pub(super) struct Counter<T> {
    pub(super) points: Vec<(i64, T)>,
}

#[derive(Debug, Default)]
pub(super) struct Trace {
    pub(super) tpus: BTreeMap<i64, Tpu>,
    pub(super) rx_bytes: Counter<i64>,
    pub(super) tx_bytes: Counter<i64>,
    pub(super) rx_gbps: Counter<f64>,
    pub(super) tx_gbps: Counter<f64>,
    pub(super) collectives: Counter<i64>,
    pub(super) payload: Counter<i64>,
}

impl Slice {
    pub(super) fn end_ps(&self) -> i64 {
        self.start_ps.saturating_add(self.duration_ps)
    }

    pub(super) fn set(&mut self, key: &str, value: Value) {
        self.args.push((key.to_owned(), value));
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.args.iter().find_map(|(k, v)| match v {
            Value::Text(text) if k == key => Some(text.as_str()),
            _ => None,
        })
    }

    pub(super) fn int(&self, key: &str) -> Option<i64> {
        self.args.iter().find_map(|(k, v)| match v {
            Value::Int(number) if k == key => Some(*number),
            _ => None,
        })
    }

    pub(super) fn uint(&self, key: &str) -> Option<u64> {
        self.args.iter().find_map(|(k, v)| match v {
            Value::Uint(number) if k == key => Some(*number),
            _ => None,
        })
    }
}

/// Reads the TPUs of a host and its plane of collectives.
pub(super) fn load(profile: &Profile, host: HostId) -> Trace {
    let mut trace = Trace::default();
    for plane in profile.planes_of(host) {
        let Some(number) = plane.name.strip_prefix("/device:TPU:").and_then(number) else { continue };
        let tracks = trace.tpus.entry(number).or_default().lines.get_or_insert_default();
        for line in profile.lines_of(plane.id).filter(|l| LINES.contains(&l.name.as_str())) {
            let slices = slices(profile, plane, line).map(|(_, slice)| slice).collect();
            tracks.push(Track { name: line.name.clone(), slices });
        }
    }
    // The n-th device of the collectives is the n-th TPU; others are dropped.
    let tpus: Vec<i64> = trace.tpus.keys().copied().collect();
    for (tpu, (_, mut tracks)) in tpus.into_iter().zip(graphs(profile, host)) {
        tracks.sort_by_cached_key(|t| t.slices.first().and_then(|s| s.text("graph_key")).map(place_of));
        trace.tpus.entry(tpu).or_default().graphs = Some(tracks);
    }
    trace
}

/// The tracks of collectives by device, one track for each execution of one.
fn graphs(profile: &Profile, host: HostId) -> BTreeMap<i64, Vec<Track>> {
    let mut devices: BTreeMap<i64, Vec<Track>> = BTreeMap::new();
    for plane in profile.planes_of(host).filter(|p| p.name == "/device:CUSTOM:Megascale Trace") {
        let source = profile.source_of(plane);
        let key_id = plane.stat_id("graph_key");
        let mut places: FxHashMap<String, (i64, usize)> = FxHashMap::default();
        for line in profile.lines_of(plane.id) {
            let events = profile.events(line);
            for (index, slice) in slices(profile, plane, line) {
                let key = events.stats(source, index).filter(|s| Some(s.metadata_id) == key_id).last();
                let key = key.and_then(|s| plane.text(source, s.value?)).unwrap_or_default();
                let Some(device) = device_of(&key) else { continue };
                let tracks = devices.entry(device).or_default();
                let (_, at) = *places.entry(key.into_owned()).or_insert_with_key(|key| {
                    let name = key.split('$').next().unwrap_or_default().to_owned();
                    tracks.push(Track { name, slices: Vec::new() });
                    (device, tracks.len() - 1)
                });
                tracks[at].slices.push(slice);
            }
        }
    }
    devices
}

/// Digits only.
pub(super) fn number(text: &str) -> Option<i64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// `device_N_gid_REST`, found anywhere: N and REST.
pub(super) fn after_device(key: &str) -> Option<(&str, &str)> {
    key.match_indices("device_").find_map(|(at, word)| {
        let rest = &key[at + word.len()..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let tail = rest[digits..].strip_prefix("_gid_")?;
        (digits > 0).then_some((&rest[..digits], tail))
    })
}

fn device_of(key: &str) -> Option<i64> {
    number(after_device(key)?.0)
}

/// The order of the tracks of a device: by name, device and turn of `device_N_gid_NAME$...^iTURN...`.
fn place_of(key: &str) -> (String, i64, i64) {
    let parsed = || {
        let (device, rest) = after_device(key).filter(|_| key.starts_with("device_"))?;
        let (name, tail) = rest.split_once('$').filter(|(name, _)| !name.is_empty())?;
        // The last `^i` that a number follows.
        let turn = tail.rmatch_indices("^i").find_map(|(at, _)| {
            let rest = &tail[at + 2..];
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            rest[..digits].parse().ok()
        })?;
        Some((name.to_owned(), number(device)?, turn))
    };
    parsed().unwrap_or_default()
}

/// The events of a line with their rows.
fn slices<'a>(
    profile: &'a Profile,
    plane: &'a Plane,
    line: &'a Line,
) -> impl Iterator<Item = (usize, Slice)> + 'a {
    let source = profile.source_of(plane);
    let events = profile.events(line);
    let to_wire = line.to_wire_ps();
    events.iter().map(move |event| {
        let args = args(plane, source, event.meta, events.stats(source, event.index));
        (event.index, slice(plane, source, event, to_wire, args))
    })
}

fn slice(plane: &Plane, source: &Source, event: Event, to_wire: i64, args: Vec<(String, Value)>) -> Slice {
    let meta = &plane.metas[event.meta as usize];
    let mut slice = Slice {
        name: plane.meta_label(source, event.meta).into_owned(),
        start_ps: event.start_ps.saturating_add(to_wire),
        duration_ps: event.end_ps - event.start_ps,
        ..Slice::default()
    };
    if meta.display_name.len > 0 {
        slice.set("long_name", Value::Text(source.text(meta.name).into_owned()));
    }
    slice.args.extend(args);
    slice
}

fn args<'a>(
    plane: &Plane,
    source: &'a Source,
    meta: u32,
    own: impl Iterator<Item = StatView<'a>>,
) -> Vec<(String, Value)> {
    let all = plane.meta_stats(source, meta).chain(own);
    let arg = |stat: StatView<'a>| {
        let name = plane.stat_name(source, stat.metadata_id);
        if HIDDEN.contains(&name.as_ref()) {
            return None;
        }
        let value = match stat.value? {
            StatValue::Int(v) => Value::Int(v),
            StatValue::Uint(v) => Value::Uint(v),
            StatValue::Double(v) => Value::Double(v),
            StatValue::Bytes(_) => Value::Text(String::new()),
            StatValue::Compressed(_) => return None,
            text => Value::Text(plane.text(source, text)?.into_owned()),
        };
        Some((name.into_owned(), value))
    };
    all.filter_map(arg).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_graph_keys() {
        assert_eq!(place_of("device_3_gid_name_0$1^i12"), ("name_0".to_owned(), 3, 12));
        assert_eq!(place_of("device_3_gid_name_0$a^i1b^i2^ic"), ("name_0".to_owned(), 3, 2));
        assert_eq!(place_of("device_3_gid_$1^i1"), Default::default());
        assert_eq!(place_of("x device_3_gid_name$1^i1"), Default::default());
        assert_eq!(device_of("a device_ device_7_gid_"), Some(7));
        assert_eq!(device_of("device_7"), None);
    }
}
