//! Whether two sets of samples differ by more than chance: Welch's t test (Welch 1947), the rank test of Mann and Whitney
//! (1947), Fisher's exact test, the shift of Hodges and Lehmann (1963), Holm's correction for many tests at once (Holm 1979).
//!
//! All of them take samples for independent. Steps of one run are not quite: they share the machine, the clock rate, the
//! neighbours. [`inflation`] says how much less sure that makes a mean. What differs from one run of a program to the next is not in them at all, so that a difference of two runs may
//! be real and yet come from the machine.

use haloscope_time::special::{ln_gamma, normal_two_sided, t_critical, t_two_sided};
use haloscope_time::stats::{Summary, quantile, robust_deviation};

/// The difference of two means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// Mean of the second less that of the first, in the samples' unit.
    pub delta: f64,
    /// Lower end of the 95% interval of the difference.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The chance of a difference as large, either way, were the means the same.
    pub p: f64,
}

/// What a t test needs of samples: where they are kept in short, this is all there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// How many there are.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation (n - 1).
    pub sd: f64,
}

impl Moments {
    /// Of samples; `None` for fewer than two, or what is not finite.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let all = Summary::of(samples).filter(|_| samples.iter().all(|v| v.is_finite()))?;
        Some(Self { count: all.count as f64, mean: all.mean, sd: all.standard_deviation? })
    }

    /// Variance of the mean.
    fn error(&self) -> f64 {
        self.sd * self.sd / self.count
    }
}

/// The standard error of the difference of two means, and its degrees of freedom (Welch and Satterthwaite).
#[must_use]
pub fn error_of(a: &Moments, b: &Moments) -> (f64, f64) {
    let variance = a.error() + b.error();
    let parts = a.error().powi(2) / (a.count - 1.0) + b.error().powi(2) / (b.count - 1.0);
    // Without any spread the formula is 0/0, and any freedom will do: the interval has no width.
    let df = if parts > 0.0 { variance.powi(2) / parts } else { a.count + b.count - 2.0 };
    (variance.sqrt(), df)
}

/// [`error_of`] where neighbours are alike, so that the variance of a mean is `grows` times as large ([`inflation`]): each side
/// counts as `n / grows` independent samples, and its spread is larger than it looks, for samples that are alike lie closer
/// together than independent ones (`E[s^2] = sd^2 (1 - (grows - 1) / (n - 1))`; Bayley and Hammersley 1946). How far samples spread is known
/// better than their mean, from what each adds to the one before it: so that a side has [`LEAST_FREE`] degrees of freedom at least, where
/// it has four times as many samples.
#[must_use]
pub fn error_alike(a: &Moments, b: &Moments, grows: f64) -> (f64, f64) {
    if grows <= 1.0 {
        return error_of(a, b);
    }
    let wider = |one: &Moments| one.error() * grows / closer(one.count, grows);
    let (x, y) = (wider(a), wider(b));
    let free =
        |one: &Moments| (one.count / grows - 1.0).max(((one.count - 1.0) / 4.0).clamp(1.0, LEAST_FREE));
    let parts = x * x / free(a) + y * y / free(b);
    let df = if parts > 0.0 { (x + y).powi(2) / parts } else { free(a) + free(b) };
    ((x + y).sqrt(), df)
}

/// Degrees of freedom of a side of samples that are as alike as can be.
const LEAST_FREE: f64 = 3.0;

/// By how much the variance of so many samples is smaller than it would be, were neighbours not alike; a quarter at least.
#[must_use]
pub fn closer(count: f64, grows: f64) -> f64 {
    (1.0 - (grows - 1.0) / (count - 1.0).max(1.0)).clamp(0.25, 1.0)
}

/// Welch's test of `b` against `a`, which may spread differently. `None` for fewer than two samples on either side. Where
/// neither side spreads at all, any difference is certain (p = 0) and none is none (p = 1).
#[must_use]
pub fn welch(a: &[f64], b: &[f64]) -> Option<Test> {
    welch_of(&Moments::of(a)?, &Moments::of(b)?)
}

/// [`welch`] of samples in short, at least two on either side.
#[must_use]
pub fn welch_of(a: &Moments, b: &Moments) -> Option<Test> {
    let (error, df) = error_of(a, b);
    difference(b.mean - a.mean, error, df)
}

/// Student's test: one spread for both, no smaller than `least`.
#[must_use]
pub fn pooled(a: &Moments, b: &Moments, least: f64) -> Option<Test> {
    let df = a.count + b.count - 2.0;
    let variance = ((a.count - 1.0) * a.sd * a.sd + (b.count - 1.0) * b.sd * b.sd) / df;
    let error = variance.sqrt().max(least) * (1.0 / a.count + 1.0 / b.count).sqrt();
    difference(b.mean - a.mean, error, df)
}

/// Student's t of a difference with its standard error and degrees of freedom; `None` where these are none.
#[must_use]
pub fn difference(delta: f64, error: f64, df: f64) -> Option<Test> {
    if !(delta.is_finite() && error.is_finite() && df.is_finite() && df > 0.0) {
        return None;
    }
    if error <= 0.0 {
        return Some(Test { delta, low: delta, high: delta, p: f64::from(u8::from(delta == 0.0)) });
    }
    let reach = t_critical(0.05, df) * error;
    Some(Test { delta, low: delta - reach, high: delta + reach, p: t_two_sided(delta / error, df) })
}

/// Products of the numbers of samples up to which the rank test is exact.
const EXACT_UP_TO: usize = 1_600;

/// The two-sided p of the rank test of Mann and Whitney: exact where there are no equal samples and not too many, else by the
/// normal distribution with mid-ranks, corrected for ties and continuity. `None` where a side has no sample.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    let all = || a.iter().chain(b);
    if a.is_empty() || b.is_empty() || all().any(|v| !v.is_finite()) {
        return None;
    }
    let (n, m) = (a.len(), b.len());
    let (u, ties) = rank_sum(a, b);
    if ties == 0.0 && n * m <= EXACT_UP_TO {
        return Some(exact(u, n, m));
    }
    let (n, m) = (n as f64, m as f64);
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return Some(1.0);
    }
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    Some(normal_two_sided(distance / variance.sqrt()).min(1.0))
}

/// The smallest p that [`mann_whitney`] can have for so many samples without ties: one order of `(n + m)! / (n! m!)`, either way.
#[must_use]
pub fn least_rank_p(n: usize, m: usize) -> f64 {
    let orders = (1..=n.min(m)).fold(1.0, |all, i| all * (n.max(m) + i) as f64 / i as f64);
    (2.0 / orders).min(1.0)
}

/// How often a sample of `b` exceeds one of `a`, equal ones counting half; and the sum of `t^3 - t` over groups of `t` equals.
fn rank_sum(a: &[f64], b: &[f64]) -> (f64, f64) {
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|v| (*v, false)).chain(b.iter().map(|v| (*v, true))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut ranks_of_b, mut ties, mut before) = (0.0, 0.0, 0.0);
    for group in all.chunk_by(|x, y| x.0 == y.0) {
        let t = group.len() as f64;
        let rank = before + (t + 1.0) / 2.0;
        ranks_of_b += rank * group.iter().filter(|(_, is_b)| *is_b).count() as f64;
        ties += t.powi(3) - t;
        before += t;
    }
    let m = b.len() as f64;
    (ranks_of_b - m * (m + 1.0) / 2.0, ties)
}

/// Of all orders in which `n` and `m` samples can come, the share with a count as far from its mean as `u`, either way.
fn exact(u: f64, n: usize, m: usize) -> f64 {
    let most = n * m;
    // Orders by count: those of n and j samples from those of fewer, one factor of the Gaussian binomial at a time.
    let mut orders = vec![0.0_f64; most + 1];
    orders[0] = 1.0;
    for i in 1..=n {
        // Times (1 - q^(m + i)), over (1 - q^i).
        for count in (m + i..=most).rev() {
            orders[count] -= orders[count - m - i];
        }
        for count in i..=most {
            orders[count] += orders[count - i];
        }
    }
    let all: f64 = orders.iter().sum();
    let far = u.max(most as f64 - u).round() as usize;
    let tail: f64 = orders.get(far..).unwrap_or_default().iter().sum();
    (2.0 * tail / all).clamp(0.0, 1.0)
}

/// The two-sided p of Fisher's exact test: `k` of `n` samples against `l` of `m` have something, and this is the chance of shares
/// at least as unlike, were they the same in both.
#[must_use]
pub fn fisher(k: usize, n: usize, l: usize, m: usize) -> f64 {
    let (all, have) = (n + m, k + l);
    let ln_choose = |n: usize, k: usize| {
        let ln_factorial = |v: usize| ln_gamma(v as f64 + 1.0);
        ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
    };
    let chance = |i: usize| (ln_choose(n, i) + ln_choose(m, have - i) - ln_choose(all, have)).exp();
    let seen = chance(k.min(n));
    let range = have.saturating_sub(m)..=have.min(n);
    // Sums of rounded numbers: what is as likely counts as such.
    range.map(chance).filter(|p| *p <= seen * (1.0 + 1e-9)).sum::<f64>().min(1.0)
}

/// How many standard deviations from its mean a normal variable is at least with this two-sided chance: the inverse of
/// [`normal_two_sided`]; 38 for chances that no float holds.
#[must_use]
pub fn normal_deviations(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 38.0);
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if normal_two_sided(middle) > p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The difference of two locations (Hodges and Lehmann 1963): the median of all differences of a sample of `b` and one of `a`,
/// which a few slow samples do not move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The estimate, in the samples' unit.
    pub delta: f64,
    /// Its standard error, from its 95% interval; 0 where nothing varies.
    pub error: f64,
}

/// Samples are thinned to so many of a side before all their differences are looked at.
const MOST_OF_A_SIDE: usize = 600;

/// The shift of `b` against `a`; `None` where a side has no sample or one is not finite. The interval behind its error is that
/// of the rank test, by the normal distribution.
#[must_use]
pub fn shift(a: &[f64], b: &[f64]) -> Option<Shift> {
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|v| !v.is_finite()) {
        return None;
    }
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (a, b) = (thinned(a), thinned(b));
    let mut all: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
    all.sort_by(f64::total_cmp);
    const Z: f64 = 1.959_963_984_540_054;
    // As a share of the differences, so that thinning does not narrow it.
    let reach = Z * ((n + m + 1.0) / (12.0 * n * m)).sqrt();
    let at = |share: f64| quantile(&all, share.clamp(0.0, 1.0));
    let error = (at(0.5 + reach) - at(0.5 - reach)) / (2.0 * Z);
    Some(Shift { delta: at(0.5), error })
}

/// Evenly spaced order statistics of many samples, and all of few.
fn thinned(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() <= MOST_OF_A_SIDE {
        return sorted;
    }
    let place = |i: usize| (i as f64 + 0.5) / MOST_OF_A_SIDE as f64;
    (0..MOST_OF_A_SIDE).map(|i| quantile(&sorted, place(i))).collect()
}

/// How much the variance of a mean grows because neighbours are alike: `(1 + r) / (1 - r)`, with r the correlation of
/// neighbours in stretches of samples that follow each other (an autoregression of first order; Bartlett 1946), at least 1. Each
/// stretch has its own median; samples far off it count as far as three robust deviations, so that one slow step hides nothing.
/// In short stretches r looks smaller than it is, by `(1 + 3 r) / n` (Kendall 1954), which is put back, and a part of the
/// error of r on top: without it, one pair of equal runs in thirty would be told apart where r is 0.6.
#[must_use]
pub fn inflation(stretches: &[&[f64]]) -> f64 {
    let (mut products, mut squares, mut pairs, mut count) = (0.0, 0.0, 0_usize, 0_usize);
    for stretch in stretches.iter().filter(|stretch| stretch.len() > 1) {
        let mut sorted = stretch.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = quantile(&sorted, 0.5);
        let reach = 3.0 * robust_deviation(stretch, middle);
        let off: Vec<f64> = stretch.iter().map(|v| (v - middle).clamp(-reach, reach)).collect();
        products += off.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        squares += off.iter().map(|v| v * v).sum::<f64>();
        pairs += off.len() - 1;
        count += off.len();
    }
    if pairs == 0 || squares <= 0.0 {
        return 1.0;
    }
    let own = stretches.iter().filter(|stretch| stretch.len() > 1).count() as f64 / count as f64;
    let seen = products / pairs as f64 / (squares / count as f64);
    let r = (seen + own) / (1.0 - 3.0 * own).max(0.25);
    if r <= 0.0 {
        return 1.0;
    }
    let error = ((1.0 - r * r).max(0.0) / count as f64).sqrt();
    let r = (r + ERRORS * error).min(MOST_ALIKE);
    (1.0 + r) / (1.0 - r)
}

/// So many of its standard errors are added to the correlation of neighbours.
const ERRORS: f64 = 0.25;

/// Neighbours that are more alike than this tell next to nothing beyond each other.
const MOST_ALIKE: f64 = 0.95;

/// Replaces each p by the smallest level at which Holm's procedure, which holds the chance of any false alarm among all, rejects
/// it. What is not a number stays and is not counted.
pub fn holm(p: &mut [f64]) {
    let mut order: Vec<usize> = (0..p.len()).filter(|i| !p[*i].is_nan()).collect();
    order.sort_by(|x, y| p[*x].total_cmp(&p[*y]));
    let (count, mut least) = (order.len(), 0.0_f64);
    for (place, at) in order.into_iter().enumerate() {
        least = least.max(p[at] * (count - place) as f64).min(1.0);
        p[at] = least;
    }
}

#[cfg(test)]
mod tests;
