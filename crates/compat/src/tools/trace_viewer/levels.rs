//! Levels of detail: which events can be told apart where a picosecond, a nanosecond, … or a second is as wide as a pixel.
//!
//! An event is shown where it is as long as a pixel, or where a pixel is free since the last one shown at its depth of
//! nesting. Arrows are shown with both ends or not at all.

use rustc_hash::FxHashMap;

use haloscope_event_groups::Direction;
use haloscope_report::stop;
use rayon::prelude::*;

use super::order;
use super::tracks::{Row, Trace, Track};

/// Widths of a pixel, coarse to fine, picoseconds.
const WIDTHS_PS: [u64; 13] = [
    1_000_000_000_000,
    100_000_000_000,
    10_000_000_000,
    1_000_000_000,
    100_000_000,
    10_000_000,
    1_000_000,
    100_000,
    10_000,
    1_000,
    100,
    10,
    1,
];
pub(super) const FINEST: usize = WIDTHS_PS.len() - 1;

/// The last level that is read for a pixel of this width.
pub(super) fn deepest(width_ps: u64) -> u8 {
    WIDTHS_PS.iter().position(|w| width_ps >= *w).unwrap_or(FINEST) as u8
}

/// What was shown last in a row. Events are asked about in the order of their starts.
#[derive(Debug, Clone, Default)]
struct Last {
    /// By depth of nesting, the earliest end of what was shown there or around it: as far as an event looks down for its depth.
    ends: Vec<u64>,
    /// No end at this depth or below is later than the start asked about last.
    open: usize,
    arrow: Option<u64>,
    sample: Option<u64>,
}

impl Last {
    /// The depth of an event that starts here: behind all that has not ended.
    fn depth(&mut self, start: u64) -> usize {
        while self.open > 0 && self.ends[self.open - 1] <= start {
            self.open -= 1;
        }
        self.open
    }

    /// True if a pixel of this width is free at this depth.
    fn is_free(&self, depth: usize, start: u64, width_ps: u64) -> bool {
        self.ends.get(depth).is_none_or(|end| start.saturating_sub(*end) >= width_ps)
    }

    fn set(&mut self, depth: usize, end: u64) {
        self.ends.truncate(depth);
        let around = self.ends.last().copied().unwrap_or(u64::MAX);
        self.ends.push(end.min(around));
        self.open = self.ends.len();
    }

    /// The first start from this one on at which a pixel of this width may be free, as long as nothing else is shown.
    fn free_from(&mut self, start: u64, width_ps: u64) -> u64 {
        let (mut depth, mut from) = (self.depth(start), start);
        loop {
            let Some(end) = self.ends.get(depth) else { return from };
            let free = end.saturating_add(width_ps).max(from);
            match depth.checked_sub(1).map(|around| self.ends[around]) {
                // Before then what is around it ends, and the depth is another.
                Some(around) if free >= around => (depth, from) = (depth - 1, around),
                _ => return free,
            }
        }
    }
}

/// Lets through what can be told apart. To be asked in the order of starts.
#[derive(Debug)]
pub(super) struct Sieve {
    width_ps: u64,
    rows: Vec<Last>,
    /// Whether the arrows that have begun are shown.
    arrows: FxHashMap<u64, bool>,
}

impl Sieve {
    pub(super) fn new(rows: usize, width_ps: u64) -> Self {
        Self { width_ps, rows: vec![Last::default(); rows], arrows: FxHashMap::default() }
    }

    /// True if the event is shown; then it takes its place.
    pub(super) fn shows(&mut self, row: usize, track: &Track<'_>, at: usize) -> bool {
        let (start, width) = (track.start(at), self.width_ps);
        let last = &mut self.rows[row];
        if !matches!(track.row, Row::Thread(_)) {
            let shows = last.sample.is_none_or(|sample| start.saturating_sub(sample) >= width);
            if shows {
                last.sample = Some(start);
            }
            return shows;
        }
        let end = start.wrapping_add(track.duration(at));
        let depth = last.depth(start);
        let mut shows = track.duration(at) >= width || last.is_free(depth, start, width);
        if let Some(link) = track.link(at) {
            let known = self.arrows.get(&link.id).copied();
            let arrow = match known {
                Some(arrow) => arrow,
                // An arrow before the last one, inside of whose event it is, wraps around and is shown, as in XProf.
                None => shows || last.arrow.is_none_or(|arrow| end.wrapping_sub(arrow) >= width),
            };
            if known.is_none() {
                self.arrows.insert(link.id, arrow);
            }
            shows |= arrow;
            if link.direction == Direction::In {
                self.arrows.remove(&link.id);
            }
            if shows {
                last.arrow = Some(end);
            }
        }
        if shows {
            last.set(depth, end);
        }
        shows
    }
}

/// For each link of each track the coarsest level on which its arrow is shown, where the arrow's first event decided it.
type Arrows = Vec<Vec<u8>>;

/// An arrow that was met.
#[derive(Debug, Clone, Copy)]
struct Arrow {
    /// The coarsest level on which it is shown.
    level: u8,
    /// It has begun and not ended.
    open: bool,
    /// The levels on which it is shown from its beginning to its end, a bit each.
    shown: u16,
}

/// What was shown last in a row, on each level, among events with links.
#[derive(Debug, Clone, Default)]
struct Linked {
    last: Vec<Last>,
}

fn arrows(trace: &Trace<'_>, levels: usize) -> Arrows {
    let mut arrows: Arrows = trace.tracks.iter().map(|t| vec![0; t.links.len()]).collect();
    if trace.tracks.iter().all(|t| t.links.is_empty()) {
        return arrows;
    }
    let positions = |t: &Track<'_>| t.links.iter().map(|(at, _)| *at).collect();
    let linked: Vec<Vec<u32>> = trace.tracks.iter().map(positions).collect();
    let mut rows = vec![Linked { last: vec![Last::default(); levels] }; trace.tracks.len()];
    let mut places = vec![0; trace.tracks.len()];
    let mut known: FxHashMap<u64, Arrow> = FxHashMap::default();
    order::merge_these(&trace.tracks, &trace.names, &linked, |row, at| {
        let track = &trace.tracks[row];
        let place: &mut usize = &mut places[row];
        let (_, link) = &track.links[*place];
        let before = known.get(&link.id).copied();
        let open = before.filter(|arrow| arrow.open).map(|arrow| arrow.shown);
        let (first, shown) = rows[row].place(track, at, open, &WIDTHS_PS[..levels]);
        let mut arrow = before.unwrap_or(Arrow { level: first, open: false, shown: 0 });
        if matches!(track.row, Row::Thread(_)) {
            (arrow.open, arrow.shown) = (link.direction != Direction::In, shown);
        }
        known.insert(link.id, arrow);
        arrows[row][*place] = arrow.level;
        *place += 1;
    });
    arrows
}

impl Linked {
    /// Gives an event its place on the levels on which it is shown. `open` says on which its arrow is, if that has begun. Returns
    /// the coarsest level of the event, and on which its arrow is shown from now on.
    fn place(&mut self, track: &Track<'_>, at: usize, open: Option<u16>, widths: &[u64]) -> (u8, u16) {
        let (start, duration) = (track.start(at), track.duration(at));
        let end = start.wrapping_add(duration);
        let is_thread = matches!(track.row, Row::Thread(_));
        let mut arrows = open.unwrap_or(0);
        let mut first = None;
        for (number, (last, width)) in self.last.iter_mut().zip(widths).enumerate() {
            let bit = 1_u16 << number;
            if !is_thread {
                if first.is_some() || last.sample.is_none_or(|sample| start.saturating_sub(sample) >= *width)
                {
                    first = first.or(Some(number));
                    last.sample = Some(start);
                }
                continue;
            }
            let depth = last.depth(start);
            if first.is_none() {
                let mut shows = duration >= *width || last.is_free(depth, start, *width);
                let arrow = match open {
                    Some(open) => open & bit != 0,
                    // An arrow before the last one, inside of whose event it is, wraps around and is shown, as in XProf.
                    None => shows || last.arrow.is_none_or(|arrow| end.wrapping_sub(arrow) >= *width),
                };
                if arrow {
                    arrows |= bit;
                    shows = true;
                }
                if !shows {
                    continue;
                }
                first = Some(number);
            } else if open.is_none() {
                arrows |= bit;
            }
            last.arrow = Some(end);
            last.set(depth, end);
        }
        (first.unwrap_or(widths.len()) as u8, arrows)
    }
}

/// The events of each track that are shown on this level or a coarser one, each with the coarsest on which it is shown.
pub(super) fn event_levels(trace: &Trace<'_>, deepest: u8) -> Vec<Vec<(u32, u8)>> {
    // All that is left is shown on the finest.
    let levels = (usize::from(deepest) + 1).min(FINEST);
    let arrows = arrows(trace, levels);
    let of = |(track, arrows): (&Track<'_>, &Vec<u8>)| {
        track_levels(track, arrows, levels, usize::from(deepest) == FINEST)
    };
    trace.tracks.par_iter().zip(&arrows).map(stop::carried(of)).collect()
}

/// A row as one of the levels shows it.
struct Level {
    last: Last,
    width_ps: u64,
    /// No pixel is free before this start.
    free_from: u64,
}

impl Level {
    fn is_free(&mut self, start: u64) -> bool {
        if start < self.free_from {
            return false;
        }
        let depth = self.last.depth(start);
        let free = self.last.is_free(depth, start, self.width_ps);
        if !free {
            self.free_from = self.last.free_from(start, self.width_ps);
        }
        free
    }

    fn place(&mut self, start: u64, end: u64) {
        let depth = self.last.depth(start);
        self.last.set(depth, end);
        self.free_from = self.last.free_from(start, self.width_ps);
    }
}

fn track_levels(track: &Track<'_>, arrows: &[u8], levels: usize, all: bool) -> Vec<(u32, u8)> {
    let level = |width: &u64| Level { last: Last::default(), width_ps: *width, free_from: 0 };
    let mut rows: Vec<Level> = WIDTHS_PS[..levels].iter().map(level).collect();
    // Only threads nest; of what is none, samples count.
    let mut samples: Vec<Option<u64>> = vec![None; levels];
    let is_thread = matches!(track.row, Row::Thread(_));
    let mut links = track.links.iter().map(|(position, _)| *position as usize).zip(arrows).peekable();
    let mut found = Vec::new();
    for at in 0..track.len() {
        let (start, duration) = (track.start(at), track.duration(at));
        let first = match links.next_if(|(position, _)| *position == at) {
            Some((_, arrow)) => {
                let long = WIDTHS_PS[..levels].iter().position(|width| duration >= *width);
                Some(long.unwrap_or(levels).min(usize::from(*arrow))).filter(|first| *first < levels)
            }
            None if is_thread => {
                rows.iter_mut().position(|row| duration >= row.width_ps || row.is_free(start))
            }
            None => {
                let widths = samples.iter().zip(WIDTHS_PS);
                let mut free = widths
                    .map(|(sample, width)| sample.is_none_or(|sample| start.saturating_sub(sample) >= width));
                free.position(|free| free)
            }
        };
        if let Some(first) = first {
            if is_thread {
                let end = start.wrapping_add(duration);
                rows[first..].iter_mut().for_each(|row| row.place(start, end));
            } else {
                samples[first..].fill(Some(start));
            }
            found.push((at as u32, first as u8));
        } else if all {
            found.push((at as u32, FINEST as u8));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::trace_viewer::tracks::tests::track;

    /// The levels as the rules say them: every event held against all ends, on every level.
    fn by_the_rules(events: &[(i64, i64)]) -> Vec<u8> {
        let mut ends: Vec<Vec<u64>> = vec![Vec::new(); FINEST];
        let level = |(start, duration): &(i64, i64)| {
            let (start, duration) = (*start as u64, *duration as u64);
            let mut level = FINEST;
            for (number, ends) in ends.iter_mut().enumerate() {
                let depth = ends.iter().position(|end| *end <= start).unwrap_or(ends.len());
                let free = ends.get(depth).is_none_or(|end| start - end >= WIDTHS_PS[number]);
                if level < number || duration >= WIDTHS_PS[number] || free {
                    level = level.min(number);
                    ends.truncate(depth);
                    ends.push(start + duration);
                }
            }
            level as u8
        };
        events.iter().map(level).collect()
    }

    #[test]
    fn levels_are_those_of_the_rules_also_where_events_cross() {
        let mut below = crate::random::numbers();
        for round in 0..300 {
            let longest = 1 << (4 + round % 30);
            let mut events: Vec<(i64, i64)> =
                (0..200).map(|_| (below(20 * longest), below(longest) >> below(20))).collect();
            events.sort_by_key(|(start, duration)| (*start, -duration));
            let expected = by_the_rules(&events);
            let track = track(1, &events);
            for deepest in [0, 3, 7, FINEST] {
                let found = track_levels(&track, &[], (deepest + 1).min(FINEST), deepest == FINEST);
                let wanted = (0_u32..).zip(&expected).filter(|(_, level)| usize::from(**level) <= deepest);
                let wanted: Vec<(u32, u8)> = wanted.map(|(at, level)| (at, *level)).collect();
                assert_eq!(found, wanted, "round {round}, level {deepest}");
            }
        }
    }
}
