//! Flows: the arrows between events, from what causes to what is caused.
//!
//! Host threads and launches: the contexts that `haloscope_event_groups` finds. Asynchronous ops: a done names its start.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::Timeline;
use haloscope_event_groups::{Context, Direction, category_name};
use haloscope_profile::{HostId, LineId, Profile};
use haloscope_report::Error;
use haloscope_report::stop;

mod pairs;

/// Flows that one answer holds unless more are asked for.
pub const FLOWS: usize = 2000;

/// The arrows of a window, or of one event.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Flows {
    /// Number of arrows that there are.
    pub total: usize,
    /// As many of them as were asked for, evenly spread, by the time of the cause.
    pub flows: Vec<Flow>,
}

/// An arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Flow {
    /// What sort of arrow it is.
    pub kind: FlowKind,
    /// What is passed, as the profiler names it; empty where it does not.
    pub via: &'static str,
    /// The cause.
    pub from: FlowEnd,
    /// The event that is caused.
    pub to: FlowEnd,
}

/// What sort of arrow it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// From a launch to what ran on a device.
    Launch,
    /// From one event of a host to another: what one thread sends and another receives.
    Send,
    /// From the start of an asynchronous op to its done.
    Async,
}

/// An end of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct FlowEnd {
    /// The line.
    pub track: u32,
    /// The row in the line.
    pub event: u32,
    /// The row on the screen, 0 at the top of the track.
    pub depth: u32,
    /// Where to draw it, picoseconds on the run's clock: for a cause its end, but not after the start of what it caused.
    pub time_ps: i64,
}

/// Which arrows are wanted.
#[derive(Debug, Clone, Copy)]
pub enum FlowsOf<'a> {
    /// Those with a part between two times (picoseconds, the end excluded), both ends on some lines; all where `None`.
    Window(i64, i64, Option<&'a [LineId]>),
    /// Those from and to one event.
    Event(LineId, u32),
}

/// An arrow, without its place on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrow {
    from_ps: i64,
    to_ps: i64,
    from: (LineId, u32),
    to: (LineId, u32),
    kind: FlowKind,
    via: &'static str,
}

impl Timeline {
    /// The arrows of a window or of an event, `limit` at most. The first call reads the stats of every event.
    ///
    /// # Errors
    /// [`Error::Usage`] for an empty window and for a line that there is not.
    pub fn flows(&self, of: FlowsOf<'_>, limit: usize) -> Result<Flows, Error> {
        match of {
            FlowsOf::Window(from, to, _) if from >= to => {
                return Err(Error::Usage(format!(
                    "expected a window that ends after it starts, found {from}..{to} ps"
                )));
            }
            FlowsOf::Window(_, _, lines) => {
                for id in &self.recorded(lines.unwrap_or_default()) {
                    self.line(*id)?;
                }
            }
            FlowsOf::Event(line, event) => {
                self.event(line, event as usize)?;
            }
        }
        let takes = |arrow: &&Arrow| match of {
            FlowsOf::Window(from, to, lines) => {
                let shown = |end: (LineId, u32)| lines.is_none_or(|lines| lines.contains(&end.0));
                arrow.from_ps < to && arrow.to_ps >= from && shown(arrow.from) && shown(arrow.to)
            }
            FlowsOf::Event(line, event) => arrow.from == (line, event) || arrow.to == (line, event),
        };
        let all: Vec<&Arrow> = self.kept.arrows(&self.profile).iter().filter(takes).collect();
        let total = all.len();
        // Number i of n is taken where i * limit / n steps: the same ones at every call.
        let step = |i: usize| (i as u128 * limit as u128) / total.max(1) as u128;
        let taken = all.iter().enumerate().filter(|(i, _)| limit >= total || step(*i) != step(i + 1));
        Ok(Flows { total, flows: taken.filter_map(|(_, arrow)| self.flow(arrow)).collect() })
    }

    fn flow(&self, arrow: &Arrow) -> Option<Flow> {
        let end = |(id, event): (LineId, u32), time_ps| {
            let depth = self.layout(self.line(id).ok()?).depth_of(event)?;
            Some(FlowEnd { track: id.0, event, depth, time_ps })
        };
        Some(Flow {
            kind: arrow.kind,
            via: arrow.via,
            from: end(arrow.from, arrow.from_ps)?,
            to: end(arrow.to, arrow.to_ps)?,
        })
    }
}

impl Arrow {
    fn new(
        profile: &Profile,
        from: (LineId, u32),
        to: (LineId, u32),
        kind: FlowKind,
        via: &'static str,
    ) -> Self {
        let event = |(line, row): (LineId, u32)| profile.events(profile.line(line)).get(row as usize);
        let (cause, caused) = (event(from), event(to));
        let from_ps = cause.end_ps.min(caused.start_ps).max(cause.start_ps);
        Self { from_ps, to_ps: caused.start_ps, from, to, kind, via }
    }
}

/// All arrows of a run, by the time of the cause.
pub(super) fn of_run(profile: &Profile) -> Vec<Arrow> {
    let hosts: Vec<HostId> = (0..profile.hosts.len() as u32).map(HostId).collect();
    let mut all: Vec<Arrow> =
        hosts.par_iter().flat_map_iter(stop::carried(|host: &HostId| of_host(profile, *host))).collect();
    let planes = profile.planes.par_iter().filter(|plane| plane.kind.is_device());
    all.par_extend(planes.flat_map_iter(stop::carried(|plane| pairs::of_plane(profile, plane))));
    all.sort_unstable();
    all
}

/// Arrows between events that have a context in common.
fn of_host(profile: &Profile, host: HostId) -> Vec<Arrow> {
    /// An end: start, line and row, then whether it gives and whether it takes.
    type End = (i64, LineId, u32, bool, bool);
    let context = Context::of(profile, host);
    let mut ends: FxHashMap<(u64, u8), Vec<End>> = FxHashMap::default();
    for lane in &context.lanes {
        let events = profile.events(profile.line(lane.line));
        for (position, link) in &lane.links {
            // Events that were put in stand in no file: there is nothing to draw at.
            let Some(row) = lane.row(*position as usize) else { continue };
            let gives = matches!(link.direction, Direction::Out | Direction::Through);
            let takes = matches!(link.direction, Direction::In | Direction::Through);
            let end = (events.get(row).start_ps, lane.line, row as u32, gives, takes);
            ends.entry((link.id, link.category)).or_default().push(end);
        }
    }
    let mut arrows = Vec::new();
    let mut ends: Vec<_> = ends.into_iter().collect();
    ends.sort_unstable_by_key(|(key, _)| *key);
    for ((_, category), mut ends) in ends {
        ends.sort_unstable();
        // Clocks of threads and devices differ a little: what is taken before anybody gave comes from the first who does.
        let first = ends.iter().find(|end| end.3).map(|end| (end.1, end.2));
        let mut giver = None;
        for (_, line, row, gives, takes) in ends {
            let to = (line, row);
            if takes && let Some(from) = giver.or(first).filter(|from| *from != to) {
                let on_device = profile.plane(profile.line(line).plane).kind.is_device();
                let kind = if on_device { FlowKind::Launch } else { FlowKind::Send };
                arrows.push(Arrow::new(profile, from, to, kind, category_name(category)));
            }
            if gives {
                giver = Some(to);
            }
        }
    }
    arrows
}
