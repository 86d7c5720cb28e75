//! What an event carries, as a timeline shows it when the event is chosen, and the long names of all.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::frames::{Frames, is_frame, long_name};
use super::host_data::{Arg, Value};
use super::tracks::{Origin, Positions, Row, Trace, Track};

impl<'p> Trace<'p> {
    /// The arguments of an event, those of its metadata first; a long name is cut if it is too long.
    pub(super) fn args(&self, track: &Track<'p>, at: usize) -> Vec<Arg<'p>> {
        let mut args = match track.source(at) {
            (Origin::Line(line), position) => self.host.line_args(line, position),
            (Origin::Aggregated(line), position) => self.host.aggregated_args(line, position),
            (Origin::Derived(plane, line), position) => self.host.derived_args(plane, line, position),
        };
        if let Some((name, Value::Text(text))) = args.first_mut()
            && name == "long_name"
            && let Cow::Owned(cut) = long_name(text)
        {
            *text = cut.into();
        }
        args
    }

    /// Adds the long names of all events to `frames`.
    pub(super) fn add_frames(&self, frames: &mut Frames) {
        let mut seen: Vec<Vec<bool>> = Vec::new();
        let mut number_of: FxHashMap<Origin, usize> = FxHashMap::default();
        for track in self.tracks.iter().filter(|t| t.row != Row::Counter) {
            let own_names = |origin: Origin| match origin {
                Origin::Line(line) | Origin::Aggregated(line) => {
                    let plane = self.host.profile.plane(self.host.profile.line(line).plane);
                    ["long_name", "hlo_text"].iter().any(|name| plane.stat_id(name).is_some())
                }
                Origin::Derived(..) => false,
            };
            let whole = track.origin.iter().any(|(origin, _)| own_names(*origin));
            let number = |(origin, _): &(Origin, Positions)| {
                let next = number_of.len();
                *number_of.entry(*origin).or_insert(next)
            };
            let numbers: Vec<usize> = track.origin.iter().map(number).collect();
            seen.resize(number_of.len(), Vec::new());
            for at in 0..track.len() {
                // Long names are those of the metadata, unless the plane has stats of that name.
                if !whole {
                    let (origin, row) = self.meta(track, at);
                    let seen = &mut seen[numbers[origin]];
                    if seen.len() <= row {
                        seen.resize(row + 1, false);
                    }
                    if std::mem::replace(&mut seen[row], true) {
                        continue;
                    }
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

    /// Which of the track's origins an event has, and the row of its metadata or label there.
    fn meta(&self, track: &Track<'p>, at: usize) -> (usize, usize) {
        let Some(from) = &track.from else { return (0, track.name_row[at] as usize) };
        let (profile, (origin, position)) = (self.host.profile, track.source(at));
        let row = match origin {
            Origin::Line(line) => self.host.context.lane(line).map_or(0, |l| l.metas(profile)[position]),
            Origin::Aggregated(line) => profile.events(profile.line(line)).aggregated[position].0,
            Origin::Derived(plane, line) => {
                self.host.derived[plane as usize].1.lines[line as usize].events.label[position]
            }
        };
        (from[at].0 as usize, row as usize)
    }
}
