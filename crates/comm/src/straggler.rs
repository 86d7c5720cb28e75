//! Which of several devices are slower than the others at the same work.
//!
//! Collectives make step times equal: who is slow makes the others wait. So the test is on the time in which a device works,
//! waits left out. Three questions must all be answered by yes: do the slow ones stand apart from the rest (modified z-score:
//! 0.6745 (x - median) / median absolute deviation, above 3.5 as Iglewicz and Hoaglin 1993 take it, and a gap between the two
//! sets), do they so from step to step (steps are repeated measures: a t of the mean difference over its standard error, the
//! noise taken from differences of successive steps after von Neumann 1941, which a shift within the run does not spoil), and
//! does it cost enough. Of two devices only the second and the third can be asked. Devices of one machine may be slow
//! together: the slow set is the top of the order down to its widest gap, half of all at most.

use crate::pattern::slow_steps;
use haloscope_time::special::t_two_sided;
use haloscope_time::stats::{mean, quantile};

/// A modified z-score above this is an outlier.
pub const LIMIT: f64 = 3.5;
/// A z-score needs this many devices.
pub const FEWEST: usize = 3;
/// The test over steps needs this many.
pub const FEWEST_STEPS: usize = 4;
/// Work beyond the median's of less than this share of a step costs too little to name anybody for.
pub const SMALLEST_COST: f64 = 0.01;
/// The chance that equal devices look as unlike over the steps.
const CHANCE: f64 = 1e-4;
/// The gap between the slow ones and the rest, over the difference of the two.
const APART: f64 = 0.5;
/// The slow ones are slow in this share of the steps, and in two of them, or else it is no property of theirs.
const OFTEN: f64 = 0.2;

/// How the work of a device compares to that of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Modified z-score; `None` with fewer than [`FEWEST`] devices.
    pub z: Option<f64>,
    /// Share of steps in which it worked longest.
    pub slowest_share: f64,
    /// Share of the steps' time by which its work exceeds the median's; what waits for it waits that long.
    pub cost_share: f64,
    /// Whether it is one of [`Slow::members`].
    pub is_straggler: bool,
}

/// Devices that work longer than the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Slow {
    /// Their positions, the slowest first.
    pub members: Vec<usize>,
    /// For each step the mean of their work less the median of the others', picoseconds.
    pub excess_ps: Vec<f64>,
    /// Their mean work over the median of the others', mean over steps.
    pub factor: f64,
    /// How far they stand from the others, in the robust deviations of those; `None` with fewer than two others.
    pub z: Option<f64>,
    /// t of their excess over the steps; `None` with fewer than [`FEWEST_STEPS`]. Infinite where steps do not differ.
    pub t: Option<f64>,
    /// The excess over the steps' time.
    pub cost_share: f64,
}

/// Why no device is slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Even {
    /// Those that work longest cost this share of the steps' time, less than [`SMALLEST_COST`].
    Cheap(f64),
    /// Those that work longest are within the usual spread: the share of the steps' time that they cost.
    Usual(f64),
    /// Those that work longest do so in some steps only, or change: the share of the steps' time that they cost.
    Changing(f64),
}

/// Finds the slow ones. `work[d][s]` is the work of device `d` in step `s` and `step_ps[s]` that step's time, both in
/// picoseconds; all devices have the same steps, at least one, and there are at least two devices.
///
/// # Errors
/// [`Even`] where there are none.
pub fn slow(work: &[Vec<f64>], step_ps: &[f64]) -> Result<Slow, Even> {
    let steps = step_ps.len();
    let in_step = |s: usize| work.iter().filter_map(move |w| w.get(s).copied()).collect::<Vec<f64>>();
    let medians: Vec<f64> = (0..steps).map(|s| median(in_step(s)).max(1.0)).collect();
    let relative: Vec<Vec<f64>> =
        work.iter().map(|own| own.iter().zip(&medians).map(|(w, m)| w / m).collect()).collect();
    let means: Vec<f64> = relative.iter().map(|own| mean(own).unwrap_or(1.0)).collect();
    let mut order: Vec<usize> = (0..work.len()).collect();
    order.sort_by(|a, b| means[*b].total_cmp(&means[*a]).then(a.cmp(b)));
    let gap = |k: usize| means[order[k - 1]] - means[order[k]];
    let widest = (1..=work.len() / 2).max_by(|a, b| gap(*a).total_cmp(&gap(*b)).then(b.cmp(a)));
    let Some(count) = widest else { return Err(Even::Cheap(0.0)) };
    let (members, rest) = order.split_at(count);
    let own_mean = |s: usize| mean(&members.iter().map(|d| work[*d][s]).collect::<Vec<_>>()).unwrap_or(0.0);
    let usual = |s: usize| median(rest.iter().map(|d| work[*d][s]).collect());
    let excess_ps: Vec<f64> = (0..steps).map(|s| own_mean(s) - usual(s)).collect();
    let all: f64 = step_ps.iter().sum();
    let cost_share = if all > 0.0 { (excess_ps.iter().sum::<f64>() / all).max(0.0) } else { 0.0 };
    if cost_share < SMALLEST_COST {
        return Err(Even::Cheap(cost_share));
    }
    let others: Vec<f64> = rest.iter().map(|d| means[*d]).collect();
    let own = mean(&members.iter().map(|d| means[*d]).collect::<Vec<_>>()).unwrap_or(1.0);
    let middle = median(others.clone());
    let difference = own - middle;
    let noise = median_of(relative.iter().map(|own| noise(own))) / (steps.max(1) as f64).sqrt();
    let scale = (rest.len() > 1).then(|| spread(&others, middle).max(noise));
    let z = scale.map(|scale| if scale > 0.0 { difference / scale } else { f64::INFINITY });
    if z.is_some_and(|z| z <= LIMIT) || gap(count) < APART * difference {
        return Err(Even::Usual(cost_share));
    }
    let of_step: Vec<f64> = excess_ps.iter().zip(&medians).map(|(e, m)| e / m).collect();
    let t = (steps >= FEWEST_STEPS).then(|| {
        let error = self::noise(&of_step) / (steps as f64).sqrt();
        if error > 0.0 { mean(&of_step).unwrap_or(0.0) / error } else { f64::INFINITY }
    });
    let is_chance = |t: f64| t.is_finite() && t_two_sided(t, steps as f64 - 1.0) > CHANCE;
    if z.is_none() && t.is_none() || t.is_some_and(is_chance) {
        return Err(Even::Usual(cost_share));
    }
    let often = slow_steps(&excess_ps).len();
    if steps >= FEWEST_STEPS && (often < 2 || (often as f64) < OFTEN * steps as f64) {
        return Err(Even::Changing(cost_share));
    }
    let usual_work: f64 = (0..steps).map(usual).sum();
    let factor = 1.0 + excess_ps.iter().sum::<f64>() / usual_work.max(1.0);
    Ok(Slow { members: members.to_vec(), excess_ps, factor, z, t, cost_share })
}

/// The robust deviation of samples from their median; where more than half are equal, from the mean distance.
fn spread(samples: &[f64], middle: f64) -> f64 {
    let distances: Vec<f64> = samples.iter().map(|v| (v - middle).abs()).collect();
    let (median_off, mean_off) = (median(distances.clone()), mean(&distances).unwrap_or(0.0));
    if median_off > 0.0 { median_off / 0.6745 } else { 1.2533 * mean_off }
}

/// The standard deviation of what a series does from one step to the next: the median of the successive distances, which for
/// normal samples is 0.954 standard deviations.
fn noise(series: &[f64]) -> f64 {
    median_of(series.windows(2).map(|pair| (pair[1] - pair[0]).abs())) / 0.954
}

fn median_of(samples: impl Iterator<Item = f64>) -> f64 {
    median(samples.collect())
}

/// The standings of devices. `work[d][s]` is the work of device `d` in step `s` and `step_ps[s]` that step's time, both in
/// picoseconds; all devices have the same steps. `slow` are the positions of those that [`slow`] found.
#[must_use]
pub fn standings(work: &[Vec<f64>], step_ps: &[f64], slow: &[usize]) -> Vec<Standing> {
    let means: Vec<f64> = work.iter().map(|w| mean(w).unwrap_or(0.0)).collect();
    let scores = modified_z(&means);
    let in_step = |s: usize| work.iter().filter_map(move |w| w.get(s).copied());
    let medians: Vec<f64> = (0..step_ps.len()).map(|s| median(in_step(s).collect())).collect();
    let most: Vec<f64> = (0..step_ps.len()).map(|s| in_step(s).fold(0.0, f64::max)).collect();
    let all: f64 = step_ps.iter().sum();
    let standing = |(position, (own, z)): (usize, (&Vec<f64>, Option<f64>))| {
        let slowest = own.iter().zip(&most).filter(|(o, m)| o >= m && work.len() > 1).count();
        let excess: f64 = own.iter().zip(&medians).map(|(o, m)| o - m).sum();
        Standing {
            z,
            slowest_share: if own.is_empty() { 0.0 } else { slowest as f64 / own.len() as f64 },
            cost_share: if all > 0.0 { (excess / all).max(0.0) } else { 0.0 },
            is_straggler: slow.contains(&position),
        }
    };
    work.iter().zip(scores).enumerate().map(standing).collect()
}

/// Modified z-scores; `None` for fewer than [`FEWEST`] samples, 0 where all are equal.
#[must_use]
pub fn modified_z(samples: &[f64]) -> Vec<Option<f64>> {
    if samples.len() < FEWEST {
        return vec![None; samples.len()];
    }
    let middle = median(samples.to_vec());
    let scale = spread(samples, middle);
    samples.iter().map(|v| Some(if scale > 0.0 { (v - middle) / scale } else { 0.0 })).collect()
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    if samples.is_empty() { 0.0 } else { quantile(&samples, 0.5) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each device works this long in every step, with a little noise of a known kind.
    fn steady(works: &[f64], steps: usize) -> Vec<Vec<f64>> {
        let noise = |d: usize, s: usize| 1.0 + 0.002 * (((d * 7 + s * 13) % 11) as f64 / 5.0 - 1.0);
        works.iter().enumerate().map(|(d, w)| (0..steps).map(|s| w * noise(d, s)).collect()).collect()
    }

    #[test]
    fn one_that_works_longer_is_found() {
        let found = slow(&steady(&[10.0, 10.1, 9.9, 10.05, 13.5], 6), &[20.0; 6]).unwrap();
        assert_eq!(found.members, [4]);
        assert!((found.cost_share - 3.475 / 20.0).abs() < 2e-3, "{found:?}");
        assert!((found.factor - 1.347).abs() < 5e-3, "{found:?}");
    }

    #[test]
    fn all_devices_of_a_slow_host_are_found_together() {
        let works: Vec<f64> = (0..16).map(|d| if (8..12).contains(&d) { 10.5 } else { 10.0 }).collect();
        let mut found = slow(&steady(&works, 8), &[12.0; 8]).unwrap();
        found.members.sort_unstable();
        assert_eq!(found.members, [8, 9, 10, 11]);
        // Half of all, too: two hosts, one of them slower.
        let works: Vec<f64> = (0..8).map(|d| if d < 4 { 13.0 } else { 10.0 }).collect();
        let mut found = slow(&steady(&works, 8), &[14.0; 8]).unwrap();
        found.members.sort_unstable();
        assert_eq!(found.members, [0, 1, 2, 3]);
    }

    #[test]
    fn usual_spread_is_no_straggler() {
        // The last is the slowest of all steps, by little.
        let found = slow(&steady(&[9.9, 10.0, 10.1, 9.95, 10.05, 10.2], 5), &[20.0; 5]);
        assert!(matches!(found, Err(Even::Usual(_) | Even::Cheap(_))), "{found:?}");
        // Far out by its score, for all others are equal; but nothing to gain.
        let found = slow(&steady(&[10.0, 10.0, 10.0, 10.0, 10.05], 5), &[20.0; 5]);
        assert!(matches!(found, Err(Even::Cheap(_))), "{found:?}");
        // Evenly spread: nobody stands apart.
        let found = slow(&steady(&[10.0, 10.5, 11.0, 11.5, 12.0, 12.5], 6), &[20.0; 6]);
        assert!(matches!(found, Err(Even::Usual(_))), "{found:?}");
    }

    #[test]
    fn of_two_the_steps_tell() {
        let found = slow(&steady(&[10.0, 13.0], 8), &[14.0; 8]).unwrap();
        assert_eq!((found.members, found.z), (vec![1], None));
        // Three steps are too few.
        assert!(slow(&steady(&[10.0, 13.0], 3), &[14.0; 3]).is_err());
        // Now one, now the other: nobody is slow.
        let work = [vec![10.0, 13.0, 10.0, 13.0, 10.0, 12.0], vec![13.0, 10.0, 13.0, 10.0, 12.0, 10.5]];
        assert!(slow(&work, &[14.0; 6]).is_err());
    }

    #[test]
    fn slow_from_some_step_on_is_slow() {
        let mut work = steady(&[10.0; 6], 8);
        work[2][4..].iter_mut().for_each(|w| *w *= 1.25);
        assert_eq!(slow(&work, &[12.0; 8]).unwrap().members, [2]);
    }

    #[test]
    fn one_step_that_went_wrong_does_not_make_a_straggler() {
        let mut work = steady(&[9.9, 10.0, 10.1, 9.95, 10.05], 9);
        work[0][4] = 60.0;
        assert!(matches!(slow(&work, &[20.0; 9]), Err(Even::Changing(_))));
        let standing = standings(&work, &[20.0; 9], &[]);
        assert!(standing[0].z.is_some_and(|z| z > LIMIT), "{:?}", standing[0]);
    }

    #[test]
    fn scores_need_three() {
        assert_eq!(modified_z(&[]), []);
        assert_eq!(modified_z(&[1.0, 2.0]), [None; 2]);
        assert_eq!(modified_z(&[2.0, 2.0, 2.0]), [Some(0.0); 3]);
    }
}
