//! How much of each part of the run its devices worked: what a strip over the whole run shows.

use rayon::prelude::*;

use super::{MAX_PX, Timeline};
use haloscope_profile::Device;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::stop;
use haloscope_time::intervals::Intervals;
use haloscope_time::select::Selection;

/// The share of busy time in equal parts of the run.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Utilisation {
    /// Where the first part starts, picoseconds on the run's clock: as in `Tracks`.
    pub start_ps: i64,
    /// Where the last one ends.
    pub end_ps: i64,
    /// The devices that it is the mean of: all that have events.
    pub devices: usize,
    /// For each part the time in which devices were busy, over the part's length times the number of devices, 0 to 1. Empty
    /// where no device has events.
    pub busy: Vec<f64>,
}

impl Timeline {
    /// Busy time of the whole run in `px` equal parts, or in as many as the run has picoseconds.
    ///
    /// # Errors
    /// [`Error::Usage`] for 0 or more than [`MAX_PX`] parts.
    pub fn utilisation(&self, px: u32) -> Result<Utilisation, Error> {
        if !(1..=MAX_PX).contains(&px) {
            return Err(Error::Usage(format!("expected 1 to {MAX_PX} pixels, found {px}")));
        }
        let (start_ps, end_ps) = (self.tracks().start_ps, self.tracks().end_ps);
        let none = Utilisation { start_ps, end_ps, ..Utilisation::default() };
        let selection = match Selection::resolve(&self.profile, &Scope::default()) {
            Ok(selection) => selection,
            Err(Error::Nothing(_)) => return Ok(none),
            Err(error) => return Err(error),
        };
        let busy: Vec<&Intervals> = selection
            .devices
            .par_iter()
            .map(stop::carried(|device: &&Device| self.kept.busy(&self.profile, device)))
            .collect();
        let shares = shares(&busy, start_ps, end_ps, px);
        Ok(Utilisation { devices: busy.len(), busy: shares, ..none })
    }
}

/// The mean share of `[start, end)` that is in the sets, in `parts` parts of equal length to the picosecond.
fn shares(sets: &[&Intervals], start: i64, end: i64, parts: u32) -> Vec<f64> {
    let span = i128::from(end) - i128::from(start);
    let parts = i128::from(parts).min(span);
    if sets.is_empty() || parts < 1 {
        return Vec::new();
    }
    // Between `start` and `end`, so that it is an i64.
    let edge = |part: i128| i64::try_from(i128::from(start) + span * part / parts).unwrap_or(end);
    let share = |part: i128| {
        let (from, to) = (edge(part), edge(part + 1));
        let busy: f64 = sets.iter().map(|set| set.overlap(from, to) as f64).sum();
        busy / ((to - from) as f64 * sets.len() as f64)
    };
    (0..parts).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(parts: &[(i64, i64)]) -> Intervals {
        Intervals::union_of(parts.to_vec())
    }

    #[test]
    fn each_part_has_the_mean_of_the_devices() {
        let (one, other) = (set(&[(0, 10), (15, 20)]), set(&[(5, 10)]));
        assert_eq!(shares(&[&one, &other], 0, 40, 4), [0.75, 0.25, 0.0, 0.0]);
        assert_eq!(shares(&[&one], 0, 40, 1), [0.375]);
    }

    #[test]
    fn parts_are_no_finer_than_a_picosecond_and_miss_nothing() {
        let one = set(&[(1, 2), (2, 3)]);
        assert_eq!(shares(&[&one], 0, 3, 500), [0.0, 1.0, 1.0]);
        let uneven = shares(&[&set(&[(0, 7)])], 0, 7, 3);
        assert_eq!(uneven, [1.0, 1.0, 1.0]);
    }

    #[test]
    fn no_device_and_no_time_have_no_share() {
        assert!(shares(&[], 0, 40, 4).is_empty(), "unknown is not zero");
        assert!(shares(&[&set(&[(0, 1)])], 5, 5, 4).is_empty());
    }
}
