//! Changes of level, and the samples that are off their level.

use super::mode::{self, Mode};
use super::{Change, LONGEST_RUN, SMALLEST_SPIKE, SPIKE_DEVIATIONS};
use crate::special::{t_critical, t_two_sided};

/// A change needs so many samples on either side.
const SIDE: usize = 3;
/// A change of less than this is none that anybody looks for.
const SMALLEST: f64 = 0.01;
/// The chance of a false alarm that is allowed.
pub(super) const LEVEL: f64 = 0.002;
/// So many of the pairs of samples before and behind a change are in its order; of many samples fewer will do.
const ORDERED: f64 = 0.9;
const ORDERED_OF_MANY: f64 = 0.75;
const MANY: usize = 40;
/// At most so many changes in a row of samples.
const DEPTH: u32 = 3;
/// How long ramps are tried: at most so many lengths, at so many places.
const RAMPS: usize = 24;
const PLACES: usize = 256;
/// By so much a ramp must explain the samples better than a change at once: twice the difference of log-likelihoods.
const RAMP_GAIN: f64 = 9.0;
/// Stretches that are tried are many, and alike: each of their two ends must be so much clearer.
const STRETCHES: usize = 200;
/// A ramp shorter than this is a change at once.
const SHORTEST_RAMP: usize = 3;

/// What was found.
pub(super) struct Found {
    /// The level of each sample.
    pub levels: Vec<f64>,
    /// The lowest level that lasts.
    pub best: f64,
    pub changes: Vec<Change>,
    /// Samples off their level, either way.
    pub spikes: Vec<usize>,
    pub deviation: f64,
}

/// Finds changes and spikes among (place, ratio); places are below `count`.
pub(super) fn find(taken: &[(usize, f64)], count: usize) -> Found {
    let ratios: Vec<f64> = taken.iter().map(|one| one.1).collect();
    let mut spikes = off(&ratios, &[(0, ratios.len())]);
    let mut model = Model::default();
    // Spikes hide changes, and changes make spikes: twice is enough.
    for _ in 0..2 {
        let calm: Vec<(usize, f64)> =
            ratios.iter().copied().enumerate().filter(|(at, _)| !spikes.contains(at)).collect();
        model = Model::default();
        model.split(&calm, DEPTH);
        model.changes.sort_by_key(|change| change.at);
        let bounds = model.bounds(ratios.len());
        let level = model.levels(&calm, ratios.len());
        let flat: Vec<f64> = ratios.iter().zip(&level).map(|(ratio, level)| ratio / level).collect();
        // On a ramp every sample has a level of its own: what is left is one stretch.
        let whole = [(0, ratios.len())];
        let is_ramp = model.changes.iter().any(|change| change.over > 1);
        spikes = if model.changes.is_empty() {
            off(&ratios, &whole)
        } else if is_ramp {
            off(&flat, &whole)
        } else {
            off(&flat, &bounds)
        };
    }
    let calm: Vec<(usize, f64)> =
        ratios.iter().copied().enumerate().filter(|(at, _)| !spikes.contains(at)).collect();
    let own = model.levels(&calm, ratios.len());
    let residuals: Vec<f64> = calm.iter().map(|(at, ratio)| ratio / own[*at]).collect();
    let deviation = mode::of(&residuals).map_or(0.0, |mode| mode.deviation);
    let best = model.best(&own);
    let mut levels = vec![1.0; count];
    for ((place, _), level) in taken.iter().zip(&own) {
        levels[*place] = *level;
    }
    let place = |at: usize| taken.get(at).map_or(at, |one| one.0);
    let changes = model.changes.iter().map(|change| Change { at: place(change.at), ..*change }).collect();
    let spikes = spikes.into_iter().map(place).collect();
    Found { levels, best, changes, spikes, deviation }
}

/// Samples off the mode of their stretch, in runs of at most [`LONGEST_RUN`]; a longer run is a stretch of its own.
fn off(ratios: &[f64], stretches: &[(usize, usize)]) -> Vec<usize> {
    let whole = mode::of(ratios);
    let mut found = Vec::new();
    let mut left: Vec<(usize, usize)> = stretches.to_vec();
    while let Some((from, to)) = left.pop() {
        // Of a few samples nobody knows how they spread.
        let mode = match (mode::of(&ratios[from..to]), whole) {
            (Some(own), Some(whole)) if to - from < 8 => {
                Some(Mode { deviation: own.deviation.max(whole.deviation), ..own })
            }
            (mode, _) => mode,
        };
        let Some(mode) = mode else { continue };
        let limit = (SMALLEST_SPIKE * mode.center).max(SPIKE_DEVIATIONS * mode.deviation);
        let is_off = |at: &usize| (ratios[*at] - mode.center).abs() > limit;
        let mut at = from;
        while at < to {
            let run = (at..to).take_while(is_off).count();
            if (1..=LONGEST_RUN).contains(&run) {
                found.extend(at..at + run);
            } else if run > 0 && run < to - from {
                left.push((at, at + run));
            }
            at += run.max(1);
        }
    }
    found.sort_unstable();
    found
}

/// Changes with what they were fitted to; places are of samples that are taken.
#[derive(Default)]
struct Model {
    changes: Vec<Change>,
    ramp: Option<Fit>,
}

/// A change fitted to samples: `before + height * way`, where `way` goes from 0 to 1.
#[derive(Debug, Clone, Copy)]
struct Fit {
    at: usize,
    over: usize,
    before: f64,
    height: f64,
    squares: f64,
}

/// How far a sample is on the way to the new level.
fn way(place: usize, at: usize, over: usize) -> f64 {
    if place < at { 0.0 } else { ((place - at + 1) as f64 / over.max(1) as f64).min(1.0) }
}

impl Model {
    /// Looks for a change among (place, ratio), and again on either side of one.
    fn split(&mut self, calm: &[(usize, f64)], depth: u32) {
        let Some((fit, change)) = change(calm, depth == DEPTH) else {
            return self.stretch(calm);
        };
        self.changes.push(change);
        if fit.over > 1 {
            self.ramp = Some(fit);
            return;
        }
        if depth > 1 {
            let (before, behind) = calm.split_at(calm.partition_point(|one| one.0 < fit.at));
            self.split(before, depth - 1);
            self.split(behind, depth - 1);
        }
    }

    /// Looks for a stretch between two changes that cancel each other (circular binary segmentation; Olshen and others 2004).
    fn stretch(&mut self, calm: &[(usize, f64)]) {
        let Some((from, to)) = stretch(calm) else { return };
        let pair = |calm: &[(usize, f64)], at: usize| {
            let fit = fit(calm, at, 1)?;
            test(calm, &fit, STRETCHES)
        };
        // Each end against what lies on its other side.
        let (first, last) = (calm[from].0, calm[to].0);
        let changes = (pair(&calm[..to], first), pair(&calm[from..], last));
        if let (Some(first), Some(last)) = changes
            && first.size * last.size < 0.0
        {
            self.changes.extend([first, last]);
        }
    }

    /// The stretches between changes.
    fn bounds(&self, count: usize) -> Vec<(usize, usize)> {
        let mut all = vec![0];
        all.extend(self.changes.iter().map(|change| change.at));
        all.push(count);
        all.windows(2).map(|pair| (pair[0], pair[1])).filter(|(from, to)| from < to).collect()
    }

    /// The level of each sample: the mean of those of its stretch that are no spikes.
    fn levels(&self, calm: &[(usize, f64)], count: usize) -> Vec<f64> {
        if let Some(fit) = self.ramp {
            return (0..count).map(|at| fit.before + fit.height * way(at, fit.at, fit.over)).collect();
        }
        let mut levels = vec![1.0; count];
        for (from, to) in self.bounds(count) {
            let own = calm.iter().filter(|one| (from..to).contains(&one.0)).map(|one| one.1);
            let (sum, n) = own.fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
            levels[from..to].fill(if n > 0.0 { sum / n } else { 1.0 });
        }
        levels
    }

    /// The lowest level of a stretch; that of all samples where nothing changes.
    fn best(&self, levels: &[f64]) -> f64 {
        levels.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The clearest change of level, if it is clear enough.
fn change(calm: &[(usize, f64)], may_ramp: bool) -> Option<(Fit, Change)> {
    let count = calm.len();
    if count < 2 * SIDE {
        return None;
    }
    let mut tried = 0;
    let mut steps: Option<Fit> = None;
    for at in SIDE..=count - SIDE {
        tried += 1;
        better(&mut steps, fit(calm, calm[at].0, 1));
    }
    let step = steps?;
    let mut best = step;
    if may_ramp {
        let mut ramps: Option<Fit> = None;
        let stride = count.div_ceil(PLACES);
        let widen = |over: usize| (over + 1).max(over * 5 / 4);
        for at in (0..count.saturating_sub(SHORTEST_RAMP)).step_by(stride) {
            let mut over = SHORTEST_RAMP;
            for _ in 0..RAMPS {
                if at + over > count {
                    break;
                }
                tried += 1;
                better(&mut ramps, fit(calm, calm[at].0, calm[at + over - 1].0 + 1 - calm[at].0));
                over = widen(over);
            }
        }
        if let Some(ramp) = ramps {
            let gain = count as f64 * (step.squares / ramp.squares.max(1e-12)).ln();
            if gain > RAMP_GAIN + (count as f64).ln() {
                best = ramp;
            }
        }
    }
    let found = test(calm, &best, tried)?;
    Some((best, found))
}

/// The stretch inside of the samples whose mean is farthest from that of the others, as places in `calm`.
fn stretch(calm: &[(usize, f64)]) -> Option<(usize, usize)> {
    let count = calm.len();
    if !(3 * SIDE..=PLACES).contains(&count) {
        return None;
    }
    let mean = calm.iter().map(|one| one.1).sum::<f64>() / count as f64;
    let mut sums = vec![0.0];
    for (_, value) in calm {
        sums.push(sums[sums.len() - 1] + value - mean);
    }
    let mut best: Option<(f64, usize, usize)> = None;
    for from in SIDE..count {
        for to in from + SIDE..=count - SIDE {
            let inside = (to - from) as f64;
            let gain = (sums[to] - sums[from]).powi(2) * (1.0 / inside + 1.0 / (count as f64 - inside));
            if best.is_none_or(|best| gain > best.0) {
                best = Some((gain, from, to));
            }
        }
    }
    best.map(|(_, from, to)| (from, to))
}

fn better(best: &mut Option<Fit>, fit: Option<Fit>) {
    let Some(fit) = fit else { return };
    if best.is_none_or(|best| fit.squares < best.squares) {
        *best = Some(fit);
    }
}

/// The least-squares fit of a change at this place over so many samples.
fn fit(calm: &[(usize, f64)], at: usize, over: usize) -> Option<Fit> {
    let count = calm.len() as f64;
    let (mut sum_x, mut sum_y, mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (place, value) in calm {
        let (x, y) = (way(*place, at, over), value - 1.0);
        sum_x += x;
        sum_y += y;
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    let (spread, both) = (xx - sum_x * sum_x / count, xy - sum_x * sum_y / count);
    if spread <= 1e-9 {
        return None;
    }
    let height = both / spread;
    let before = 1.0 + (sum_y - height * sum_x) / count;
    let squares = (yy - sum_y * sum_y / count - height * both).max(0.0);
    Some(Fit { at, over, before, height, squares })
}

/// The change that a fit stands for, if chance does not explain it.
fn test(calm: &[(usize, f64)], fit: &Fit, tried: usize) -> Option<Change> {
    let count = calm.len() as f64;
    let residual =
        |(place, value): &(usize, f64)| value - fit.before - fit.height * way(*place, fit.at, fit.over);
    let residuals: Vec<f64> = calm.iter().map(residual).collect();
    let free = count - if fit.over > 1 { 3.0 } else { 2.0 };
    let x: Vec<f64> = calm.iter().map(|one| way(one.0, fit.at, fit.over)).collect();
    let mean_x = x.iter().sum::<f64>() / count;
    let spread: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    // Clocks and rounding spread samples by a little even where these do not show it.
    let variance = (fit.squares / free).max(1e-8) * inflation(&residuals);
    let error = (variance / spread).sqrt();
    let p = (t_two_sided(fit.height / error, free) * tried as f64).min(1.0);
    let (before, behind) = (fit.before, fit.before + fit.height);
    let size = behind / before - 1.0;
    if p > LEVEL || size.abs() < SMALLEST || before <= 0.0 || behind <= 0.0 {
        return None;
    }
    let ordered = ordered(calm, fit);
    if ordered < if calm.len() < MANY { ORDERED } else { ORDERED_OF_MANY } {
        return None;
    }
    let reach = t_critical(0.05, free) * error;
    let interval = ((fit.height - reach) / before, (fit.height + reach) / before);
    Some(Change { at: fit.at, over: fit.over, size, interval, p })
}

/// The share of pairs of samples, one before a change and one behind it, that lie in its order.
fn ordered(calm: &[(usize, f64)], fit: &Fit) -> f64 {
    let is_behind = |place: usize| way(place, fit.at, fit.over) >= 0.5;
    let (behind, before): (Vec<_>, Vec<_>) = calm.iter().partition(|one| is_behind(one.0));
    let values = |side: Vec<&(usize, f64)>| side.into_iter().map(|one| one.1).collect::<Vec<_>>();
    let (behind, mut before) = (values(behind), values(before));
    before.sort_by(f64::total_cmp);
    let below: usize = behind.iter().map(|own| before.partition_point(|other| other < own)).sum();
    let share = below as f64 / (behind.len() * before.len()).max(1) as f64;
    if fit.height > 0.0 { share } else { 1.0 - share }
}

/// By how much the correlation of neighbours widens the error of a mean: (1 + r) / (1 - r), of an autoregressive series.
fn inflation(residuals: &[f64]) -> f64 {
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if squares <= 0.0 {
        return 1.0;
    }
    // Residuals of a fit are less correlated than what it was fitted to.
    let r = (products / squares + 1.0 / residuals.len() as f64).clamp(0.0, 0.8);
    (1.0 + r) / (1.0 - r)
}
