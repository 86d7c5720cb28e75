//! Where the true value of a metric lies with a confidence, from its samples.

use crate::verdict::{Between, Gap};
use haloscope_time::special::t_critical;
use haloscope_time::stats::Summary;

/// An interval that holds a value with some confidence, in the metric's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The interval of a mean (Student's t); `None` for fewer than two samples.
pub(super) fn mean(samples: &[f64], confidence: f64) -> Option<Interval> {
    let s = Summary::of(samples)?;
    let n = s.count as f64;
    let reach = t_critical(1.0 - confidence, n - 1.0) * s.standard_deviation? / n.sqrt();
    Some(Interval { low: s.mean - reach, high: s.mean + reach })
}

/// The interval of the difference of two means, the second less the first (Welch), with what runs differ by where that is
/// known; `None` for fewer than two samples of one.
pub(super) fn difference(
    a: &[f64],
    b: &[f64],
    confidence: f64,
    between: Option<Between>,
) -> Option<Interval> {
    let gap = Gap::of_means(a, b, 1.0, between)?;
    let (low, high) = gap.interval(1.0 - confidence);
    Some(Interval { low, high })
}

/// The interval of a median, whatever the distribution: from one sample to another, by the binomial distribution of how many
/// lie below the median. `None` where even the smallest and the largest are not that sure, as of five samples at 95%.
pub(super) fn median(samples: &[f64], confidence: f64) -> Option<Interval> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // The chance that at most k of n lie below the median, by k; each side may take half of what is left.
    let (mut term, mut below, mut outside) = (-(n as f64) * std::f64::consts::LN_2, 0.0, None);
    for k in 0..n.div_ceil(2) {
        below += term.exp();
        if 2.0 * below > 1.0 - confidence {
            break;
        }
        outside = Some(k);
        term += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    let k = outside?;
    Some(Interval { low: *sorted.get(k)?, high: *sorted.get(n - 1 - k)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<Interval>, low: f64, high: f64) {
        let found = found.unwrap();
        assert!((found.low - low).abs() < 1e-9 && (found.high - high).abs() < 1e-9, "{found:?}");
    }

    /// `scipy.stats.t.interval(c, 4, loc=mean, scale=sem)` of 1 to 5, scipy 1.17.1.
    #[test]
    fn means_are_scipys() {
        let samples = [1.0, 2.0, 3.0, 4.0, 5.0];
        near(mean(&samples, 0.95), 1.036_756_838_522_442_8, 4.963_243_161_477_557);
        near(mean(&samples, 0.8), 1.915_859_446_655_160_4, 4.084_140_553_344_84);
        assert_eq!(mean(&[1.0], 0.95), None);
    }

    /// `scipy.stats.ttest_ind(b, a, equal_var=False).confidence_interval(c)`.
    #[test]
    fn differences_are_scipys() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 5.0, 7.0]);
        near(difference(&a, &b, 0.95, None), -1.384_698_226_331_203_8, 3.784_698_226_331_204);
        near(difference(&a, &b, 0.8, None), -0.360_668_682_836_264_2, 2.760_668_682_836_264_8);
        near(difference(&[1.0, 1.0], &[3.0, 3.0], 0.95, None), 2.0, 2.0);
        assert_eq!(difference(&a, &[1.0], 0.95, None), None);
        // Runs that differ by more than steps tell make it wider.
        let between = Between { variance: 4.0, df: 3.0 };
        let wide = difference(&a, &b, 0.95, Some(between)).unwrap();
        assert!(wide.low < -3.0 && wide.high > 5.0, "{wide:?}");
    }

    /// Of ten samples the second and the ninth: `1 - 2 * scipy.stats.binom.cdf(1, 10, 0.5)` = 0.9785, and with the third and the
    /// eighth 0.8906. Of five even the ends hold the median in 0.9375 of all cases only.
    #[test]
    fn medians_lie_between_samples() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        near(median(&ten, 0.95), 2.0, 9.0);
        near(median(&ten, 0.8), 3.0, 8.0);
        assert_eq!(median(&ten[..5], 0.95), None);
        near(median(&ten[..6], 0.95), 1.0, 6.0);
        near(median(&ten[..5], 0.9), 1.0, 5.0);
        assert_eq!(median(&[], 0.5), None);
    }
}
