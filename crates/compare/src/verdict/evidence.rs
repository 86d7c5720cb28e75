//! What tells one run's steps from another's: their mean, the level of the usual ones, a few slow ones, a level from some step on.
//!
//! Each looks at another way of getting slower, and none of them stands for the others: a mean that one step carries has no
//! shift, a shift can hide behind one slow step, and what begins half way through is in neither.

use crate::significance::{
    Moments, closer, difference, error_alike, fisher, inflation, mann_whitney, normal_deviations, pooled,
    shift,
};
use haloscope_time::series::{Sample, Series as Levels};
use haloscope_time::special::{normal_two_sided, t_critical, t_two_sided};
use haloscope_time::stats::{mean, quantile, robust_deviation};

use super::{LEAST_STEPS, STEP_P, Terms};
use crate::StepTime;

/// The chance that a level that begins within a run is that of the other run must be below this.
const ONSET_P: f64 = 0.001;
/// A stretch that begins within a run has so many steps at least,
const ONSET_STEPS: usize = 3;
/// is so far off, as a share of the step,
const ONSET_SHARE: f64 = 0.005;
/// and so large a share of pairs of its steps with others agrees.
const ONSET_ABOVE: f64 = 0.9;
/// Or it is so many times further from all others than these, so many at least, lie apart.
const APART: f64 = 4.0;
const APART_FROM: usize = 8;
/// A slow step is this share of the step above its run's usual ones at least,
const SLOW_SHARE: f64 = 0.03;
/// and so many robust deviations.
const SLOW_DEVIATIONS: f64 = 8.0;
/// One slow step alone is an outlier, however slow, unless it takes longer than all others together,
const ONE_ADDS: f64 = 1.0;
/// or adds this share to the mean and a program ran in it for the first time: it was compiled there.
const NEW_PROGRAM_ADDS: f64 = 0.10;
/// Without a step like them in the other run, several make a difference where they add this share: two of them, more.
const TWO_ADD: f64 = 0.03;
const MORE_ADD: f64 = 0.02;
/// Where the other run has some like them, they are to be more by this.
const BESIDE_OTHERS_ADD: f64 = 0.01;

/// The times of the counted steps of a run, in their order, picoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Series<'s> {
    /// All of them.
    pub all: &'s [f64],
    /// So many at the start are warm-up.
    pub warm_up: usize,
    /// What else is known of them; empty of times alone.
    pub steps: &'s [StepTime],
}

impl<'s> Series<'s> {
    /// Times of which nothing else is known.
    pub(super) fn plain(all: &'s [f64]) -> Self {
        Self { all, warm_up: 0, steps: &[] }
    }

    /// Those after the warm-up.
    fn settled(&self) -> &'s [f64] {
        self.all.get(self.warm_up..).unwrap_or_default()
    }
}

/// What a kind of evidence says of a difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// The difference, experiment less baseline, picoseconds.
    pub delta_ps: f64,
    /// Its standard error, picoseconds.
    pub error_ps: f64,
    /// Degrees of freedom of the error; infinite for what is near normal.
    pub df: f64,
    /// The chance of a difference as large, either way, without a cause.
    pub p: f64,
}

impl Gap {
    /// Welch's difference of the means, whose variance is `grows` times as large where neighbours are alike, and with what whole
    /// runs differ by; `None` for fewer than two samples of a run.
    pub(crate) fn of_means(a: &[f64], b: &[f64], grows: f64, between: Option<Between>) -> Option<Self> {
        let (x, y) = (Moments::of(a)?, Moments::of(b)?);
        let (error, df) = error_alike(&x, &y, grows);
        let (error, df) = with_between(error, df, between);
        let test = difference(y.mean - x.mean, error, df)?;
        Some(Self { delta_ps: test.delta, error_ps: error, df, p: test.p })
    }

    /// Half the width of the interval that the difference is outside of with the chance `p`.
    pub(super) fn reach(&self, p: f64) -> f64 {
        if self.error_ps <= 0.0 {
            return 0.0;
        }
        let times = if self.df.is_finite() { t_critical(p, self.df) } else { normal_deviations(p) };
        times * self.error_ps
    }

    /// The two ends of that interval.
    pub(crate) fn interval(&self, p: f64) -> (f64, f64) {
        let reach = self.reach(p);
        (self.delta_ps - reach, self.delta_ps + reach)
    }
}

/// What of a step's time differs between whole runs of one program: the variance of the difference of two, and how well that is
/// known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    /// Picoseconds squared.
    pub variance: f64,
    /// Degrees of freedom.
    pub df: f64,
}

impl Between {
    /// Of runs of one program, each with its samples: the variance of their means beyond what samples tell, for the difference of
    /// one more run and their mean. `None` for fewer than two runs, or none beyond.
    #[must_use]
    pub fn of(runs: &[&[f64]]) -> Option<Self> {
        let all: Vec<Moments> = runs.iter().filter_map(|run| Moments::of(run)).collect();
        let means: Vec<f64> = all.iter().map(|run| run.mean).collect();
        let of_means = Moments::of(&means)?;
        let within = mean(&all.iter().map(|run| run.sd * run.sd / run.count).collect::<Vec<_>>())?;
        let beyond = of_means.sd * of_means.sd - within;
        let variance = beyond * (1.0 + 1.0 / of_means.count);
        (variance > 0.0).then_some(Self { variance, df: of_means.count - 1.0 })
    }
}

/// A few slow steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Few {
    /// What they add to the mean of the experiment; negative for slow steps of the baseline.
    pub delta_ps: f64,
    /// Steps at least as slow, in the run that has more of them,
    pub slow: usize,
    /// of so many.
    pub of: usize,
    /// Such steps in the other run.
    pub others: usize,
    /// The slowest over its run's usual step.
    pub times: f64,
    /// The place of the slowest among the counted steps of its run.
    pub at: usize,
    /// A program ran in it for the first time.
    pub is_new_program: bool,
    /// Whether that is a difference: else nobody can tell.
    pub is_told: bool,
}

/// A level that begins within a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Onset {
    /// The first step of it: its place among the counted steps of its run.
    pub at: usize,
    /// Whether the experiment has it; else the baseline.
    pub is_in_experiment: bool,
    /// What it adds to a step of the experiment; of a stretch of the baseline, what is gone, negative.
    pub delta_ps: f64,
}

/// All that the steps of two runs say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Evidence {
    /// The means; `None` with fewer than two steps in a run.
    pub mean: Option<Gap>,
    /// The usual steps; `None` where a run has none.
    pub usual: Option<Gap>,
    /// Slow steps that one run has more of.
    pub few: Option<Few>,
    /// A level that begins within one of them.
    pub onset: Option<Onset>,
    /// The p by ranks alone.
    pub rank_p: Option<f64>,
}

impl Evidence {
    /// Looks at two runs; the baseline's step takes `base` picoseconds.
    pub(super) fn of(a: Series<'_>, b: Series<'_>, base: f64, terms: Terms) -> Self {
        let between = terms.between;
        let (sa, sb) = (a.settled(), b.settled());
        let found = onset(sa, sb, base).map(|(at, delta_ps)| Onset {
            at: at + b.warm_up,
            is_in_experiment: true,
            delta_ps,
        });
        let found = found.or_else(|| {
            // Runs that follow each other are not one: the next may be at another level.
            let (at, delta) = onset(sb, sa, base).filter(|_| terms.baseline_runs < 2)?;
            Some(Onset { at: at + a.warm_up, is_in_experiment: false, delta_ps: -delta })
        });
        // Neighbours are alike where a level begins, too: that is no noise.
        let cut = |s: Series<'_>, own: bool| {
            found.filter(|o| o.is_in_experiment == own).map_or(0, |o| o.at - s.warm_up)
        };
        let ((a1, a2), (b1, b2)) = (sa.split_at(cut(a, false)), sb.split_at(cut(b, true)));
        let grows = inflation(&[a1, a2, b1, b2]);
        Self {
            mean: Gap::of_means(a.all, b.all, grows, between),
            usual: usual(sa, sb, base, grows, between),
            few: if found.is_some() { few((a, a2), (b, b2), base) } else { few((a, sa), (b, sb), base) },
            onset: found,
            rank_p: mann_whitney(a.all, b.all),
        }
    }
}

/// The shift of the usual steps, by ranks: exact for few steps.
fn usual(a: &[f64], b: &[f64], base: f64, grows: f64, between: Option<Between>) -> Option<Gap> {
    let (found, plain) = (shift(a, b)?, mann_whitney(a, b)?);
    let count = (2.0 / (1.0 / a.len() as f64 + 1.0 / b.len() as f64)).max(2.0);
    let within = found.error * (grows / closer(count, grows)).sqrt();
    let free = if grows > 1.0 { free(a.len(), b.len(), grows) } else { f64::INFINITY };
    let (error, df) = with_between(within, free, between);
    let wider = if found.error > 0.0 { error / found.error } else { f64::from(u8::from(error > 0.0)) };
    let p = if between.is_some() && error > 0.0 {
        let times = normal_deviations(plain) / wider.max(1.0);
        // With few runs their own spread is not well known.
        difference(times * error, error, df.min(1e6)).map_or(1.0, |test| test.p).max(plain)
    } else {
        softened(plain, grows, a.len(), b.len())
    };
    // Without the steps that are far off, where there are any, means tell more than ranks of few steps can.
    let (x, y) = (near_usual(a, base), near_usual(b, base));
    let is_cut = x.len() + y.len() < a.len() + b.len() && x.len().min(y.len()) >= LEAST_STEPS;
    let of_near =
        Gap::of_means(&x, &y, grows, between).filter(|near| is_cut && near.delta_ps * found.delta > 0.0);
    let p = of_near.map_or(p, |near| near.p.min(p));
    Some(Gap { delta_ps: found.delta, error_ps: error, df, p })
}

/// The steps that are not far off their run's median, either way.
fn near_usual(run: &[f64], base: f64) -> Vec<f64> {
    let level = median(run);
    let far = (SLOW_DEVIATIONS * robust_deviation(run, level)).max(SLOW_SHARE * base.min(level));
    run.iter().copied().filter(|ps| (ps - level).abs() < far).collect()
}

/// An error with that of whole runs, and its degrees of freedom (Satterthwaite).
fn with_between(error: f64, df: f64, between: Option<Between>) -> (f64, f64) {
    let Some(between) = between.filter(|b| b.variance > 0.0 && b.df > 0.0) else { return (error, df) };
    let own = error * error;
    let all = own + between.variance;
    let parts = own * own / df + between.variance * between.variance / between.df;
    (all.sqrt(), all * all / parts)
}

/// Degrees of freedom of two runs of so many steps that count as fewer.
fn free(n: usize, m: usize, grows: f64) -> f64 {
    ((n + m) as f64 / grows - 2.0).max(2.0)
}

/// A p of samples whose neighbours are alike: as far off, by an error that is larger, of fewer samples.
fn softened(p: f64, grows: f64, n: usize, m: usize) -> f64 {
    if grows <= 1.0 {
        return p;
    }
    t_two_sided(normal_deviations(p) / grows.sqrt(), free(n, m, grows)).max(p)
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// Slow steps of the last steps of two runs: how far each is above the usual ones of its own run, so that a shift is none.
fn few((all_a, a): (Series<'_>, &[f64]), (all_b, b): (Series<'_>, &[f64]), base: f64) -> Option<Few> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let levels = [median(a), median(b)];
    let off = |s: &[f64], level: f64| s.iter().map(|v| v - level).collect::<Vec<_>>();
    let (a, b) = (off(a, levels[0]), off(b, levels[1]));
    let both: Vec<f64> = a.iter().chain(&b).copied().collect();
    let most = both.iter().copied().fold(0.0, f64::max);
    let least = (SLOW_DEVIATIONS * robust_deviation(&both, 0.0)).max(SLOW_SHARE * base);
    if most < least || base <= 0.0 {
        return None;
    }
    let least = least.max(0.5 * most);
    let slow = |s: &[f64]| s.iter().filter(|v| **v >= least).count();
    let adds = |s: &[f64]| s.iter().filter(|v| **v >= least).sum::<f64>() / s.len() as f64;
    let delta_ps = adds(&b) - adds(&a);
    let (k, l) = (slow(&a), slow(&b));
    let (more, of, less, others, level) = if delta_ps > 0.0 {
        (l, b.len(), k, a.len(), levels[1])
    } else {
        (k, a.len(), l, b.len(), levels[0])
    };
    let (whole, own) = if delta_ps > 0.0 { (all_b, &b) } else { (all_a, &a) };
    let slowest = (0..own.len()).max_by(|x, y| own[*x].total_cmp(&own[*y])).unwrap_or(0);
    let at = whole.all.len() - own.len() + slowest;
    let is_new_program = whole.steps.get(at).is_some_and(|step| step.is_new_program);
    // Of a step without them.
    let share = delta_ps.abs() / (base + delta_ps.min(0.0)).max(1e-3 * base);
    let is_told = if less == 0 {
        share
            >= match more {
                1 if is_new_program => NEW_PROGRAM_ADDS,
                1 => ONE_ADDS,
                2 => TWO_ADD,
                _ => MORE_ADD,
            }
    } else {
        share >= BESIDE_OTHERS_ADD && fisher(more, of, less, others) < STEP_P
    };
    let times = if level > 0.0 { (level + most) / level } else { f64::INFINITY };
    Some(Few { delta_ps, slow: more, of, others: less, times, at, is_new_program, is_told })
}

/// Where a level of `run` begins that lasts to its end and is off both the steps before it and the other run; its place, and
/// how far it is off the other run. Levels are those that a run has by itself ([`haloscope_time::series`]).
fn onset(other: &[f64], run: &[f64], base: f64) -> Option<(usize, f64)> {
    let samples: Vec<Sample> = run.iter().map(|ps| Sample { value: *ps, kind: 0 }).collect();
    let at = Levels::of(&samples)?.changes.last()?.at;
    let (before, after) = run.split_at_checked(at).filter(|(_, after)| after.len() >= ONSET_STEPS)?;
    let off = median(after) - median(other);
    let own = median(after) - median(before);
    if off * own <= 0.0 || off.abs().min(own.abs()) < ONSET_SHARE * base {
        return None;
    }
    let (x, y) = (near_usual(other, base), near_usual(after, base));
    let against = pooled(&Moments::of(&x)?, &Moments::of(&y)?, 1e-4 * base)?;
    // The level of a run by itself has been corrected for neighbours that are alike already.
    let grows = inflation(&[other, before, after]);
    let p = normal_two_sided(normal_deviations(against.p) / grows.sqrt()).max(against.p);
    let is_told = p < ONSET_P && agree(other, after, off) >= ONSET_ABOVE;
    (is_told || stands_apart(&[other, before], after, off)).then_some(())?;
    Some((at, mean(after)? - mean(other)?))
}

/// Whether these steps are all off the others, on that side, by far more than the others differ among themselves. A stretch that grows, as
/// a ramp does, has neighbours that are alike: that says how it grows, not that it is noise.
fn stands_apart(others: &[&[f64]], these: &[f64], side: f64) -> bool {
    let on_side = |v: &f64| v * side.signum();
    let (least, most) = bounds(others.iter().copied().flatten().map(on_side));
    let (nearest, _) = bounds(these.iter().map(on_side));
    others.iter().all(|own| !own.is_empty())
        && others.iter().map(|own| own.len()).sum::<usize>() >= APART_FROM
        && nearest - most >= APART * (most - least)
}

/// The least and the most of some numbers.
fn bounds(all: impl Iterator<Item = f64>) -> (f64, f64) {
    all.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(v), most.max(v)))
}

/// The share of pairs in which the sample of `b` is on that side of the one of `a`.
fn agree(a: &[f64], b: &[f64], side: f64) -> f64 {
    let mut sorted: Vec<f64> = b.iter().map(|y| y * side.signum()).collect();
    sorted.sort_by(f64::total_cmp);
    let above = |x: &f64| sorted.len() - sorted.partition_point(|y| *y <= x * side.signum());
    a.iter().map(above).sum::<usize>() as f64 / (a.len() * b.len()).max(1) as f64
}
