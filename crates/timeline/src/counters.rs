//! Counters as curves: samples of hardware counters, and the accounts of memory allocators.

use haloscope_xspace::StatValue;
use rustc_hash::FxHashMap;

use super::details::unit;
use super::view::View;
use super::{Timeline, label};
use haloscope_profile::{Line, LineId, LineKind, MetaIdx, Plane, Profile, Source, StatId};
use haloscope_program::allocator::{AllocatorEvent, allocators};
use haloscope_report::Error;

/// Stats that say which counter a sample is of, or where it belongs, rather than how much.
const NO_VALUES: [&str; 7] =
    ["performance_counter_id", "group_id", "flow", "_a", "device_offset_ps", "device_duration_ps", "run_id"];

/// The counters of some tracks in a window of time.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Counters {
    /// The tracks asked for, in the order asked.
    pub tracks: Vec<TrackCounters>,
}

/// The counters of one track.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TrackCounters {
    /// The line.
    pub id: u32,
    /// Its counters, in the order of their first samples.
    pub counters: Vec<Counter>,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// `B`, `ps`, ... or empty where nobody says.
    pub unit: &'static str,
    /// The smallest value of the whole track, so that a curve keeps its scale when the window moves; `None` where no sample
    /// has one.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// By time, at most one a pixel: the time of its last sample, and the smallest, largest and last value. Before them the
    /// last sample before the window, from which the curve comes in. A value is `None` where a sample has none.
    pub points: Vec<Sample>,
}

/// A time, and the smallest, largest and last value of its pixel.
pub type Sample = (i64, Option<f64>, Option<f64>, Option<f64>);

/// Every sample of one counter.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterSamples {
    /// Its name.
    pub name: String,
    /// `B`, `ps`, ... or empty where nobody says.
    pub unit: &'static str,
    /// Times in picoseconds on the run's clock, and values; `None` where a sample has none.
    pub samples: Vec<(i64, Option<f64>)>,
}

/// Every sample of the counters of a line, in the order of their first samples.
#[must_use]
pub fn counter_samples(profile: &Profile, line: &Line) -> Vec<CounterSamples> {
    let all = |curve: Curve| {
        let values = curve.value.into_iter().map(|value| Some(value).filter(|value| !value.is_nan()));
        CounterSamples {
            name: curve.name,
            unit: curve.unit,
            samples: curve.time_ps.into_iter().zip(values).collect(),
        }
    };
    curves(profile, line).into_iter().map(all).collect()
}

/// All samples of a counter.
#[derive(Debug)]
pub(super) struct Curve {
    name: String,
    unit: &'static str,
    min: Option<f64>,
    max: Option<f64>,
    /// By time, picoseconds.
    time_ps: Vec<i64>,
    /// Not a number where a sample has no value.
    value: Vec<f64>,
}

impl Timeline {
    /// The counters of `lines` between two times (picoseconds on the run's clock, the end excluded) in `px` pixels. Lines of
    /// counters have those that they sample, threads those of the memory allocators that they asked.
    ///
    /// # Errors
    /// As of [`Timeline::window`].
    pub fn counters(&self, start_ps: i64, end_ps: i64, px: u32, lines: &[LineId]) -> Result<Counters, Error> {
        let view = View::of(start_ps, end_ps, px)?;
        let track = |id: &LineId| -> Result<TrackCounters, Error> {
            let line = self.line(*id)?;
            let curves = self.curves[id.index()].get_or_init(|| curves(&self.profile, line));
            Ok(TrackCounters { id: id.0, counters: curves.iter().map(|c| c.counter(view)).collect() })
        };
        Ok(Counters { tracks: lines.iter().map(track).collect::<Result<_, _>>()? })
    }
}

impl Curve {
    fn new(name: String, unit: &'static str) -> Self {
        Self { name, unit, min: None, max: None, time_ps: Vec::new(), value: Vec::new() }
    }

    /// Adds a sample that is not before the last one.
    fn push(&mut self, time_ps: i64, value: Option<f64>) {
        let value = value.filter(|v| v.is_finite());
        self.min = smaller(self.min, value);
        self.max = larger(self.max, value);
        self.time_ps.push(time_ps);
        self.value.push(value.unwrap_or(f64::NAN));
    }

    fn counter(&self, view: View) -> Counter {
        let known = |at: usize| Some(self.value[at]).filter(|v| !v.is_nan());
        let mut at = self.time_ps.partition_point(|t| *t < view.start_ps);
        let mut points = Vec::new();
        if let Some(before) = at.checked_sub(1) {
            points.push((self.time_ps[before], known(before), known(before), known(before)));
        }
        while let Some(&first_ps) = self.time_ps.get(at)
            && first_ps < view.end_ps
        {
            let end_ps = view.pixel_end(first_ps).min(view.end_ps);
            let count = self.time_ps[at..].partition_point(|t| *t < end_ps).max(1);
            let values = || (at..at + count).map(known);
            let (min, max) = (values().fold(None, smaller), values().fold(None, larger));
            let last = at + count - 1;
            points.push((self.time_ps[last], min, max, known(last)));
            at += count;
        }
        Counter { name: self.name.clone(), unit: self.unit, min: self.min, max: self.max, points }
    }
}

fn smaller(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a.min(b)).or(a).or(b)
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a.max(b)).or(a).or(b)
}

fn curves(profile: &Profile, line: &Line) -> Vec<Curve> {
    if line.kind == LineKind::Counters { samples(profile, line) } else { accounts(profile, line) }
}

/// One curve for each counter (metadata) and each number that its samples carry.
fn samples(profile: &Profile, line: &Line) -> Vec<Curve> {
    let plane = profile.plane(line.plane);
    let source = profile.source_of(plane);
    let events = profile.events(line);
    let ignored = NO_VALUES.map(|name| plane.stat_id(name));
    let mut curves: Vec<Curve> = Vec::new();
    let mut of_key: FxHashMap<(MetaIdx, StatId), usize> = FxHashMap::default();
    for event in events.iter() {
        let mut add = |id: StatId, value: f64| {
            let curve = *of_key.entry((event.meta, id)).or_insert_with(|| {
                let (name, unit) = named(profile, plane, source, event.meta, id);
                curves.push(Curve::new(name, unit));
                curves.len() - 1
            });
            curves[curve].push(event.start_ps, Some(value));
        };
        let mut own = false;
        for stat in events.stats(source, event.index) {
            if let Some(value) = number(stat.value).filter(|_| !ignored.contains(&Some(stat.metadata_id))) {
                own = true;
                add(stat.metadata_id, value);
            }
        }
        // A counter that is read once has its value beside its name.
        for stat in plane.meta_stats(source, event.meta).filter(|_| !own) {
            if let Some(value) = number(stat.value).filter(|_| !ignored.contains(&Some(stat.metadata_id))) {
                add(stat.metadata_id, value);
            }
        }
    }
    curves
}

/// What a TPU's samples of a kernel's units carry: percent of the slots that a bundle has for the unit, by the compiler's schedule.
const UNIT_SHARE: &str = "% util";

/// A counter's name and unit: those of its metadata, with the stat's name behind where that says more than `value` and than the
/// counter's own: `MXU` in %, `Vector Spills`.
fn named(
    profile: &Profile,
    plane: &Plane,
    source: &Source,
    meta: MetaIdx,
    id: StatId,
) -> (String, &'static str) {
    let counter = label(profile, plane, meta);
    let stat = plane.stat_name(source, id);
    let unit = unit(&stat);
    let says_more = !counter.to_ascii_lowercase().ends_with(&stat.to_ascii_lowercase());
    if stat == UNIT_SHARE {
        return (counter.into_owned(), "%");
    }
    if !says_more || stat == haloscope_time::counters::COUNTER_VALUE || stat == "value" {
        return (counter.into_owned(), unit);
    }
    (format!("{counter}: {stat}"), unit)
}

fn number(value: Option<StatValue<'_>>) -> Option<f64> {
    match value? {
        StatValue::Double(v) => Some(v),
        StatValue::Int(v) => Some(v as f64),
        StatValue::Uint(v) => Some(v as f64),
        _ => None,
    }
}

type Account = fn(&AllocatorEvent<'_>) -> Option<f64>;

/// What allocators say of their memory after each request.
const ACCOUNTS: [(&str, &str, Account); 4] = [
    ("allocated", "B", |e| e.allocated_bytes.map(|v| v as f64)),
    ("reserved", "B", |e| e.reserved_bytes.map(|v| v as f64)),
    ("available", "B", |e| e.available_bytes.map(|v| v as f64)),
    ("fragmentation", "", |e| e.fragmentation),
];

/// The accounts of the allocators that a thread asked, as far as it asked.
fn accounts(profile: &Profile, line: &Line) -> Vec<Curve> {
    let mut curves = Vec::new();
    for allocator in allocators(profile, profile.plane(line.plane).host) {
        let events: Vec<_> = allocator.by_time().into_iter().filter(|e| e.line == line.id).collect();
        for (account, unit, read) in ACCOUNTS {
            let mut curve = Curve::new(format!("{}: {account}", allocator.name), unit);
            events.iter().for_each(|event| curve.push(event.start_ps, read(event)));
            if curve.max.is_some() {
                curves.push(curve);
            }
        }
    }
    curves
}
