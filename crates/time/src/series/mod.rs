//! Samples in the order in which they were taken, such as the times of steps: from where on they are larger, whether they
//! grow, which come back every so often, and which are large once.
//!
//! The usual level is that of the shortest interval that holds two fifths of the samples (a robust mode: Venter 1967, "On
//! estimation of the mode"), so that it stands where up to half of them are large. A sample is off it by more than 2% and
//! five robust deviations; two that follow each other at most, for more are a level of their own. What is left is searched for
//! the change of level that explains most (least squares over all places, as CUSUM has it; Hinkley 1970), at once or over a
//! ramp, and again on either side of it. A change counts if Student's t of it, corrected for the number of places that were
//! tried (Bonferroni) and for the correlation of neighbours, has p under 0.002, and if nine in ten pairs of samples before and
//! behind it are in its order. Kinds of samples that a change touches unequally each go their own share of the way. False alarms:
//! tests below hold them under 1% of runs of independent, correlated and heavy-tailed samples without any change.

mod kinds;
mod level;
mod mode;
mod period;

pub use period::Period;

use std::collections::BTreeMap;

use crate::stats::quantile;

/// A sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Its size, in any unit; above zero.
    pub value: f64,
    /// What it is a sample of, such as the program that a step runs: samples are held against those of their kind.
    pub kind: u32,
}

/// A stretch of samples at one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Its first sample.
    pub from: usize,
    /// The sample behind its last.
    pub to: usize,
    /// Its level over the usual one of each kind.
    pub ratio: f64,
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first sample at the new level, or on the way there.
    pub at: usize,
    /// How many samples it takes to get there; 1 for at once.
    pub over: usize,
    /// The new level over the one before, less 1.
    pub size: f64,
    /// The 95% interval of the size, if the place is right.
    pub interval: (f64, f64),
    /// The chance of a change as clear as this, anywhere, in samples without one.
    pub p: f64,
}

/// A sample that is larger than its level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spike {
    /// The sample.
    pub at: usize,
    /// How much larger, in the samples' unit.
    pub extra: f64,
    /// How much larger, of its level.
    pub share: f64,
}

/// What was found in a series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// What each sample would be at its level, in the samples' unit; that of a kind with too few samples is the sample itself.
    pub expected: Vec<f64>,
    /// The same at the best level that lasted.
    pub best: Vec<f64>,
    /// Changes of level, in order.
    pub changes: Vec<Change>,
    /// Samples above their level.
    pub spikes: Vec<Spike>,
    /// The period with which spikes come back, where they do; the positions are of samples.
    pub period: Option<Period>,
    /// The robust deviation of samples that are neither, of their level.
    pub deviation: f64,
}

/// Fewer samples of a kind do not say what is usual.
pub const FEWEST: usize = 5;
/// Samples off their level by less than this share of it are none that anybody looks for, whatever the spread.
const SMALLEST_SPIKE: f64 = 0.02;
/// And by fewer robust deviations than this they may be chance.
const SPIKE_DEVIATIONS: f64 = 5.0;
/// More spikes in a row are a level of their own.
const LONGEST_RUN: usize = 2;

impl Series {
    /// Looks at samples in order. `None` for fewer than [`FEWEST`] of every kind, or what is not finite and above zero.
    #[must_use]
    pub fn of(samples: &[Sample]) -> Option<Self> {
        if samples.iter().any(|s| !s.value.is_finite() || s.value <= 0.0) {
            return None;
        }
        let mut usual = mode::of_kinds(samples);
        rescale(samples, &mut usual);
        // Over the usual level of its kind; a kind that is too rare says nothing.
        let ratios: Vec<Option<f64>> =
            samples.iter().map(|s| usual.get(&s.kind).map(|m| s.value / m.center)).collect();
        let taken: Vec<(usize, f64)> =
            ratios.iter().enumerate().filter_map(|(at, ratio)| Some((at, (*ratio)?))).collect();
        if taken.len() < FEWEST {
            return None;
        }
        let of_kinds = kinds::find(&taken, &|at| samples[at].kind, samples.len());
        let found = &of_kinds.found;
        let best = found.best;
        let unit = |at: usize| samples[at].value / ratios[at].unwrap_or(1.0);
        let of = |level: &dyn Fn(f64) -> f64| -> Vec<f64> {
            let own = |at: usize| of_kinds.level(samples[at].kind, level(found.levels[at])) * unit(at);
            (0..samples.len())
                .map(|at| if ratios[at].is_some() { own(at) } else { samples[at].value })
                .collect()
        };
        let expected = of(&|level| level);
        // Kinds that go different ways: what all of them take together.
        let all_at = |level: f64| -> f64 {
            taken.iter().map(|one| of_kinds.level(samples[one.0].kind, level) * unit(one.0)).sum()
        };
        let changed = |change: &Change| {
            let before = found.levels[change.at.saturating_sub(1)];
            let size = all_at(before * (1.0 + change.size)) / all_at(before) - 1.0;
            let times = size / change.size;
            Change { size, interval: (times * change.interval.0, times * change.interval.1), ..*change }
        };
        let spikes: Vec<Spike> = found
            .spikes
            .iter()
            .map(|at| {
                let extra = samples[*at].value - expected[*at];
                Spike { at: *at, extra, share: extra / expected[*at] }
            })
            .filter(|spike| spike.extra > 0.0)
            .collect();
        let period = Period::of(&spikes, samples.len());
        Some(Self {
            best: of(&|level| best.min(level)),
            expected,
            changes: found.changes.iter().map(changed).collect(),
            spikes,
            period,
            deviation: found.deviation,
        })
    }

    /// The time beyond the best level that changes of level cost, in the samples' unit.
    #[must_use]
    pub fn excess(&self) -> f64 {
        self.expected.iter().zip(&self.best).map(|(expected, best)| (expected - best).max(0.0)).sum()
    }

    /// Samples whose level lies above the best one by more than a half percent.
    pub fn slow(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.expected.iter().zip(&self.best).enumerate();
        all.filter(|(_, (expected, best))| **expected > 1.005 * **best).map(|(at, _)| at)
    }

    /// Samples at the best level that are no spikes.
    pub fn good(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.expected.iter().zip(&self.best).enumerate();
        all.filter(|(_, (expected, best))| **expected <= 1.005 * **best)
            .map(|(at, _)| at)
            .filter(|at| !self.spikes.iter().any(|spike| spike.at == *at))
    }
}

/// A kind of few samples may have most of them at another level than the kind of most has: each is held against what it is
/// where that one is at its usual level.
fn rescale(samples: &[Sample], usual: &mut BTreeMap<u32, mode::Mode>) {
    let count = |kind: u32| samples.iter().filter(|s| s.kind == kind).count();
    let Some(main) = usual.keys().copied().max_by_key(|kind| (count(*kind), std::cmp::Reverse(*kind))) else {
        return;
    };
    let Some(center) = usual.get(&main).map(|mode| mode.center).filter(|_| usual.len() > 1) else { return };
    let own = samples.iter().enumerate().filter(|(_, s)| s.kind == main);
    let taken: Vec<(usize, f64)> = own.map(|(at, s)| (at, s.value / center)).collect();
    let found = level::find(&taken, samples.len());
    if found.changes.is_empty() {
        return;
    }
    // Between two samples of that kind the level is that of the one before.
    let level = |at: usize| {
        let before = taken.partition_point(|one| one.0 <= at);
        taken.get(before.saturating_sub(1)).and_then(|one| found.levels.get(one.0)).copied().unwrap_or(1.0)
    };
    for (kind, mode) in usual.iter_mut().filter(|(kind, _)| **kind != main) {
        let own = samples.iter().enumerate().filter(|(_, s)| s.kind == *kind);
        let flat: Vec<f64> = own.map(|(at, s)| s.value / level(at)).collect();
        if let Some(own) = mode::of(&flat) {
            *mode = own;
        }
    }
}

/// The median of some numbers; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    if values.is_empty() { 0.0 } else { quantile(&values, 0.5) }
}

#[cfg(test)]
mod tests;
