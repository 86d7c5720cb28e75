//! One metric over the entries: its values, its stretches, its trend.

use super::Decision;
use super::change_points::{self, Found};
use super::metrics::{Better, METRICS, tracked, unit_of};
use super::parse::Ledger;
use super::trend::{self, Line};
use haloscope_report::Unit;

/// Only so many of the latest entries are searched: what changed years ago is not asked for.
const MOST: usize = 5000;

/// A metric over the entries.
#[derive(Debug)]
pub(super) struct Track {
    /// Its id.
    pub id: String,
    /// What a person reads.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Positions of the entries that know it.
    pub at: Vec<usize>,
    /// Their values.
    pub values: Vec<f64>,
    /// Which of them were searched: those that were not taken back.
    searched: Vec<usize>,
    /// What was found among the searched.
    pub found: Found,
    /// The straight line through the latest stretch, or through all where they drift.
    pub line: Option<Line>,
}

impl Track {
    /// A metric of the ledger; `None` where no entry knows it.
    pub(super) fn of(ledger: &Ledger, id: &str) -> Option<Self> {
        let known = |(at, kept): (usize, &super::PlacedEntry)| Some((at, kept.entry.value(id)?));
        let points: Vec<(usize, f64)> = ledger.entries.iter().enumerate().filter_map(known).collect();
        let (first, _) = points.first()?;
        let unit = unit_of(&ledger.entries[*first].entry.metrics.get(id)?.unit);
        let stayed = |at: usize| ledger.entries[at].entry.decision != Some(Decision::Revert);
        let mut searched: Vec<usize> = (0..points.len()).filter(|i| stayed(points[*i].0)).collect();
        searched.drain(..searched.len().saturating_sub(MOST));
        let values: Vec<f64> = searched.iter().map(|i| points[*i].1).collect();
        let found = change_points::find(&values);
        let latest = found.stretches.last().map(|s| s.at.clone()).unwrap_or_default();
        let line = trend::line(latest.iter().map(|i| (*i as f64, values[*i])));
        let own = tracked(id);
        Some(Self {
            id: id.to_owned(),
            label: own.map_or_else(|| id.to_owned(), |metric| metric.label.to_owned()),
            unit,
            better: own.map_or(Better::Neither, |metric| metric.better),
            at: points.iter().map(|(at, _)| *at).collect(),
            values: points.iter().map(|(_, v)| *v).collect(),
            searched,
            found,
            line,
        })
    }

    /// Every metric that an entry knows: ours first, in their order, then others by id.
    pub(super) fn all(ledger: &Ledger) -> Vec<Self> {
        let mut others: Vec<&str> =
            ledger.entries.iter().flat_map(|kept| kept.entry.metrics.keys()).map(String::as_str).collect();
        others.sort_unstable();
        others.dedup();
        others.retain(|id| tracked(id).is_none());
        METRICS.iter().map(|metric| metric.id).chain(others).filter_map(|id| Self::of(ledger, id)).collect()
    }

    /// What two runs differ by without a cause, and of how many values that was told.
    pub(super) fn noise(&self) -> Option<(f64, usize)> {
        self.found.noise.map(|noise| (noise, self.searched.len()))
    }

    /// The position of the entry of a searched value.
    pub(super) fn entry(&self, searched: usize) -> usize {
        self.at[self.searched[searched]]
    }

    /// Positions of the entries that stand alone.
    pub(super) fn outliers(&self) -> Vec<usize> {
        self.found.outliers.iter().map(|i| self.entry(*i)).collect()
    }

    /// What a difference means: better, worse, or just different.
    pub(super) fn word(&self, delta: f64) -> &'static str {
        match (self.better, delta > 0.0) {
            (Better::Neither, _) => "different",
            (Better::Less, true) | (Better::More, false) => "worse",
            (Better::Less, false) | (Better::More, true) => "better",
        }
    }

    /// Which way it goes: rising, falling, level, or unknown.
    pub(super) fn trend(&self) -> &'static str {
        match self.line {
            None => "unknown",
            Some(line) if line.rises() => "rising",
            Some(line) if line.falls() => "falling",
            Some(_) => "level",
        }
    }
}
