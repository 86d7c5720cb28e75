//! Who comes last to a run's collectives, and how long the others wait: one answer for all that say it.

use std::collections::BTreeMap;

use super::Communication;
use super::skew::Skew;
use crate::hosts::slices::Slices;
use haloscope_profile::{Device, Profile};
use haloscope_report::units;

/// Who comes last.
#[derive(Debug, Clone, PartialEq)]
pub struct Last {
    /// Devices, hosts or slices by what the others wait for them, most first; those for which nobody waits are left out.
    pub late: Vec<Late>,
    /// Whether the first of them is the one that comes last: more than half of all waiting is for it. Else it changes.
    pub is_one: bool,
    /// What devices wait for late members in a step, mean over devices and steps, picoseconds.
    pub waiting_ps: f64,
    /// The same over the time of a step.
    pub waiting_share: f64,
}

/// A part of the machine for which others wait.
#[derive(Debug, Clone, PartialEq)]
pub struct Late {
    /// Its name.
    pub name: String,
    /// How long each of the other devices waits for it in a step, a mean over them, picoseconds.
    pub caused_ps: f64,
    /// The part of all waiting that is for it.
    pub share: f64,
}

/// One has to have more than this share of the waiting to be the one that comes last.
const MOST: f64 = 0.5;

impl Last {
    /// Of the communication of a run; `None` where nobody can tell who waited for whom, or nobody waited.
    ///
    /// The narrowest of device, host and slice is named that more than half of the waiting is for; where there is none, hosts are, in
    /// a run of one host devices.
    #[must_use]
    pub fn of(profile: &Profile, communication: &Communication<'_>, skew: &Skew) -> Option<Self> {
        let devices: Vec<&Device> =
            communication.devices.iter().map(|one| profile.device(one.device)).collect();
        let count: usize = communication.devices.iter().map(|one| one.steps).sum();
        let steps = count as f64 / devices.len().max(1) as f64;
        let step_ps = units::sum(communication.devices.iter().map(|one| one.step_ps)) as f64;
        let all: f64 = skew.devices.iter().map(|one| one.blamed_ps).sum();
        if all <= 0.0 || steps <= 0.0 || step_ps <= 0.0 {
            return None;
        }
        let slices = Slices::of(profile, &devices);
        let by = |name: &dyn Fn(&Device) -> String| -> Vec<Late> {
            let mut sums: BTreeMap<String, (f64, usize)> = BTreeMap::new();
            for own in &skew.devices {
                let sum = sums.entry(name(profile.device(own.device))).or_default();
                *sum = (sum.0 + own.blamed_ps, sum.1 + 1);
            }
            let late = |(name, (ps, own)): (String, (f64, usize))| {
                let others = devices.len().saturating_sub(own).max(1) as f64;
                Late { name, caused_ps: ps / others / steps, share: ps / all }
            };
            let mut late: Vec<Late> = sums.into_iter().map(late).filter(|one| one.share > 0.0).collect();
            late.sort_by(|a, b| b.share.total_cmp(&a.share));
            late
        };
        let of_device = by(&|device| device.name.clone());
        let of_host = by(&|device| profile.host(device.host).name.clone());
        let of_slice = slices.as_ref().map(|slices| by(&|device| slices.name_of(device).to_owned()));
        let is_one = |late: &Vec<Late>| late.first().is_some_and(|first| first.share > MOST);
        // One host of a run is all of it.
        let several = profile.hosts.len() > 1;
        let levels = [Some(&of_device), Some(&of_host).filter(|_| several), of_slice.as_ref()];
        let one = levels.into_iter().flatten().find(|late| is_one(late));
        let late = one.unwrap_or(if several { &of_host } else { &of_device }).clone();
        let waited = units::sum(skew.devices.iter().map(|one| one.waited_ps)) as f64;
        Some(Self {
            is_one: one.is_some(),
            late,
            waiting_ps: waited / count.max(1) as f64,
            waiting_share: waited / step_ps,
        })
    }

    /// Who, with the part of the waiting that is for each, and how long the others wait in a step.
    #[must_use]
    pub fn words(&self) -> String {
        const NAMED: usize = 3;
        let Some(first) = self.late.first() else { return String::new() };
        if self.is_one {
            return format!(
                "{}: each of the other devices waits {} a step for it, {} of all waiting",
                first.name,
                units::duration_ps(first.caused_ps),
                units::share(first.share)
            );
        }
        let words: Vec<String> = self
            .late
            .iter()
            .take(NAMED)
            .map(|one| {
                format!("{} {} ({})", one.name, units::share(one.share), units::duration_ps(one.caused_ps))
            })
            .collect();
        format!("changes: {}", words.join(", "))
    }

    /// The first, where it is the one: its name, and how long the others wait for it in a step, picoseconds.
    #[must_use]
    pub fn one(&self) -> Option<&Late> {
        self.late.first().filter(|_| self.is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis;
    use crate::peers::tests::profile;
    use haloscope_report::scope::Scope;
    use haloscope_time::select::Scoped;
    use haloscope_time::steps::Steps;

    const US: f64 = 1e6;

    fn last(late: [i64; 8], work: [i64; 8]) -> Option<Last> {
        let profile = profile(late, work, [100; 4]);
        let scope = Scope::default();
        let asked = Scoped::new(&profile, &scope);
        let selection = asked.selection().unwrap();
        let steps = Steps::find(&profile, &selection.devices);
        analysis::last(&profile, selection, &steps, &scope)
    }

    #[test]
    fn the_one_that_works_longest_is_named_through_the_meeting_between() {
        // Device 5 makes 4 wait, and both then come last to all: the others wait for 5.
        let mut work = [500; 8];
        work[5] = 700;
        let found = last([0; 8], work).unwrap();
        let one = found.one().unwrap();
        assert_eq!((one.name.as_str(), found.late.len()), ("TPU:5", 1), "{found:?}");
        assert!((one.caused_ps - 200.0 * US).abs() < US, "{one:?}");
        assert!((found.waiting_ps - 175.0 * US).abs() < US, "mean over all eight: {found:?}");
        assert!((found.waiting_share - 175.0 / 810.0).abs() < 2e-3);
        assert_eq!(
            found.words(),
            "TPU:5: each of the other devices waits 200.0 us a step for it, 100.0% of all waiting"
        );
    }

    #[test]
    fn where_several_are_late_alike_it_changes() {
        let found = last([0; 8], [500, 600, 500, 600, 500, 600, 500, 600]).unwrap();
        assert_eq!(found.one(), None, "{found:?}");
        assert!(found.words().starts_with("changes: TPU:"), "{}", found.words());
    }

    #[test]
    fn where_nobody_waits_nobody_is_last() {
        assert_eq!(last([0; 8], [500; 8]), None);
    }
}
