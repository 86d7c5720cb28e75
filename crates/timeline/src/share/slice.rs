//! A part of a run as a profile: the events of some steps, or of a window, with all that names them.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_profile::{Device, HostId, Line, LineKind, Plane, PlaneKind, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_time::intervals::Intervals;
use haloscope_time::programs;
use haloscope_time::select::Selection;
use haloscope_xspace::write::{self, EncodedLine};
use haloscope_xspace::{EventTime, LineView, PlaneView, SpaceView};

/// One host's part.
#[derive(Debug)]
pub struct Slice {
    /// The host's name: the stem of its file.
    pub host: String,
    /// The profile, an `XSpace`.
    pub bytes: Vec<u8>,
    /// Events in it.
    pub events: u64,
}

/// The time that is kept of a line.
enum Window {
    All,
    /// Events that overlap it stay whole.
    Whole(Intervals),
    /// Events are cut to it: `start`, `end`.
    Cut(i64, i64),
}

/// The part of a run that a scope selects, a profile for each host that has something in it. What devices ran stays whole where it
/// overlaps the steps or the window, step markers where most of them lies inside; events of host threads are cut at its ends. Programs
/// that did not run meanwhile are left out, and so are names that nothing uses. Times are as they were, from the start of the part.
///
/// # Errors
/// As [`Selection::resolve`]; [`Error::Nothing`] where the scope selects no time.
pub fn slices(profile: &Profile, scope: &Scope) -> Result<Vec<Slice>, Error> {
    let selection = Selection::resolve(profile, scope)?;
    let windows: Vec<Option<&Intervals>> =
        (0..selection.devices.len()).map(|at| selection.window(at)).collect();
    let nothing = || Error::Nothing("no event is in this part of the run".to_owned());
    if windows.iter().all(|window| window.is_some_and(Intervals::is_empty)) {
        return Err(nothing());
    }
    let ran: BTreeSet<(Option<u64>, String)> = programs::times(profile, Some(&selection))
        .into_iter()
        .map(|time| (time.program_id, time.module))
        .collect();
    // Devices begin a step one after another: all hosts keep the time from the first to the last.
    let hulls = windows.iter().flatten().filter_map(|window| window.hull());
    let hull = hulls.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let cut = Cut { profile, selection: &selection, ran: &ran, hull };
    let hosts: BTreeSet<HostId> = selection.devices.iter().map(|device| device.host).collect();
    let with_hosts = hosts.into_iter().filter_map(|host| {
        let source = profile.sources.get(host.index())?;
        let name = profile.host(host).name.clone();
        let (bytes, events) = cut.space(host, source.bytes());
        Some(Slice { host: name, bytes, events })
    });
    let all: Vec<Slice> = with_hosts.collect();
    if all.iter().all(|one| one.events == 0) { Err(nothing()) } else { Ok(all) }
}

/// What is cut, and how.
struct Cut<'a> {
    profile: &'a Profile,
    selection: &'a Selection<'a>,
    /// Programs that ran in the part.
    ran: &'a BTreeSet<(Option<u64>, String)>,
    /// From the first to the last instant of the part on any device; `None` for all of the run.
    hull: Option<(i64, i64)>,
}

impl Cut<'_> {
    /// One host's file.
    fn space(&self, host: HostId, bytes: &[u8]) -> (Vec<u8>, u64) {
        let view = SpaceView::parse(bytes);
        let mut out = Vec::new();
        let mut events = 0;
        for (plane, of) in self.profile.planes_of(host).zip(&view.planes) {
            events += self.plane(plane, of, &mut out);
        }
        let texts = |all: &[&[u8]]| all.iter().map(|t| String::from_utf8_lossy(t).into_owned()).collect();
        let rest = write::Space {
            planes: Vec::new(),
            errors: texts(&view.errors),
            warnings: texts(&view.warnings),
            hostnames: texts(&view.hostnames),
        };
        out.extend(rest.to_bytes());
        (out, events)
    }

    /// Whole nanoseconds of the run's clock that lie before the part.
    fn skipped_ns(&self) -> i64 {
        self.hull.map_or(0, |(start, _)| start.div_euclid(1000).max(0))
    }

    fn device(&self, plane: &Plane) -> Option<(usize, &Device)> {
        let devices = self.selection.devices.iter().enumerate();
        devices.map(|(at, device)| (at, *device)).find(|(_, device)| device.plane == plane.id)
    }

    /// Appends a plane; the events that are left of it.
    fn plane(&self, plane: &Plane, view: &PlaneView<'_>, out: &mut Vec<u8>) -> u64 {
        let is_device = plane.kind.is_device();
        let own = self.device(plane);
        // Devices that were not asked for have a plane each; those of a CPU run are threads of its host.
        let is_other = is_device
            && own.is_none()
            && self.profile.devices.iter().any(|device| device.plane == plane.id && device.active);
        if is_other {
            return 0;
        }
        let mut used = BTreeSet::new();
        let mut events = 0;
        let lines: Vec<EncodedLine> = self
            .profile
            .lines_of(plane.id)
            .zip(&view.lines)
            .map(|(line, of)| {
                let window = match (own.map(|(at, _)| self.selection.window(at)), self.hull) {
                    (_, None) => Window::All,
                    (Some(Some(window)), _) if is_device => Window::Whole(window.clone()),
                    (_, Some((start, end))) if is_device => Window::Whole(Intervals::one(start, end)),
                    (_, Some((start, end))) => Window::Cut(start, end),
                };
                let (line, count) = self.line(view, (line, of), &window, &mut used);
                events += count;
                line
            })
            .collect();
        let mut head = write::Plane::from(&PlaneView { lines: Vec::new(), ..view.clone() });
        match plane.kind {
            PlaneKind::Metadata => head.event_metadata.retain(|(_, meta)| self.keeps_program(&meta.name)),
            PlaneKind::TaskEnvironment => self.set_capture(&mut head),
            _ if self.hull.is_some() && !view.lines.is_empty() => retain(&mut head, used),
            _ => {}
        }
        head.append_to(&lines, out);
        events
    }

    /// A line with the events of the window.
    fn line(
        &self,
        plane: &PlaneView<'_>,
        (line, view): (&Line, &LineView<'_>),
        window: &Window,
        used: &mut BTreeSet<i64>,
    ) -> (EncodedLine, u64) {
        let skipped = if view.timestamp_ns > EPOCH_NS { 0 } else { self.skipped_ns() };
        let head = write::Line {
            timestamp_ns: view.timestamp_ns.saturating_sub(skipped).max(0),
            events: Vec::new(),
            ..write::Line::from(&LineView { body: &[], ..view.clone() })
        };
        // What is left to be taken off the offsets, where the line's own time is not enough.
        let rest_ps =
            head.timestamp_ns.saturating_sub(view.timestamp_ns.saturating_sub(skipped)).saturating_mul(1000);
        let mut encoded = EncodedLine::new(head);
        let mut count = 0;
        let stat = |name: &str| {
            plane.stat_metadata.iter().find(|(_, meta)| meta.name == name.as_bytes()).map(|(key, _)| *key)
        };
        let (device_offset, step_number) = (stat("device_offset_ps"), stat("step_num"));
        for event in view.events() {
            let mut event = write::Event::from(&event);
            let moved = match event.time {
                EventTime::OffsetPs(offset) => {
                    let start = line.base_ps.saturating_add(offset);
                    let is_step = line.kind == LineKind::Steps
                        || event.stats.iter().any(|stat| Some(stat.metadata_id) == step_number);
                    let Some((start_now, duration)) = kept(is_step, window, start, event.duration_ps) else {
                        continue;
                    };
                    event.duration_ps = duration;
                    let by = start_now.saturating_sub(start).saturating_sub(rest_ps);
                    event.time = EventTime::OffsetPs(offset.saturating_add(by));
                    by
                }
                // Sums over the whole capture say nothing of a part.
                EventTime::Occurrences(_) if matches!(window, Window::All) => 0,
                EventTime::Occurrences(_) => continue,
            };
            if moved != 0 {
                event.stats.iter_mut().filter(|stat| Some(stat.metadata_id) == device_offset).for_each(
                    |stat| match &mut stat.value {
                        write::Value::Int(value) => *value = value.saturating_add(moved),
                        write::Value::Uint(value) => *value = value.saturating_add_signed(moved),
                        _ => {}
                    },
                );
            }
            used.insert(event.metadata_id);
            encoded.push(&event);
            count += 1;
        }
        (encoded, count)
    }

    fn keeps_program(&self, name: &str) -> bool {
        let module = self.profile.modules.iter().find(|module| module.label() == name || module.name == name);
        // Where nothing says what ran, all programs may have.
        let Some(module) = module.filter(|_| self.hull.is_some() && !self.ran.is_empty()) else {
            return true;
        };
        self.ran.iter().any(|(program_id, name)| programs::is_of(module, *program_id, name))
    }

    /// Lets the capture begin and end with the part.
    fn set_capture(&self, plane: &mut write::Plane) {
        let Some((_, end_ps)) = self.hull else { return };
        let key =
            |name: &str| plane.stat_metadata.iter().find(|(_, meta)| meta.name == name).map(|(key, _)| *key);
        let (start, stop) = (key("profile_start_time"), key("profile_stop_time"));
        let number = |stat: &write::Stat| match stat.value {
            write::Value::Int(value) => Some(value),
            write::Value::Uint(value) => i64::try_from(value).ok(),
            _ => None,
        };
        let of =
            |key: Option<i64>| plane.stats.iter().find(|stat| Some(stat.metadata_id) == key).and_then(number);
        let (Some(began), Some(ended)) = (of(start), of(stop)) else { return };
        // The run's clock begins with its first host; this one may have begun later.
        let zero = self.profile.hosts.iter().filter_map(|host| host.start_ns).min().unwrap_or(began);
        let starts = began.saturating_add(self.skipped_ns());
        let stops = zero.saturating_add(end_ps.div_euclid(1000).saturating_add(1));
        let stops = stops.clamp(starts.saturating_add(1), ended.max(starts.saturating_add(1)));
        for stat in &mut plane.stats {
            let now = match Some(stat.metadata_id) {
                id if id == start => starts,
                id if id == stop => stops,
                _ => continue,
            };
            stat.value = match stat.value {
                write::Value::Int(_) => write::Value::Int(now),
                _ => write::Value::Uint(u64::try_from(now).unwrap_or(0)),
            };
        }
    }
}

/// Times above this count from 1970, and not from the start of the capture.
const EPOCH_NS: i64 = 100_000_000_000_000_000;

/// Where an event starts in the window and how long it is there; `None` where it has no part in it. A step of which the smaller part
/// is inside would be a step that lacks its ops.
fn kept(is_step: bool, window: &Window, start: i64, duration: i64) -> Option<(i64, i64)> {
    let end = start.saturating_add(duration);
    let is_most = |inside: i64| inside > duration / 2;
    match window {
        Window::All => Some((start, duration)),
        Window::Whole(window) => {
            let inside = window.overlap(start, end.max(start.saturating_add(1)));
            let is_in = if is_step { is_most(inside) } else { inside > 0 };
            is_in.then_some((start, duration))
        }
        Window::Cut(from, to) => {
            let (first, last) = (start.max(*from), end.min(*to));
            if is_step {
                return is_most(last.saturating_sub(first)).then_some((start, duration));
            }
            let is_in = start < *to && (end > *from || start >= *from);
            is_in.then(|| (first, last.saturating_sub(first).max(0)))
        }
    }
}

/// Keeps the event metadata that events use, and what those are made of.
fn retain(plane: &mut write::Plane, used: BTreeSet<i64>) {
    let children: BTreeMap<i64, &[i64]> =
        plane.event_metadata.iter().map(|(key, meta)| (*key, meta.child_ids.as_slice())).collect();
    let mut keep = BTreeSet::new();
    let mut left: Vec<i64> = used.into_iter().collect();
    while let Some(id) = left.pop() {
        if keep.insert(id) {
            left.extend(children.get(&id).copied().unwrap_or_default());
        }
    }
    plane.event_metadata.retain(|(key, _)| keep.contains(key));
}
