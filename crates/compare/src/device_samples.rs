//! The samples of one device: what each op took in each step, in whole picoseconds.

use std::borrow::Cow;

use super::owners;
use haloscope_profile::{Device, DeviceId, Profile};
use haloscope_report::units;
use haloscope_time::account::{Account, Class, Group};
use haloscope_time::cpu_work;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::steps::Step;

/// Kinds of time that is no op's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// A class without op: waiting for input, between programs, inside of them, a program's own overhead.
    Class(Class),
    /// Ops of modules that the scope leaves out.
    Modules,
    /// Steps of devices of which no op was recorded: nobody knows whether they idled.
    Unrecorded,
    /// The slowest device minus the mean.
    Devices,
    /// The step by the device's own clock less the step by the run's.
    Clocks,
}

impl Rest {
    /// The words used in tables.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Class(class) => class.phrase(),
            Self::Modules => "other modules",
            Self::Unrecorded => "devices without recorded ops",
            Self::Devices => "slowest device minus the mean",
            Self::Clocks => "the device's clock minus the run's",
        }
    }
}

/// What a device did in each of the run's steps.
pub(super) struct DeviceSamples<'p> {
    /// Ops that ran in any.
    pub(super) ops: Vec<DeviceOp<'p>>,
    /// Time without ops, by kind and step, picoseconds.
    pub(super) rest: Vec<(Rest, Vec<i64>)>,
}

/// An op on a device.
pub(super) struct DeviceOp<'p> {
    pub(super) meta: OpMeta<'p>,
    pub(super) module: Cow<'p, str>,
    pub(super) class: Class,
    /// For each step the time in which it was the innermost op, picoseconds.
    pub(super) step_ps: Vec<i64>,
    /// For each step its executions; one that is partly in it counts by its share of time.
    pub(super) executions: Vec<f64>,
}

/// When a device was in which step.
pub(super) struct Windows {
    /// Start, end and position of the step, by start.
    all: Vec<(i64, i64, usize)>,
    /// The latest end up to each of them: steps of several threads may overlap.
    latest: Vec<i64>,
    steps: usize,
}

impl Windows {
    pub(super) fn of(steps: &[Step], device: DeviceId) -> Self {
        let on = |(at, step): (usize, &Step)| step.on(device).map(|i| (i.start_ps, i.end_ps, at));
        let mut all: Vec<(i64, i64, usize)> = steps.iter().enumerate().filter_map(on).collect();
        all.sort_unstable();
        let ends = all.iter().scan(i64::MIN, |latest, window| {
            *latest = window.1.max(*latest);
            Some(*latest)
        });
        let latest = ends.collect();
        Self { all, latest, steps: steps.len() }
    }

    /// The steps that a stretch of time touches, with the part in each.
    fn cut(&self, from: i64, to: i64) -> impl Iterator<Item = (usize, i64)> {
        let first = self.latest.partition_point(|end| *end <= from);
        let touched = self.all[first..].iter().take_while(move |window| window.0 < to);
        touched
            .filter(move |window| window.1 > from)
            .map(move |(start, end, step)| (*step, to.min(*end) - from.max(*start)))
    }
}

impl<'p> DeviceSamples<'p> {
    pub(super) fn of(
        profile: &'p Profile,
        device: &Device,
        account: Option<&Account>,
        windows: &Windows,
        takes_module: impl Fn(&str) -> bool,
    ) -> Self {
        let mut left = vec![0_i64; windows.steps];
        for (start, end, step) in &windows.all {
            left[*step] = left[*step].saturating_add(end - start);
        }
        let Some(account) = account else {
            return Self { ops: Vec::new(), rest: vec![(Rest::Unrecorded, left)] };
        };
        let found = DeviceOps::find(profile, device);
        let classes: Vec<Class> = found.ops.iter().map(|(meta, _)| Class::of(meta)).collect();
        let mut times = Flat::<i64>::new(found.ops.len(), windows.steps);
        owners::walk(profile, &found, &classes, |ops, from, to| {
            for (step, time) in windows.cut(from, to) {
                for (op, part) in ops.iter().zip(owners::parts(time, ops.len())) {
                    let sum = times.at(*op, step);
                    *sum = sum.saturating_add(part);
                }
            }
        });
        let executions = executions(profile, &found, windows);
        let mut rest = idle(account, windows);
        let mut others = vec![0_i64; windows.steps];
        let mut ops = Vec::new();
        for (row, (meta, module)) in found.ops.into_iter().enumerate() {
            let (step_ps, executions) = (times.row(row), executions.row(row));
            if step_ps.iter().all(|ps| *ps == 0) && executions.iter().all(|n| *n == 0.0) {
                continue;
            }
            subtract(&mut left, step_ps);
            if takes_module(&module) {
                let (step_ps, executions) = (step_ps.to_vec(), executions.to_vec());
                ops.push(DeviceOp { meta, module, class: classes[row], step_ps, executions });
            } else {
                for (sum, ps) in others.iter_mut().zip(step_ps) {
                    *sum = sum.saturating_add(*ps);
                }
            }
        }
        for (_, times) in &rest {
            subtract(&mut left, times);
        }
        // What is busy without an op: the short gaps inside of programs.
        rest.push((Rest::Class(Class::Overhead), left));
        rest.push((Rest::Modules, others));
        Self { ops, rest }
    }
}

/// Idle time by class and step; what a step lasts beyond the capture counts as before or after it.
fn idle(account: &Account, windows: &Windows) -> Vec<(Rest, Vec<i64>)> {
    let classes: Vec<Class> = Class::ALL.into_iter().filter(|class| class.group() == Group::Idle).collect();
    let mut rest: Vec<(Rest, Vec<i64>)> =
        classes.iter().map(|class| (Rest::Class(*class), vec![0; windows.steps])).collect();
    for (start, end, step) in &windows.all {
        let mut times = account.between(*start, *end);
        let beyond = |from: i64, to: i64| (to - from).max(0);
        times.0[Class::Before as usize] += beyond(*start, *end.min(&account.span.0));
        times.0[Class::After as usize] += beyond(*start.max(&account.span.1), *end);
        for (class, (_, sums)) in classes.iter().zip(&mut rest) {
            sums[*step] = sums[*step].saturating_add(times.of(*class));
        }
    }
    rest
}

fn executions(profile: &Profile, found: &DeviceOps<'_>, windows: &Windows) -> Flat<f64> {
    let mut counts = Flat::<f64>::new(found.ops.len(), windows.steps);
    for (line, rows) in found.lines(profile) {
        let parts = found.parts_of(line.id);
        for event in cpu_work::events(profile, line) {
            let op = rows.of(&event);
            let is_part = parts.is_some_and(|parts| parts.contains(&(event.index as u32)));
            if is_part || op as usize >= found.ops.len() {
                continue;
            }
            // One without length is where it stands.
            let end = event.end_ps.max(event.start_ps.saturating_add(1));
            for (step, time) in windows.cut(event.start_ps, end) {
                *counts.at(op, step) += time as f64 / (end - event.start_ps) as f64;
            }
        }
    }
    counts
}

fn subtract(from: &mut [i64], times: &[i64]) {
    for (left, ps) in from.iter_mut().zip(times) {
        *left = units::sum([*left, ps.saturating_neg()]);
    }
}

/// One number for each op and step.
struct Flat<T> {
    all: Vec<T>,
    steps: usize,
}

impl<T: Copy + Default> Flat<T> {
    fn new(ops: usize, steps: usize) -> Self {
        Self { all: vec![T::default(); ops * steps], steps }
    }

    fn at(&mut self, op: u32, step: usize) -> &mut T {
        &mut self.all[op as usize * self.steps + step]
    }

    fn row(&self, op: usize) -> &[T] {
        &self.all[op * self.steps..(op + 1) * self.steps]
    }
}
