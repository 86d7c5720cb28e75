//! Student's t: how sure a difference of means is, from samples in short. Where the samples themselves are at hand,
//! `derive::significance` is the place.

use crate::derive::special::{t_critical, t_two_sided};

/// The difference of two means and its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    /// The second mean less the first.
    pub delta: f64,
    /// The lower end of its 95% interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How likely a difference at least so large is without any cause, two-sided.
    pub p: f64,
}

/// Samples as a test needs them: how many, their mean, their standard deviation (n - 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Of {
    /// How many, at least 2.
    pub n: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
}

/// Welch's test: the spreads may differ.
pub(super) fn welch(a: Of, b: Of) -> Option<Difference> {
    let (va, vb) = (a.sd * a.sd / a.n, b.sd * b.sd / b.n);
    let se = (va + vb).sqrt();
    let freedom = (va + vb).powi(2) / (va * va / (a.n - 1.0) + vb * vb / (b.n - 1.0));
    // Without any spread the formula is 0/0, and any freedom will do: the interval has no width.
    difference(b.mean - a.mean, se, if freedom.is_finite() { freedom } else { a.n + b.n - 2.0 })
}

/// Student's test: one spread for both, no smaller than `least`.
pub(super) fn pooled(a: Of, b: Of, least: f64) -> Option<Difference> {
    let freedom = a.n + b.n - 2.0;
    let variance = ((a.n - 1.0) * a.sd * a.sd + (b.n - 1.0) * b.sd * b.sd) / freedom;
    let se = variance.sqrt().max(least) * (1.0 / a.n + 1.0 / b.n).sqrt();
    difference(b.mean - a.mean, se, freedom)
}

/// A difference with its standard error.
pub(super) fn difference(delta: f64, se: f64, freedom: f64) -> Option<Difference> {
    if !(delta.is_finite() && se.is_finite() && freedom.is_finite() && freedom > 0.0) {
        return None;
    }
    let half = if se > 0.0 { t_critical(0.05, freedom) * se } else { 0.0 };
    let p = if se > 0.0 { t_two_sided(delta / se, freedom) } else { f64::from(u8::from(delta == 0.0)) };
    Some(Difference { delta, low: delta - half, high: delta + half, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1e-3), "{a} is not {b}");
    }

    /// `scipy.stats.ttest_ind(b, a, equal_var=...)` and its `confidence_interval()`, of scipy 1.17.1.
    #[test]
    fn tests_are_those_of_scipy() {
        let of = |samples: &[f64]| {
            let all = crate::derive::stats::Summary::of(samples).unwrap();
            Of { n: all.count as f64, mean: all.mean, sd: all.standard_deviation.unwrap() }
        };
        let a = of(&[10.0, 10.2, 9.9, 10.1, 10.3]);
        let b = of(&[10.6, 10.4, 10.9, 10.5]);
        let other = welch(a, b).unwrap();
        near(other.p, 0.010_173_326_205_740_721);
        near(other.low, 0.175_086_518_488_755_62);
        near(other.high, 0.824_913_481_511_244_4);
        let one = pooled(a, b, 0.0).unwrap();
        near(one.p, 0.005_025_151_952_324_186);
        near(one.low, 0.206_285_763_774_223_36);
        near(one.high, 0.793_714_236_225_776_6);
    }

    #[test]
    fn without_spread_a_difference_is_certain() {
        let a = Of { n: 3.0, mean: 5.0, sd: 0.0 };
        let same = welch(a, a).unwrap();
        assert_eq!((same.delta, same.low, same.high, same.p), (0.0, 0.0, 0.0, 1.0));
        let other = welch(a, Of { mean: 6.0, ..a }).unwrap();
        assert_eq!((other.delta, other.low, other.high, other.p), (1.0, 1.0, 1.0, 0.0));
        assert!(pooled(a, Of { mean: 6.0, ..a }, 1.0).unwrap().p > 0.1);
        assert_eq!(difference(f64::NAN, 1.0, 3.0), None);
    }
}
