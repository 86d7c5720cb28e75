//! Whether a series rises or falls, entry by entry.

use haloscope_compare::significance::difference;

/// Fewer values than this have no trend: with three, any two that are alike look like a direction.
pub const FEWEST: usize = 4;

/// The straight line of least squares through a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// How many values.
    pub n: usize,
    /// What one entry adds, in the unit of the values.
    pub slope: f64,
    /// The lower end of the slope's 95% interval, by Student's t.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    middle: f64,
    mean: f64,
}

impl Line {
    /// Whether the slope is surely above 0.
    #[must_use]
    pub fn rises(&self) -> bool {
        self.low > 0.0
    }

    /// Whether the slope is surely below 0.
    #[must_use]
    pub fn falls(&self) -> bool {
        self.high < 0.0
    }

    /// The line's value at a position.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.mean + self.slope * (x - self.middle)
    }

    /// What one entry adds, as a share of the mean; `None` where that is 0.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| self.slope / self.mean.abs())
    }
}

/// The line through points of position and value; `None` for fewer than [`FEWEST`], or all at one position.
#[must_use]
pub fn line(points: impl IntoIterator<Item = (f64, f64)>) -> Option<Line> {
    let points: Vec<(f64, f64)> = points.into_iter().collect();
    if points.len() < FEWEST {
        return None;
    }
    let n = points.len() as f64;
    let middle = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let (mut across, mut along) = (0.0, 0.0);
    for (x, y) in &points {
        across += (x - middle).powi(2);
        along += (x - middle) * (y - mean);
    }
    let slope = along / across;
    let rest: f64 = points.iter().map(|(x, y)| (y - mean - slope * (x - middle)).powi(2)).sum();
    let freedom = n - 2.0;
    let error = (rest / freedom / across).sqrt();
    let test = difference(slope, error, freedom)?;
    Some(Line { n: points.len(), slope, low: test.low, high: test.high, middle, mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.linregress`, of scipy 1.17.1: slope, and its standard error times `stats.t.ppf(0.975, 5)`.
    #[test]
    fn a_line_is_that_of_scipy() {
        let values = [1.1, 1.6, 2.4, 2.9, 3.5, 4.2, 4.8];
        let line = line((0..).map(f64::from).zip(values)).unwrap();
        for (ours, scipy) in [
            (line.slope, 0.621_428_571_428_571_3),
            (line.low, 0.589_625_868_969_029_6),
            (line.high, 0.653_231_273_888_131_1),
        ] {
            assert!((ours - scipy).abs() < 1e-9, "{ours} is not {scipy}");
        }
        assert!(line.rises() && !line.falls());
        assert!((line.at(3.0) - 20.5 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn few_values_and_level_ones_have_no_direction() {
        assert_eq!(line([(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(line([(1.0, 1.0), (1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]), None);
        let level = line((0..9).map(|i| (f64::from(i), 7.0))).unwrap();
        assert!(!level.rises() && !level.falls() && level.slope == 0.0);
    }
}
