//! Search: which events have a name, a stat or a duration.
//!
//! Names stand once in a plane's metadata: they are matched there, and events are then told by their metadata row. Stats are
//! decoded only where they are asked for.

use std::collections::VecDeque;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Timeline, label};
use haloscope_profile::{Line, LineId, MetaIdx, PlaneId, Profile};
use haloscope_report::Error;
use haloscope_report::stop;

mod asked;
mod look;

use asked::Turn;
pub use asked::{MOST_HITS, Place, Search};
use look::Look;

/// Names that are listed.
const NAMES: usize = 50;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Found {
    /// Number of events that match, wherever the listing begins.
    pub count: u64,
    /// How many of them stand before the first of [`Found::hits`].
    pub position: u64,
    /// Their durations added up, picoseconds; not busy time, because events may overlap.
    pub total_ps: i64,
    /// The one that took longest, the first among equals.
    pub longest: Option<Hit>,
    /// Some of them in time order: the first, or those next to the place that was named.
    pub hits: Vec<Hit>,
    /// True if there are more in the direction that was asked for.
    pub more: bool,
    /// Number of names that the events have.
    pub names: usize,
    /// The names with most time, at most 50.
    pub by_name: Vec<NameCount>,
}

/// An event that matches.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Hit {
    /// The line.
    pub track: u32,
    /// The row in the line.
    pub event: u32,
    /// Start on the run's clock, picoseconds.
    pub start_ps: i64,
    /// Picoseconds.
    pub duration_ps: i64,
    /// The row on the screen, 0 at the top of the track.
    pub depth: u32,
    /// The label.
    pub name: String,
}

/// The matching events of one name.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct NameCount {
    /// The label.
    pub name: String,
    /// Number of events.
    pub count: u64,
    /// Their durations added up, picoseconds.
    pub total_ps: i64,
}

/// What one line holds of it.
#[derive(Debug, Default)]
struct OfLine {
    count: u64,
    /// Matches that stand before the place asked for, or at it.
    passed: u64,
    total_ps: i64,
    longest: Option<(i64, Place)>,
    hits: VecDeque<Place>,
    by_meta: Vec<(MetaIdx, u64, i64)>,
}

impl Timeline {
    /// Looks for events on some lines; on all where `lines` is `None`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a line that there is not.
    pub fn search(&self, search: &Search, lines: Option<&[LineId]>) -> Result<Found, Error> {
        let lines: Vec<&Line> = match lines {
            Some(ids) => {
                let mut ids = self.recorded(ids);
                ids.sort_unstable();
                ids.dedup();
                ids.into_iter().map(|id| self.line(id)).collect::<Result<_, _>>()?
            }
            None => self.profile.lines.iter().collect(),
        };
        let mut planes: Vec<PlaneId> = lines.iter().map(|line| line.plane).collect();
        planes.sort_unstable();
        planes.dedup();
        let looks = |in_long_names: bool| -> FxHashMap<PlaneId, Look<'_>> {
            let look = |plane| Look::of(&self.profile, self.profile.plane(plane), search, in_long_names);
            planes
                .par_iter()
                .filter_map(stop::carried(|plane: &PlaneId| Some((*plane, look(*plane)?))))
                .collect()
        };
        // Who types a name means what is called so, not what has it among its operands.
        let mut of_plane = looks(search.stat.is_some() && !search.is_exact);
        if of_plane.is_empty() && search.name.is_some() && !search.is_exact {
            of_plane = looks(true);
        }
        let looks = of_plane;
        let of_line = |line: &&Line| Some(of_line(&self.profile, line, looks.get(&line.plane)?, search));
        let found: Vec<Option<OfLine>> = lines.par_iter().map(stop::carried(of_line)).collect();
        let found: Vec<(&Line, OfLine)> =
            lines.iter().zip(found).filter_map(|(line, of)| Some((*line, of?))).collect();
        Ok(self.put_together(search, &found))
    }

    fn put_together(&self, search: &Search, found: &[(&Line, OfLine)]) -> Found {
        let mut places: Vec<Place> = found.iter().flat_map(|(_, of)| of.hits.iter().copied()).collect();
        places.sort_unstable();
        let passed: u64 = found.iter().map(|(_, of)| of.passed).sum();
        let count: u64 = found.iter().map(|(_, of)| of.count).sum();
        let position = match search.turn {
            Turn::Before(_) => {
                places.drain(..places.len().saturating_sub(search.limit));
                passed - places.len() as u64
            }
            Turn::FromStart | Turn::After(_) => {
                places.truncate(search.limit);
                passed
            }
        };
        let more = match search.turn {
            Turn::Before(_) => position > 0,
            Turn::FromStart | Turn::After(_) => position + (places.len() as u64) < count,
        };
        let longest = found.iter().filter_map(|(_, of)| of.longest);
        let longest = longest.reduce(|a, b| if (-b.0, b.1) < (-a.0, a.1) { b } else { a });
        let (names, by_name) = self.by_name(found);
        Found {
            count,
            position,
            total_ps: haloscope_report::units::sum(found.iter().map(|(_, of)| of.total_ps)),
            longest: longest.and_then(|(_, place)| self.hit(place)),
            hits: places.into_iter().filter_map(|place| self.hit(place)).collect(),
            more,
            names,
            by_name,
        }
    }

    fn hit(&self, place: Place) -> Option<Hit> {
        let line = self.line(LineId(place.track)).ok()?;
        let events = self.profile.events(line);
        let event = events.get(place.event as usize);
        Some(Hit {
            track: place.track,
            event: place.event,
            start_ps: event.start_ps,
            duration_ps: event.end_ps - event.start_ps,
            depth: self.layout(line).depth_of(place.event)?,
            name: label(&self.profile, self.profile.plane(line.plane), event.meta).into_owned(),
        })
    }

    fn by_name(&self, found: &[(&Line, OfLine)]) -> (usize, Vec<NameCount>) {
        let mut of_meta: FxHashMap<(PlaneId, MetaIdx), (u64, i64)> = FxHashMap::default();
        for (line, of) in found {
            for &(meta, count, total_ps) in &of.by_meta {
                let sum = of_meta.entry((line.plane, meta)).or_default();
                *sum = (sum.0 + count, sum.1.saturating_add(total_ps));
            }
        }
        let mut metas: Vec<_> = of_meta.into_iter().collect();
        metas.sort_unstable_by_key(|(key, _)| *key);
        let mut rows: Vec<NameCount> = Vec::new();
        let mut row_of: FxHashMap<String, usize> = FxHashMap::default();
        for ((plane, meta), (count, total_ps)) in metas {
            let name = label(&self.profile, self.profile.plane(plane), meta);
            let row = *row_of.entry(name.into_owned()).or_insert_with_key(|name| {
                rows.push(NameCount { name: name.clone(), count: 0, total_ps: 0 });
                rows.len() - 1
            });
            rows[row].count += count;
            rows[row].total_ps = rows[row].total_ps.saturating_add(total_ps);
        }
        rows.sort_by(|a, b| (b.total_ps, b.count, &a.name).cmp(&(a.total_ps, a.count, &b.name)));
        let names = rows.len();
        rows.truncate(NAMES);
        (names, rows)
    }
}

fn of_line(profile: &Profile, line: &Line, look: &Look<'_>, search: &Search) -> OfLine {
    let events = profile.events(line);
    let mut found = OfLine::default();
    let mut column = None;
    let mut sums = Sums::of(profile.plane(line.plane).metas.len(), events.len());
    let last = events.rows_before(search.to_ps);
    let columns = events.starts_ps()[..last].iter().zip(events.durations_ps().iter()).zip(events.metas());
    for (index, ((&start_ps, duration_ps), &meta)) in columns.enumerate() {
        // Cheap questions first: most events are told by their metadata row alone.
        if !look.may_match(meta)
            || !(search.min_ps..=search.max_ps).contains(&duration_ps)
            || start_ps + duration_ps.max(1) <= search.from_ps
            || !look.matches(events, index, meta)
        {
            continue;
        }
        let place = Place { start_ps, track: line.id.0, event: index as u32 };
        found.count += 1;
        found.total_ps = found.total_ps.saturating_add(duration_ps);
        sums.add(meta, duration_ps);
        if found.longest.is_none_or(|(longest, _)| duration_ps > longest) {
            found.longest = Some((duration_ps, place));
        }
        match search.turn {
            Turn::Before(limit) if place < limit => {
                found.passed += 1;
                found.hits.push_back(place);
                if found.hits.len() > search.limit {
                    found.hits.pop_front();
                }
            }
            Turn::Before(_) => {}
            Turn::After(from) if place <= from => found.passed += 1,
            Turn::FromStart | Turn::After(_) => {
                let drawn = search.column_of(start_ps);
                if found.hits.len() < search.limit && (drawn.is_none() || drawn > column) {
                    found.hits.push_back(place);
                    column = drawn;
                }
            }
        }
    }
    found.by_meta = sums.list();
    found
}

/// Count and time by metadata row: a table where most rows may occur, a map on short lines of large planes.
enum Sums {
    Table(Vec<(u64, i64)>),
    Map(FxHashMap<MetaIdx, (u64, i64)>),
}

impl Sums {
    fn of(metas: usize, events: usize) -> Self {
        if metas <= events { Self::Table(vec![(0, 0); metas]) } else { Self::Map(FxHashMap::default()) }
    }

    fn add(&mut self, meta: MetaIdx, duration_ps: i64) {
        let sum = match self {
            Self::Table(table) => &mut table[meta as usize],
            Self::Map(map) => map.entry(meta).or_default(),
        };
        *sum = (sum.0 + 1, sum.1.saturating_add(duration_ps));
    }

    fn list(self) -> Vec<(MetaIdx, u64, i64)> {
        match self {
            Self::Table(table) => {
                let rows = (0..).zip(table).filter(|(_, sum)| sum.0 > 0);
                rows.map(|(meta, sum)| (meta, sum.0, sum.1)).collect()
            }
            Self::Map(map) => {
                let mut rows: Vec<_> = map.into_iter().map(|(meta, sum)| (meta, sum.0, sum.1)).collect();
                rows.sort_unstable();
                rows
            }
        }
    }
}
