//! Which tracks a run has.

use std::iter;

use rayon::prelude::*;

use haloscope_profile::{DeviceKind, Line, LineId, LineKind, Plane, Profile};
use haloscope_report::stop;
use haloscope_time::op_lines::holds_ops;

use super::framework_rows::FrameworkTrack;
use super::{Timeline, nests};

/// All tracks of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tracks {
    /// The first start of an event or capture, picoseconds on the run's clock; 0 where there is neither.
    pub start_ps: i64,
    /// The last end, likewise.
    pub end_ps: i64,
    /// From the first start to the last end of what ran on accelerators; `None` where none has events. A capture goes on before
    /// and after, often for long.
    pub active_ps: Option<(i64, i64)>,
    /// One group a plane that has events: by host, devices first.
    pub groups: Vec<Group>,
    /// The names of all hosts.
    pub hosts: Vec<String>,
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
    /// The name of the host that it belongs to.
    pub host: String,
    /// The device that the plane shows, as a scope names it; `None` where it shows none.
    pub device: Option<String>,
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
    /// What it shows: `steps`, `modules`, `ops`, `async`, `derived`, `stream`, `thread`, `counters`, `framework` or
    /// `other`.
    pub kind: &'static str,
    /// Whether an event that lies within another is part of it.
    pub nests: bool,
    /// Whether the events are samples of counters, which are drawn as curves.
    pub counter: bool,
}

impl Timeline {
    pub(super) fn find_tracks(&self) -> Tracks {
        let profile = &*self.profile;
        let mut spans: Vec<(i64, i64)> = profile.hosts.iter().filter_map(|h| h.capture_ps).collect();
        // The lines are independent of each other, and reading them is most of the work.
        let depth_and_span = |line: &Line| (self.layout(line).depth(), profile.events(line).span_ps());
        let of_lines: Vec<_> = profile.lines.par_iter().map(stop::carried(depth_and_span)).collect();
        spans.extend(of_lines.iter().filter_map(|(_, span)| *span));

        let ran = |line: &&Line| {
            let device = profile.devices.iter().find(|d| d.plane == line.plane);
            device.is_some_and(|d| d.kind != DeviceKind::Cpu && holds_ops(d.kind, line.kind))
        };
        let of_ops = profile.lines.iter().filter(ran).filter_map(|line| of_lines[line.id.index()].1);
        let active_ps = of_ops.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));

        let mut planes: Vec<&Plane> = profile.planes.iter().collect();
        planes.sort_by_key(|p| (p.host, !p.kind.is_device(), device_number(&p.name), p.name.len(), p.id));
        let group = |plane: &Plane| {
            let mut lines: Vec<_> = profile
                .lines_of(plane.id)
                .filter_map(|line| Some((line, of_lines[line.id.index()].0, of_lines[line.id.index()].1?)))
                .collect();
            lines.sort_by_key(|(line, _, (first_ps, _))| reading_order(line, *first_ps));
            let framework = |of: &Line| {
                let of = of.id;
                self.framework_tracks().iter().filter(move |track| track.of == of).map(framework_track)
            };
            let shared = |name: &str| lines.iter().filter(|(l, ..)| l.name == name).count() > 1;
            let track = |&(line, depth, _): &(&Line, usize, (i64, i64))| Track {
                id: line.id.0,
                name: track_name(line, shared(&line.name)),
                events: profile.events(line).len(),
                depth,
                kind: kind(line.kind),
                nests: nests(line),
                counter: line.kind == LineKind::Counters,
            };
            Group {
                id: format!("p{}", plane.id.0),
                name: group_name(profile, plane),
                kind: if plane.kind.is_device() { "device" } else { "host" },
                host: profile.host(plane.host).name.clone(),
                device: profile.devices.iter().find(|d| d.plane == plane.id).map(|d| d.name.clone()),
                // What the ops are of the framework stands below them.
                tracks: lines.iter().flat_map(|one| iter::once(track(one)).chain(framework(one.0))).collect(),
            }
        };
        Tracks {
            start_ps: spans.iter().map(|s| s.0).min().unwrap_or(0),
            end_ps: spans.iter().map(|s| s.1).max().unwrap_or(0),
            active_ps,
            groups: planes.into_iter().map(group).filter(|g| !g.tracks.is_empty()).collect(),
            hosts: profile.hosts.iter().map(|h| h.name.clone()).collect(),
        }
    }
}

fn framework_track(track: &FrameworkTrack) -> Track {
    Track {
        id: track.id.0,
        name: track.shows.name().to_owned(),
        events: track.len(),
        depth: track.depth(),
        kind: "framework",
        nests: true,
        counter: false,
    }
}

/// The word for what a line shows.
fn kind(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Steps => "steps",
        LineKind::XlaModules => "modules",
        LineKind::XlaOps => "ops",
        LineKind::AsyncXlaOps => "async",
        LineKind::Derived => "derived",
        LineKind::Stream => "stream",
        LineKind::Thread => "thread",
        LineKind::Counters => "counters",
        LineKind::Other => "other",
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
