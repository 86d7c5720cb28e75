//! Which events a question is about: all, those of a window that can be told apart, those of a name, or one.

use haloscope_event_groups::Direction;

use super::levels;
use super::order::{self, MOST_SERIALS};
use super::params::{Choice, Question};
use super::tracks::{Row, Trace, Track};

/// Traces of fewer events are shown whole, whatever the resolution.
const SHOWN_WHOLE: usize = 500_000;

/// The events of each track that are shown, by position; `None` for all.
pub(super) type Shown = Vec<Option<Vec<u32>>>;

/// First start and last end of all events, picoseconds.
pub(super) fn span(trace: &Trace<'_>) -> Option<(u64, u64)> {
    let end = |t: &Track<'_>, at: usize| {
        t.start(at).wrapping_add(if t.row == Row::Counter { 0 } else { t.duration(at) })
    };
    let tracks = trace.tracks.iter().filter(|t| t.len() > 0);
    let first = tracks.clone().map(|t| t.start(0)).min()?;
    Some((first, tracks.flat_map(|t| (0..t.len()).map(move |at| end(t, at))).max()?))
}

/// True for processes that are TPU cores.
pub(super) fn is_tpu(name: &str) -> bool {
    ["/device:TPU:", "TensorNode", "TPU Core"].iter().any(|core| name.contains(core))
}

/// The events to show; those are numbered.
pub(super) fn shown(trace: &mut Trace<'_>, question: &Question<'_>) -> Shown {
    let coarse = match question.choice {
        Choice::Window { start_ps, end_ps, resolution } => Window::new(trace, (start_ps, end_ps), resolution),
        _ => None,
    };
    let candidates =
        coarse.as_ref().filter(|window| window.finest > 0).map(|window| window.candidates(trace));
    match &candidates {
        Some(candidates) => {
            let positions = |of: &Vec<(u32, u8)>| of.iter().map(|(at, _)| *at).collect();
            let positions: Vec<Vec<u32>> = candidates.iter().map(positions).collect();
            order::number_these(&mut trace.tracks, &trace.names, &positions);
        }
        None => order::number(&mut trace.tracks, &trace.names),
    }
    let trace = &*trace;
    let parts: Vec<bool> = {
        let tpu = |t: &Track<'_>| trace.processes.get(&t.pid).is_some_and(|p| is_tpu(&p.name));
        trace.tracks.iter().map(|t| tpu(t) && !question.full_dma).collect()
    };
    // Parts of a transfer between its start and its end are left out unless they are asked for.
    let is_part = |track: usize, at: usize| {
        parts[track] && trace.tracks[track].link(at).is_some_and(|l| l.direction == Direction::Through)
    };
    match &question.choice {
        Choice::Window { .. } => match (coarse, candidates) {
            (None, _) => vec![None; trace.tracks.len()],
            (Some(window), None) => {
                pick(trace, |track, at| window.overlaps(&trace.tracks[track], at) && !is_part(track, at))
            }
            (Some(window), Some(candidates)) => window.told_apart(trace, &candidates, is_part),
        },
        Choice::Prefix { prefix, .. } => {
            let matches = |track: &Track<'_>, at: usize| {
                let name = trace.names.get(track.name(at));
                !name.is_empty() && name.starts_with(prefix)
            };
            let mut found = pick(trace, |track, at| matches(&trace.tracks[track], at) && !is_part(track, at));
            by_level(trace, &mut found);
            found
        }
        Choice::One { name, start_ps, duration_ps, serial } => {
            let is_it = |t: &Track<'_>, at: usize| {
                t.start(at) == *start_ps
                    && u64::from(t.serial.of(at)) == *serial
                    && (t.row == Row::Counter && *duration_ps == 0 || t.duration(at) == *duration_ps)
                    && trace.names.get(t.name(at)) == *name
            };
            let position = trace.tracks.iter().enumerate().find_map(|(number, t)| {
                let (from, to) = range(t, *start_ps);
                (from..to).find(|at| is_it(t, *at)).map(|at| (number, at as u32))
            });
            let only = |number| match position {
                Some((track, at)) if track == number => Some(vec![at]),
                _ => Some(Vec::new()),
            };
            (0..trace.tracks.len()).map(only).collect()
        }
    }
}

/// What is found is answered in the order in which XProf keeps it: coarse levels first.
fn by_level(trace: &Trace<'_>, found: &mut Shown) {
    if found.iter().all(|positions| positions.as_ref().is_some_and(|p| p.len() < 2)) {
        return;
    }
    for (levels, positions) in levels::event_levels(trace, levels::FINEST as u8).iter().zip(found) {
        let positions = positions.get_or_insert_with(|| (0..levels.len() as u32).collect());
        positions.sort_by_key(|at| levels[*at as usize].1);
    }
}

/// The positions of events that start at this time.
fn range(track: &Track<'_>, start_ps: u64) -> (usize, usize) {
    let wanted = (start_ps as i64).saturating_sub(track.shift_ps);
    let from = track.start_ps.partition_point(|s| *s < wanted);
    (from, from + track.start_ps[from..].partition_point(|s| *s <= wanted))
}

fn pick(trace: &Trace<'_>, keep: impl Fn(usize, usize) -> bool) -> Shown {
    let tracks = trace.tracks.iter().enumerate();
    let shown = tracks.map(|(number, t)| {
        let kept = (0..t.len()).filter(|at| t.serial.of(*at) < MOST_SERIALS && keep(number, *at));
        let kept: Vec<u32> = kept.map(|at| at as u32).collect();
        (kept.len() < t.len()).then_some(kept)
    });
    shown.collect()
}

/// A time, and how much of it is as wide as a pixel.
struct Window {
    from: u64,
    to: u64,
    /// It has no length.
    instant: bool,
    /// Width of a pixel, picoseconds; 0 where all events are shown.
    finest: u64,
}

impl Window {
    /// `None` where there is no event.
    fn new(trace: &Trace<'_>, (start_ps, end_ps): (u64, u64), resolution: f64) -> Option<Self> {
        let (first, last) = span(trace)?;
        let from = start_ps.max(first);
        let to = if end_ps == 0 { last } else { end_ps.min(last) };
        let instant = to <= from;
        let to = to.max(from);
        let events: usize = trace.tracks.iter().map(Track::len).sum();
        let finest = if resolution == 0.0 || events < SHOWN_WHOLE || instant {
            0
        } else {
            ((to - from) as f64 / resolution).round() as u64
        };
        Some(Self { from, to, instant, finest })
    }

    fn overlaps(&self, t: &Track<'_>, at: usize) -> bool {
        let start = t.start(at);
        let duration = if t.row == Row::Counter { 0 } else { t.duration(at) };
        start <= self.to && (self.instant || start.wrapping_add(duration) >= self.from)
    }

    /// Events of each track that may be shown, with their levels.
    fn candidates(&self, trace: &Trace<'_>) -> Vec<Vec<(u32, u8)>> {
        let mut all = levels::event_levels(trace, levels::deepest(self.finest));
        // What starts with an event that is shown decides where in the order that stands. All else is not looked at again.
        let mut around: Vec<u64> = Vec::new();
        for (t, events) in trace.tracks.iter().zip(&all) {
            let before = events.iter().map(|(at, _)| *at as usize).take_while(|at| t.start(*at) < self.from);
            around.extend(before.filter(|at| self.overlaps(t, *at)).map(|at| t.start(at)));
        }
        around.sort_unstable();
        around.dedup();
        for (t, events) in trace.tracks.iter().zip(&mut all) {
            events.retain(|(at, _)| {
                let start = t.start(*at as usize);
                start <= self.to && (start >= self.from || around.binary_search(&start).is_ok())
            });
        }
        all
    }

    /// Those of the candidates that can be told apart.
    fn told_apart(
        &self,
        trace: &Trace<'_>,
        candidates: &[Vec<(u32, u8)>],
        is_part: impl Fn(usize, usize) -> bool,
    ) -> Shown {
        let deepest = levels::deepest(self.finest);
        let mut by_level: Vec<Vec<(u32, u32)>> = vec![Vec::new(); usize::from(deepest) + 1];
        let told = |(track, of): (usize, &Vec<(u32, u8)>)| {
            let serials = &trace.tracks[track].serial;
            of.iter().map(|(at, _)| *at).filter(|at| serials.of(*at as usize) < MOST_SERIALS).collect()
        };
        let positions: Vec<Vec<u32>> = candidates.iter().enumerate().map(told).collect();
        let mut places = vec![0; candidates.len()];
        order::merge_these(&trace.tracks, &trace.names, &positions, |track, at| {
            let place: &mut usize = &mut places[track];
            while candidates[track][*place].0 as usize != at {
                *place += 1;
            }
            by_level[usize::from(candidates[track][*place].1)].push((track as u32, at as u32));
        });
        let mut sieve = levels::Sieve::new(trace.tracks.len(), self.finest);
        let mut kept: Vec<Vec<u32>> = vec![Vec::new(); trace.tracks.len()];
        order::merge_lists(&by_level, &trace.tracks, &trace.names, |track, at| {
            let t = &trace.tracks[track];
            if !is_part(track, at) && self.overlaps(t, at) && sieve.shows(track, t, at) {
                kept[track].push(at as u32);
            }
        });
        kept.into_iter().map(Some).collect()
    }
}
