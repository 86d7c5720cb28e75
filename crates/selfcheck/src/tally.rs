//! How often an invariant was looked at, and where it was broken first.

use std::fmt;

/// Numbers are equal that differ by less than this part of the larger: means of picoseconds, rounded, and sums in another order.
const ROUNDING: f64 = 1e-6;

/// What came of looking at an invariant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// How often there was something to hold.
    pub checked: usize,
    /// How often it did not hold.
    pub broken: usize,
    /// Where it did not, first.
    pub first: Option<Broken>,
}

/// A place where an invariant does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which analysis said it, and where in its report.
    pub place: String,
    /// The numbers.
    pub said: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.said)
    }
}

impl Tally {
    /// Adds what was seen elsewhere.
    pub fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.broken += other.broken;
        self.first = self.first.take().or(other.first);
    }

    /// Counts a look; where it does not hold, says where and with which numbers.
    pub(crate) fn hold(&mut self, holds: bool, broken: impl FnOnce() -> (String, String)) {
        self.checked += 1;
        if !holds {
            self.broken += 1;
            if self.first.is_none() {
                let (place, said) = broken();
                self.first = Some(Broken { place, said });
            }
        }
    }
}

/// TPUs time their ops by a clock of their own; what a window cuts is cut by that of the run. The two run apart by less than this.
pub(crate) const CLOCKS: f64 = 0.005;

/// Whether two numbers are one, each sum of so many roundings to a whole.
pub(crate) fn is_same(a: f64, b: f64, roundings: usize) -> bool {
    (a - b).abs() <= slack(a, b, roundings)
}

/// Whether a number is no more than another.
pub(crate) fn is_at_most(a: f64, b: f64, roundings: usize) -> bool {
    a - b <= slack(a, b, roundings)
}

fn slack(a: f64, b: f64, roundings: usize) -> f64 {
    ROUNDING * a.abs().max(b.abs()) + roundings as f64
}
