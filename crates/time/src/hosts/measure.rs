//! Steps by device: how long each took, and how much of that the device worked, waited and idled.

use rustc_hash::FxHashMap;

use crate::account::{self, Account, Class, Group, Times};
use crate::select::Selection;
use crate::steps::analysis::in_scope;
use crate::steps::{StepClass, Steps};
use crate::straggler::{self, Standing};
use haloscope_profile::{Device, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;

/// A step on a device.
#[derive(Debug, Clone, Copy)]
pub struct OnDevice {
    /// Its number.
    pub number: i64,
    /// Whether it counts as steady, warm-up or outlier.
    pub class: StepClass,
    /// When it starts, picoseconds from the start of the run.
    pub start_ps: i64,
    /// When it ends, picoseconds from the start of the run.
    pub end_ps: i64,
    /// By the device's own clock where it recorded one.
    pub duration_ps: i64,
    /// Its time by class, picoseconds.
    pub times: Times,
}

impl OnDevice {
    /// Compute, copies and programs' own overhead.
    pub(crate) fn work_ps(&self) -> i64 {
        self.times.of_group(Group::Working)
    }

    /// Communication, transfers and waits for copies.
    pub fn wait_ps(&self) -> i64 {
        self.times.of_group(Group::Waiting)
    }

    pub(crate) fn idle_ps(&self) -> i64 {
        self.times.of_group(Group::Idle)
    }

    /// Time in collectives, picoseconds.
    pub fn communication_ps(&self) -> i64 {
        self.times.of(Class::Communication)
    }
}

/// A device with its steps.
pub struct OfDevice<'p> {
    /// The device.
    pub device: &'p Device,
    /// By start.
    pub steps: Vec<OnDevice>,
    /// How it compares with the others, where that can be told.
    pub standing: Option<Standing>,
    /// The program that it spends most time in.
    program: String,
}

impl OfDevice<'_> {
    /// The steps that statistics are taken over.
    pub fn counted(&self) -> impl Iterator<Item = &OnDevice> {
        self.steps.iter().filter(|s| s.class != StepClass::Edge)
    }

    /// A mean over the counted steps.
    pub(crate) fn mean(&self, of: impl Fn(&OnDevice) -> i64) -> Option<f64> {
        let count = self.counted().count();
        (count > 0).then(|| units::sum(self.counted().map(of)) as f64 / count as f64)
    }

    pub(crate) fn is_straggler(&self) -> bool {
        self.standing.is_some_and(|s| s.is_straggler())
    }
}

/// All of it.
pub struct Measured<'p> {
    /// The steps of the scope.
    pub steps: Steps,
    /// What each device did: those that ran an op, in the selection's order.
    pub devices: Vec<OfDevice<'p>>,
    /// Devices that ran no op.
    pub(crate) silent: Vec<&'p str>,
    /// Steps that all devices ran.
    pub(crate) common: usize,
    /// Why nobody can tell whether one is slow.
    pub obstacle: Option<String>,
    /// By step number: how many devices ran it, and the least exposed communication of any, picoseconds.
    least: FxHashMap<i64, (usize, i64)>,
}

impl<'p> Measured<'p> {
    /// Measures the steps of a scope.
    ///
    /// # Errors
    /// [`Error::Nothing`] without steps, or where no device ran an op in one.
    pub(crate) fn new(profile: &'p Profile, selection: &Selection<'p>, scope: &Scope) -> Result<Self, Error> {
        let steps = Steps::find(profile, &selection.devices);
        let accounts = account::of_selection(profile, selection);
        Self::of(selection, scope, steps, &accounts)
    }

    /// The same of steps and accounts that somebody has found already.
    ///
    /// # Errors
    /// Those of `Measured::new`.
    pub fn of(
        selection: &Selection<'p>,
        scope: &Scope,
        mut steps: Steps,
        accounts: &[Option<Account>],
    ) -> Result<Self, Error> {
        steps.rows.retain(|step| in_scope(step, scope));
        if steps.rows.is_empty() {
            return Err(Error::Nothing(format!(
                "no steps to compare devices by: {}. Wrap the loop's body in jax.profiler.StepTraceAnnotation(\"train\", step_num=i)",
                steps.source.explain()
            )));
        }
        let mut devices = Vec::new();
        let mut silent = Vec::new();
        for (device, account) in selection.devices.iter().zip(accounts) {
            match account {
                Some(account) => devices.push(of_device(device, account, &steps)),
                None => silent.push(device.name.as_str()),
            }
        }
        devices.retain(|d| d.counted().next().is_some());
        if devices.is_empty() {
            return Err(Error::Nothing("no device ran an op in a step of the scope".into()));
        }
        let mut least: FxHashMap<i64, (usize, i64)> = FxHashMap::default();
        for step in devices.iter().flat_map(|d| &d.steps) {
            let (count, own) = least.entry(step.number).or_insert((0, i64::MAX));
            (*count, *own) = (*count + 1, step.communication_ps().min(*own));
        }
        let mut measured = Self { steps, devices, silent, common: 0, obstacle: None, least };
        measured.test();
        Ok(measured)
    }

    /// Compares the devices over the steps that all of them ran.
    fn test(&mut self) {
        let mut devices_of: FxHashMap<i64, usize> = FxHashMap::default();
        for step in self.devices.iter().flat_map(OfDevice::counted) {
            *devices_of.entry(step.number).or_default() += 1;
        }
        let is_common = |step: &&OnDevice| devices_of.get(&step.number) == Some(&self.devices.len());
        let work = |d: &OfDevice<'_>| d.counted().filter(is_common).map(|s| s.work_ps() as f64).collect();
        let works: Vec<Vec<f64>> = self.devices.iter().map(work).collect();
        let length = |d: &OfDevice<'_>| d.counted().filter(is_common).map(|s| s.duration_ps as f64).collect();
        let lengths: Vec<Vec<f64>> = self.devices.iter().map(length).collect();
        self.common = works.first().map_or(0, Vec::len);
        let first = self.devices.first().map(|d| d.program.as_str());
        self.obstacle = if self.devices.len() < straggler::FEWEST {
            Some(format!(
                "{} ran steps; fewer than {} cannot tell which one is slow",
                if self.devices.len() == 1 {
                    "one device".into()
                } else {
                    format!("{} devices", self.devices.len())
                },
                straggler::FEWEST
            ))
        } else if self.common == 0 {
            Some("no step was recorded on all devices".into())
        } else if self.devices.iter().any(|d| Some(d.program.as_str()) != first) {
            Some("the devices run different programs".into())
        } else {
            None
        };
        if self.obstacle.is_some() {
            return;
        }
        let longest = |s: usize| lengths.iter().filter_map(|l| l.get(s).copied()).fold(0.0, f64::max);
        let step_ps: Vec<f64> = (0..self.common).map(longest).collect();
        for (device, standing) in self.devices.iter_mut().zip(straggler::standings(&works, &step_ps)) {
            device.standing = Some(standing);
        }
    }

    /// The exposed communication of a device in a step beyond that of the device with the least, for which the others wait;
    /// `None` where no other device ran the step. Picoseconds.
    pub(crate) fn held_up_ps(&self, step: &OnDevice) -> Option<i64> {
        let (_, least) = self.least.get(&step.number).filter(|(devices, _)| *devices > 1)?;
        Some(step.communication_ps() - least)
    }

    /// The device that makes the others wait most.
    pub fn straggler(&self) -> Option<&OfDevice<'p>> {
        let all = self.devices.iter().filter(|d| d.is_straggler());
        all.max_by(|a, b| cost(a).total_cmp(&cost(b)))
    }

    /// What the test found, in words.
    pub fn verdict(&self) -> String {
        if let Some(obstacle) = &self.obstacle {
            return format!("not possible: {obstacle}");
        }
        let over = format!("{} devices and {} steps", self.devices.len(), self.common);
        let worst = self.devices.iter().filter_map(|d| d.standing.and_then(|s| s.z)).fold(f64::MIN, f64::max);
        let stragglers = self.devices.iter().filter(|d| d.is_straggler()).count();
        match stragglers {
            0 => format!(
                "none over {over}: largest modified z-score {worst:.1} (limit {:.1})",
                straggler::LIMIT
            ),
            n => format!(
                "found {n} over {over}: largest modified z-score {worst:.1} (limit {:.1})",
                straggler::LIMIT
            ),
        }
    }
}

fn cost(device: &OfDevice<'_>) -> f64 {
    device.standing.map_or(0.0, |s| s.cost_share)
}

fn of_device<'p>(device: &'p Device, account: &Account, steps: &Steps) -> OfDevice<'p> {
    let on = steps.rows.iter().filter_map(|step| {
        let at = step.on(device.id)?;
        Some(OnDevice {
            number: step.number,
            class: step.class,
            start_ps: at.start_ps,
            end_ps: at.end_ps,
            duration_ps: at.duration_ps,
            times: account.between(at.start_ps, at.end_ps),
        })
    });
    let mut time_in: FxHashMap<&str, i64> = FxHashMap::default();
    for launch in &account.launches {
        let time = time_in.entry(launch.module.as_str()).or_default();
        *time = time.saturating_add(launch.end_ps - launch.start_ps);
    }
    let program = time_in.into_iter().max_by_key(|(name, ps)| (*ps, std::cmp::Reverse(*name)));
    OfDevice {
        device,
        steps: on.collect(),
        standing: None,
        program: program.map(|(name, _)| name.to_owned()).unwrap_or_default(),
    }
}

/// The host's name; in a run of one host the device's.
pub(crate) fn name<'p>(profile: &'p Profile, device: &'p Device) -> &'p str {
    if profile.hosts.len() > 1 { &profile.host(device.host).name } else { &device.name }
}
