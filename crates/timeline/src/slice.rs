//! A part of the timeline: what ran between two times on some tracks, added up and event by event.

use haloscope_profile::LineId;
use haloscope_report::Error;
use haloscope_report::scope::StepRange;
use haloscope_report::{Report, Status, Table, Unit, Value, row};

use super::{Found, Group, MOST_HITS, Search, Timeline, Totals, Track, Tracks};

/// Of what is on by default: the tracks of devices that show what ran.
const USUAL: [&str; 4] = ["ops", "async", "stream", "modules"];

/// Which part of the timeline is asked for.
#[derive(Debug, Clone, Default)]
pub struct SliceQuery {
    /// Devices as tables print them; none means the first.
    pub devices: Vec<String>,
    /// A track's number, or a kind of track; else those that show what ran.
    pub track: Option<String>,
    /// Picoseconds on the run's clock, the end excluded.
    pub window_ps: Option<(i64, i64)>,
    /// From the first to the last of these steps, where no window is given. Without either: a steady step in the middle, else the
    /// whole capture.
    pub steps: Option<StepRange>,
    /// Only events whose names hold this are listed.
    pub name: Option<String>,
    /// Rows of each list.
    pub limit: usize,
}

/// Why there is no such part.
#[derive(Debug)]
pub enum Absent {
    /// The run has no device, track or step of this name.
    Word {
        /// What it would be: `device`, `track` or `step`.
        what: &'static str,
        /// What was asked for.
        found: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The run has no events with a place in time.
    Events,
    /// The question was malformed.
    Other(Error),
}

impl From<Error> for Absent {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<Absent> for Error {
    fn from(absent: Absent) -> Self {
        match absent {
            Absent::Other(error) => error,
            Absent::Events => Self::Nothing("the run has no events with a place in time".to_owned()),
            Absent::Word { what, found, known } => {
                Self::Usage(format!("there is no {what} `{found}`; there are: {}", known.join(", ")))
            }
        }
    }
}

/// A part of the timeline.
#[derive(Debug)]
pub struct TimelineSlice<'a> {
    /// Start and end, picoseconds on the run's clock.
    pub window_ps: (i64, i64),
    /// What the window is, in words.
    pub window_is: String,
    /// The tracks, with what they belong to.
    pub chosen: Vec<(&'a Group, &'a Track)>,
    /// What ran, added up.
    pub totals: Totals,
    /// The events that match, in time order.
    pub found: Found,
}

impl Timeline {
    /// What ran in a part of the timeline.
    ///
    /// # Errors
    /// [`Absent`] where the run has no such device, track or step.
    pub fn slice(&self, query: &SliceQuery) -> Result<TimelineSlice<'_>, Absent> {
        let tracks = self.tracks();
        let chosen = chosen(tracks, query)?;
        let ((start, end), window_is) = self.slice_window(tracks, query)?;
        let lines: Vec<LineId> = chosen.iter().map(|(_, track)| LineId(track.id)).collect();
        let totals = self.totals(start, end, &lines, query.limit)?;
        let (from, to, most) = (start.to_string(), end.to_string(), query.limit.min(MOST_HITS).to_string());
        let search = Search::from_words(|key| match key {
            "start" => Some(from.as_str()),
            "end" => Some(to.as_str()),
            "limit" => Some(most.as_str()),
            "q" => query.name.as_deref(),
            _ => None,
        })?;
        let found = self.search(&search, Some(&lines))?;
        Ok(TimelineSlice { window_ps: (start, end), window_is, chosen, totals, found })
    }

    /// The window that is asked for, and what it is.
    fn slice_window(&self, tracks: &Tracks, query: &SliceQuery) -> Result<((i64, i64), String), Absent> {
        if let Some(window) = query.window_ps {
            return Ok((window, "as asked".to_owned()));
        }
        let ruler = self.steps();
        if let Some(steps) = &query.steps {
            let inside = || ruler.steps.iter().filter(|step| steps.contains(step.number));
            let hull = inside().map(|step| step.start_ps).min().zip(inside().map(|step| step.end_ps).max());
            return hull.map(|hull| (hull, format!("step {steps}"))).ok_or_else(|| {
                let known = ruler.steps.iter().map(|step| step.number.to_string()).collect();
                Absent::Word { what: "step", found: steps.to_string(), known }
            });
        }
        let steady: Vec<_> =
            ruler.steps.iter().filter(|step| step.class == "steady" && step.end_ps > step.start_ps).collect();
        if let Some(step) = steady.get(steady.len() / 2) {
            return Ok(((step.start_ps, step.end_ps), format!("step {}, a steady one", step.number)));
        }
        if tracks.end_ps <= tracks.start_ps {
            return Err(Absent::Events);
        }
        let whole = (tracks.start_ps, tracks.end_ps);
        Ok((whole, "the whole capture: no steady step was found".to_owned()))
    }
}

/// The tracks that are asked for: of the device named, else of the first one; of a host where there is no device.
fn chosen<'a>(tracks: &'a Tracks, query: &SliceQuery) -> Result<Vec<(&'a Group, &'a Track)>, Absent> {
    let all = || tracks.groups.iter().flat_map(|group| group.tracks.iter().map(move |track| (group, track)));
    if let Some(id) = query.track.as_deref().and_then(|text| text.parse::<u32>().ok()) {
        let found: Vec<_> = all().filter(|(_, track)| track.id == id).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let known = all().map(|(_, track)| track.id.to_string()).collect();
        return Err(Absent::Word { what: "track", found: id.to_string(), known });
    }
    let known: Vec<String> = tracks.groups.iter().filter_map(|group| group.device.clone()).collect();
    if let Some(name) = query.devices.iter().find(|name| !known.contains(name)) {
        return Err(Absent::Word { what: "device", found: name.clone(), known });
    }
    let of_device = |group: &Group| {
        query.devices.is_empty() || group.device.as_ref().is_some_and(|name| query.devices.contains(name))
    };
    let wanted = |kind: &str| query.track.as_deref().map_or(USUAL.contains(&kind), |word| word == kind);
    let mut found: Vec<_> =
        all().filter(|(group, track)| of_device(group) && wanted(track.kind) && !track.counter).collect();
    // One device says it: all of them at once would be many lists in one.
    if query.devices.is_empty() {
        let first = found.iter().find(|(group, _)| group.device.is_some()).or_else(|| found.first());
        let first = first.map(|(group, _)| group.id.clone());
        found.retain(|(group, _)| Some(&group.id) == first.as_ref());
    }
    if found.is_empty() && query.track.is_none() {
        found = all().filter(|(group, track)| of_device(group) && !track.counter).collect();
    }
    if found.is_empty() {
        let mut known: Vec<String> = all().map(|(_, track)| track.kind.to_owned()).collect();
        known.sort_unstable();
        known.dedup();
        return Err(Absent::Word {
            what: "track",
            found: query.track.clone().unwrap_or_else(|| "any".into()),
            known,
        });
    }
    Ok(found)
}

impl TimelineSlice<'_> {
    /// The part as a report, for those who read tables.
    #[must_use]
    pub fn report(&self, tracks: &Tracks) -> Report {
        let (start, end) = self.window_ps;
        let ps = |id, label, ps: i64, doc| Value::new(id, label, Some(ps), Unit::Ps, Status::Measured, doc);
        let count =
            |id, label, n: u64, doc| Value::new(id, label, Some(n), Unit::Count, Status::Measured, doc);
        let words = |id, label, text: String, doc| {
            Value::new(id, label, Some(text), Unit::None, Status::Measured, doc)
        };
        let on: Vec<String> =
            self.chosen.iter().map(|(group, track)| format!("{} {}", group.name, track.name)).collect();
        let values = vec![
            words("window", "Window", self.window_is.clone(), "What the window is."),
            ps("start_ps", "Starts at", start, "From the start of the run."),
            ps("span_ps", "Length", end.saturating_sub(start), "The length of the window."),
            words("tracks", "Tracks", on.join(", "), "The tracks that are listed."),
            ps("busy_ps", "Busy", self.totals.union_ps, "Time in which any event of these tracks ran."),
            count("events", "Events", self.totals.events, "Events with a part in the window."),
            count("matching_events", "Matching events", self.found.count, "All events that match."),
        ];
        let by_op = self.totals.by_op.iter().map(|op| {
            row![
                text("name", "Name", "The op, or the events' label.", op.name.clone()),
                duration(
                    "self_ps",
                    "Self time",
                    "Time in the window minus that of nested events.",
                    op.self_ps
                ),
                duration("total_ps", "Total time", "Time in the window.", op.total_ps),
                count("count", "Count", "Those that start in the window.", op.count),
                text("category", "Category", "The HLO category.", op.category.clone()),
                float(
                    "flops",
                    "FLOPs",
                    Unit::Flop,
                    "FLOPs; only its share if it is partly in the window.",
                    op.flops
                ),
                float("bytes", "Bytes", Unit::Bytes, "Bytes accessed in all memories.", op.bytes),
                text("kind", "Track", "`op`, or the kind of track of the events.", op.kind),
            ]
        });
        let events = self.found.hits.iter().map(|hit| {
            let name = tracks
                .groups
                .iter()
                .flat_map(|g| &g.tracks)
                .find(|t| t.id == hit.track)
                .map(|t| t.name.clone());
            row![
                duration("start_ps", "Start", "From the start of the run.", hit.start_ps),
                duration("duration_ps", "Duration", "Its length.", hit.duration_ps),
                text("name", "Name", "The event's label.", hit.name.clone()),
                count("depth", "Depth", "How many events it is nested in.", i64::from(hit.depth)),
                text("track", "Track", "The track that it is on.", name),
            ]
        });
        let tables = vec![
            Table::of("by_op", "Time in the window by op", by_op),
            Table::of("events", "Events in time order", events),
        ];
        Report { analysis: "timeline", values, tables, ..Report::default() }
    }
}
