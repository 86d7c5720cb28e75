//! Samples of several kinds that one change of level touches unequally, as a slow memory does two programs by turns: each kind goes its
//! own share of the way.

use std::collections::BTreeMap;

use super::level::{self, Found};
use super::median;
use crate::stats::robust_deviation;

/// Fewer samples of a kind do not say how far it goes.
const FEWEST: usize = 6;
/// A kind has a share of its own where it explains its samples so much better than the common level: F of one and n - 2 degrees of freedom
/// that chance reaches in one of a thousand for six samples (p = 0.0009), and less often for more.
const CLEAR: f64 = 80.0;
/// Samples farther from the line than so many robust deviations are left out of its second fit.
const FAR: f64 = 5.0;

/// What is found among samples of kinds.
pub(super) struct OfKinds {
    pub found: Found,
    /// How far each kind goes of the way of `found`; what is not here goes all of it.
    ways: BTreeMap<u32, Way>,
}

/// The level of a kind where the common one is `level`: `base + height * (level - 1)`.
#[derive(Debug, Clone, Copy)]
struct Way {
    base: f64,
    height: f64,
}

impl Way {
    fn at(self, level: f64) -> f64 {
        self.base + self.height * (level - 1.0)
    }
}

impl OfKinds {
    /// The level of a sample of a kind where the common one is `level`.
    pub(super) fn level(&self, kind: u32, level: f64) -> f64 {
        self.ways.get(&kind).map_or(level, |way| way.at(level))
    }
}

/// Finds changes and spikes among (place, ratio), places being below `count`, of samples that have a kind each.
pub(super) fn find(taken: &[(usize, f64)], kind: &dyn Fn(usize) -> u32, count: usize) -> OfKinds {
    let joint = level::find(taken, count);
    let mut kinds: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
    for one in taken {
        kinds.entry(kind(one.0)).or_default().push(*one);
    }
    let alone = |found| OfKinds { found, ways: BTreeMap::new() };
    if kinds.len() < 2 {
        return alone(joint);
    }
    let shape = if joint.changes.is_empty() { clearest(&kinds, count) } else { Some(joint.levels.clone()) };
    let Some(shape) = shape else { return alone(joint) };
    let ways: BTreeMap<u32, Way> =
        kinds.iter().filter_map(|(kind, own)| Some((*kind, way(own, &shape)?))).collect();
    if ways.is_empty() {
        return alone(joint);
    }
    let flat = |(at, ratio): &(usize, f64)| {
        let own = ways.get(&kind(*at)).map_or(shape[*at], |way| way.at(shape[*at]));
        (*at, ratio * shape[*at] / own)
    };
    let flat: Vec<(usize, f64)> = taken.iter().map(flat).collect();
    let found = level::find(&flat, count);
    if found.changes.is_empty() { alone(joint) } else { OfKinds { found, ways } }
}

/// The levels of the kind that changes most clearly, where the samples together show no change: at places of other kinds those of its sample before.
fn clearest(kinds: &BTreeMap<u32, Vec<(usize, f64)>>, count: usize) -> Option<Vec<f64>> {
    let all = kinds.values().map(|own| {
        let found = level::find(own, count);
        let p = found.changes.iter().map(|change| change.p).fold(f64::INFINITY, f64::min);
        (p, own, found)
    });
    let clear = all.filter(|(p, ..)| *p * kinds.len() as f64 <= level::LEVEL);
    let (_, own, found) = clear.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let level = |at: usize| {
        let before = own.partition_point(|one| one.0 <= at).saturating_sub(1);
        own.get(before).map_or(1.0, |one| found.levels[one.0])
    };
    Some((0..count).map(level).collect())
}

/// How far a kind goes along with the levels; `None` where it goes as far as all, or that cannot be told.
fn way(own: &[(usize, f64)], levels: &[f64]) -> Option<Way> {
    let points: Vec<(f64, f64)> = own.iter().map(|(at, ratio)| (levels[*at] - 1.0, *ratio)).collect();
    let fit = line(&points)?;
    let residuals: Vec<f64> = points.iter().map(|(x, y)| y - fit.base - fit.height * x).collect();
    let center = median(residuals.clone());
    let reach = FAR * robust_deviation(&residuals, center).max(1e-4);
    let near: Vec<(f64, f64)> = points
        .iter()
        .zip(&residuals)
        .filter(|(_, residual)| (**residual - center).abs() <= reach)
        .map(|(point, _)| *point)
        .collect();
    let fit = line(&near)?;
    // Against the common way from the best beginning.
    let (xx, xy) =
        near.iter().fold((0.0, 0.0), |(xx, xy), (x, y)| (xx + (1.0 + x).powi(2), xy + (1.0 + x) * y));
    let common = Way { base: xy / xx, height: xy / xx };
    let squares = |way: Way| near.iter().map(|(x, y)| (y - way.base - way.height * x).powi(2)).sum::<f64>();
    let free = near.len() as f64 - 2.0;
    // Clocks and rounding spread samples by a little even where these do not show it.
    let own = (squares(fit) / free).max(1e-8);
    let is_sane = fit.base > 0.0 && levels.iter().all(|level| fit.at(*level) > 0.0);
    (is_sane && (squares(common) - squares(fit)) / own > CLEAR).then_some(fit)
}

/// The least-squares line through enough points that do not all lie at one place.
fn line(points: &[(f64, f64)]) -> Option<Way> {
    let count = points.len() as f64;
    if points.len() < FEWEST {
        return None;
    }
    let (mean_x, mean_y) =
        points.iter().fold((0.0, 0.0), |(sum_x, sum_y), (x, y)| (sum_x + x / count, sum_y + y / count));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let both: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    if spread <= 1e-9 {
        return None;
    }
    let height = both / spread;
    Some(Way { base: mean_y - height * mean_x, height })
}
