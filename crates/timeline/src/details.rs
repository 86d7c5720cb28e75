//! What one event says, in words and numbers.

use haloscope_xspace::{StatValue, StatView};

use haloscope_profile::{Line, Plane, Profile, Source};
use haloscope_report::Cell;
use haloscope_report::units;
use haloscope_time::steps::{Step, Steps};

use super::op_details::OpDetails;
use super::{label, nests, self_ps};

/// Longer texts are cut: a page shows them to a person.
const TEXT_LIMIT: usize = 64 << 10;

/// Whole numbers beyond this (2^53) are given as text: a reader that knows only doubles would change their last digits.
const EXACT: u64 = 1 << 53;

/// One event with everything that is known about it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct EventDetails {
    /// Its label, as in the window.
    pub name: String,
    /// Start on the run's clock, picoseconds.
    pub start_ps: i64,
    /// Picoseconds.
    pub duration_ps: i64,
    /// The part of its duration in which no event that it encloses ran, picoseconds; `None` on lines whose events overlap
    /// without belonging to each other.
    pub self_ps: Option<i64>,
    /// What is known of the op that it is.
    #[serde(flatten)]
    pub op: OpDetails,
    /// The number of the step in which it begins, on its device.
    pub step: Option<i64>,
    /// Its stats, then those of its metadata that it does not override, in file order.
    pub stats: Vec<EventStat>,
}

/// A fact about an event.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct EventStat {
    /// As the profiler names it.
    pub name: String,
    /// References resolved, compressed text unpacked; of other messages the size, in words.
    pub value: Cell,
    /// `ps`, `ns`, `us`, `B`, `FLOP`, or empty where the name does not tell.
    pub unit: &'static str,
}

pub(super) fn of(profile: &Profile, line: &Line, index: usize, steps: &Steps) -> EventDetails {
    let plane = profile.plane(line.plane);
    let events = profile.events(line);
    let event = events.get(index);
    let name = label(profile, plane, event.meta).into_owned();
    let stats = stats_of(profile, line, index);
    EventDetails {
        name,
        start_ps: event.start_ps,
        duration_ps: event.end_ps - event.start_ps,
        self_ps: nests(line).then(|| self_ps(line, events, index)),
        op: OpDetails::of(profile, line, index),
        step: step_at(profile, line, event.start_ps, steps),
        stats,
    }
}

/// The stats of an event, then those of its metadata that it does not override, in file order.
#[must_use]
pub fn stats_of(profile: &Profile, line: &Line, index: usize) -> Vec<EventStat> {
    let plane = profile.plane(line.plane);
    let source = profile.source_of(plane);
    let events = profile.events(line);
    let meta = events.get(index).meta;
    let name = label(profile, plane, meta);
    let mut stats: Vec<EventStat> =
        events.stats(source, index).filter_map(|s| stat(plane, source, s)).collect();
    // On TPU the metadata's name is the whole HLO expression, of which the label is the instruction's name.
    let long = source.text(plane.metas[meta as usize].name);
    if !long.is_empty() && long != name {
        stats.push(EventStat { name: "long_name".into(), value: Cell::Text(cut(&long)), unit: "" });
    }
    let own = stats.len();
    for shared in plane.meta_stats(source, meta).filter_map(|s| stat(plane, source, s)) {
        if !stats[..own].iter().any(|s| s.name == shared.name) {
            stats.push(shared);
        }
    }
    stats
}

/// The step that holds a time on the device that the line's plane shows.
pub(super) fn step_at(profile: &Profile, line: &Line, time_ps: i64, steps: &Steps) -> Option<i64> {
    let device = profile.devices.iter().find(|d| d.plane == line.plane)?;
    let holds =
        |step: &&Step| step.on(device.id).is_some_and(|i| i.start_ps <= time_ps && time_ps < i.end_ps);
    steps.rows.iter().find(holds).map(|step| step.number)
}

fn stat(plane: &Plane, source: &Source, stat: StatView<'_>) -> Option<EventStat> {
    let name = match plane.stat_name(source, stat.metadata_id) {
        name if name.is_empty() => format!("stat {}", stat.metadata_id),
        name => name.into_owned(),
    };
    let (value, is_number) = match stat.value? {
        StatValue::Double(v) => (Cell::from(v), true),
        StatValue::Int(v) if v.unsigned_abs() > EXACT => (Cell::Text(v.to_string()), false),
        StatValue::Int(v) => (Cell::Int(v), true),
        StatValue::Uint(v) if v > EXACT => (Cell::Text(v.to_string()), false),
        StatValue::Uint(v) => (Cell::from(v), true),
        StatValue::Bytes(bytes) => {
            (Cell::Text(format!("{} of data", units::bytes(bytes.len() as f64))), false)
        }
        text => (plane.text(source, text).map(|t| cut(&t)).into(), false),
    };
    let unit = if is_number { unit(&name) } else { "" };
    Some(EventStat { name, value, unit })
}

/// The unit that a stat's name gives away; rates and shares keep quiet.
pub(super) fn unit(name: &str) -> &'static str {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit(['_', ' ']).next().unwrap_or_default();
    match last {
        _ if lower.contains("per_s") || lower.contains("per second") => "",
        "ps" => "ps",
        "ns" => "ns",
        "us" => "us",
        "flops" => "FLOP",
        _ if lower.contains("bytes") => "B",
        _ => "",
    }
}

fn cut(text: &str) -> String {
    if text.len() <= TEXT_LIMIT {
        return text.to_owned();
    }
    format!("{}… ({} in all)", haloscope_report::head(text, TEXT_LIMIT), units::bytes(text.len() as f64))
}
