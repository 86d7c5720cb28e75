//! Running statistics with the rounding of XProf's: sums of values and of squares, not of deviations.
//!
//! `haloscope_time::stats` has the better formula. Here the difference shows: the deviation of steps that took
//! the same time prints as `-nan` where the rounding of the squares comes out below 0, and that of zeros does too.

/// Mean, deviation and extremes of the values added so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stat {
    count: u64,
    sum: f64,
    squares: f64,
    min: f64,
    max: f64,
}

/// What is shown of a [`Stat`]; all 0 where it has no value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Summary {
    /// Arithmetic mean.
    pub(crate) average: f64,
    /// Sample standard deviation; not a number for a single 0.
    pub(crate) deviation: f64,
    /// Smallest value.
    pub(crate) minimum: f64,
    /// Largest value; the smallest normal number where all are 0.
    pub(crate) maximum: f64,
}

impl Default for Stat {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, squares: 0.0, min: f64::MAX, max: f64::MIN_POSITIVE }
    }
}

impl Stat {
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The arithmetic mean; 0 without values.
    pub(crate) fn average(&self) -> f64 {
        if self.count > 0 { self.sum / self.count as f64 } else { 0.0 }
    }

    /// The smallest value, if there is one.
    pub(crate) fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    pub(crate) fn summary(&self) -> Summary {
        if self.count == 0 {
            return Summary::default();
        }
        let variance = if self.min == self.max {
            0.0
        } else {
            (self.squares - self.sum * self.sum / self.count as f64) / (self.count as f64 - 1.0)
        };
        Summary { average: self.average(), deviation: variance.sqrt(), minimum: self.min, maximum: self.max }
    }
}

impl FromIterator<f64> for Stat {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut stat = Self::default();
        values.into_iter().for_each(|v| stat.add(v));
        stat
    }
}

/// A number with so many digits behind the point, as C prints it: what is not a number is `-nan`, the form in which the
/// processor leaves an invalid operation.
pub(crate) fn fixed(value: f64, digits: usize) -> String {
    if value.is_nan() { "-nan".into() } else { format!("{value:.digits$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xprof_prints() {
        let print = |values: &[f64]| fixed(Stat::from_iter(values.iter().copied()).summary().deviation, 1);
        assert_eq!(print(&[]), "0.0");
        assert_eq!(print(&[0.0]), "-nan");
        assert_eq!(print(&[0.0, 0.0]), "0.0");
        assert_eq!(print(&[153.84]), "0.0");
        assert_eq!(print(&[1.0, 2.0, 3.0, 6.0]), "2.2");
        assert_eq!(Stat::from_iter([0.0]).summary().maximum, f64::MIN_POSITIVE);
    }
}
