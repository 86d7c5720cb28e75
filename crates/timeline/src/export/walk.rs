//! The walk that the formats with slices share: planes, lines, lanes, and in each what begins and ends, in order.

use std::io;

use haloscope_profile::{Event, Events, Line, MetaIdx, Plane};

use super::choose::ChosenPlane;
use super::counters::Samples;
use super::facts::{Facts, LineFacts, PlaneFacts};
use super::lanes::lanes;
use super::{Export, Written};
use crate::label;
use haloscope_time::intervals::Intervals;

/// A track of slices: one lane of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Track<'a> {
    /// Number among all tracks, from 0.
    pub(super) number: u32,
    pub(super) line: &'a Line,
    /// The line's name; several lanes share it.
    pub(super) name: &'a str,
    /// 0 for the first.
    pub(super) lane: usize,
    /// Position of the line within its plane.
    pub(super) rank: usize,
    /// First start and last end, picoseconds on the run's clock.
    pub(super) span_ps: (i64, i64),
}

/// One slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin<'a> {
    pub(super) event: Event,
    pub(super) name: &'a str,
    pub(super) facts: &'a Facts<'a>,
}

/// What a format does with each. Calls nest: `plane` (`track` (`begin` (...) `end`)* `close`)*, `finish`.
pub(super) trait Sink {
    /// Before all. `first_ps` is no later than any time that follows.
    fn start(&mut self, _first_ps: i64) -> io::Result<()> {
        Ok(())
    }
    fn plane(&mut self, chosen: &ChosenPlane<'_>) -> io::Result<()>;
    fn track(&mut self, track: &Track<'_>) -> io::Result<()>;
    fn begin(&mut self, begin: &Begin<'_>) -> io::Result<()>;
    fn end(&mut self, event: &Event) -> io::Result<()>;
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// A counter of a line, `number` as for tracks.
    fn counter(&mut self, line: &str, name: &str, number: u32, rank: usize) -> io::Result<()>;
    fn sample(&mut self, name: &str, time_ps: i64, value: f64) -> io::Result<()>;
    fn finish(&mut self) -> io::Result<()>;
}

/// True if an event is in a window: it overlaps it, or stands in it if it has no length.
pub(super) fn touches(window: Option<&Intervals>, event: &Event) -> bool {
    window.is_none_or(|w| w.overlap(event.start_ps, event.end_ps.max(event.start_ps.saturating_add(1))) > 0)
}

/// The events of a line that can be in a window: those that start before it ends.
fn candidates<'e>(events: &'e Events, window: Option<&Intervals>) -> impl Iterator<Item = Event> + 'e {
    let to = match window {
        None => events.len(),
        Some(window) => window.hull().map_or(0, |(_, end)| events.rows_before(end)),
    };
    (0..to).map(|i| events.get(i))
}

pub(super) fn walk(export: &Export<'_>, sink: &mut dyn Sink) -> io::Result<Written> {
    let mut walk = Walk { export, sink, written: Written::default(), next: 0 };
    let planes = &export.chosen.planes;
    let starts = planes
        .iter()
        .flat_map(|p| &p.lines)
        .filter_map(|(line, _)| export.profile.events(line).starts_ps().first().copied());
    walk.sink.start(starts.min().unwrap_or(0).min(0))?;
    for plane in planes {
        walk.plane(plane)?;
    }
    walk.sink.finish()?;
    Ok(walk.written)
}

struct Walk<'w, 'p> {
    export: &'w Export<'p>,
    sink: &'w mut dyn Sink,
    written: Written,
    next: u32,
}

impl<'p> Walk<'_, 'p> {
    fn plane(&mut self, chosen: &ChosenPlane<'p>) -> io::Result<()> {
        self.sink.plane(chosen)?;
        let facts = PlaneFacts::of(self.export.profile, chosen);
        for (rank, (line, name)) in chosen.lines.iter().enumerate() {
            match Samples::of(self.export.profile, chosen.plane, line) {
                Some(samples) => self.samples(chosen, &samples, (line, name, rank))?,
                None => self.line(chosen, &facts, (line, name, rank))?,
            }
        }
        Ok(())
    }

    fn line(
        &mut self,
        chosen: &ChosenPlane<'p>,
        facts: &PlaneFacts<'p>,
        (line, name, rank): (&'p Line, &str, usize),
    ) -> io::Result<()> {
        let events = self.export.profile.events(line);
        let mut facts = facts.line(line);
        let window = chosen.window.as_ref();
        let modules = &self.export.chosen.modules;
        let all = candidates(events, window).filter(|e| touches(window, e) && facts.is_of(e, modules));
        for (lane, rows) in lanes(all).into_iter().enumerate() {
            let ends = rows.iter().map(|&row| events.get(row as usize).end_ps);
            let first = rows.first().map_or(0, |&row| events.get(row as usize).start_ps);
            let span_ps = (first, ends.max().unwrap_or(first));
            self.sink.track(&Track { number: self.next, line, name, lane, rank, span_ps })?;
            self.next += 1;
            self.written.tracks += 1;
            self.lane(chosen.plane, events, &rows, &mut facts)?;
            self.sink.close()?;
        }
        Ok(())
    }

    fn lane(
        &mut self,
        plane: &Plane,
        events: &Events,
        rows: &[u32],
        facts: &mut LineFacts<'_, 'p>,
    ) -> io::Result<()> {
        let mut open: Vec<Event> = Vec::new();
        for &row in rows {
            let event = events.get(row as usize);
            while let Some(done) = open.pop_if(|top| top.end_ps <= event.start_ps) {
                self.sink.end(&done)?;
            }
            let name = label(self.export.profile, plane, event.meta);
            self.sink.begin(&Begin { event, name: &name, facts: &facts.facts(&event) })?;
            self.written.events += 1;
            open.push(event);
        }
        while let Some(done) = open.pop() {
            self.sink.end(&done)?;
        }
        Ok(())
    }

    /// A counter for each name on the line. What is no number is a slice, on a track of its own, so that it is seen.
    fn samples(
        &mut self,
        chosen: &ChosenPlane<'p>,
        samples: &Samples<'p>,
        (line, name, rank): (&'p Line, &str, usize),
    ) -> io::Result<()> {
        let events = self.export.profile.events(line);
        let window = chosen.window.as_ref();
        let mut of_meta: Vec<(MetaIdx, u32)> = candidates(events, window)
            .filter(|e| touches(window, e))
            .map(|e| (e.meta, e.index as u32))
            .collect();
        of_meta.sort_unstable();
        for counter in of_meta.chunk_by(|a, b| a.0 == b.0) {
            let Some((meta, _)) = counter.first() else { continue };
            let title = label(self.export.profile, chosen.plane, *meta);
            self.sink.counter(name, &title, self.next, rank)?;
            self.next += 1;
            self.written.tracks += 1;
            for (_, row) in counter {
                let event = events.get(*row as usize);
                if let Some(value) = samples.value(&event) {
                    self.sink.sample(&title, event.start_ps, value)?;
                    self.written.samples += 1;
                }
            }
        }
        Ok(())
    }
}
