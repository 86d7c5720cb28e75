//! How many programs ran, how large they are, and how often the loop around them went round.

use std::collections::BTreeMap;

use haloscope_time::account::Class;
use haloscope_time::launches::Launch;
use haloscope_time::steps::StepSource;

use super::Evidence;

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
/// Programs are slower for waits that take longer than they do.
const COLD_FROM: f64 = 0.5;
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
        mut takes: impl FnMut(usize, &Launch) -> bool,
    ) -> f64 {
        let mut sum = 0.0;
        for (position, account) in self.accounts().iter().enumerate() {
            let Some(account) = account else { continue };
            let window = self.selection.window(position);
            let is_in = |one: &&Launch| window.is_none_or(|w| w.overlap(one.start_ps, one.end_ps) > 0);
            let length = |one: &Launch| one.end_ps - one.start_ps;
            let mut fastest: BTreeMap<K, i64> = BTreeMap::new();
            for one in account.launches.iter().filter(is_in) {
                let own = fastest.entry(kind(one)).or_insert(i64::MAX);
                *own = (*own).min(length(one));
            }
            for one in account.launches.iter().filter(is_in).filter(|one| takes(position, one)) {
                sum += fastest.get(&kind(one)).map_or(0.0, |least| (length(one) - least) as f64);
            }
        }
        sum
    }

    /// What the programs of a processor take beyond their fastest launch, a share of the active window: the part of it that goes with
    /// waits of such a share. A processor that waited for long starts with cold caches and slow clocks, and shares them with what it waited
    /// for. An estimate: other work takes longer for other reasons. Nothing on other devices, and for waits that are not most of what happens.
    pub(crate) fn cold_launches(&self, waits: f64) -> f64 {
        if !self.is_cpu() || waits < COLD_FROM {
            return 0.0;
        }
        let idle = self.share(Class::Between) + self.share(Class::Input);
        let beyond = self.beyond_fastest_ps(|one| (one.module.clone(), one.program_id), |_, _| true);
        self.of_active(beyond) * (waits / idle.max(waits)).min(1.0)
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
