//! What an event carries: long name and stats, as a timeline shows them when the event is chosen.

use std::borrow::Cow;

use haloscope_core::derive::derived::Detail;
use haloscope_core::profile::{LineId, PlaneId};
use haloscope_xspace::{StatValue, Stats};
use rustc_hash::FxHashSet;

use super::frames::{Frames, long_name};
use super::json::is_frame;
use super::tracks::{Origin, Row, Trace, Track};

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

impl<'p> Trace<'p> {
    /// The arguments of an event, those of its metadata first.
    pub(super) fn args(&self, track: &Track<'p>, at: usize) -> Vec<Arg<'p>> {
        match track.source(at) {
            (Origin::Line(line), position) => self.line_args(line, position),
            (Origin::Derived(plane, line), position) => {
                let (_, derived) = &self.derived[plane as usize];
                let line = &derived.lines[line as usize];
                let label = &derived.labels.as_slice()[line.events[position].label as usize];
                let mut args: Vec<Arg<'p>> = Vec::new();
                if label.display.is_some() {
                    args.push(("long_name".into(), Value::Text(long_name(&label.name))));
                }
                args.extend(line.details.get(position).into_iter().flatten().map(|detail| match detail {
                    Detail::Count(name, value) => ((*name).into(), Value::Int(*value)),
                    Detail::Number(name, value) => ((*name).into(), Value::Double(*value)),
                    Detail::Text(name, value) => ((*name).into(), Value::Text(value.as_str().into())),
                }));
                args
            }
        }
    }

    /// Adds the long names of all events to `frames`.
    pub(super) fn add_frames(&self, frames: &mut Frames) {
        let mut seen: FxHashSet<(Origin, u32)> = FxHashSet::default();
        for track in self.tracks.iter().filter(|t| t.row != Row::Counter) {
            let own_names = |origin: Origin| match origin {
                Origin::Line(line) => {
                    let plane = self.profile.plane(self.profile.line(line).plane);
                    ["long_name", "hlo_text"].iter().any(|name| plane.stat_id(name).is_some())
                }
                Origin::Derived(..) => false,
            };
            let whole = track.origin.iter().any(|(origin, _)| own_names(*origin));
            for at in 0..track.len() {
                let (origin, position) = track.source(at);
                let row = match origin {
                    Origin::Line(line) => {
                        self.context.lane(line).map_or(0, |l| l.metas(self.profile)[position])
                    }
                    Origin::Derived(plane, line) => {
                        self.derived[plane as usize].1.lines[line as usize].events[position].label
                    }
                };
                // Long names are those of the metadata, unless the plane has stats of that name.
                if !whole && !seen.insert((origin, row)) {
                    continue;
                }
                for (name, value) in self.args(track, at) {
                    if let Value::Text(text) = value
                        && is_frame(&name)
                    {
                        frames.add(&text);
                    }
                }
            }
        }
    }

    fn line_args(&self, line: LineId, position: usize) -> Vec<Arg<'p>> {
        let line = self.profile.line(line);
        let plane = self.profile.plane(line.plane);
        let source = self.profile.source_of(plane);
        let mut args = Vec::new();
        let Some(lane) = self.context.lane(line.id) else { return args };
        let meta = lane.metas(self.profile)[position];
        let Some(row) = lane.row(position) else { return args };
        let entry = &plane.metas[meta as usize];
        if entry.display_name.len > 0 {
            let name = match source.text(entry.name) {
                Cow::Borrowed(name) => long_name(name),
                Cow::Owned(name) => Cow::Owned(long_name(&name).into_owned()),
            };
            args.push(("long_name".into(), Value::Text(name)));
        }
        self.add_stats(line.plane, plane.meta_stats(source, meta), &mut args);
        self.add_stats(line.plane, self.profile.events(line).stats(source, row), &mut args);
        if let Ok(found) = lane.named.binary_search_by_key(&(position as u32), |(at, _)| *at) {
            let group = self.context.groups.get(lane.named[found].1 as usize);
            args.extend(group.map(|g| ("step_name".into(), Value::Text(g.name.as_str().into()))));
        }
        args
    }

    fn add_stats(&self, plane: PlaneId, stats: Stats<'p>, args: &mut Vec<Arg<'p>>) {
        let plane = self.profile.plane(plane);
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
