//! Where a series changed its level, and by how much.
//!
//! The search is PELT (Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational cost",
//! JASA 107, 2012): of all ways to cut the series into stretches of one mean, the one with the least sum of squares plus a
//! penalty a cut. The penalty is in units of the noise, which is taken from the differences of neighbours, so that a step
//! does not count as noise. Three things are added, because a ledger is short and people act on it:
//! - one entry that stands alone is an outlier and no change until a second one says the same;
//! - a change stays only if Student's t of the stretches on both sides says so, as Hunter has it (Fleming et al., "Hunter:
//!   Using Change Point Detection to Hunt for Performance Regressions", ICPE 2023); its p is multiplied by the number of
//!   places where the two could have been cut, since the best of them was taken (Bonferroni), and must be below [`SURE`];
//! - a slope is not a staircase: where a straight line says as much with fewer numbers, the series drifts.

use super::trend::{self, Line};
use haloscope_compare::significance::{Moments, pooled};
use haloscope_time::stats;

/// Fewer values than this are not searched.
pub const FEWEST: usize = 4;
/// The chance of a false alarm below which a change is told.
pub const SURE: f64 = 0.05;
/// The penalty of a cut, in squares of the noise times the logarithm of the number of values. The Bayesian criterion has 2
/// for the place and the level; 3 keeps false alarms of short series rare (see the tests).
const PENALTY: f64 = 3.0;
/// Noise is believed to be at least this share of the level: a smaller change is of no use to anybody.
pub const LEAST_NOISE: f64 = 0.0005;

/// Of a series that drifts, values so many times the noise off the line are outliers.
const OFF_THE_LINE: f64 = 4.0;
/// Outliers are looked for so often: each round takes one of every group of them.
const ROUNDS: usize = 16;

/// What was found in a series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Changes of the level, in order.
    pub changes: Vec<Change>,
    /// Values that stand alone, by position; they count in no stretch.
    pub outliers: Vec<usize>,
    /// Stretches of one level, in order.
    pub stretches: Vec<Stretch>,
    /// What two values differ by without a cause: a standard deviation, in the unit of the values. `None` for too few.
    pub noise: Option<f64>,
    /// The straight line, where one says as much as stretches would.
    pub drift: Option<Line>,
}

/// A stretch of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretch {
    /// Its values, by position, without outliers.
    pub at: Vec<usize>,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; `None` for one.
    pub sd: Option<f64>,
}

/// A change of the level.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Position of the first value after it.
    pub at: usize,
    /// The level before.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// After less before.
    pub delta: f64,
    /// The lower end of its 95% interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Student's p of the two stretches, times the places where they could have been cut; 1 at most.
    pub p: f64,
}

/// Searches a series of finite numbers.
#[must_use]
pub fn find(values: &[f64]) -> Found {
    if values.len() < FEWEST || values.iter().any(|v| !v.is_finite()) {
        let all = (0..values.len()).collect();
        return Found { stretches: stretch(values, all).into_iter().collect(), ..Found::default() };
    }
    let noise = noise(values);
    let mut outliers = Vec::new();
    let mut cuts = Vec::new();
    for _ in 0..ROUNDS {
        let kept: Vec<usize> = (0..values.len()).filter(|at| !outliers.contains(at)).collect();
        let picked: Vec<f64> = kept.iter().map(|at| values[*at]).collect();
        let starts = pelt(&picked, PENALTY * noise * noise * (picked.len() as f64).ln());
        let ends: Vec<usize> = starts.into_iter().chain([picked.len()]).collect();
        cuts = ends.windows(2).map(|w| kept[w[0]..w[1]].to_vec()).collect();
        let lonely = lonely(values, &picked, &cuts);
        // A quarter of a series is not out of line.
        if lonely.is_empty() || outliers.len() + lonely.len() > values.len() / 4 {
            break;
        }
        outliers.extend(lonely);
    }
    let stretches = sure(values, cuts, noise);
    let mut kept: Vec<usize> = stretches.iter().flat_map(|s| s.at.iter().copied()).collect();
    let mut drift = if stretches.len() > 1 { drift(values, &kept, &stretches, noise) } else { None };
    if let Some(line) = drift {
        // What is out of line with a staircase may well be on the slope.
        outliers.retain(|at| (values[*at] - line.at(*at as f64)).abs() > OFF_THE_LINE * noise);
        kept = (0..values.len()).filter(|at| !outliers.contains(at)).collect();
        drift = trend::line(kept.iter().map(|at| (*at as f64, values[*at])));
    }
    outliers.sort_unstable();
    let stretches = if drift.is_some() { stretch(values, kept).into_iter().collect() } else { stretches };
    let changes = stretches.windows(2).filter_map(|w| change(&w[0], &w[1], noise)).collect();
    Found { changes, outliers, stretches, noise: Some(noise), drift }
}

/// Values that make a stretch of their own. Of several side by side only the farthest from the middle of all: without it, the
/// others may belong together.
fn lonely(values: &[f64], picked: &[f64], cuts: &[Vec<usize>]) -> Vec<usize> {
    let middle = stats::Summary::of(picked).map_or(0.0, |s| s.p50);
    let far = |at: usize| (values[at] - middle).abs();
    let mut out = Vec::new();
    for group in cuts.chunk_by(|a, b| (a.len() == 1) == (b.len() == 1)).filter(|group| group[0].len() == 1) {
        out.extend(group.iter().map(|cut| cut[0]).max_by(|a, b| far(*a).total_cmp(&far(*b)).then(b.cmp(a))));
    }
    out
}

/// The standard deviation of values around their level: from the differences of neighbours, of which a step or an outlier
/// spoils one or two. Their median is taken off, so that a drift is no noise.
fn noise(values: &[f64]) -> f64 {
    let differences: Vec<f64> = values.windows(2).map(|w| w[1] - w[0]).collect();
    let median = stats::Summary::of(&differences).map_or(0.0, |s| s.p50);
    let level = stats::Summary::of(values).map_or(0.0, |s| s.p50.abs());
    let least = (level * LEAST_NOISE).max(f64::MIN_POSITIVE.sqrt());
    (stats::robust_deviation(&differences, median) / std::f64::consts::SQRT_2).max(least)
}

/// The starts of the stretches that cost least; `penalty` is the price of one.
fn pelt(values: &[f64], penalty: f64) -> Vec<usize> {
    let n = values.len();
    // Around the median, so that squares of large numbers do not eat small differences.
    let centre = stats::Summary::of(values).map_or(0.0, |s| s.p50);
    let (mut sums, mut squares) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    for (i, v) in values.iter().enumerate() {
        sums[i + 1] = sums[i] + (v - centre);
        squares[i + 1] = squares[i] + (v - centre).powi(2);
    }
    let cost = |from: usize, to: usize| -> f64 {
        let sum: f64 = sums[to] - sums[from];
        (squares[to] - squares[from] - sum * sum / (to - from) as f64).max(0.0)
    };
    let mut best = vec![0.0; n + 1];
    let mut from = vec![0; n + 1];
    let mut candidates = vec![0];
    best[0] = -penalty;
    for to in 1..=n {
        let of = |start: &usize| best[*start] + cost(*start, to) + penalty;
        let least = candidates.iter().copied().min_by(|a, b| of(a).total_cmp(&of(b))).unwrap_or(0);
        let reached = of(&least);
        candidates.retain(|start| best[*start] + cost(*start, to) <= reached);
        (best[to], from[to]) = (reached, least);
        candidates.push(to);
    }
    let mut starts = Vec::new();
    let mut at = n;
    while at > 0 {
        at = from[at];
        starts.push(at);
    }
    starts.reverse();
    starts
}

/// Joins stretches until every change between two is sure, the least sure first.
fn sure(values: &[f64], cuts: Vec<Vec<usize>>, noise: f64) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = cuts.into_iter().filter_map(|at| stretch(values, at)).collect();
    loop {
        let chance = |w: &[Stretch]| change(&w[0], &w[1], noise).map_or(1.0, |c| c.p);
        let chances: Vec<f64> = all.windows(2).map(chance).collect();
        let worst = chances.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((i, _)) = worst.filter(|(_, p)| **p >= SURE) else { return all };
        let after = all.remove(i + 1);
        let at = all[i].at.iter().copied().chain(after.at).collect();
        all[i] = stretch(values, at).unwrap_or(Stretch { at: Vec::new(), mean: f64::NAN, sd: None });
    }
}

fn stretch(values: &[f64], at: Vec<usize>) -> Option<Stretch> {
    let picked: Vec<f64> = at.iter().map(|i| values[*i]).collect();
    let summary = stats::Summary::of(&picked)?;
    Some(Stretch { at, mean: summary.mean, sd: summary.standard_deviation })
}

fn change(before: &Stretch, after: &Stretch, noise: f64) -> Option<Change> {
    // A single value says nothing of its spread, and has no weight in it.
    let of = |s: &Stretch| Moments { count: s.at.len() as f64, mean: s.mean, sd: s.sd.unwrap_or(0.0) };
    // A few values may be alike by chance: the spread is no less than the noise of all.
    let test = pooled(&of(before), &of(after), noise)?;
    let (low, high) = (test.low, test.high);
    let places = (before.at.len() + after.at.len()).saturating_sub(1).max(1);
    Some(Change {
        at: *after.at.first()?,
        before: before.mean,
        after: after.mean,
        delta: test.delta,
        low,
        high,
        p: (test.p * places as f64).min(1.0),
    })
}

/// The straight line through the values, if the Bayesian criterion prefers it to the stretches.
fn drift(values: &[f64], kept: &[usize], stretches: &[Stretch], noise: f64) -> Option<Line> {
    let line = trend::line(kept.iter().map(|at| (*at as f64, values[*at])))?;
    if !line.rises() && !line.falls() {
        return None;
    }
    let n = kept.len() as f64;
    let around = |s: &Stretch| s.at.iter().map(|at| (values[*at] - s.mean).powi(2)).sum::<f64>();
    let stairs: f64 = stretches.iter().map(around).sum();
    let straight: f64 = kept.iter().map(|at| (values[*at] - line.at(*at as f64)).powi(2)).sum();
    // What the noise explains is nobody's merit.
    let least = n * (noise / 4.0).powi(2);
    let criterion = |rest: f64, numbers: usize| n * (rest.max(least) / n).ln() + numbers as f64 * n.ln();
    (criterion(straight, 2) <= criterion(stairs, 2 * stretches.len() - 1)).then_some(line)
}

#[cfg(test)]
mod tests;
