//! When in a run something is late or slow: in all steps, from one on, more and more, every so many, in some.

use haloscope_time::stats::{mean, quantile};

/// A step counts as slow from this share of the usual excess of slow steps on.
const SLOW: f64 = 0.5;
/// Slow in this share of the steps is slow in all of them.
const ALL: f64 = 0.9;
/// Steps that are slow at equal distances say that it is a period from this many on.
const PERIODS: usize = 3;
/// A line explains growth where it leaves this part of what a step up leaves unexplained, or less.
const LINE: f64 = 0.7;

/// How an excess is spread over the steps of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// In all steps alike.
    Constant,
    /// In all steps, and more in later ones.
    Growing,
    /// From this step on.
    From(i64),
    /// Until this step.
    Until(i64),
    /// Every so many steps; the first of them.
    Every(i64, i64),
    /// In some steps without a rule: how many of how many.
    Some(usize, usize),
}

impl Pattern {
    /// The pattern of an excess by step; `numbers` are those of the steps, in order.
    #[must_use]
    pub fn of(numbers: &[i64], excess: &[f64]) -> Self {
        let slow = slow_steps(excess);
        let (count, all) = (slow.len(), excess.len());
        let number = |at: usize| numbers.get(at).copied().unwrap_or(at as i64);
        if grows(excess) {
            return Self::Growing;
        }
        if count as f64 >= ALL * all as f64 {
            return Self::Constant;
        }
        let (Some(&first), Some(&last)) = (slow.first(), slow.last()) else { return Self::Some(0, all) };
        let is_run = last - first + 1 == count;
        if is_run && count > 1 && last + 1 == all && first > 0 {
            return Self::From(number(first));
        }
        if is_run && count > 1 && first == 0 {
            return Self::Until(number(last));
        }
        let gaps: Vec<i64> = slow.windows(2).map(|pair| number(pair[1]) - number(pair[0])).collect();
        match gaps.first() {
            Some(gap) if *gap > 1 && count >= PERIODS && gaps.iter().all(|other| other == gap) => {
                Self::Every(*gap, number(first))
            }
            _ => Self::Some(count, all),
        }
    }

    /// As an adverbial phrase: `in every step`, `from step 5 on`.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Constant => "in every step".into(),
            Self::Growing => "more and more from step to step".into(),
            Self::From(step) => format!("from step {step} on"),
            Self::Until(step) => format!("until step {step}"),
            Self::Every(period, first) => format!("every {} from step {first} on", ordinal(*period)),
            Self::Some(count, all) => format!("in {count} of {all} steps, at irregular intervals"),
        }
    }
}

fn ordinal(number: i64) -> String {
    let end = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{end} step")
}

/// The positions of the steps with an excess of at least half of what the slowest third of them have.
#[must_use]
pub fn slow_steps(excess: &[f64]) -> Vec<usize> {
    let mut sorted = excess.to_vec();
    sorted.sort_by(f64::total_cmp);
    let third = sorted.len().div_ceil(3);
    let top = quantile(sorted.get(sorted.len() - third..).unwrap_or_default(), 0.5);
    let is_slow = |v: f64| v > 0.0 && v > SLOW * top;
    (0..excess.len()).filter(|at| excess.get(*at).copied().is_some_and(is_slow)).collect()
}

/// Whether a line through the steps explains the excess better than any one step up does, and it at least doubles.
fn grows(excess: &[f64]) -> bool {
    if excess.len() < 5 {
        return false;
    }
    let n = excess.len() as f64;
    let Some(middle) = mean(excess) else { return false };
    let at = |i: usize| i as f64 - (n - 1.0) / 2.0;
    let squares: f64 = (0..excess.len()).map(|i| at(i) * at(i)).sum();
    let slope = excess.iter().enumerate().map(|(i, v)| at(i) * (v - middle)).sum::<f64>() / squares;
    let (first, last) = (middle + slope * at(0), middle + slope * at(excess.len() - 1));
    if slope <= 0.0 || last < 2.0 * first.max(0.0) {
        return false;
    }
    let left: f64 = excess.iter().enumerate().map(|(i, v)| (v - middle - slope * at(i)).powi(2)).sum();
    let around = |part: &[f64]| {
        let middle = mean(part).unwrap_or(0.0);
        part.iter().map(|v| (v - middle).powi(2)).sum::<f64>()
    };
    let stepped = (1..excess.len()).map(|cut| around(&excess[..cut]) + around(&excess[cut..]));
    left < LINE * stepped.fold(f64::MAX, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(excess: &[f64]) -> Pattern {
        let numbers: Vec<i64> = (10..).take(excess.len()).collect();
        Pattern::of(&numbers, excess)
    }

    #[test]
    fn patterns_are_told_apart() {
        assert_eq!(of(&[5.0, 5.1, 4.9, 5.0, 5.2, 4.8]), Pattern::Constant);
        assert_eq!(of(&[0.0, 0.1, 0.0, 5.0, 5.2, 4.8]), Pattern::From(13));
        assert_eq!(of(&[5.0, 5.0, 0.1, 0.0, 0.1, 0.0]), Pattern::Until(11));
        assert_eq!(of(&[0.0, 0.0, 5.0, 0.1, 0.0, 5.0, 0.0, 0.0, 5.2, 0.0]), Pattern::Every(3, 12));
        assert_eq!(of(&[0.0, 5.0, 0.0, 0.0, 5.0, 5.0, 0.0, 0.0, 5.2, 0.0]), Pattern::Some(4, 10));
        assert_eq!(of(&[0.2, 1.1, 2.0, 2.9, 4.1, 5.0, 6.1, 7.0]), Pattern::Growing);
    }

    #[test]
    fn near_misses() {
        // A little more each step is constant, as long as it does not double.
        assert_eq!(of(&[5.0, 5.1, 5.2, 5.3, 5.4, 5.5]), Pattern::Constant);
        // One slow step is no period and no onset.
        assert_eq!(of(&[0.0, 0.0, 0.0, 0.0, 0.0, 5.0]), Pattern::Some(1, 6));
        assert_eq!(of(&[]), Pattern::Constant);
        assert_eq!(Pattern::Every(2, 4).words(), "every 2nd step from step 4 on");
        assert_eq!(Pattern::Every(11, 4).words(), "every 11th step from step 4 on");
    }
}
