//! The timeline: which tracks a run has, what to draw of them in a window of time, and what one event says.
//!
//! A track is a line of the profile. Its events are laid out in rows once, see `layout`; a window is then answered by
//! binary search, with at most about two slices per pixel and row, however many events there are.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use haloscope_profile::{Events, Line, LineId, LineKind, MetaIdx, Plane, Profile};
use haloscope_report::Error;

mod clock;
mod colours;
mod counters;
mod details;
pub mod excerpt;
pub mod export;
mod flows;
mod framework_rows;
mod kept;
mod layout;
mod line_ops;
mod op_details;
mod overlap;
mod row;
mod ruler;
mod search;
pub mod share;
mod slice;
mod stacks;
mod texts;
mod tile;
mod totals;
mod tracks;
mod utilisation;
mod view;
mod window;

pub use clock::{Clock, HostClock};
pub use clock::{Execution as NumberedExecution, offset as clock_offset, runs as numbered_runs};
pub use colours::Colour;
use colours::Colours;
use counters::Curve;
pub use counters::{Counter, CounterSamples, Counters, Sample, TrackCounters, counter_samples};
pub use details::{EventDetails, EventStat, stats_of};
pub use flows::{FLOWS, Flow, FlowEnd, FlowKind, Flows, FlowsOf};
use framework_rows::FrameworkTrack;
use layout::Layout;
pub use op_details::{EventPeaks, Frame, OpDetails};
pub use overlap::{DeviceOverlap, Overlap, StepGaps, background};
pub use ruler::{Ruler, RulerStep};
pub use search::{Found, Hit, MOST_HITS, NameCount, Place, Search};
pub use slice::{Absent, SliceQuery, TimelineSlice};
pub use stacks::{NameStacks, StackNode};
pub use totals::{CategoryTotal, NameTotal, Totals, TrackTotal};
pub use tracks::{Group, Track, Tracks};
pub use utilisation::Utilisation;
pub use view::MAX_PX;
pub use window::{Slice, TrackSlices, Window};

/// A run's timeline. Lines are laid out when they are first asked for.
#[derive(Debug)]
pub struct Timeline {
    profile: Arc<Profile>,
    layouts: Vec<OnceLock<Layout>>,
    tracks: OnceLock<Tracks>,
    colours: Colours,
    texts: texts::Texts,
    labels: texts::Labels,
    kept: kept::Kept,
    curves: Vec<OnceLock<Vec<Curve>>>,
    framework: OnceLock<Vec<FrameworkTrack>>,
}

impl Timeline {
    /// The timeline of a run. Nothing is read yet.
    #[must_use]
    pub fn new(profile: Arc<Profile>) -> Self {
        let layouts = profile.lines.iter().map(|_| OnceLock::new()).collect();
        let curves = profile.lines.iter().map(|_| OnceLock::new()).collect();
        let colours = Colours::of(&profile);
        let kept = kept::Kept::of(&profile);
        let (texts, labels) = (texts::Texts::default(), texts::Labels::of(&profile));
        let (tracks, framework) = (OnceLock::new(), OnceLock::new());
        Self { profile, layouts, tracks, colours, texts, labels, kept, curves, framework }
    }

    /// All tracks. The first call reads and lays out every line.
    #[must_use]
    pub fn tracks(&self) -> &Tracks {
        self.tracks.get_or_init(|| self.find_tracks())
    }

    /// What an event says: its stats and those of its metadata. `event` is its row in the line ([`Slice::event`]).
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such line or event.
    pub fn event(&self, line: LineId, event: usize) -> Result<EventDetails, Error> {
        let missing = |id: LineId, count: usize| {
            Error::Usage(format!("track {} has {count} events; there is no event {event}", id.0))
        };
        if line.index() >= self.profile.lines.len()
            && let Some(track) = self.framework_track(line)
        {
            let known = self.framework_event(track, event);
            return known.ok_or_else(|| missing(track.id, track.len()));
        }
        let line = self.line(line)?;
        let count = self.profile.events(line).len();
        if event >= count {
            return Err(missing(line.id, count));
        }
        Ok(details::of(&self.profile, line, event, self.kept.steps(&self.profile)))
    }

    /// The tracks that no line has; made when first asked for.
    fn framework_tracks(&self) -> &[FrameworkTrack] {
        self.framework.get_or_init(|| framework_rows::of_run(&self.profile, &self.texts))
    }

    fn framework_track(&self, id: LineId) -> Option<&FrameworkTrack> {
        self.framework_tracks().get(id.index().checked_sub(self.profile.lines.len())?)
    }

    fn framework_event(&self, track: &FrameworkTrack, event: usize) -> Option<EventDetails> {
        let (span, depth) = track.get(event)?;
        let path = self.texts.of(&track.path(&span, depth));
        let name = path.last()?.to_string();
        let scopes = (track.depth() > 1).then(|| path.join("/"));
        let op = OpDetails { op_name: scopes, source: track.place(&name), ..OpDetails::default() };
        let line = self.profile.line(track.of);
        Some(EventDetails {
            name,
            start_ps: span.start_ps,
            duration_ps: span.end_ps - span.start_ps,
            self_ps: None,
            op,
            step: details::step_at(&self.profile, line, span.start_ps, self.kept.steps(&self.profile)),
            stats: Vec::new(),
        })
    }

    /// Those of the tracks that are lines: the others have the same time once more.
    fn recorded(&self, tracks: &[LineId]) -> Vec<LineId> {
        let lines = self.profile.lines.len();
        let made = |id: &LineId| id.index() >= lines && self.framework_track(*id).is_some();
        tracks.iter().copied().filter(|id| !made(id)).collect()
    }

    fn line(&self, id: LineId) -> Result<&Line, Error> {
        let count = self.profile.lines.len();
        let missing = || Error::Usage(format!("there is no track {}; the run has {count} lines", id.0));
        self.profile.lines.get(id.index()).ok_or_else(missing)
    }

    fn layout(&self, line: &Line) -> &Layout {
        self.layouts[line.id.index()].get_or_init(|| Layout::of(self.profile.events(line)))
    }
}

/// The name of an event; never empty.
fn label<'p>(profile: &'p Profile, plane: &'p Plane, meta: MetaIdx) -> Cow<'p, str> {
    let label = plane.meta_label(profile.source_of(plane), meta);
    if label.is_empty() { Cow::Borrowed("(no name)") } else { label }
}

/// Events nest on these lines: time in a child is not time of the parent itself.
fn nests(line: &Line) -> bool {
    !matches!(line.kind, LineKind::AsyncXlaOps | LineKind::Counters)
}

/// The picoseconds of an event in which none of the events that it encloses ran. What begins in it and ends after it is no part of
/// an op; on other lines the later one has the time of both, as in the sums by name.
fn self_ps(line: &Line, events: &Events, index: usize) -> i64 {
    let event = events.get(index);
    let is_of_ops = matches!(line.kind, LineKind::XlaOps | LineKind::Stream);
    let inside = (index + 1..events.rows_before(event.end_ps)).map(|i| events.get(i));
    let inside = inside.filter(|e| !is_of_ops || e.end_ps <= event.end_ps);
    let inside = inside.map(|e| (e.start_ps, e.end_ps.min(event.end_ps)));
    event.end_ps - event.start_ps - haloscope_time::intervals::Intervals::union_of_sorted(inside).length()
}

#[cfg(test)]
mod tests;
