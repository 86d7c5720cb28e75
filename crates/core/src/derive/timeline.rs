//! The timeline: which tracks a run has, what to draw of them in a window of time, and what one event says.
//!
//! A track is a line of the profile. Its events are laid out in rows once, see `layout`; a window is then answered by
//! binary search, with at most about two slices per pixel and row, however many events there are.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::ser::{Serialize, SerializeTuple, Serializer};

use crate::Error;
use crate::profile::{Events, Line, LineId, LineKind, MetaIdx, Plane, PlaneId, Profile};

mod details;
mod layout;

pub use details::{EventDetails, EventStat};
use layout::Layout;

/// The most pixels that a window is drawn in.
pub const MAX_PX: u32 = 16_384;

/// A run's timeline. Lines are laid out when they are first asked for.
#[derive(Debug)]
pub struct Timeline {
    profile: Arc<Profile>,
    layouts: Vec<OnceLock<Layout>>,
    tracks: OnceLock<Tracks>,
}

/// All tracks of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tracks {
    /// The first start of an event or capture, picoseconds on the run's clock; 0 where there is neither.
    pub start_ps: i64,
    /// The last end, likewise.
    pub end_ps: i64,
    /// One group a plane that has events: by host, devices first.
    pub groups: Vec<Group>,
}

/// The tracks of one plane.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Group {
    /// Stable within a run.
    pub id: String,
    /// The device or host plane; with the host in front where the run has several.
    pub name: String,
    /// `device` or `host`.
    pub kind: &'static str,
    /// The plane's lines that have events, in reading order.
    pub tracks: Vec<Track>,
}

/// One track: a line with events.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Track {
    /// The line: a row of [`Profile::lines`].
    pub id: u32,
    /// The line's name; with its id behind where several lines of the plane share it.
    pub name: String,
    /// Number of events with a place in time.
    pub events: usize,
    /// Number of rows that the events take: the deepest nesting, or the most events at once.
    pub depth: usize,
}

/// What to draw of some tracks in a window of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Window {
    /// The tracks asked for, in the order asked.
    pub tracks: Vec<TrackSlices>,
    /// Names, each once; slices hold positions in this list.
    pub names: Vec<String>,
}

/// What to draw of one track.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TrackSlices {
    /// The line.
    pub id: u32,
    /// By row, then by time.
    pub slices: Vec<Slice>,
}

/// One box to draw. As JSON it is `[start_ps, duration_ps, depth, name, count, event]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Start on the run's clock, picoseconds; of the first event where several were merged.
    pub start_ps: i64,
    /// Picoseconds to the end of the (last) event.
    pub duration_ps: i64,
    /// The row, 0 at the top.
    pub depth: u32,
    /// Position in [`Window::names`]; the name of the longest event where several were merged.
    pub name: u32,
    /// The events merged here: more than one only where all of them lie within one pixel.
    pub count: u32,
    /// The event's row in its line, for [`Timeline::event`]; `None` where several were merged.
    pub event: Option<u32>,
}

impl Serialize for Slice {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_tuple(6)?;
        out.serialize_element(&self.start_ps)?;
        out.serialize_element(&self.duration_ps)?;
        out.serialize_element(&self.depth)?;
        out.serialize_element(&self.name)?;
        out.serialize_element(&self.count)?;
        out.serialize_element(&self.event.map_or(-1, i64::from))?;
        out.end()
    }
}

impl Timeline {
    /// The timeline of a run. Nothing is read yet.
    #[must_use]
    pub fn new(profile: Arc<Profile>) -> Self {
        let layouts = profile.lines.iter().map(|_| OnceLock::new()).collect();
        Self { profile, layouts, tracks: OnceLock::new() }
    }

    /// All tracks. The first call reads and lays out every line.
    #[must_use]
    pub fn tracks(&self) -> &Tracks {
        self.tracks.get_or_init(|| self.find_tracks())
    }

    /// What to draw of `lines` between two times (picoseconds on the run's clock, the end excluded) in `px` pixels.
    ///
    /// Every event that overlaps the window is in exactly one slice. An event of no duration overlaps where it stands.
    ///
    /// # Errors
    /// [`Error::Usage`] for an empty window, for 0 or more than [`MAX_PX`] pixels, for a line that there is not.
    pub fn window(&self, start_ps: i64, end_ps: i64, px: u32, lines: &[LineId]) -> Result<Window, Error> {
        if start_ps >= end_ps {
            return Err(Error::Usage(format!(
                "expected a window that ends after it starts, found {start_ps}..{end_ps} ps"
            )));
        }
        if !(1..=MAX_PX).contains(&px) {
            return Err(Error::Usage(format!("expected 1 to {MAX_PX} pixels, found {px}")));
        }
        let length = (i128::from(end_ps) - i128::from(start_ps)) as u128;
        let width_ps = i64::try_from(length.div_ceil(u128::from(px))).unwrap_or(i64::MAX);
        let view = layout::View { start_ps, end_ps, width_ps };
        let mut names = Names::default();
        let mut tracks = Vec::with_capacity(lines.len());
        for &id in lines {
            let line = self.line(id)?;
            let slices = self
                .layout(line)
                .slices(self.profile.events(line), view, |meta| names.of(&self.profile, line.plane, meta));
            tracks.push(TrackSlices { id: id.0, slices });
        }
        Ok(Window { tracks, names: names.list })
    }

    /// What an event says: its stats and those of its metadata. `event` is its row in the line ([`Slice::event`]).
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such line or event.
    pub fn event(&self, line: LineId, event: usize) -> Result<EventDetails, Error> {
        let line = self.line(line)?;
        let count = self.profile.events(line).len();
        if event >= count {
            return Err(Error::Usage(format!(
                "track {} has {count} events; there is no event {event}",
                line.id.0
            )));
        }
        Ok(details::of(&self.profile, line, event))
    }

    fn line(&self, id: LineId) -> Result<&Line, Error> {
        let count = self.profile.lines.len();
        let missing = || Error::Usage(format!("there is no track {}; the run has {count} lines", id.0));
        self.profile.lines.get(id.index()).ok_or_else(missing)
    }

    fn layout(&self, line: &Line) -> &Layout {
        self.layouts[line.id.index()].get_or_init(|| Layout::of(self.profile.events(line)))
    }

    fn find_tracks(&self) -> Tracks {
        let profile = &*self.profile;
        let mut spans: Vec<(i64, i64)> = profile.hosts.iter().filter_map(|h| h.capture_ps).collect();
        // The lines are independent of each other, and reading them is most of the work.
        let depth_and_span = |line: &Line| (self.layout(line).depth(), profile.events(line).span_ps());
        let of_lines: Vec<_> = profile.lines.par_iter().map(depth_and_span).collect();
        spans.extend(of_lines.iter().filter_map(|(_, span)| *span));

        let mut planes: Vec<&Plane> = profile.planes.iter().collect();
        planes.sort_by_key(|p| (p.host, !p.kind.is_device(), device_number(&p.name), p.name.len(), p.id));
        let group = |plane: &Plane| {
            let mut lines: Vec<_> = profile
                .lines_of(plane.id)
                .filter_map(|line| Some((line, of_lines[line.id.index()].0, of_lines[line.id.index()].1?)))
                .collect();
            lines.sort_by_key(|(line, _, (first_ps, _))| reading_order(line, *first_ps));
            let shared = |name: &str| lines.iter().filter(|(l, ..)| l.name == name).count() > 1;
            let track = |&(line, depth, _): &(&Line, usize, (i64, i64))| Track {
                id: line.id.0,
                name: track_name(line, shared(&line.name)),
                events: profile.events(line).len(),
                depth,
            };
            Group {
                id: format!("p{}", plane.id.0),
                name: group_name(profile, plane),
                kind: if plane.kind.is_device() { "device" } else { "host" },
                tracks: lines.iter().map(track).collect(),
            }
        };
        Tracks {
            start_ps: spans.iter().map(|s| s.0).min().unwrap_or(0),
            end_ps: spans.iter().map(|s| s.1).max().unwrap_or(0),
            groups: planes.into_iter().map(group).filter(|g| !g.tracks.is_empty()).collect(),
        }
    }
}

/// The profiler's own lines from the coarse to the fine, then streams and threads as they start, then samples.
fn reading_order(line: &Line, first_ps: i64) -> (u8, i64, LineId) {
    let (rank, by_time) = match line.kind {
        LineKind::Steps => (0, false),
        LineKind::XlaModules => (1, false),
        LineKind::XlaOps => (2, false),
        LineKind::AsyncXlaOps => (3, false),
        LineKind::Derived => (4, false),
        LineKind::Other => (5, false),
        LineKind::Stream | LineKind::Thread => (6, true),
        LineKind::Counters => (7, false),
    };
    (rank, if by_time { first_ps } else { 0 }, line.id)
}

/// The first number in a plane's name, so that the parts of a device (its SparseCores) stand beside it.
fn device_number(name: &str) -> Option<u64> {
    let digits = name[name.find(|c: char| c.is_ascii_digit())?..].split(|c: char| !c.is_ascii_digit());
    digits.into_iter().next()?.parse().ok()
}

fn track_name(line: &Line, shared: bool) -> String {
    match line.name.as_str() {
        "" => format!("line {}", line.wire_id),
        name if shared => format!("{name} ({})", line.wire_id),
        name => name.to_owned(),
    }
}

fn group_name(profile: &Profile, plane: &Plane) -> String {
    let short = plane.name.trim_start_matches("/device:").trim_start_matches('/');
    if profile.hosts.len() > 1 {
        format!("{}/{short}", profile.host(plane.host).name)
    } else {
        short.to_owned()
    }
}

/// The names of a window, each once.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    of_meta: FxHashMap<(PlaneId, MetaIdx), u32>,
    of_text: FxHashMap<String, u32>,
}

impl Names {
    fn of(&mut self, profile: &Profile, plane: PlaneId, meta: MetaIdx) -> u32 {
        if let Some(name) = self.of_meta.get(&(plane, meta)) {
            return *name;
        }
        let text = label(profile, profile.plane(plane), meta);
        let name = *self.of_text.entry(text).or_insert_with_key(|text| {
            self.list.push(text.clone());
            (self.list.len() - 1) as u32
        });
        self.of_meta.insert((plane, meta), name);
        name
    }
}

fn label(profile: &Profile, plane: &Plane, meta: MetaIdx) -> String {
    let label = plane.meta_label(profile.source_of(plane), meta);
    if label.is_empty() { "(no name)".to_owned() } else { label.into_owned() }
}

/// Events nest on these lines: time in a child is not time of the parent itself.
fn nests(line: &Line) -> bool {
    !matches!(line.kind, LineKind::AsyncXlaOps | LineKind::Counters)
}

/// The picoseconds of an event in which none of the events that it encloses ran.
fn self_ps(events: &Events, index: usize) -> i64 {
    let event = events.get(index);
    let inside = (index + 1..events.rows_before(event.end_ps)).map(|i| events.get(i));
    let inside = inside.filter(|e| e.end_ps <= event.end_ps).map(|e| (e.start_ps, e.end_ps));
    event.end_ps - event.start_ps - super::intervals::Intervals::union_of_sorted(inside).length()
}

#[cfg(test)]
mod tests;
