//! Which of several devices is slower than the others at the same work.
//!
//! Collectives make step times equal: who is slow makes the others wait. So the test is on the time in which a device works,
//! waits left out. Modified z-score: 0.6745 (x - median) / median absolute deviation (Iglewicz and Hoaglin 1993, who take
//! 3.5 as the limit); where more than half are equal, (x - median) / (1.2533 mean absolute deviation).

use super::stats::{mean, quantile};

/// A modified z-score above this is an outlier.
pub const LIMIT: f64 = 3.5;
/// A test needs this many devices.
pub const FEWEST: usize = 3;
/// Work beyond the median's of less than this share of a step costs too little to name anybody for.
pub const SMALLEST_COST: f64 = 0.01;

/// How the work of a device compares to that of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Modified z-score; `None` with fewer than [`FEWEST`] devices.
    pub z: Option<f64>,
    /// Share of steps in which it worked longest.
    pub slowest_share: f64,
    /// Share of the steps' time by which its work exceeds the median's; what waits for it waits that long.
    pub cost_share: f64,
}

impl Standing {
    /// Slow beyond doubt, usually the slowest, and at a cost worth naming.
    #[must_use]
    pub fn is_straggler(&self) -> bool {
        self.z.is_some_and(|z| z > LIMIT) && self.slowest_share > 0.5 && self.cost_share >= SMALLEST_COST
    }
}

/// The standings of devices. `work[d][s]` is the work of device `d` in step `s` and `step_ps[s]` that step's time, both in
/// picoseconds; all devices have the same steps.
#[must_use]
pub fn standings(work: &[Vec<f64>], step_ps: &[f64]) -> Vec<Standing> {
    let means: Vec<f64> = work.iter().map(|w| mean(w).unwrap_or(0.0)).collect();
    let scores = modified_z(&means);
    let in_step = |s: usize| work.iter().filter_map(move |w| w.get(s).copied());
    let medians: Vec<f64> = (0..step_ps.len()).map(|s| median(in_step(s).collect())).collect();
    let most: Vec<f64> = (0..step_ps.len()).map(|s| in_step(s).fold(0.0, f64::max)).collect();
    let all: f64 = step_ps.iter().sum();
    let standing = |(own, z): (&Vec<f64>, Option<f64>)| {
        let slowest = own.iter().zip(&most).filter(|(o, m)| o >= m && work.len() > 1).count();
        let excess: f64 = own.iter().zip(&medians).map(|(o, m)| o - m).sum();
        Standing {
            z,
            slowest_share: if own.is_empty() { 0.0 } else { slowest as f64 / own.len() as f64 },
            cost_share: if all > 0.0 { (excess / all).max(0.0) } else { 0.0 },
        }
    };
    work.iter().zip(scores).map(standing).collect()
}

/// Modified z-scores; `None` for fewer than [`FEWEST`] samples, 0 where all are equal.
#[must_use]
pub fn modified_z(samples: &[f64]) -> Vec<Option<f64>> {
    if samples.len() < FEWEST {
        return vec![None; samples.len()];
    }
    let middle = median(samples.to_vec());
    let distances: Vec<f64> = samples.iter().map(|v| (v - middle).abs()).collect();
    let (median_off, mean_off) = (median(distances.clone()), mean(&distances).unwrap_or(0.0));
    let scale = if median_off > 0.0 { median_off / 0.6745 } else { 1.2533 * mean_off };
    samples.iter().map(|v| Some(if scale > 0.0 { (v - middle) / scale } else { 0.0 })).collect()
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    if samples.is_empty() { 0.0 } else { quantile(&samples, 0.5) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_works_longer_is_found() {
        let usual = [10.0, 10.1, 9.9, 10.05];
        let mut work: Vec<Vec<f64>> = usual.iter().map(|u| vec![*u; 6]).collect();
        work.push(vec![13.5; 6]);
        let found = standings(&work, &[20.0; 6]);
        let stragglers: Vec<_> = found.iter().map(Standing::is_straggler).collect();
        assert_eq!(stragglers, [false, false, false, false, true]);
        assert!((found[4].cost_share - 3.45 / 20.0).abs() < 1e-9, "{:?}", found[4]);
        assert_eq!(found[4].slowest_share, 1.0);
    }

    #[test]
    fn usual_spread_is_no_straggler() {
        // The last is the slowest of all steps, by little.
        let work: Vec<Vec<f64>> = [9.9, 10.0, 10.1, 9.95, 10.05, 10.2].map(|u| vec![u; 5]).to_vec();
        assert!(standings(&work, &[20.0; 5]).iter().all(|s| !s.is_straggler()));
        // Far out by its score, for all others are equal; but nothing to gain.
        let work: Vec<Vec<f64>> = [10.0, 10.0, 10.0, 10.0, 10.01].map(|u| vec![u; 5]).to_vec();
        assert!(standings(&work, &[20.0; 5]).iter().all(|s| !s.is_straggler()));
    }

    #[test]
    fn two_cannot_tell_who_is_slow() {
        let work = vec![vec![1.0; 4], vec![9.0; 4]];
        assert!(standings(&work, &[10.0; 4]).iter().all(|s| s.z.is_none() && !s.is_straggler()));
        assert_eq!(modified_z(&[]), []);
        assert_eq!(modified_z(&[2.0, 2.0, 2.0]), [Some(0.0); 3]);
    }

    #[test]
    fn one_step_that_went_wrong_does_not_make_a_straggler() {
        let mut work: Vec<Vec<f64>> = [9.9, 10.0, 10.1, 9.95, 10.05].map(|u| vec![u; 9]).to_vec();
        work[0][4] = 60.0;
        let found = standings(&work, &[20.0; 9]);
        assert!(found[0].z.is_some_and(|z| z > LIMIT), "{:?}", found[0]);
        assert!(!found[0].is_straggler(), "slowest in one step only: {:?}", found[0]);
    }
}
