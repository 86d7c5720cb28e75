//! Devices that begin their work later than the others in a step: they idle, or wait for their host, while the others are at
//! it already, and the others then wait for them in collectives.
//!
//! A device is late in a step by its time without work or communication (idle, infeed, transfers to and from the host)
//! beyond the median of the other devices', as far as all of its time outside of collectives is longer than theirs too: who
//! idles more because it works faster holds nobody up.

use std::collections::BTreeMap;

use super::on_device::{OfDevice, OnDevice};
use crate::pattern::{Pattern, slow_steps};
use haloscope_profile::{DeviceId, HostId};
use haloscope_report::units;
use haloscope_time::account::{Class, Group};
use haloscope_time::stats::{mean, quantile};
use haloscope_time::steps::StepClass;

/// Lateness of less than this share of the steps' time costs too little to name anybody for.
const SMALLEST_COST: f64 = 0.01;
/// A host causes lateness by itself where this share of it is its own.
const OWN: f64 = 0.7;
/// Devices of a host are late together where the least late of them is so by this part of the latest.
const TOGETHER: f64 = 0.5;
/// With fewer steps nobody knows what is usual.
const FEWEST_STEPS: usize = 3;

/// A device or host in a step in which it is late.
#[derive(Debug, Clone, PartialEq)]
pub struct LateIn {
    /// The step's number.
    pub step: i64,
    /// Its host.
    pub host: HostId,
    /// The devices of the host that are late.
    pub devices: Vec<DeviceId>,
    /// By how much, the latest of them, picoseconds.
    pub late_ps: f64,
    /// What every device waits before its work in that step, the one that waits least: picoseconds.
    pub common_ps: f64,
    /// The time of the step on that device, picoseconds on the run's clock.
    pub span: (i64, i64),
}

/// What of a run's time is lost because somebody is late.
#[derive(Debug, Clone, PartialEq)]
pub struct Late {
    /// The steps in which somebody is, by number.
    pub steps: Vec<LateIn>,
    /// The host that is, where most of it is one host's of several.
    pub host: Option<HostId>,
    /// The device, where one only of a host is late.
    pub device: Option<DeviceId>,
    /// Which steps these are.
    pub pattern: Pattern,
    /// The lost time over that of all steps.
    pub cost_share: f64,
    /// Steps looked at.
    pub of_steps: usize,
}

/// Where every device waits so many times as long as one is late beyond that, it may be chance that it is that one.
const COMMON: f64 = 3.0;
/// Launches of one loop on several hosts differ by so much, now one last and now another, picoseconds: their threads' turns.
pub const JITTER_PS: f64 = 100e6;

impl Late {
    /// Whether all devices wait before their work, and who begins last is by how much these waits differ: an effect of what all
    /// wait for. Where now one is last and now another from as much in common on as the last is late beyond it; where it is one in
    /// most of some steps, which may be chance, from `COMMON` times as much on; never where it is one in all steps.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        let is_one = self.host.is_some() || self.device.is_some();
        let common = mean(&self.steps.iter().map(|one| one.common_ps).collect::<Vec<_>>()).unwrap_or(0.0);
        let is_always = is_one && self.pattern == Pattern::Constant;
        !is_always && common >= self.mean_ps() * if is_one { COMMON } else { 1.0 }
    }

    /// Whether one is late in every step, by more than what all wait before their work.
    #[must_use]
    pub fn is_one_always(&self) -> bool {
        let is_one = self.host.is_some() || self.device.is_some();
        let common = mean(&self.steps.iter().map(|one| one.common_ps).collect::<Vec<_>>()).unwrap_or(0.0);
        is_one && self.pattern == Pattern::Constant && self.mean_ps() > common
    }

    /// Whether now one host is last and now another, by no more than their launches differ: nobody has done anything.
    #[must_use]
    pub fn is_jitter(&self) -> bool {
        self.host.is_none() && self.device.is_none() && self.mean_ps() < JITTER_PS
    }

    /// The share of `devices` devices that are late, 0 to 1: a mean over the steps in which some are.
    #[must_use]
    pub fn members(&self, devices: usize) -> f64 {
        let late: usize = self.steps.iter().map(|one| one.devices.len()).sum();
        late as f64 / (self.steps.len().max(1) * devices.max(1)) as f64
    }
}

/// Time in which a device waits for its host.
fn starting_ps(step: &OnDevice) -> i64 {
    let times = &step.times;
    times
        .of_group(Group::Idle)
        .saturating_add(times.of(Class::Infeed))
        .saturating_add(times.of(Class::HostTransfer))
}

/// Time outside of collectives.
fn alone_ps(step: &OnDevice) -> i64 {
    step.times.total() - step.communication_ps()
}

/// Who is late in a run; `None` where nobody is by enough, or nobody can tell.
#[must_use]
pub(super) fn late(devices: &[OfDevice<'_>]) -> Option<Late> {
    if devices.len() < 2 {
        return None;
    }
    let mut by_step: BTreeMap<i64, Vec<(usize, &OnDevice)>> = BTreeMap::new();
    for (position, device) in devices.iter().enumerate() {
        for step in device.counted().filter(|s| s.class != StepClass::WarmUp) {
            by_step.entry(step.number).or_default().push((position, step));
        }
    }
    by_step.retain(|_, own| own.len() == devices.len());
    if by_step.len() < FEWEST_STEPS {
        return None;
    }
    let mut all_ps = 0.0;
    let mut found: Vec<LateIn> = Vec::new();
    for (number, own) in &by_step {
        all_ps += own.iter().map(|(_, s)| s.duration_ps).max().unwrap_or(0) as f64;
        found.extend(late_in(devices, *number, own));
    }
    let lost: Vec<f64> = found.iter().map(|one| one.late_ps).collect();
    let cost_share = if all_ps > 0.0 { lost.iter().sum::<f64>() / all_ps } else { 0.0 };
    if cost_share < SMALLEST_COST {
        return None;
    }
    let numbers: Vec<i64> = by_step.keys().copied().collect();
    let series = |takes: &dyn Fn(&LateIn) -> bool| -> Vec<f64> {
        let of = |n: &i64| found.iter().filter(|l| l.step == *n && takes(l)).map(|l| l.late_ps).sum();
        numbers.iter().map(of).collect()
    };
    let mut of_host: BTreeMap<HostId, f64> = BTreeMap::new();
    for one in &found {
        *of_host.entry(one.host).or_default() += one.late_ps;
    }
    let sum: f64 = lost.iter().sum();
    let is_alone = of_host.len() < 2 && devices.iter().all(|d| d.device.host == devices[0].device.host);
    let most = of_host.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    // Of one host only its devices can be late, and not the host against others.
    let host = most.filter(|(_, own)| !is_alone && *own >= OWN * sum).map(|(host, _)| host);
    let pattern = Pattern::of(&numbers, &series(&|l| host.is_none_or(|h| h == l.host)));
    let slow = slow_steps(&series(&|_| true));
    let is_slow = |one: &LateIn| slow.iter().any(|at| numbers.get(*at) == Some(&one.step));
    let is_own = |of: HostId| is_alone || Some(of) == host;
    let of_host = found.iter().filter(|l| is_own(l.host) && is_slow(l));
    let mut single: Vec<&[DeviceId]> = of_host.map(|l| l.devices.as_slice()).collect();
    single.dedup();
    let on_host = devices.iter().filter(|d| is_own(d.device.host)).count();
    let device = match single[..] {
        [[one]] if on_host > 1 => Some(*one),
        _ => None,
    };
    found.retain(is_slow);
    Some(Late { steps: found, host, device, pattern, cost_share, of_steps: numbers.len() })
}

/// The latest host of a step.
fn late_in(devices: &[OfDevice<'_>], number: i64, own: &[(usize, &OnDevice)]) -> Option<LateIn> {
    let others = |at: usize, of: fn(&OnDevice) -> i64| {
        let rest = own.iter().enumerate().filter(|(other, _)| *other != at);
        let mut rest: Vec<f64> = rest.map(|(_, (_, s))| of(s) as f64).collect();
        rest.sort_by(f64::total_cmp);
        quantile(&rest, 0.5)
    };
    let late = |at: usize| {
        let step = own[at].1;
        let by = |of: fn(&OnDevice) -> i64| of(step) as f64 - others(at, of);
        by(starting_ps).min(by(alone_ps)).max(0.0)
    };
    let mut of_host: BTreeMap<HostId, Vec<(usize, f64)>> = BTreeMap::new();
    for (at, (position, _)) in own.iter().enumerate() {
        of_host.entry(devices[*position].device.host).or_default().push((at, late(at)));
    }
    let longest = |of: &[(usize, f64)]| of.iter().map(|(_, ps)| *ps).fold(0.0, f64::max);
    // Hosts with several devices are late by what all of those are; one device of a host by itself.
    let (host, of) = of_host.into_iter().max_by(|a, b| {
        let typical = |of: &[(usize, f64)]| mean(&of.iter().map(|(_, ps)| *ps).collect::<Vec<_>>());
        longest(&a.1)
            .total_cmp(&longest(&b.1))
            .then(typical(&a.1).partial_cmp(&typical(&b.1)).unwrap_or(std::cmp::Ordering::Equal))
    })?;
    let late_ps = longest(&of);
    let latest = of.iter().find(|(_, ps)| *ps >= late_ps).map(|(at, _)| own[*at])?;
    let together = of.iter().filter(|(_, ps)| late_ps > 0.0 && *ps >= TOGETHER * late_ps);
    let late: Vec<DeviceId> = together.map(|(at, _)| devices[own[*at].0].device.id).collect();
    let span = (latest.1.start_ps, latest.1.end_ps);
    let common_ps = own.iter().map(|(_, s)| starting_ps(s)).min().unwrap_or(0).max(0) as f64;
    (late_ps > 0.0).then_some(LateIn { step: number, host, devices: late, late_ps, common_ps, span })
}

impl Late {
    /// Who is late, as the subject of a sentence, and whether it is always the same.
    #[must_use]
    pub fn who(&self, profile: &haloscope_profile::Profile) -> String {
        match (self.device, self.host) {
            (Some(device), _) => profile.device(device).name.clone(),
            (None, Some(host)) => profile.host(host).name.clone(),
            (None, None) if self.steps.windows(2).all(|pair| pair[0].host == pair[1].host) => {
                "Another device each time".into()
            }
            (None, None) => "Another host each time".into(),
        }
    }

    /// Mean lateness in the steps in which somebody is late, picoseconds.
    #[must_use]
    pub fn mean_ps(&self) -> f64 {
        mean(&self.steps.iter().map(|l| l.late_ps).collect::<Vec<_>>()).unwrap_or(0.0)
    }

    /// The hosts that were late with how often, most first, in words.
    #[must_use]
    pub fn hosts(&self, profile: &haloscope_profile::Profile) -> String {
        let mut counts: BTreeMap<HostId, usize> = BTreeMap::new();
        for one in &self.steps {
            *counts.entry(one.host).or_default() += 1;
        }
        let mut counts: Vec<(HostId, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(host, count)| (std::cmp::Reverse(*count), *host));
        let words = counts.iter().take(6).map(|(h, n)| format!("{} {n} times", profile.host(*h).name));
        let words: Vec<String> = words.collect();
        format!("{}, {} each", words.join(", "), units::duration_ps(self.mean_ps()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six steps in which one host, or now this and now that one, is so late while all wait so long before their work, microseconds.
    fn late(is_one: bool, pattern: Pattern, late_us: f64, common_us: f64) -> Late {
        let step = |step: i64| LateIn {
            step,
            host: HostId(if is_one { 0 } else { step as u32 % 2 }),
            devices: vec![DeviceId(0)],
            late_ps: late_us * 1e6,
            common_ps: common_us * 1e6,
            span: (0, 1_000_000_000),
        };
        let host = is_one.then_some(HostId(0));
        let steps = (0..6).map(step).collect();
        Late { steps, host, device: None, pattern, cost_share: 0.1, of_steps: 6 }
    }

    #[test]
    fn one_is_always_late_by_more_than_what_all_wait() {
        assert!(late(true, Pattern::Constant, 200.0, 100.0).is_one_always());
        // Near misses: all wait for as long; in some steps only; in turn.
        assert!(!late(true, Pattern::Constant, 100.0, 100.0).is_one_always());
        assert!(!late(true, Pattern::Some(3, 6), 200.0, 100.0).is_one_always());
        assert!(!late(false, Pattern::Constant, 200.0, 100.0).is_one_always());
    }

    #[test]
    fn who_is_last_of_those_that_all_wait_is_chance() {
        assert!(late(false, Pattern::Some(3, 6), 100.0, 100.0).is_spread());
        assert!(late(true, Pattern::Some(3, 6), 100.0, 300.0).is_spread());
        // Near misses: all wait for less than the last is late; one of some steps, and all wait for less than three times that; one of all.
        assert!(!late(false, Pattern::Some(3, 6), 100.0, 90.0).is_spread());
        assert!(!late(true, Pattern::Some(3, 6), 100.0, 290.0).is_spread());
        assert!(!late(true, Pattern::Constant, 100.0, 900.0).is_spread());
    }

    #[test]
    fn what_launches_differ_by_in_turn_is_jitter() {
        assert!(late(false, Pattern::Some(3, 6), 99.0, 0.0).is_jitter());
        assert!(!late(false, Pattern::Some(3, 6), 101.0, 0.0).is_jitter());
        assert!(!late(true, Pattern::Some(3, 6), 99.0, 0.0).is_jitter());
    }
}
