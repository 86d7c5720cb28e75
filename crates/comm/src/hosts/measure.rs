//! Steps by device: how long each took, and how much of that the device worked, waited and idled.

use rustc_hash::FxHashMap;

use super::late::{self, Late};
use super::levels::Units;
pub use super::on_device::{OfDevice, OnDevice};
use crate::pattern::Pattern;
use crate::straggler::{self, Even, Slow};
use haloscope_profile::{Device, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_time::account::{self, Account};
use haloscope_time::fix;
use haloscope_time::select::Selection;
use haloscope_time::steps::Steps;
use haloscope_time::steps::analysis::in_scope;

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
    /// The devices that work longer than the others, or why there are none; `None` where nobody can tell.
    slow: Option<Result<Slow, Even>>,
    /// Who begins later than the others.
    pub late: Option<Late>,
    /// Numbers of the steps that all devices ran.
    pub(crate) numbers: Vec<i64>,
    /// By step number: how many devices ran it, and the least exposed communication of any, picoseconds.
    least: FxHashMap<i64, (usize, i64)>,
}

impl<'p> Measured<'p> {
    /// Measures the steps of a scope.
    ///
    /// # Errors
    /// [`Error::Nothing`] without steps, or where no device ran an op in one.
    pub(crate) fn new(profile: &'p Profile, selection: &Selection<'p>, scope: &Scope) -> Result<Self, Error> {
        let steps = in_scope_of(Steps::find(profile, &selection.devices), profile, scope)?;
        let all = account::of_each(profile, selection, |position, account| {
            of_device(selection.devices[position], account, &steps)
        });
        Self::of_devices(selection, steps, all)
    }

    /// The same of steps and accounts that somebody has found already.
    ///
    /// # Errors
    /// Those of `Measured::new`.
    pub fn of(
        profile: &Profile,
        selection: &Selection<'p>,
        scope: &Scope,
        steps: Steps,
        accounts: &[Option<Account>],
    ) -> Result<Self, Error> {
        let steps = in_scope_of(steps, profile, scope)?;
        let of = |(device, account): (&&'p Device, &Option<Account>)| {
            account.as_ref().map(|account| of_device(device, account, &steps))
        };
        let all = selection.devices.iter().zip(accounts).map(of).collect();
        Self::of_devices(selection, steps, all)
    }

    fn of_devices(
        selection: &Selection<'p>,
        steps: Steps,
        all: Vec<Option<OfDevice<'p>>>,
    ) -> Result<Self, Error> {
        let mut devices = Vec::new();
        let mut silent = Vec::new();
        for (device, own) in selection.devices.iter().zip(all) {
            match own {
                Some(own) => devices.push(own),
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
        let mut measured = Self {
            steps,
            devices,
            silent,
            common: 0,
            obstacle: None,
            slow: None,
            late: None,
            numbers: Vec::new(),
            least,
        };
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
        self.numbers = self
            .devices
            .first()
            .map(|d| d.counted().filter(is_common).map(|s| s.number).collect())
            .unwrap_or_default();
        self.obstacle = if self.devices.len() < 2 {
            Some("only one device ran steps, so there is no other to compare it with".into())
        } else if self.common == 0 {
            Some("no step was recorded on all devices".into())
        } else if self.devices.len() < straggler::FEWEST && self.common < straggler::FEWEST_STEPS {
            Some(format!(
                "two devices can only be compared by the steps that both ran: they have {} in common, and {} are needed",
                self.common,
                straggler::FEWEST_STEPS
            ))
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
        let slow = straggler::slow(&works, &step_ps);
        let members = slow.as_ref().map_or(&[][..], |slow| slow.members.as_slice());
        let standings = straggler::standings(&works, &step_ps, members);
        for (device, standing) in self.devices.iter_mut().zip(standings) {
            device.standing = Some(standing);
        }
        self.slow = Some(slow);
        self.late = late::late(&self.devices);
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

    /// The devices that work longer than the others, where there are some.
    #[must_use]
    pub fn slow(&self) -> Option<&Slow> {
        self.slow.as_ref()?.as_ref().ok()
    }

    /// The same devices as units of the machine.
    #[must_use]
    pub fn slow_units(&self, profile: &Profile) -> Option<Units> {
        let slow = self.slow()?;
        let all: Vec<&Device> = self.devices.iter().map(|d| d.device).collect();
        let mut some: Vec<&Device> = slow.members.iter().filter_map(|at| all.get(*at).copied()).collect();
        some.sort_by_key(|d| d.id.0);
        Some(Units::of(profile, &some, &all))
    }

    /// In which steps they are slow.
    #[must_use]
    pub fn slow_when(&self) -> Option<Pattern> {
        Some(Pattern::of(&self.numbers, &self.slow()?.excess_ps))
    }

    /// What the test found, in words.
    pub fn verdict(&self) -> String {
        if let Some(obstacle) = &self.obstacle {
            return format!("not possible: {obstacle}");
        }
        let over = format!("{} devices and {} steps", self.devices.len(), self.common);
        match &self.slow {
            Some(Ok(slow)) => {
                let apart = slow.z.filter(|z| z.is_finite()).map_or_else(String::new, |z| {
                    format!(", {z:.1} deviations from the rest (limit {:.1})", straggler::LIMIT)
                });
                let steady = slow
                    .t
                    .filter(|t| t.is_finite())
                    .map_or_else(String::new, |t| format!(", t over the steps {t:.1}"));
                format!(
                    "found {} over {over}: {:.3} times the work of the others{apart}{steady}",
                    slow.members.len(),
                    slow.factor
                )
            }
            Some(Err(even)) => {
                let why = match even {
                    Even::Cheap(share) => format!(
                        "those that work longest cost {} of the step time (limit {})",
                        units::share(*share),
                        units::share(straggler::SMALLEST_COST)
                    ),
                    Even::Usual(share) => format!(
                        "those that work longest cost {} of the step time, but do not differ enough from the rest",
                        units::share(*share)
                    ),
                    Even::Changing(share) => format!(
                        "those that work longest cost {} of the step time, but only in one or a few steps",
                        units::share(*share)
                    ),
                };
                format!("none over {over}: {why}")
            }
            None => format!("none over {over}"),
        }
    }
}

fn cost(device: &OfDevice<'_>) -> f64 {
    device.standing.map_or(0.0, |s| s.cost_share)
}

/// The steps of a scope.
fn in_scope_of(mut steps: Steps, profile: &Profile, scope: &Scope) -> Result<Steps, Error> {
    steps.rows.retain(|step| in_scope(step, scope));
    if steps.rows.is_empty() {
        return Err(Error::Nothing(format!(
            "no steps to compare devices by: {}. To get steps, {}",
            steps.source.explain(),
            fix::MARK_STEPS.for_run(profile)
        )));
    }
    Ok(steps)
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
