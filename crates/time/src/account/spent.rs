//! What the active window goes to, and so what bounds the run: the account's classes, with its compute split by the roofline.

use rayon::prelude::*;

use super::places::{LIMITS, Limit, PLACES, disjoint, places};
use super::{Account, Class};
use crate::intervals::Intervals;
use crate::nesting::Innermost;
use crate::op_rows::{DeviceOps, Rows};
use crate::ops::Op;
use crate::roofline::Bound;
use crate::select::Selection;
use crate::usage::{DeviceUsage, Usage};
use crate::window_index::WindowIndex;
use haloscope_profile::{Device, Event, HostId, Peaks, Profile};
use haloscope_report::stop;
use haloscope_report::units;

/// The word for what an op is limited by: `compute` or `memory` of one that computes or copies, `communication`, `transfer`; `None` where
/// it is not known.
#[must_use]
pub fn limit_of(op: &Op<'_>, peaks: &Peaks) -> Option<&'static str> {
    let class = Class::of(&op.meta);
    match class {
        Class::Communication => Some("communication"),
        Class::HostTransfer | Class::Infeed => Some("transfer"),
        // Copies between HBM and on-chip memory wait for HBM.
        Class::AsyncWait => Some("memory"),
        Class::Copy if op.meta.category == "memcpy" => Some("memory"),
        _ => op.work(op.total_ps).against(peaks).bound.map(Bound::word),
    }
}

/// The time in each place in a cut (`None` for all time), picoseconds.
#[must_use]
pub fn busy_times(profile: &Profile, device: &Device, cut: Option<&Intervals>) -> [i64; PLACES] {
    if let Some(kept) = WindowIndex::of(profile) {
        match cut.map(Intervals::as_slice) {
            None => return kept.classes(profile, device, (i64::MIN, i64::MAX)),
            Some(&[window]) => return kept.classes(profile, device, window),
            _ => {}
        }
    }
    let sets = disjoint(profile, device, &DeviceOps::find(profile, device));
    sets.map(|set| cut.map_or_else(|| set.length(), |cut| set.intersect(cut).length()))
}

/// Sums the places of ops that come by time and nest.
#[derive(Debug)]
pub(crate) struct Busy {
    places: Vec<u8>,
    innermost: Innermost,
    sums: [i64; PLACES],
}

impl Busy {
    /// Begins, with these ops of a device.
    pub(crate) fn new(ops: &DeviceOps<'_>, peaks: &Peaks) -> Self {
        Self { places: places(ops, peaks), innermost: Innermost::default(), sums: [0; PLACES] }
    }

    /// Takes the next event.
    #[inline]
    pub(crate) fn push(&mut self, rows: Rows<'_>, event: Event) {
        let (places, sums) = (&self.places, &mut self.sums);
        self.innermost.push(event, |event, from, to| add(places, sums, rows.of(event), to - from));
    }

    /// The sums.
    pub(crate) fn finish(mut self, rows: Rows<'_>) -> [i64; PLACES] {
        let (places, sums) = (&self.places, &mut self.sums);
        self.innermost.finish(|event, from, to| add(places, sums, rows.of(event), to - from));
        self.sums
    }
}

#[inline]
fn add(places: &[u8], sums: &mut [i64; PLACES], row: u32, length_ps: i64) {
    let sum = places.get(row as usize).and_then(|place| sums.get_mut(*place as usize));
    if let Some(sum) = sum {
        *sum = sum.saturating_add(length_ps);
    }
}

/// What an instant of the active window goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spending {
    /// Compute, at a limit of the roofline.
    Limit(Limit),
    /// One of the account's other classes.
    Class(Class),
    /// No op ran, inside a program or between two.
    Idle,
}

impl Spending {
    /// The word used in values: what is of one kind has one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Limit(Limit::Compute) => "compute",
            Self::Limit(Limit::Memory) | Self::Class(Class::Copy | Class::AsyncWait) => "memory",
            Self::Limit(Limit::Unknown) | Self::Class(Class::Compute) => "unknown",
            Self::Class(Class::Communication) => "communication",
            Self::Class(Class::HostTransfer | Class::Infeed) => "transfer",
            Self::Class(Class::Overhead) => "overhead",
            Self::Class(Class::Input) => "input",
            Self::Class(Class::Before | Class::After | Class::Between | Class::Inside) | Self::Idle => "idle",
        }
    }

    /// The words used in sentences and in the table of classes.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Limit(Limit::Compute) => "compute-bound ops",
            Self::Limit(Limit::Memory) => "memory-bound ops",
            Self::Limit(Limit::Unknown) => "ops of unknown limit",
            Self::Class(class) => class.phrase(),
            Self::Idle => "idle time",
        }
    }
}

/// Time by what it goes to.
#[derive(Debug, Clone)]
pub struct Spent {
    /// What has time, most first; mean over devices, picoseconds.
    pub rows: Vec<(Spending, f64)>,
}

impl Spent {
    /// Of the selected devices.
    #[must_use]
    pub fn measure(profile: &Profile, selection: &Selection<'_>, usage: &Usage) -> Self {
        let times = |(at, device): (usize, &&Device)| busy_times(profile, device, selection.window(at));
        let times: Vec<_> = selection.devices.par_iter().enumerate().map(stop::carried(times)).collect();
        Self::of(profile, usage, &times)
    }

    /// The same of devices whose busy time has been summed by place.
    #[must_use]
    pub fn of(profile: &Profile, usage: &Usage, times: &[[i64; PLACES]]) -> Self {
        let devices = usage.devices.len().max(1) as f64;
        let mean = |place: usize| units::sum(times.iter().map(|t| t[place])) as f64 / devices;
        let limits = Limit::ALL.into_iter().map(|limit| (Spending::Limit(limit), mean(limit as usize)));
        let others = Class::BY_RANK.into_iter().skip(1).enumerate();
        let others = others.map(|(at, class)| (Spending::Class(class), mean(LIMITS + at)));
        let mut rows: Vec<(Spending, f64)> = limits.chain(others).collect();
        // What is busy without an op: the short gaps inside of programs.
        let gap = |(device, times): (&DeviceUsage, &[i64; PLACES])| {
            (device.busy_ps - times.iter().sum::<i64>()).max(0)
        };
        let gaps_ps = units::sum(usage.devices.iter().zip(times).map(gap)) as f64 / devices;
        if let Some(row) = rows.iter_mut().find(|(of, _)| *of == Spending::Class(Class::Overhead)) {
            row.1 += gaps_ps;
        }
        let idle_ps = units::sum(usage.devices.iter().map(|d| d.gaps_ps)) as f64 / devices;
        // Looking at the host's events costs a pass over them: only where there is idle time to speak of.
        let input_ps = if idle_ps > IDLE_SHARE * usage.active_ps() {
            units::sum(waits_for_input(profile, usage)) as f64 / devices
        } else {
            0.0
        };
        rows.push((Spending::Class(Class::Input), input_ps));
        rows.push((Spending::Idle, idle_ps - input_ps));
        rows.retain(|(_, ps)| *ps > 0.0);
        rows.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self { rows }
    }

    /// The same of accounts of the selected devices, in their order.
    #[must_use]
    pub fn of_accounts(
        profile: &Profile,
        selection: &Selection<'_>,
        usage: &Usage,
        accounts: &[Option<Account>],
    ) -> Self {
        let times = |(at, account): (usize, &Option<Account>)| {
            let cut = selection.window(at);
            let length =
                |set: &Intervals| cut.map_or_else(|| set.length(), |cut| set.intersect(cut).length());
            account.as_ref().map_or([0; PLACES], |account| {
                std::array::from_fn(|place| match place.checked_sub(LIMITS) {
                    None => length(&account.limits[place]),
                    Some(at) => length(account.part(Class::BY_RANK[at + 1])),
                })
            })
        };
        Self::of(profile, usage, &accounts.iter().enumerate().map(times).collect::<Vec<_>>())
    }

    /// Share of the active window that goes to one thing.
    #[must_use]
    pub fn share(&self, of: Spending) -> f64 {
        self.share_where(|one| one == of)
    }

    /// Share of the active window that goes to all of one kind: [`Spending::word`].
    #[must_use]
    pub fn share_of_word(&self, word: &str) -> f64 {
        self.share_where(|one| one.word() == word)
    }

    fn share_where(&self, takes: impl Fn(Spending) -> bool) -> f64 {
        let all: f64 = self.rows.iter().map(|(_, ps)| ps).sum();
        let own: f64 = self.rows.iter().filter(|(of, _)| takes(*of)).map(|(_, ps)| ps).sum();
        if all > 0.0 { own / all } else { 0.0 }
    }

    /// The kind that takes most time, as a word.
    #[must_use]
    pub fn bound_by(&self) -> &'static str {
        let words = self.rows.iter().map(|(of, _)| of.word());
        let most = words.max_by(|a, b| self.share_of_word(a).total_cmp(&self.share_of_word(b)));
        most.unwrap_or("unknown")
    }

    /// What of one kind has time, most first.
    pub fn of_word(&self, word: &str) -> impl Iterator<Item = Spending> {
        self.rows.iter().map(|(of, _)| *of).filter(move |of| of.word() == word)
    }
}

/// Less idle time than this share of the active window is not explained.
const IDLE_SHARE: f64 = 0.001;

/// How long each device idled while its host read or prepared input, picoseconds.
fn waits_for_input<'a>(profile: &'a Profile, usage: &'a Usage) -> impl Iterator<Item = i64> + 'a {
    // Devices of one host follow one another.
    let mut input: (Option<HostId>, Intervals) = (None, Intervals::default());
    usage.devices.iter().map(move |d| {
        let host = profile.device(d.id).host;
        if input.0 != Some(host) && WindowIndex::of(profile).is_none() {
            input = (Some(host), crate::input::input_work(profile, host));
        }
        d.waits_for_input_ps(profile, &input.1)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Group;
    use super::*;

    #[test]
    fn every_class_of_ops_has_a_place() {
        let busy = Class::ALL.into_iter().filter(|class| class.group() != Group::Idle);
        let others = busy.filter(|class| *class != Class::Compute).map(|class| LIMITS + class.rank() - 1);
        let mut places: Vec<usize> = (0..LIMITS).chain(others).collect();
        places.sort_unstable();
        assert_eq!(places, (0..PLACES).collect::<Vec<_>>());
    }
}
