//! What the events of a host carry: long names and stats, from its lines and from those that XProf derives.

use std::borrow::Cow;

use haloscope_event_groups::{Context, EventType, Lane};
use haloscope_profile::{Line, LineId, Plane, PlaneId, PlaneKind, Profile};
use haloscope_xspace::{StatValue, Stats};

use crate::xprof_lines::{Derived, Detail};

/// A value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'p> {
    Text(Cow<'p, str>),
    Int(i64),
    Uint(u64),
    Double(f64),
    /// Bytes, which only one of the tools mentions.
    Opaque,
}

/// An argument.
pub(super) type Arg<'p> = (Cow<'p, str>, Value<'p>);

/// Stats that no timeline shows.
const HIDDEN: [&str; 8] = ["_pt", "_p", "_ct", "_c", "_r", "flops", "program_id", "symbol_id"];

/// What is known of a host: where arguments come from.
#[derive(Clone, Copy)]
pub(super) struct HostData<'p> {
    pub(super) profile: &'p Profile,
    pub(super) context: &'p Context,
    pub(super) derived: &'p [(PlaneId, Derived)],
}

/// Lower bits of `run_id` that launches keep.
const RUN_ID_BITS: u64 = (1 << 27) - 1;

impl<'p> HostData<'p> {
    pub(super) fn derived_args(&self, plane: u32, line: u32, position: usize) -> Vec<Arg<'p>> {
        let (_, derived) = &self.derived[plane as usize];
        let line = &derived.lines[line as usize];
        let label = &derived.labels.as_slice()[line.events.label[position] as usize];
        let mut args: Vec<Arg<'p>> = Vec::new();
        if label.display.is_some() {
            args.push(("long_name".into(), Value::Text(label.name.as_str().into())));
        }
        args.extend(line.details.get(position).into_iter().flatten().map(|detail| match detail {
            Detail::Count(name, value) => ((*name).into(), Value::Int(*value)),
            Detail::Number(name, value) => ((*name).into(), Value::Double(*value)),
            Detail::Text(name, value) => ((*name).into(), Value::Text(value.as_str().into())),
        }));
        args
    }

    pub(super) fn line_args(&self, line: LineId, position: usize) -> Vec<Arg<'p>> {
        let line = self.profile.line(line);
        let plane = self.profile.plane(line.plane);
        let source = self.profile.source_of(plane);
        let mut args = Vec::new();
        let Some(lane) = self.context.lane(line.id) else { return args };
        let meta = lane.metas(self.profile)[position];
        let Some(row) = lane.row(position) else { return args };
        let entry = &plane.metas[meta as usize];
        if entry.display_name.len > 0 {
            args.push(("long_name".into(), Value::Text(source.text(entry.name))));
        }
        self.add_stats(plane, plane.meta_stats(source, meta), &mut args);
        self.add_stats(plane, self.profile.events(line).stats(source, row), &mut args);
        if !self.context.by_profiler {
            self.add_found(line, lane, position, &source.text(entry.name), &mut args);
        }
        args
    }

    /// What the metadata of an aggregated event says.
    pub(super) fn aggregated_args(&self, line: LineId, row: usize) -> Vec<Arg<'p>> {
        let line = self.profile.line(line);
        let plane = self.profile.plane(line.plane);
        let source = self.profile.source_of(plane);
        let (meta, ..) = self.profile.events(line).aggregated[row];
        let entry = &plane.metas[meta as usize];
        let mut args = Vec::new();
        if entry.display_name.len > 0 {
            args.push(("long_name".into(), Value::Text(source.text(entry.name))));
        }
        self.add_stats(plane, plane.meta_stats(source, meta), &mut args);
        args
    }

    /// What grouping adds to an event's own stats, or changes in them.
    fn add_found(&self, line: &Line, lane: &Lane, position: usize, name: &str, args: &mut Vec<Arg<'p>>) {
        let plane = self.profile.plane(line.plane);
        if let Ok(found) = lane.named.binary_search_by_key(&(position as u32), |(at, _)| *at) {
            let group = self.context.groups.get(lane.named[found].1 as usize);
            args.extend(group.map(|g| ("step_name".into(), Value::Text(g.name.as_str().into()))));
        }
        if matches!(plane.kind, PlaneKind::Tpu | PlaneKind::SparseCore) {
            if line.name == "Steps" && lane.group(position).is_some() {
                self.merge_steps(line, lane, position, args);
            }
            return;
        }
        if matches!(name, "DoEnqueueProgram" | "CompleteCallbacks" | "DoEnqueueContinuationProgram") {
            for (_, value) in args.iter_mut().filter(|(name, _)| name == "run_id") {
                match *value {
                    Value::Int(id) => *value = Value::Int((id as u64 & RUN_ID_BITS) as i64),
                    Value::Uint(id) => *value = Value::Int((id & RUN_ID_BITS) as i64),
                    _ => {}
                }
            }
        }
        let launched =
            || plane.kind != PlaneKind::Host && args.iter().any(|(name, _)| name == "correlation_id");
        let is_op = match EventType::of(name) {
            EventType::TfOp => true,
            EventType::Other => launched(),
            _ => false,
        };
        if is_op {
            let eager = lane.eager.binary_search(&(position as u32)).is_ok();
            args.push(("is_eager".into(), Value::Int(eager.into())));
        }
    }

    /// Of a step that several were merged into: its idle time is the sum, its device time from the first to the last.
    fn merge_steps(&self, line: &Line, lane: &Lane, position: usize, args: &mut Vec<Arg<'p>>) {
        let number = |args: &[Arg<'p>], wanted: &str| {
            args.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| match value {
                Value::Int(v) => Some(*v),
                Value::Uint(v) => Some(*v as i64),
                _ => None,
            })
        };
        let set = |args: &mut Vec<Arg<'p>>, name: &'static str, value: i64| match args
            .iter_mut()
            .find(|(known, _)| known == name)
        {
            Some((_, old)) => *old = Value::Int(value),
            None => args.push((name.into(), Value::Int(value))),
        };
        let plane = self.profile.plane(line.plane);
        let source = self.profile.source_of(plane);
        let mut idle = number(args, "step_idle_time_ps").unwrap_or(0);
        let device = number(args, "device_offset_ps").zip(number(args, "device_duration_ps"));
        let mut end = device.map_or(0, |(start, duration)| start.saturating_add(duration));
        let merged = lane.merged.iter().filter(|(into, _)| *into as usize == position);
        let mut any = false;
        for (_, row) in merged {
            let mut other = Vec::new();
            self.add_stats(plane, self.profile.events(line).stats(source, *row as usize), &mut other);
            idle = idle.saturating_add(number(&other, "step_idle_time_ps").unwrap_or(0));
            if let Some((start, duration)) =
                number(&other, "device_offset_ps").zip(number(&other, "device_duration_ps"))
            {
                end = end.max(start.saturating_add(duration));
            }
            any = true;
        }
        set(args, "step_idle_time_ps", idle);
        if let Some((start, _)) = device.filter(|_| any) {
            set(args, "device_duration_ps", end.saturating_sub(start));
        }
    }

    fn add_stats(&self, plane: &'p Plane, stats: Stats<'p>, args: &mut Vec<Arg<'p>>) {
        let source = self.profile.source_of(plane);
        for stat in stats {
            let Some(value) = stat.value else { continue };
            let name = plane.stat_name(source, stat.metadata_id);
            if HIDDEN.contains(&&*name) {
                continue;
            }
            let value = match value {
                StatValue::Double(v) => Value::Double(v),
                StatValue::Uint(v) => Value::Uint(v),
                StatValue::Int(v) => Value::Int(v),
                StatValue::Bytes(_) => Value::Opaque,
                text => Value::Text(plane.text(source, text).unwrap_or_default()),
            };
            args.push((name, value));
        }
    }
}
