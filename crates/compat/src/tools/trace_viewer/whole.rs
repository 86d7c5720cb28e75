//! `trace_viewer`: every event with all that it carries, in the form of the trace event format. XProf's server makes it in
//! Python, whose way of writing JSON it has.

use std::collections::BTreeMap;

use crate::xprof_lines;
use haloscope_event_groups::{Context, Direction, EventType, Lane, Link, REGION};
use haloscope_profile::{HostId, Line, LineId, Plane, PlaneKind, Profile};

use crate::{Answer, Error, Hosts, Params, Tool};

use super::host_data::{HostData, Value};
use super::names::{micros, quote, six_digits, whole};
use super::params::Question;
use super::tracks::Trace;
use super::{order, proto, view};

/// The whole timeline.
pub(crate) const WHOLE: Tool = Tool {
    id: "trace_viewer",
    doc: "the whole timeline, as a file in the trace event format",
    hosts: Hosts::One,
    params: super::params::PARAMS,
    offered: |_| false,
    answer,
};

/// More events than these are too many for a page: then the earliest are answered.
const MOST_EVENTS: usize = 5_000_000;

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = Hosts::One.chosen(profile, params)?;
    let Some(host) = hosts.first().copied() else {
        return Err(Error::Missing {
            tool: WHOLE.id,
            missing: "no host".into(),
            remedy: "capture a profile".into(),
        });
    };
    let context = Context::of(profile, host);
    let derived = xprof_lines::of_host(profile, host, &context);
    let data = HostData { profile, context: &context, derived: &derived };
    // What else a timeline is asked for is checked, and means nothing where all is answered.
    if Question::read(profile, params)?.proto {
        let mut trace = Trace::new(host, 0, data);
        order::number(&mut trace.tracks, &trace.names);
        let (span, shown) = (view::span(&trace), vec![None; trace.tracks.len()]);
        return Ok(Answer::bytes(proto::write(&[(&trace, &shown)], &[], span, &BTreeMap::new())));
    }
    let mut processes: BTreeMap<u32, (String, BTreeMap<u32, String>)> = BTreeMap::new();
    let mut events: Vec<Event> = Vec::new();
    for (pid, plane) in planes(profile, host) {
        let at = derived.iter().position(|(id, _)| *id == plane.id);
        let (name, threads) = processes.entry(pid).or_default();
        plane.name.clone_into(name);
        for line in profile.lines_of(plane.id) {
            let lane = context.lane(line.id);
            if at.is_some() && lane.is_none() {
                continue;
            }
            let place = at.and_then(|at| derived[at].1.places.iter().find(|(id, _)| *id == line.id));
            let id = if line.display_id == 0 { line.wire_id } else { line.display_id };
            let tid = place.map_or(id, |(_, at)| *at) as u32;
            threads.insert(tid, line.name.clone());
            if let Some(lane) = lane.filter(|_| line.name != "Async XLA Ops") {
                collect(profile, plane, line, lane, (pid, tid), &mut events);
            }
        }
        let Some(at) = at else { continue };
        let shift = profile.lines_of(plane.id).next().map_or(0, Line::to_wire_ps);
        for (number, line) in derived[at].1.lines.iter().enumerate() {
            threads.insert(line.id as u32, line.name.clone());
            for (position, event) in line.events.iter().enumerate() {
                events.push(Event {
                    pid,
                    tid: line.id as u32,
                    start: event.start_ps.saturating_add(shift).max(0) as u64,
                    duration: event.duration_ps as u64,
                    origin: Origin::Derived(at as u32, number as u32),
                    position: position as u32,
                });
            }
        }
    }
    if events.len() > MOST_EVENTS {
        events.sort_by_key(|event| event.start);
        events.truncate(MOST_EVENTS);
    }
    let mut out = Vec::with_capacity(events.len() * 400 + 4096);
    out.extend_from_slice(
        b"{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},\n\"traceEvents\":[\n",
    );
    for (pid, (name, threads)) in &processes {
        if !name.is_empty() {
            named(&mut out, "process_name", name, *pid, None);
        }
        sorted(&mut out, "process_sort_index", *pid, *pid, None);
        for (tid, name) in threads {
            if !name.is_empty() {
                named(&mut out, "thread_name", name, *pid, Some(*tid));
            }
            sorted(&mut out, "thread_sort_index", *tid, *pid, Some(*tid));
        }
    }
    for event in &events {
        event.write(data, &mut out);
    }
    out.extend_from_slice(b"{}]}\n");
    Ok(Answer { content_type: "application/json", body: out })
}

/// The planes that are shown: the host's, then the devices.
fn planes(profile: &Profile, host: HostId) -> Vec<(u32, &Plane)> {
    let starting = |prefix: &str| -> Vec<&Plane> {
        profile.planes_of(host).filter(|p| p.name.starts_with(prefix)).collect()
    };
    let mut all: Vec<_> =
        profile.planes_of(host).find(|p| p.kind == PlaneKind::Host).map(|p| (701, p)).into_iter().collect();
    let devices = ["/device:GPU:", "/device:TPU:", "/device:CUSTOM:"].map(starting);
    if let Some(devices) = devices.into_iter().find(|d| !d.is_empty()) {
        all.extend(devices.into_iter().map(|plane| ((plane.wire_id as u32).wrapping_add(1), plane)));
    }
    all
}

#[derive(Debug, Clone, Copy)]
enum Origin {
    Line(LineId),
    Aggregated(LineId),
    Derived(u32, u32),
}

#[derive(Debug, Clone, Copy)]
struct Event {
    pid: u32,
    tid: u32,
    start: u64,
    duration: u64,
    origin: Origin,
    position: u32,
}

fn collect(
    profile: &Profile,
    plane: &Plane,
    line: &Line,
    lane: &Lane,
    (pid, tid): (u32, u32),
    events: &mut Vec<Event>,
) {
    let source = profile.source_of(plane);
    let hidden: Vec<bool> = plane
        .metas
        .iter()
        .map(|meta| meta.name.len < 40 && EventType::of(&source.text(meta.name)) == EventType::Internal)
        .collect();
    let shift = line.to_wire_ps();
    let (starts, durations) = (lane.starts_ps(profile), lane.durations_ps(profile));
    let file = profile.events(line);
    for (position, meta) in lane.metas(profile).iter().enumerate() {
        if hidden[*meta as usize] {
            continue;
        }
        let mut duration = durations.at(position);
        if duration == 0
            && file.negative > 0
            && let Some(row) = lane.row(position)
        {
            duration = file.wire_duration_ps(source, row);
        }
        events.push(Event {
            pid,
            tid,
            start: starts[position].saturating_add(shift).max(0) as u64,
            duration: duration as u64,
            origin: Origin::Line(line.id),
            position: position as u32,
        });
    }
    for (row, (_, _, duration)) in file.aggregated.iter().enumerate().filter(|(_, e)| !hidden[e.0 as usize]) {
        events.push(Event {
            pid,
            tid,
            start: line.timestamp_ns.saturating_mul(1000).max(0) as u64,
            duration: *duration as u64,
            origin: Origin::Aggregated(line.id),
            position: row as u32,
        });
    }
}

impl Event {
    fn write(&self, data: HostData<'_>, out: &mut Vec<u8>) {
        let at = self.position as usize;
        let (name, mut args, group, link) = match self.origin {
            Origin::Line(line) => {
                let args = data.line_args(line, at);
                let line = data.profile.line(line);
                let plane = data.profile.plane(line.plane);
                let Some(lane) = data.context.lane(line.id) else { return };
                let meta = lane.metas(data.profile)[at];
                let name = match lane.row(at) {
                    None => REGION.into(),
                    Some(_) => plane.meta_label(data.profile.source_of(plane), meta),
                };
                let found = lane.links.binary_search_by_key(&self.position, |(at, _)| *at);
                (name, args, lane.group(at), found.ok().map(|found| lane.links[found].1))
            }
            Origin::Aggregated(line) => {
                let args = data.aggregated_args(line, at);
                let line = data.profile.line(line);
                let plane = data.profile.plane(line.plane);
                let (meta, ..) = data.profile.events(line).aggregated[at];
                (plane.meta_label(data.profile.source_of(plane), meta), args, None, None)
            }
            Origin::Derived(plane, line) => {
                let derived = &data.derived[plane as usize].1;
                let event = &derived.lines[line as usize].events.get(at);
                let label = &derived.labels.as_slice()[event.label as usize];
                let name = label.display.as_deref().unwrap_or(&label.name);
                (name.into(), data.derived_args(plane, line, at), event.group, None)
            }
        };
        if !data.context.by_profiler {
            args.extend(group.map(|group| ("group_id".into(), Value::Uint(group.into()))));
            args.extend(link.map(|link| ("flow".into(), Value::Uint(encoded(link)))));
        }
        let step = args.iter().rev().find_map(|(name, value)| match value {
            Value::Text(text) if name == "step_name" => Some(text.clone()),
            _ => None,
        });
        let name = step.unwrap_or(name);
        let args: BTreeMap<_, _> = args.iter().map(|(name, value)| (&**name, value)).collect();
        out.push(b'{');
        if !args.is_empty() {
            out.extend_from_slice(b"\"args\": {");
            for (number, (name, value)) in args.into_iter().enumerate() {
                if number > 0 {
                    out.extend_from_slice(b", ");
                }
                quote(name, out);
                out.extend_from_slice(b": ");
                quote(&text(value), out);
            }
            out.extend_from_slice(b"}, ");
        }
        if self.duration > 0 {
            out.extend_from_slice(b"\"dur\": ");
            float(self.duration, out);
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(b"\"name\": ");
        quote(&name, out);
        let kind: &[u8] =
            if self.duration > 0 { b", \"ph\": \"X\", \"pid\": " } else { b", \"ph\": \"i\", \"pid\": " };
        out.extend_from_slice(kind);
        whole(self.pid.into(), out);
        if self.duration == 0 {
            out.extend_from_slice(b", \"s\": \"t\"");
        }
        out.extend_from_slice(b", \"tid\": ");
        whole(self.tid.into(), out);
        out.extend_from_slice(b", \"ts\": ");
        float(self.start, out);
        out.extend_from_slice(b"},\n");
    }
}

/// Microseconds as Python writes them: whole numbers too are floats.
fn float(ps: u64, out: &mut Vec<u8>) {
    micros(ps, out);
    if ps.is_multiple_of(1_000_000) {
        out.extend_from_slice(b".0");
    }
}

/// A link as the profiler writes it: two bits of direction, 56 of id, 6 of kind.
fn encoded(link: Link) -> u64 {
    let direction = match link.direction {
        Direction::None => 0,
        Direction::In => 1,
        Direction::Out => 2,
        Direction::Through => 3,
    };
    direction | link.id << 2 | u64::from(link.category) << 58
}

/// A value in words.
fn text<'a>(value: &'a Value<'_>) -> std::borrow::Cow<'a, str> {
    match value {
        Value::Text(text) => (&**text).into(),
        Value::Int(v) => v.to_string().into(),
        Value::Uint(v) => v.to_string().into(),
        Value::Double(v) => six_digits(*v).into(),
        Value::Opaque => "<opaque bytes>".into(),
    }
}

fn named(out: &mut Vec<u8>, kind: &str, name: &str, pid: u32, tid: Option<u32>) {
    out.extend_from_slice(b"{\"args\": {\"name\": ");
    quote(name, out);
    out.extend_from_slice(b"}");
    finish(out, kind, pid, tid);
}

fn sorted(out: &mut Vec<u8>, kind: &str, index: u32, pid: u32, tid: Option<u32>) {
    out.extend_from_slice(format!("{{\"args\": {{\"sort_index\": {index}}}").as_bytes());
    finish(out, kind, pid, tid);
}

fn finish(out: &mut Vec<u8>, kind: &str, pid: u32, tid: Option<u32>) {
    let tid = tid.map_or_else(String::new, |tid| format!(", \"tid\": {tid}"));
    out.extend_from_slice(
        format!(", \"name\": \"{kind}\", \"ph\": \"M\", \"pid\": {pid}{tid}}},\n").as_bytes(),
    );
}
