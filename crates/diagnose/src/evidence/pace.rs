//! How fast hosts can launch steps: a step takes no less, however fast devices are.
//!
//! The thread that launches is busy in each step for as long as its events say, without its waits for results. Where that leaves it
//! time, it launches ahead; a ceiling of what devices do is no higher than what this pace allows.

use super::Evidence;
use super::host_events::{Doing, doing};
use haloscope_profile::{HostId, LineId, Mark};
use haloscope_time::intervals::Intervals;
use haloscope_time::stats::quantile;

/// Fewer launches do not tell what is usual.
const FEWEST: usize = 5;
/// A thread that is busy for more than this part of a step may wait for devices inside of its launches.
const FREE: f64 = 0.85;
/// So may a launch that takes as long as this, picoseconds.
const LONGEST_PS: f64 = 1e9;
/// Hosts that run the same loop differ by less.
const SLOWER: f64 = 1.15;
/// A frame is part of each round where it holds this many launches at most.
const OF_ROUND: f64 = 1.1;

impl Evidence<'_> {
    /// The time in which the thread that launches is busy with one step, of the median host: picoseconds. `None` where nobody can tell,
    /// or where it may have waited for devices meanwhile.
    pub(crate) fn pace_ps(&self) -> Option<f64> {
        *self.pace.get_or_init(|| self.find_pace())
    }

    /// Whether hosts launch one step after another without a rest, each launch no longer than launches are, and devices are done before the
    /// next one comes: steps are as short as their launches, which is how the program is cut, and nothing that went wrong.
    pub(crate) fn is_at_pace(&self) -> bool {
        let busy = self.busy_ps().zip(self.step_ps());
        busy.is_some_and(|(busy_ps, step_ps)| busy_ps > FREE * step_ps)
    }

    /// Whether the thread of a host that launches is busy for clearly longer with a step than that of the median host.
    pub(crate) fn is_slower_to_launch(&self, host: HostId) -> bool {
        let own = self.host().launchers.get(&host).and_then(|line| self.round_ps(*line));
        own.zip(self.usual_round_ps()).is_some_and(|(own, usual)| own > SLOWER * usual)
    }

    /// For how long the thread that launches is busy with a launch, of the median host, picoseconds. Of two hosts the quicker one: the
    /// other may be late for a reason of its own.
    fn usual_round_ps(&self) -> Option<f64> {
        let lines = self.host().launchers.values();
        let mut rounds_ps: Vec<f64> = lines.filter_map(|line| self.round_ps(*line)).collect();
        rounds_ps.sort_by(f64::total_cmp);
        rounds_ps.get(rounds_ps.len().saturating_sub(1) / 2).copied()
    }

    fn find_pace(&self) -> Option<f64> {
        let step_ps = self.step_ps()?;
        self.busy_ps().filter(|pace_ps| *pace_ps <= FREE * step_ps)
    }

    /// For how long the thread that launches is busy with a step, of the median host, picoseconds. `None` where launches take so long that
    /// they may wait for devices.
    fn busy_ps(&self) -> Option<f64> {
        let steps = self.steps().rows.len() as f64;
        let launched = |account: &haloscope_time::account::Account| account.launches.len() as f64;
        let per_step = self.accounts().iter().flatten().map(launched).fold(0.0, f64::max) / steps.max(1.0);
        Some(self.usual_round_ps()? * per_step.round().max(1.0))
    }

    /// For how long a thread is busy from one launch to the next: the median.
    fn round_ps(&self, line: LineId) -> Option<f64> {
        let line = self.profile.line(line);
        let plane = self.profile.plane(line.plane);
        let source = self.profile.source_of(plane);
        let events = self.profile.events(line);
        let (mut busy, mut reads) = (Vec::new(), Vec::new());
        let mut launches: Vec<(i64, i64)> = Vec::new();
        for event in events.iter().filter(|event| !events.has(event.index, Mark::Step)) {
            let name = plane.meta_label(source, event.meta);
            let span = (event.start_ps, event.end_ps);
            match doing(&name).map(|(doing, _)| doing) {
                Some(Doing::Read) => reads.push(span),
                Some(Doing::Launch) if launches.last().is_none_or(|last| last.1 <= span.0) => {
                    launches.push(span);
                    busy.push(span);
                }
                _ if self.host().is_around_launches(&name, OF_ROUND) => {}
                _ => busy.push(span),
            }
        }
        if launches.len() < FEWEST {
            return None;
        }
        let busy = Intervals::union_of(busy).minus(&Intervals::union_of(reads));
        let median = |mut all: Vec<f64>| {
            all.sort_by(f64::total_cmp);
            quantile(&all, 0.5)
        };
        let each = launches.iter().map(|launch| (launch.1 - launch.0) as f64).collect();
        if median(each) > LONGEST_PS {
            return None;
        }
        let rounds = launches.windows(2).map(|pair| busy.overlap(pair[0].1, pair[1].1) as f64);
        Some(median(rounds.collect()))
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{MS, Made, US, launched, with_evidence};

    fn pace(batch: i64, launch: i64, read: i64) -> Option<f64> {
        let mut found = None;
        with_evidence(launched(batch, launch, read), |evidence| found = evidence.pace_ps());
        found
    }

    #[test]
    fn hosts_that_launch_without_a_rest_are_at_their_pace() {
        let at_pace = |batch, launch, read| {
            let mut found = false;
            with_evidence(launched(batch, launch, read), |evidence| found = evidence.is_at_pace());
            found
        };
        assert!(at_pace(100, 790, 0));
        // Near misses: the thread rests, or waits for results; a launch of over a millisecond is none that is usual.
        assert!(!at_pace(200, 300, 0));
        assert!(!at_pace(200, 300, 490));
        assert!(!at_pace(0, 1200, 0));
    }

    #[test]
    fn a_step_takes_what_the_loop_does_without_its_waits_for_results() {
        let us = |us: i64| Some((us * US) as f64);
        assert_eq!(pace(200, 300, 0), us(500));
        assert_eq!(pace(200, 300, 400), us(500), "a wait for a result");
        // Near misses: a launch that takes what is left of the step may wait for the device; so may a long one.
        assert_eq!(pace(200, 790, 0), None);
        assert_eq!(pace(0, 300, 0), us(300));
    }

    #[test]
    fn without_launches_nobody_can_tell() {
        let mut found = Some(1.0);
        with_evidence(vec![Made::repeating(10, MS, 900 * US)], |evidence| found = evidence.pace_ps());
        assert_eq!(found, None);
    }
}
