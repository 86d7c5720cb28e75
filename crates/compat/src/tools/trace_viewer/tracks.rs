//! A host's trace: which processes, threads and events a timeline shows. Columns are those of the profile wherever a thread
//! is a line as it stands in the file.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::xprof_lines::{self, DerivedLine};
use haloscope_event_groups::{EventType, Link, NO_GROUP, REGION};
use haloscope_profile::{HostId, Line, LineId, Packed, Plane, PlaneKind, Profile};

use rayon::prelude::*;

use super::host_data::HostData;
use super::names::Names;
use super::serials::Serials;

/// The process of the first device, of the first custom plane and of the host.
const FIRST_DEVICE: u64 = 1;
const LAST_DEVICE: u64 = 500;
const FIRST_CUSTOM: u64 = 501;
const HOST: u64 = 701;
/// Process numbers of one host.
pub(super) const PER_HOST: u32 = 1000;

/// What a timeline shows of one host.
pub(super) struct Trace<'p> {
    pub(super) host: HostData<'p>,
    pub(super) names: Names<'p>,
    pub(super) processes: BTreeMap<u32, Process>,
    /// By process: counters, channels of asynchronous events, threads by number.
    pub(super) tracks: Vec<Track<'p>>,
}

/// A process: a device or the host.
pub(super) struct Process {
    pub(super) name: String,
    pub(super) threads: BTreeMap<u32, String>,
}

/// What a row of a timeline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Row {
    /// Samples of one counter.
    Counter,
    /// Asynchronous events of one name.
    Channel,
    /// Events of a thread.
    Thread(u32),
}

/// Where the events of a track come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// A line of the file.
    Line(LineId),
    /// The aggregated events of a line, which have no place in time.
    Aggregated(LineId),
    /// A derived line: the plane's place among the derived, and the line's.
    Derived(u32, u32),
}

/// A row of a timeline. Events are sorted by start, longer ones first.
pub(super) struct Track<'p> {
    pub(super) pid: u32,
    pub(super) row: Row,
    /// What is added to starts, in picoseconds, to come to the profiler's own clock.
    pub(super) shift_ps: i64,
    pub(super) start_ps: Cow<'p, [i64]>,
    pub(super) duration_ps: Durations<'p>,
    /// Added to [`Track::name_row`], the number of an event's name.
    pub(super) first_name: u32,
    pub(super) name_row: Cow<'p, [u32]>,
    /// Events that are called otherwise: position and name, ascending.
    pub(super) renamed: Vec<(u32, u32)>,
    /// Groups, or empty.
    pub(super) group: Cow<'p, [u32]>,
    pub(super) links: Vec<(u32, Link)>,
    /// The origin of the events from each position on.
    pub(super) origin: Vec<(Origin, Positions)>,
    /// For tracks of several origins: which origin and which position there.
    pub(super) from: Option<Vec<(u32, u32)>>,
    /// The how-manieth event of its start each is, from 0, as far as that was asked for.
    pub(super) serial: Serials,
}

/// Durations in picoseconds: those of a line, or others.
pub(super) enum Durations<'p> {
    OfLine(Packed<'p>),
    Own(Vec<i64>),
}

impl Durations<'_> {
    fn at(&self, at: usize) -> i64 {
        match self {
            Self::OfLine(durations) => durations.at(at),
            Self::Own(durations) => durations[at],
        }
    }
}

/// Which events of its origin a track holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Positions {
    All,
    These(Vec<u32>),
}

impl Positions {
    /// The position in the origin of the event at one of the track.
    fn at(&self, at: usize) -> usize {
        match self {
            Self::All => at,
            Self::These(positions) => positions[at] as usize,
        }
    }

    /// A column of the origin in the order of the track.
    fn of<'c, T: Copy>(&self, column: &'c [T]) -> Cow<'c, [T]> {
        match self {
            Self::All => Cow::Borrowed(column),
            Self::These(positions) => positions.iter().map(|at| column[*at as usize]).collect(),
        }
    }
}

impl Track<'_> {
    pub(super) fn len(&self) -> usize {
        self.start_ps.len()
    }

    pub(super) fn start(&self, at: usize) -> u64 {
        self.start_ps[at].saturating_add(self.shift_ps).max(0) as u64
    }

    pub(super) fn duration(&self, at: usize) -> u64 {
        // A damaged file's durations below 0 come out as XProf prints them, beyond all bounds.
        self.duration_ps.at(at) as u64
    }

    pub(super) fn name(&self, at: usize) -> u32 {
        match self.renamed.binary_search_by_key(&(at as u32), |(position, _)| *position) {
            Ok(found) if !self.renamed.is_empty() => self.renamed[found].1,
            _ => self.first_name + self.name_row[at],
        }
    }

    pub(super) fn group(&self, at: usize) -> Option<u32> {
        self.group.get(at).copied().filter(|group| *group != NO_GROUP)
    }

    pub(super) fn link(&self, at: usize) -> Option<&Link> {
        let found = self.links.binary_search_by_key(&(at as u32), |(position, _)| *position).ok()?;
        Some(&self.links[found].1)
    }

    /// Where an event comes from, and its position there.
    pub(super) fn source(&self, at: usize) -> (Origin, usize) {
        let (origin, at) = match &self.from {
            Some(from) => (from[at].0 as usize, from[at].1 as usize),
            None => (0, at),
        };
        let (origin, positions) = &self.origin[origin];
        (*origin, positions.at(at))
    }
}

/// Planes of a host with the process that each is shown as.
fn planes<'p>(profile: &'p Profile, host: HostId) -> Vec<(u64, &'p Plane)> {
    let starting = |prefix: &str| -> Vec<&'p Plane> {
        profile.planes_of(host).filter(|p| p.name.starts_with(prefix)).collect()
    };
    let mut hosts = starting("/host:CPU");
    hosts.sort_by(|a, b| a.name.cmp(&b.name));
    let mut devices = starting("/device:GPU:");
    if devices.is_empty() {
        devices = starting("/device:TPU:");
    }
    let device = |plane: &Plane| {
        let pid = FIRST_DEVICE.wrapping_add(plane.wire_id as u64) as u32;
        if u64::from(pid) > LAST_DEVICE { FIRST_DEVICE } else { u64::from(pid) }
    };
    let mut all: Vec<_> = hosts.into_iter().zip(HOST..).map(|(plane, pid)| (pid, plane)).collect();
    all.extend(devices.into_iter().map(|plane| (device(plane), plane)));
    let custom = starting("/device:CUSTOM:").into_iter();
    all.extend(custom.map(|plane| (FIRST_CUSTOM.wrapping_add(plane.wire_id as u64), plane)));
    all
}

impl<'p> Trace<'p> {
    /// The trace of a host; `first_pid` is added to the numbers of its processes.
    pub(super) fn new(host: HostId, first_pid: u32, data: HostData<'p>) -> Self {
        let profile = data.profile;
        let mut trace =
            Self { host: data, names: Names::default(), processes: BTreeMap::new(), tracks: Vec::new() };
        for (pid, plane) in planes(profile, host) {
            trace.add_plane((pid as u32).wrapping_add(first_pid), plane, &profile.host(host).name);
        }
        trace.merge_rows();
        trace
    }

    fn add_plane(&mut self, pid: u32, plane: &'p Plane, host: &str) {
        let at = self.host.derived.iter().position(|(id, _)| *id == plane.id);
        let derived = at.map(|at| (at as u32, &self.host.derived[at].1));
        let lanes: Vec<&Line> =
            self.host.profile.lines_of(plane.id).filter(|l| self.host.context.lane(l.id).is_some()).collect();
        // Where lines were derived, empty ones were dropped before.
        let lines = if derived.is_some() { lanes.len() } else { plane.lines.len() };
        if lines == 0 {
            return;
        }
        let name = format!("{host} {}", plane.name);
        let process = Process { name: name.clone(), threads: BTreeMap::new() };
        self.processes.entry(pid).or_insert(process).name = name;
        let source = self.host.profile.source_of(plane);
        let first_name = self.names.len() as u32;
        let mut hidden = Vec::new();
        for (row, meta) in plane.metas.iter().enumerate() {
            self.names.push(plane.meta_label(source, row as u32));
            let name = source.slice(meta.name);
            let is_hidden = |name: &str| EventType::of(name) == EventType::Internal;
            if name.len() < 40 && std::str::from_utf8(name).is_ok_and(is_hidden) {
                hidden.push(row as u32);
            }
        }
        for line in lanes {
            if !line.name.starts_with("counters_") {
                let place = derived.and_then(|(_, d)| d.places.iter().find(|(id, _)| *id == line.id));
                self.add_line(pid, plane, line, place.map(|(_, at)| *at), first_name, &hidden);
            }
        }
        if let Some((at, derived)) = derived {
            let first_name = self.names.len() as u32;
            for label in derived.labels.as_slice() {
                self.names.push(label.display.as_deref().unwrap_or(&label.name));
            }
            // The clock of the plane's lines, which they share.
            let shift = self.host.profile.lines_of(plane.id).next().map_or(0, Line::to_wire_ps);
            let sorted = plane.kind == PlaneKind::Tpu;
            for (number, line) in derived.lines.iter().enumerate() {
                self.add_derived((pid, sorted), line, (at, number as u32), first_name, shift);
            }
        }
    }

    fn add_line(
        &mut self,
        pid: u32,
        plane: &'p Plane,
        line: &'p Line,
        place: Option<i64>,
        first_name: u32,
        hidden: &[u32],
    ) {
        let Some(lane) = self.host.context.lane(line.id) else { return };
        let profile = self.host.profile;
        let is_counter = line.name == "_counters_";
        let id = place.unwrap_or(if line.display_id == 0 { line.wire_id } else { line.display_id }) as u32;
        if !is_counter && let Some(process) = self.processes.get_mut(&pid) {
            process.threads.insert(id, line.name.clone());
        }
        let metas = lane.metas(profile);
        let mut track = Track {
            pid,
            row: Row::Thread(id),
            shift_ps: line.to_wire_ps(),
            start_ps: Cow::Borrowed(lane.starts_ps(profile)),
            duration_ps: Durations::OfLine(lane.durations_ps(profile)),
            first_name,
            name_row: Cow::Borrowed(metas),
            renamed: Vec::new(),
            group: Cow::Borrowed(lane.groups()),
            links: lane.links.clone(),
            origin: vec![(Origin::Line(line.id), Positions::All)],
            from: None,
            serial: Serials::Unknown,
        };
        let events = profile.events(line);
        if events.negative > 0 {
            let source = profile.source_of(plane);
            let duration = |(at, duration): (usize, i64)| match lane.row(at).filter(|_| duration == 0) {
                Some(row) => events.wire_duration_ps(source, row),
                None => duration,
            };
            track.duration_ps =
                Durations::Own(lane.durations_ps(profile).iter().enumerate().map(duration).collect());
        }
        self.rename(plane, line, &mut track);
        if is_counter {
            self.add_counters(&track, metas);
            return;
        }
        let is_hidden = |at: usize| hidden.contains(&metas[at]);
        let any_hidden = !hidden.is_empty() && (0..metas.len()).any(is_hidden);
        let beside: Vec<u32> = track.links.iter().filter(|(_, l)| l.is_async).map(|(at, _)| *at).collect();
        if any_hidden || !beside.is_empty() {
            let kept = (0..metas.len() as u32)
                .filter(|at| !is_hidden(*at as usize) && beside.binary_search(at).is_err());
            let kept: Vec<u32> = kept.collect();
            let mut channels: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for at in beside.into_iter().filter(|at| !is_hidden(*at as usize)) {
                channels.entry(track.name(at as usize)).or_default().push(at);
            }
            self.tracks.extend(channels.into_values().map(|these| track.pick(these, Row::Channel)));
            track = track.pick(kept, Row::Thread(id));
        }
        if track.len() > 0 {
            self.tracks.push(track);
        }
        self.add_aggregated(pid, id, line, first_name, hidden);
    }

    /// XProf shows sums over many events as one event at the line's own start.
    fn add_aggregated(&mut self, pid: u32, id: u32, line: &'p Line, first_name: u32, hidden: &[u32]) {
        let all = self.host.profile.events(line).aggregated.iter().enumerate();
        let mut shown: Vec<_> = all.filter(|(_, (meta, ..))| !hidden.contains(meta)).collect();
        if shown.is_empty() {
            return;
        }
        shown.sort_by_key(|(_, (_, _, duration))| Reverse(*duration));
        let rows = shown.iter().map(|(row, _)| *row as u32).collect();
        self.tracks.push(Track {
            pid,
            row: Row::Thread(id),
            shift_ps: 0,
            start_ps: shown.iter().map(|_| line.timestamp_ns.saturating_mul(1000)).collect(),
            duration_ps: Durations::Own(shown.iter().map(|(_, (_, _, duration))| *duration).collect()),
            first_name,
            name_row: shown.iter().map(|(_, (meta, ..))| *meta).collect(),
            renamed: Vec::new(),
            group: Cow::Borrowed(&[]),
            links: Vec::new(),
            origin: vec![(Origin::Aggregated(line.id), Positions::These(rows))],
            from: None,
            serial: Serials::Unknown,
        });
    }

    /// Events that are not called by their metadata: executed regions of thread pools, steps and other roots.
    fn rename(&mut self, plane: &'p Plane, line: &'p Line, track: &mut Track<'p>) {
        let Some(lane) = self.host.context.lane(line.id) else { return };
        if !lane.is_plain() {
            let made: Vec<u32> =
                (0..track.len() as u32).filter(|at| lane.row(*at as usize).is_none()).collect();
            if !made.is_empty() {
                let name = self.names.push(REGION);
                track.renamed.extend(made.into_iter().map(|at| (at, name)));
            }
        }
        if let Some(id) = plane.stat_id("step_name") {
            let (source, events) = (self.host.profile.source_of(plane), self.host.profile.events(line));
            for at in 0..track.len() {
                let value = lane.row(at).and_then(|row| events.stat(source, row, Some(id)));
                if let Some(name) = value.and_then(|v| plane.text(source, v)).filter(|n| !n.is_empty()) {
                    let name = self.names.push(name);
                    track.renamed.push((at as u32, name));
                }
            }
        }
        for (at, group) in &lane.named {
            if let Some(group) = self.host.context.groups.get(*group as usize) {
                let name = self.names.push(group.name.as_str());
                track.renamed.push((*at, name));
            }
        }
        track.renamed.sort_by_key(|(at, _)| *at);
        track.renamed.dedup_by_key(|(at, _)| *at);
    }

    fn add_counters(&mut self, track: &Track<'p>, metas: &[u32]) {
        let mut by_name: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for at in 0..metas.len() {
            by_name.entry(track.name(at)).or_default().push(at as u32);
        }
        self.tracks.extend(by_name.into_values().map(|these| Track {
            links: Vec::new(),
            group: Cow::Borrowed(&[]),
            ..track.pick(these, Row::Counter)
        }));
    }

    fn add_derived(
        &mut self,
        (pid, sorted): (u32, bool),
        line: &'p DerivedLine,
        at: (u32, u32),
        first_name: u32,
        shift_ps: i64,
    ) {
        let id = line.id as u32;
        if let Some(process) = self.processes.get_mut(&pid) {
            process.threads.insert(id, line.name.clone());
        }
        let events = &line.events;
        // XProf sorts derived lines of TPUs; those of GPUs stay as they were begun.
        let key = |at: usize| (events.start_ps[at], if sorted { -events.duration_ps[at] } else { 0 });
        let positions = if (1..events.len()).all(|at| key(at - 1) <= key(at)) {
            Positions::All
        } else {
            let mut order: Vec<u32> = (0..events.len() as u32).collect();
            order.sort_by_key(|at| key(*at as usize));
            Positions::These(order)
        };
        let mut track = Track {
            pid,
            row: Row::Thread(id),
            shift_ps,
            start_ps: positions.of(&events.start_ps),
            duration_ps: match positions.of(&events.duration_ps) {
                Cow::Borrowed(all) => Durations::OfLine(Packed::plain(all)),
                Cow::Owned(sorted) => Durations::Own(sorted),
            },
            first_name,
            name_row: positions.of(&events.label),
            renamed: Vec::new(),
            group: positions.of(&events.group),
            links: Vec::new(),
            origin: Vec::new(),
            from: None,
            serial: Serials::Unknown,
        };
        // As a rule no event of a line has details.
        let told = if line.details.is_empty() { 0 } else { events.len() };
        for position in 0..told {
            let details = line.details.get(positions.at(position));
            let step = details.into_iter().flatten().find_map(|detail| match detail {
                xprof_lines::Detail::Text("step_name", name) => Some(name.as_str()),
                _ => None,
            });
            if let Some(name) = step {
                let name = self.names.push(name);
                track.renamed.push((position as u32, name));
            }
        }
        track.origin.push((Origin::Derived(at.0, at.1), positions));
        self.tracks.push(track);
    }

    /// Puts the rows in order, and those of one number together: lines may share one.
    fn merge_rows(&mut self) {
        let names = &self.names;
        let key = |t: &Track<'_>| {
            let is_thread = matches!(t.row, Row::Thread(_));
            let name = if is_thread || t.len() == 0 { "" } else { names.get(t.name(0)) };
            (t.pid, t.row, name.to_owned())
        };
        let mut tracks: Vec<_> = std::mem::take(&mut self.tracks).into_iter().map(|t| (key(&t), t)).collect();
        tracks.sort_by(|a, b| a.0.cmp(&b.0));
        let mut tracks = tracks.into_iter().peekable();
        while let Some((key, first)) = tracks.next() {
            let mut same = vec![first];
            while let Some((_, track)) = tracks.next_if(|(other, _)| *other == key) {
                same.push(track);
            }
            if same.len() > 1 {
                same = vec![Track::join(&same)];
            }
            self.tracks.append(&mut same);
        }
    }
}

impl<'p> Track<'p> {
    /// The events at some positions, as a row of another kind. For tracks of one origin.
    fn pick(&self, these: Vec<u32>, row: Row) -> Self {
        let rank = |at: u32| these.binary_search(&at).ok().map(|rank| rank as u32);
        let groups = |group: &[u32]| these.iter().filter_map(|at| group.get(*at as usize).copied()).collect();
        Self {
            pid: self.pid,
            row,
            shift_ps: self.shift_ps,
            start_ps: these.iter().map(|at| self.start_ps[*at as usize]).collect(),
            duration_ps: Durations::Own(these.iter().map(|at| self.duration_ps.at(*at as usize)).collect()),
            first_name: self.first_name,
            name_row: these.iter().map(|at| self.name_row[*at as usize]).collect(),
            renamed: self.renamed.iter().filter_map(|(at, name)| Some((rank(*at)?, *name))).collect(),
            group: groups(&self.group),
            links: self.links.iter().filter_map(|(at, link)| Some((rank(*at)?, *link))).collect(),
            origin: vec![(self.origin[0].0, Positions::These(these))],
            from: None,
            serial: Serials::Unknown,
        }
    }

    /// The events of several tracks of one row, as one.
    fn join(tracks: &[Self]) -> Self {
        let mut order: Vec<(u64, Reverse<u64>, u32, u32)> = Vec::new();
        for (number, track) in tracks.iter().enumerate() {
            let key = |at| (track.start(at), Reverse(track.duration(at)), number as u32, at as u32);
            order.extend((0..track.len()).map(key));
        }
        order.par_sort_unstable();
        let all = || order.iter().map(|(.., number, at)| (&tracks[*number as usize], *at as usize));
        // Where the origins of each track begin.
        let mut first_origins = Vec::with_capacity(tracks.len());
        let mut origin = Vec::new();
        for track in tracks {
            first_origins.push(origin.len() as u32);
            origin.extend(track.origin.iter().cloned());
        }
        let (mut links, mut from) = (Vec::new(), Vec::with_capacity(order.len()));
        for (position, (.., number, at)) in order.iter().enumerate() {
            let (track, first) = (&tracks[*number as usize], first_origins[*number as usize]);
            links.extend(track.link(*at as usize).map(|link| (position as u32, *link)));
            from.push((first, *at));
        }
        let (pid, row) = tracks.first().map_or((0, Row::Counter), |t| (t.pid, t.row));
        Self {
            pid,
            row,
            shift_ps: 0,
            start_ps: all().map(|(t, at)| t.start(at) as i64).collect(),
            duration_ps: Durations::Own(all().map(|(t, at)| t.duration(at) as i64).collect()),
            first_name: 0,
            name_row: all().map(|(t, at)| t.name(at)).collect(),
            renamed: Vec::new(),
            group: all().map(|(t, at)| t.group(at).unwrap_or(NO_GROUP)).collect(),
            links,
            origin,
            from: Some(from),
            serial: Serials::Unknown,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A thread with events of these starts and durations, picoseconds.
    pub(in super::super) fn track(number: u32, events: &[(i64, i64)]) -> Track<'static> {
        Track {
            pid: 1,
            row: Row::Thread(number),
            shift_ps: 0,
            start_ps: events.iter().map(|event| event.0).collect(),
            duration_ps: Durations::Own(events.iter().map(|event| event.1).collect()),
            first_name: 0,
            name_row: events.iter().map(|_| 0).collect(),
            renamed: Vec::new(),
            group: Cow::Borrowed(&[]),
            links: Vec::new(),
            origin: vec![(Origin::Line(LineId(number)), Positions::All)],
            from: None,
            serial: Serials::Unknown,
        }
    }

    #[test]
    fn tracks_of_one_row_are_joined_in_the_order_of_time_and_then_as_they_came() {
        let tracks: Vec<Track<'_>> = (0..100).map(|n| track(n, &[(0, 5), (i64::from(n), 9)])).collect();
        let joined = Track::join(&tracks);
        assert_eq!(joined.len(), 200);
        assert_eq!([0, 1, 100].map(|at| (joined.start(at), joined.duration(at))), [(0, 9), (0, 5), (0, 5)]);
        assert_eq!(joined.source(1), (Origin::Line(LineId(0)), 0));
        assert_eq!(joined.source(100), (Origin::Line(LineId(99)), 0));
        assert_eq!(joined.source(199), (Origin::Line(LineId(99)), 1));
    }
}
