//! Levels of detail: which events can be told apart where a picosecond, a nanosecond, … or a second is as wide as a pixel.
//!
//! An event is shown where it is as long as a pixel, or where a pixel is free since the last one shown at its depth of
//! nesting. Arrows are shown with both ends or not at all.

use rustc_hash::FxHashMap;

use haloscope_event_groups::Direction;

use super::order::merge;
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
const FINEST: usize = WIDTHS_PS.len() - 1;

/// The last level that is read for a pixel of this width.
pub(super) fn deepest(width_ps: u64) -> u8 {
    WIDTHS_PS.iter().position(|w| width_ps >= *w).unwrap_or(FINEST) as u8
}

/// What was shown last in a row.
#[derive(Debug, Clone, Default)]
struct Last {
    /// Ends by depth of nesting.
    ends: Vec<u64>,
    arrow: Option<u64>,
    sample: Option<u64>,
}

impl Last {
    fn depth(&self, start: u64) -> usize {
        self.ends.iter().position(|end| *end <= start).unwrap_or(self.ends.len())
    }

    fn set(&mut self, depth: usize, end: u64) {
        self.ends.truncate(depth);
        self.ends.push(end);
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
        let free = last.ends.get(depth).is_none_or(|end| start.saturating_sub(*end) >= width);
        let mut shows = track.duration(at) >= width || free;
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

    /// Gives an event that is shown on a coarser level its place.
    fn place(&mut self, row: usize, track: &Track<'_>, at: usize) {
        let start = track.start(at);
        let last = &mut self.rows[row];
        if !matches!(track.row, Row::Thread(_)) {
            last.sample = Some(start);
            return;
        }
        let end = start.wrapping_add(track.duration(at));
        if let Some(link) = track.link(at) {
            if link.direction == Direction::In {
                self.arrows.remove(&link.id);
            } else {
                self.arrows.entry(link.id).or_insert(true);
            }
            last.arrow = Some(end);
        }
        let depth = last.depth(start);
        last.set(depth, end);
    }
}

/// Whether arrows are shown, by level, where their first event decided it.
type Arrows = Vec<FxHashMap<u64, bool>>;

fn arrows(trace: &Trace<'_>) -> Arrows {
    let mut arrows: Arrows = vec![FxHashMap::default(); FINEST];
    if trace.tracks.iter().all(|t| t.links.is_empty()) {
        return arrows;
    }
    let rows = trace.tracks.len();
    let mut sieves: Vec<Sieve> = WIDTHS_PS[..FINEST].iter().map(|width| Sieve::new(rows, *width)).collect();
    merge(&trace.tracks, &trace.names, |row, at| {
        let track = &trace.tracks[row];
        let Some(link) = track.link(at) else { return };
        let mut seen = false;
        for (sieve, arrows) in sieves.iter_mut().zip(&mut arrows) {
            if seen {
                sieve.place(row, track, at);
            } else {
                seen = sieve.shows(row, track, at);
            }
            arrows.entry(link.id).or_insert(seen);
        }
    });
    arrows
}

/// The level of every event: the coarsest on which it is shown.
pub(super) fn event_levels(trace: &Trace<'_>) -> Vec<Vec<u8>> {
    let arrows = arrows(trace);
    trace.tracks.iter().map(|track| track_levels(track, &arrows)).collect()
}

fn track_levels(track: &Track<'_>, arrows: &Arrows) -> Vec<u8> {
    let mut sieves: Vec<Sieve> = WIDTHS_PS[..FINEST].iter().map(|width| Sieve::new(1, *width)).collect();
    let level = |at: usize| {
        let link = track.link(at);
        let mut level = FINEST;
        for (number, sieve) in sieves.iter_mut().enumerate() {
            if level < number {
                sieve.place(0, track, at);
                continue;
            }
            match link {
                Some(link) => {
                    let arrow = arrows[number].get(&link.id).copied().unwrap_or(false);
                    if arrow || track.duration(at) >= WIDTHS_PS[number] {
                        sieve.place(0, track, at);
                        level = number;
                    }
                }
                None => {
                    if sieve.shows(0, track, at) {
                        level = number;
                    }
                }
            }
        }
        level as u8
    };
    (0..track.len()).map(level).collect()
}
