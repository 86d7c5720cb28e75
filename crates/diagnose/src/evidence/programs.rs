//! How many programs ran, how large they are, and how often the loop around them went round.

use std::collections::BTreeMap;

use haloscope_time::account::Class;
use haloscope_time::launches::Launch;
use haloscope_time::steps::StepSource;

use super::Evidence;
use super::host_events::{Doing, doing};
use crate::thresholds::{COLD_WAITS, Grade};

/// A program that ran, over all devices.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ran {
    /// Its name, such as `jit_multiply`.
    pub module: String,
    /// How often it was launched, summed over devices.
    pub launches: u64,
    /// Ops that one launch executes, on average.
    pub ops: f64,
    /// How long one launch runs, on average, picoseconds.
    pub length_ps: f64,
}

/// A launch of no more ops than this does one thing.
const SMALL: f64 = 4.0;
/// Up to this part of the launches of a program is as fast as it can be here.
const FAST: f64 = 0.25;
/// One event with this part of the time between programs is worth a name.
pub(crate) const WORTH_A_NAME: f64 = 0.2;
/// Fewer launches on a device are no loop.
const SEVERAL: u64 = 3;
/// An event of the host is a round of a loop around launches where it has so many in it.
const MANY: f64 = 8.0;

impl Ran {
    /// Whether a launch of it executes hardly any ops.
    pub(crate) fn is_small(&self) -> bool {
        self.ops <= SMALL
    }
}

impl Evidence<'_> {
    /// The program executions that are at least partly in the scope's window: the position of their device, and how long they were in it,
    /// picoseconds.
    pub(crate) fn launches_in_window(&self) -> impl Iterator<Item = (usize, &Launch, i64)> {
        self.accounts().iter().enumerate().flat_map(|(position, account)| {
            let window = self.selection.window(position);
            account.iter().flat_map(|account| &account.launches).filter_map(move |launch| {
                let whole = launch.end_ps - launch.start_ps;
                let ps = window.map_or(whole, |window| window.overlap(launch.start_ps, launch.end_ps));
                (ps > 0).then_some((position, launch, ps))
            })
        })
    }

    /// The programs by name, the one with most launches first. Programs of one name that were compiled for several shapes are one.
    pub(crate) fn programs_ran(&self) -> Vec<Ran> {
        let mut launches: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
        for (position, account) in self.accounts().iter().enumerate() {
            let window = self.selection.window(position);
            let launched = account.iter().flat_map(|account| &account.launches);
            for one in launched.filter(|one| window.is_none_or(|w| w.overlap(one.start_ps, one.end_ps) > 0)) {
                let own = launches.entry(&one.module).or_default();
                *own = (own.0 + 1, own.1.saturating_add(one.end_ps - one.start_ps));
            }
        }
        let mut ops: BTreeMap<&str, u64> = BTreeMap::new();
        for op in self.ops() {
            *ops.entry(&op.module).or_default() += op.occurrences;
        }
        let ran = |(module, (launches, ps)): (&str, (u64, i64))| Ran {
            module: module.to_owned(),
            launches,
            ops: ops.get(module).copied().unwrap_or(0) as f64 / launches.max(1) as f64,
            length_ps: ps as f64 / launches.max(1) as f64,
        };
        let mut all: Vec<Ran> = launches.into_iter().map(ran).collect();
        all.sort_by(|a, b| b.launches.cmp(&a.launches).then_with(|| a.module.cmp(&b.module)));
        all
    }

    /// Time that launches took beyond the fastest of their kind, picoseconds, summed over devices: of those that `takes`, which is
    /// told the device's position too. `kind`: what launches that do the same work share.
    pub(crate) fn beyond_fastest_ps<K: Ord>(
        &self,
        kind: impl Fn(&Launch) -> K,
        takes: impl FnMut(usize, &Launch) -> bool,
    ) -> f64 {
        self.beyond_ps(0.0, kind, takes)
    }

    /// The same beyond a quantile of those that are taken.
    fn beyond_ps<K: Ord>(
        &self,
        fast: f64,
        kind: impl Fn(&Launch) -> K,
        mut takes: impl FnMut(usize, &Launch) -> bool,
    ) -> f64 {
        let mut sum = 0.0;
        for (position, account) in self.accounts().iter().enumerate() {
            let Some(account) = account else { continue };
            let window = self.selection.window(position);
            let is_in = |one: &&Launch| window.is_none_or(|w| w.overlap(one.start_ps, one.end_ps) > 0);
            let length = |one: &Launch| one.end_ps - one.start_ps;
            let mut kinds: BTreeMap<K, (Vec<i64>, Vec<i64>)> = BTreeMap::new();
            for one in account.launches.iter().filter(is_in) {
                let own = kinds.entry(kind(one)).or_default();
                own.0.push(length(one));
                own.1.extend(takes(position, one).then(|| length(one)));
            }
            for (mut all, taken) in kinds.into_values() {
                all.sort_unstable();
                let least = all[((all.len() - 1) as f64 * fast) as usize];
                sum += taken.into_iter().map(|own| (own - least).max(0) as f64).sum::<f64>();
            }
        }
        sum
    }

    /// What the programs of a processor take beyond their fast launches, a share of the active window: the part of it that goes with waits of
    /// such a share, of the launches that `takes`. A processor that waited for long starts with cold caches and slow clocks, and shares them
    /// with what it waited for. Where it waits for half of the time its fastest launch is the only one that may be none of these; where it
    /// waits for less, up to a quarter of them. An estimate: other work takes longer for other reasons. Nothing on other devices, and for
    /// waits that are little.
    pub(crate) fn cold_behind_work(&self, waits: f64, takes: impl Fn(&Launch) -> bool) -> f64 {
        if !self.is_cpu() || COLD_WAITS.grade(waits) == Grade::Good {
            return 0.0;
        }
        let less = (COLD_WAITS.bad - waits) / (COLD_WAITS.bad - COLD_WAITS.good);
        let idle = self.share(Class::Between) + self.share(Class::Input);
        let kind = |one: &Launch| (one.module.clone(), one.program_id);
        let beyond = self.beyond_ps(FAST * less.max(0.0), kind, |_, one| takes(one));
        // A program that reaches out of a window counts for no more than the window has of programs.
        let running = (1.0 - idle).max(0.0);
        self.of_active(beyond).min(running) * (waits / idle.max(waits)).min(1.0)
    }

    /// The same behind what `host_bound` finds: where no work of the host is known there, only for waits that are most of what happens.
    pub(crate) fn cold_behind_other(&self, waits: f64) -> f64 {
        let (host, part) = (self.host(), self.host().part(Doing::Other));
        let is_wait = |name: &str| doing(name).is_some_and(|(doing, _)| doing == Doing::Read);
        let says_nothing = |name: &str| {
            is_wait(name) || host.is_loop(name) || self.steps().rows.iter().any(|step| step.name == name)
        };
        let first = part.names.first();
        let is_work = first
            .is_some_and(|one| one.ps as f64 > WORTH_A_NAME * part.ps as f64 && !says_nothing(&one.name));
        if is_work || self.behind_reads().is_some() {
            self.cold_behind_work(waits, |_| true)
        } else {
            self.cold_launches(waits)
        }
    }

    /// A share of what `host_bound` finds, with the cold launches that it counts for it.
    pub(crate) fn with_cold(&self, of_other: f64) -> f64 {
        let whole = self.share_of(&self.host().part(Doing::Other));
        if whole > 0.0 { of_other * (1.0 + self.cold_behind_other(whole) / whole) } else { of_other }
    }

    /// The same where a host does nothing but wait, for devices or for what moves: only for waits that are most of what happens.
    pub(crate) fn cold_launches(&self, waits: f64) -> f64 {
        if COLD_WAITS.grade(waits) == Grade::Bad { self.cold_behind_work(waits, |_| true) } else { 0.0 }
    }

    /// How often the loop around the programs went round, summed over devices: its marked steps, else as often as the program
    /// that was launched least of those that were launched several times, or as often as the event of the host that is around many
    /// launches was there. `None` where nothing tells.
    pub(crate) fn rounds(&self, ran: &[Ran]) -> Option<u64> {
        let steps = self.steps();
        if !matches!(steps.source, StepSource::Launches(_) | StepSource::None) {
            return Some(steps.rows.iter().map(|step| step.instances.len() as u64).sum());
        }
        let devices = self.selection.devices.len().max(1) as u64;
        let mut several: Vec<u64> = ran.iter().map(|one| one.launches).collect();
        several.retain(|launches| *launches >= SEVERAL * devices);
        let least = several.iter().min().copied().filter(|_| several.len() > 1);
        let around = self.host().rounds(MANY).map(|rounds| rounds * devices);
        least.into_iter().chain(around).min()
    }
}
