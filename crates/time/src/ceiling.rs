//! What removing a cause of lost time gives at most (Amdahl 1967).

/// Shares above this count as this. Programs that did not compile in each step, or read each result, became 200 times as fast; by more
/// than 1,000 a share is as near to all as it can be told.
const MOST: f64 = 0.999;

/// Time now over time without a share of it, 0 to 1.
#[must_use]
pub fn speedup(share: f64) -> f64 {
    1.0 / (1.0 - share.clamp(0.0, MOST))
}

/// The share of the time that a speed-up stands for: [`speedup`] backwards.
#[must_use]
pub fn saved_share(speedup: f64) -> f64 {
    1.0 - 1.0 / speedup
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        assert_eq!(speedup(0.5), 2.0);
        assert!((saved_share(speedup(0.2)) - 0.2).abs() < 1e-12);
        // A share of everything, or of more by rounding, is no infinite gain; and nothing is no loss.
        assert!((speedup(1.0) - 1000.0).abs() < 1e-6 && (speedup(1.1) - 1000.0).abs() < 1e-6);
        assert_eq!(speedup(-0.1), 1.0);
    }
}
