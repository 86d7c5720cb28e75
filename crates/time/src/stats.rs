//! Statistics of samples: the one place where a mean, a quantile and a spread are computed.

/// A summary of samples in their own unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (n - 1); `None` for one sample.
    pub standard_deviation: Option<f64>,
    /// Smallest.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// The summary of at least one sample.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
        let standard_deviation = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
        let (p50, p90) = (quantile(&sorted, 0.5), quantile(&sorted, 0.9));
        Some(Self { count, mean, standard_deviation, min, p50, p90, max })
    }

    /// Standard deviation over mean.
    #[must_use]
    pub fn variation(&self) -> Option<f64> {
        self.standard_deviation.filter(|_| self.mean > 0.0).map(|sd| sd / self.mean)
    }
}

/// The arithmetic mean; `None` of nothing.
#[must_use]
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// The quantile `q` of ascending samples, linear between neighbours (the definition of numpy's default).
#[must_use]
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * sorted.len().saturating_sub(1) as f64;
    let low = place.floor() as usize;
    let (Some(&a), b) = (sorted.get(low), sorted.get(low + 1)) else { return f64::NAN };
    b.map_or(a, |b| a + (b - a) * (place - low as f64))
}

/// The median absolute deviation times 1.4826, which estimates the standard deviation of the bulk whatever the outliers.
#[must_use]
pub fn robust_deviation(samples: &[f64], median: f64) -> f64 {
    let mut distances: Vec<f64> = samples.iter().map(|v| (v - median).abs()).collect();
    distances.sort_by(f64::total_cmp);
    1.4826 * quantile(&distances, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_known_samples() {
        let s = Summary::of(&[4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((s.count, s.mean, s.min, s.p50, s.max), (4, 2.5, 1.0, 2.5, 4.0));
        assert!((s.standard_deviation.unwrap() - 1.290_994_448_7).abs() < 1e-9);
        assert!((s.p90 - 3.7).abs() < 1e-12);
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[5.0]).unwrap().standard_deviation, None);
    }

    #[test]
    fn robust_deviation_ignores_an_outlier() {
        assert!(robust_deviation(&[10.0, 10.1, 9.9, 10.0, 50.0], 10.0) < 0.2);
    }
}
