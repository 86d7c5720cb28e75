//! What the devices waited for input, and what the hosts could supply.

use std::collections::BTreeMap;

use crate::account::{self, Account, Class, Times};
use crate::input::{Pipeline, Stage};
use crate::intervals::Intervals;
use crate::select::Selection;
use crate::steps::{Step, StepClass, Steps};
use haloscope_profile::{Device, HostId, Profile};
use haloscope_report::units;

/// Waiting for input takes at least this share of the steps where it is worth mentioning, and where it is much: XProf's.
pub(super) const SOME: f64 = 0.05;
pub(super) const MUCH: f64 = 0.20;

/// One device.
pub(super) struct OfDevice<'p> {
    pub device: &'p Device,
    pub account: Account,
    /// The counted steps, each until the next begins: its row in [`Measured::steps`], start and end. Where there are no
    /// steps, the active window, without a row.
    pub periods: Vec<(Option<usize>, i64, i64)>,
    pub times: Times,
}

/// One host with devices.
pub(super) struct OfHost {
    pub id: HostId,
    pub pipeline: Pipeline,
    /// Steps that were counted on its devices, each once.
    pub batches: usize,
    /// When each of them ran on any of these.
    steps: Vec<Intervals>,
    /// Stages that the profile names of this host at any time, whether or not in a counted step.
    pub named: Vec<String>,
}

pub(super) struct Measured<'p> {
    pub devices: Vec<OfDevice<'p>>,
    pub hosts: Vec<OfHost>,
    pub steps: Steps,
    /// Devices that ran no op.
    pub silent: Vec<&'p str>,
}

/// Whether devices wait for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    High,
    Moderate,
    No,
    Unknown,
}

impl<'p> Measured<'p> {
    pub(super) fn new(profile: &'p Profile, selection: &Selection<'p>) -> Self {
        let steps = Steps::find(profile, &selection.devices);
        let accounts = account::of_selection(profile, selection);
        let (mut devices, mut silent): (Vec<OfDevice<'p>>, Vec<&str>) = (Vec::new(), Vec::new());
        for (position, (device, account)) in selection.devices.iter().zip(accounts).enumerate() {
            let Some(account) = account else {
                silent.push(device.name.as_str());
                continue;
            };
            let periods = periods(&steps, device, &account, selection.window(position));
            devices.push(OfDevice { device, account, periods, times: Times::default() });
        }
        // A device that runs no step beside others that do has no part in a step's time.
        let is_step = |(step, ..): &(Option<usize>, i64, i64)| step.is_some();
        if devices.iter().any(|d| d.periods.iter().any(is_step)) {
            devices.iter_mut().for_each(|d| d.periods.retain(is_step));
        }
        for d in &mut devices {
            let mut meters = d.account.meters();
            for (_, start, end) in &d.periods {
                d.times.add(&meters.between(*start, *end));
            }
        }
        let mut hosts: Vec<OfHost> = Vec::new();
        for one in &devices {
            if hosts.iter().any(|h| h.id == one.device.host) {
                continue;
            }
            let id = one.device.host;
            // A host feeds all its devices, also those that run no step of their own.
            let periods = || devices.iter().filter(|d| d.device.host == id).flat_map(|d| &d.periods);
            let parts = periods().map(|(_, start, end)| (*start, *end)).collect();
            let pipeline = Pipeline::of(profile, id, Some(&Intervals::union_of(parts)));
            let mut steps: BTreeMap<usize, Vec<(i64, i64)>> = BTreeMap::new();
            for (step, start, end) in periods() {
                if let Some(step) = step {
                    steps.entry(*step).or_default().push((*start, *end));
                }
            }
            let named = if pipeline.stages.is_empty() {
                Pipeline::of(profile, id, None).stages.into_iter().map(|stage| stage.name).collect()
            } else {
                pipeline.stages.iter().map(|stage| stage.name.clone()).collect()
            };
            let steps: Vec<Intervals> = steps.into_values().map(Intervals::union_of).collect();
            hosts.push(OfHost { id, pipeline, batches: steps.len(), steps, named });
        }
        Self { devices, hosts, steps, silent }
    }

    /// Periods of all devices: steps, or active windows where there are none.
    fn count(&self) -> usize {
        self.devices.iter().map(|d| d.periods.len()).sum()
    }

    /// Whether the periods are steps.
    pub(super) fn has_steps(&self) -> bool {
        self.devices.iter().any(|d| d.periods.iter().any(|(step, ..)| step.is_some()))
    }

    /// What is counted, in words.
    pub(super) fn counted(&self) -> &'static str {
        match self.count() {
            1 if self.has_steps() => "the one step that counts",
            _ if self.has_steps() => "the steps that count",
            _ => "the active window",
        }
    }

    /// A time of the devices, mean over them and their steps, picoseconds.
    pub(super) fn mean(&self, of: impl Fn(&Times) -> i64) -> Option<f64> {
        let count = self.count();
        let sum = units::sum(self.devices.iter().map(|d| of(&d.times)));
        (count > 0).then(|| sum as f64 / count as f64)
    }

    pub(super) fn step_ps(&self) -> Option<f64> {
        self.mean(Times::total)
    }

    pub(super) fn input_ps(&self) -> Option<f64> {
        self.mean(waiting)
    }

    /// The share of the steps in which devices waited for input.
    pub(super) fn share(&self) -> Option<f64> {
        Some(self.input_ps()? / self.step_ps().filter(|ps| *ps > 0.0)?)
    }

    /// The share of the steps in which the hosts had launched nothing, and worked at no known stage.
    pub(super) fn between_share(&self) -> Option<f64> {
        Some(self.mean(|t| t.of(Class::Between))? / self.step_ps().filter(|ps| *ps > 0.0)?)
    }

    pub(super) fn has_stages(&self) -> bool {
        self.hosts.iter().any(|h| !h.pipeline.stages.is_empty())
    }

    /// The stages that the profile names where none of them worked in what is counted, those of one host after the other.
    pub(super) fn outside(&self) -> Vec<&str> {
        let named = self.hosts.iter().flat_map(|h| h.named.iter().map(String::as_str));
        if self.has_stages() { Vec::new() } else { named.collect() }
    }

    /// Whether waiting for input can be told from other idle time.
    pub(super) fn knows_input(&self) -> bool {
        self.has_stages() || self.verdict() == Verdict::No
    }

    /// Batches a second that a device could take if it never waited for input, one a step.
    pub(super) fn demand(&self) -> Option<f64> {
        let working = self.step_ps()? - self.input_ps()?;
        (self.has_steps() && working > 0.0).then(|| units::PS_PER_S / working)
    }

    /// Steps a second as they were.
    pub(super) fn rate(&self) -> Option<f64> {
        self.step_ps().filter(|ps| self.has_steps() && *ps > 0.0).map(|ps| units::PS_PER_S / ps)
    }

    /// The host that supplies least, its slowest stage, and how many batches a second it supplies.
    pub(super) fn slowest(&self) -> Option<(&OfHost, &Stage, Option<f64>)> {
        let all = self.hosts.iter().filter_map(|h| {
            let stage = h.pipeline.slowest()?;
            Some((h, stage, h.supply(stage)))
        });
        // Where no step was counted, the host that worked longest.
        all.min_by(|a, b| {
            let rank = |x: &(&OfHost, &Stage, Option<f64>)| x.2.unwrap_or(f64::INFINITY);
            let wall = |x: &(&OfHost, &Stage, Option<f64>)| {
                x.0.pipeline.groups.get(x.1.group).map_or(0, Intervals::length)
            };
            rank(a).total_cmp(&rank(b)).then(wall(b).cmp(&wall(a)))
        })
    }

    pub(super) fn verdict(&self) -> Verdict {
        let Some(share) = self.share() else { return Verdict::Unknown };
        match share {
            s if s >= MUCH => Verdict::High,
            s if s >= SOME => Verdict::Moderate,
            // Where no stage is known, idle time between programs may be a pipeline's that leaves no events.
            _ if !self.has_stages() && self.between_share().is_none_or(|s| s >= SOME) => Verdict::Unknown,
            _ => Verdict::No,
        }
    }

    /// The row of a step.
    pub(super) fn step(&self, row: usize) -> Option<&Step> {
        self.steps.rows.get(row)
    }
}

impl Verdict {
    pub(super) fn word(self) -> Option<&'static str> {
        match self {
            Self::High => Some("input-bound"),
            Self::Moderate => Some("moderately input-bound"),
            Self::No => Some("not input-bound"),
            Self::Unknown => None,
        }
    }
}

impl OfHost {
    /// Batches a second that a stage gives, see [`Pipeline::supply`]. A batch is prepared in each step in which the stages
    /// that share its threads work a tenth of their mean or more: the first step's batch may have been ready before.
    pub(super) fn supply(&self, stage: &Stage) -> Option<f64> {
        let wall = self.pipeline.groups.get(stage.group)?;
        let least = wall.length() / 10 / i64::try_from(self.steps.len().max(1)).ok()?;
        let works = |step: &&Intervals| wall.intersect(step).length() > least;
        self.pipeline.supply(stage, self.steps.iter().filter(works).count() as f64)
    }
}

/// Time in which a device waited for input, picoseconds: idle while the host works at it, and infeed.
pub(super) fn waiting(times: &Times) -> i64 {
    times.of(Class::Input).saturating_add(times.of(Class::Infeed))
}

/// The counted steps of a device in a window, each until the next begins: data are often fetched between annotations.
fn periods(
    steps: &Steps,
    device: &Device,
    account: &Account,
    window: Option<&Intervals>,
) -> Vec<(Option<usize>, i64, i64)> {
    let on: Vec<(usize, &Step, i64, i64)> = steps
        .rows
        .iter()
        .enumerate()
        .filter_map(|(row, step)| step.on(device.id).map(|i| (row, step, i.start_ps, i.end_ps)))
        .collect();
    let counts = |step: &Step, start: i64, end: i64| {
        step.class != StepClass::Edge && window.is_none_or(|w| w.overlap(start, end) >= end - start)
    };
    let found = on.iter().enumerate().filter(|(_, (_, step, start, end))| counts(step, *start, *end));
    let found: Vec<_> = found
        .map(|(i, (row, _, start, end))| {
            let next = on.get(i + 1).map_or(*end, |next| next.2.max(*start));
            (Some(*row), *start, next)
        })
        .filter(|(_, start, end)| end > start)
        .collect();
    if !found.is_empty() {
        return found;
    }
    // The active window: what lies before the first op and after the last is not the program's.
    let (from, to) = account.span;
    let times = account.between(from, to);
    let (before, after) = (times.of(Class::Before), times.of(Class::After));
    let active = Intervals::one(from.saturating_add(before), to.saturating_sub(after));
    let active = window.map_or_else(|| active.clone(), |w| active.intersect(w));
    active.as_slice().iter().map(|(start, end)| (None, *start, *end)).collect()
}
