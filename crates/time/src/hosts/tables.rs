//! The tables of `hosts`.

use rustc_hash::FxHashMap;

use super::measure::{Measured, OfDevice, OnDevice};
use crate::account::Class;
use crate::stats::{Summary, quantile};
use haloscope_profile::{Device, HostId, Profile};
use haloscope_report::{Cell, Column, Table, Unit};

const DEVICES: &[Column] = &[
    Column::text("device", "Device", "Device."),
    Column::duration(
        "step_time_mean_ps",
        "Step, mean",
        "Mean over its counted steps, by its own clock where it recorded one.",
    ),
    Column::duration("step_time_p50_ps", "Step, median", "Median over its counted steps."),
    Column::duration(
        "work_ps",
        "Work",
        "Time in ops that do not wait: compute, copies on the device and programs' own overhead. Mean over its counted steps.",
    ),
    Column::duration(
        "wait_ps",
        "Wait",
        "Time in collectives, in transfers to and from the host and in waits for asynchronous copies, while nothing else runs. Mean over its counted steps.",
    ),
    Column::duration("idle_ps", "Idle", "Time without any op. Mean over its counted steps."),
    Column::duration(
        "held_up_ps",
        "Held up by others",
        "Its exposed communication beyond that of the device with the least in the same step, for which the others wait. Mean over counted steps; unknown for one device.",
    ),
    Column::float(
        "z_score",
        "z-score",
        Unit::Ratio,
        "Modified z-score of its work among all devices: 0.6745 (work - median) / median absolute deviation. Above 3.5 is far out.",
    ),
    Column::share("slowest_share", "Slowest in", "Share of the steps in which it worked longest."),
    Column::share("cost_share", "Cost", "Its work beyond the median device's, over the step time."),
    Column::flag(
        "straggler",
        "Straggler",
        "z-score above 3.5, slowest in over half of the steps, cost at least 1%.",
    ),
    Column::count("steps", "Steps", "Counted steps: those that the capture may have cut are not."),
    Column::text("host", "Host", "Host."),
];

const HOSTS: &[Column] = &[
    Column::text("host", "Host", "Host."),
    Column::count("devices", "Devices", "Devices that ran steps."),
    Column::duration("step_time_mean_ps", "Step, mean", "Mean over its devices and their counted steps."),
    Column::duration("work_ps", "Work", "Mean over its devices and their counted steps."),
    Column::duration("wait_ps", "Wait", "Mean over its devices and their counted steps."),
    Column::duration("idle_ps", "Idle", "Mean over its devices and their counted steps."),
    Column::float("z_score", "z-score", Unit::Ratio, "Largest of its devices."),
    Column::share("cost_share", "Cost", "Largest of its devices."),
    Column::flag("straggler", "Straggler", "One of its devices is one."),
];

const STEPS: &[Column] = &[
    Column::count("step", "Step", "Step number."),
    Column::text("device", "Device", "Device."),
    Column::text("class", "Class", "steady, warm-up, edge or outlier, as in `steps`."),
    Column::duration(
        "duration_ps",
        "Time",
        "Time of the step on this device, by its own clock where it recorded one.",
    ),
    Column::duration("work_ps", "Work", "Time in it in ops that do not wait."),
    Column::duration(
        "wait_ps",
        "Wait",
        "Time in it in ops that wait or move data between devices or to the host.",
    ),
    Column::duration("idle_ps", "Idle", "Time in it without any op."),
    Column::duration("start_ps", "Start", "From the start of the run."),
    Column::duration("end_ps", "End", "From the start of the run."),
    Class::Compute.column(),
    Class::Copy.column(),
    Class::Overhead.column(),
    Class::Communication.column(),
    Column::duration(
        "held_up_ps",
        "Held up by others",
        "Its exposed communication beyond that of the device with the least in this step; unknown for one device.",
    ),
    Class::AsyncWait.column(),
    Class::HostTransfer.column(),
    Class::Infeed.column(),
    Class::Input.column(),
    Class::Inside.column(),
    Class::Between.column(),
    Column::text("bottleneck", "Most time in", "The class that takes most of the step on this device."),
    Column::text("host", "Host", "Host."),
];

/// The classes of [`STEPS`] before and after `held_up_ps`.
const BEFORE: [Class; 4] = [Class::Compute, Class::Copy, Class::Overhead, Class::Communication];
const BEHIND: [Class; 6] =
    [Class::AsyncWait, Class::HostTransfer, Class::Infeed, Class::Input, Class::Inside, Class::Between];

const SLOWEST: &[Column] = &[
    Column::count("step", "Step", "Step number."),
    Column::text("class", "Class", "steady, warm-up, edge or outlier, as in `steps`."),
    Column::duration("duration_ps", "Time", "That of the device that took longest."),
    Column::text("device", "Most work on", "The device that worked longest: the others may wait for it."),
    Column::duration("work_ps", "Its work", "Time in it in ops that do not wait."),
    Column::duration("median_work_ps", "Median work", "Over the devices."),
    Column::share("lost_share", "Lost at most", "Its work beyond the median's, over the step's time."),
    Column::duration("held_up_ps", "Held up", "What the devices wait for others in this step: their mean."),
    Column::text("bottleneck", "Most time in", "The class that takes most time, summed over devices."),
    Column::count("devices", "Devices", "Devices that ran the step."),
];

pub(super) fn devices(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut table = Table::new("devices", "Devices", DEVICES);
    for one in &measured.devices {
        let times: Vec<f64> = one.counted().map(|s| s.duration_ps as f64).collect();
        let summary = Summary::of(&times);
        table.push(vec![
            one.device.name.as_str().into(),
            summary.map(|s| s.mean).into(),
            summary.map(|s| s.p50).into(),
            one.mean(OnDevice::work_ps).into(),
            one.mean(OnDevice::wait_ps).into(),
            one.mean(OnDevice::idle_ps).into(),
            held_up(measured, one).into(),
            one.standing.and_then(|s| s.z).into(),
            one.standing.map(|s| s.slowest_share).into(),
            one.standing.map(|s| s.cost_share).into(),
            one.standing.map(|s| s.is_straggler()).into(),
            times.len().into(),
            profile.host(one.device.host).name.as_str().into(),
        ]);
    }
    table
}

pub(super) fn hosts(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut table = Table::new("hosts", "Hosts", HOSTS);
    for (id, host) in (0_u32..).map(HostId).zip(&profile.hosts) {
        let own: Vec<&OfDevice<'_>> = measured.devices.iter().filter(|d| d.device.host == id).collect();
        if own.is_empty() {
            continue;
        }
        let mean = |of: fn(&OnDevice) -> i64| {
            let means: Vec<f64> = own.iter().filter_map(|d| d.mean(of)).collect();
            Summary::of(&means).map(|s| s.mean)
        };
        let known: Vec<_> = own.iter().filter_map(|d| d.standing).collect();
        table.push(vec![
            host.name.as_str().into(),
            own.len().into(),
            mean(|s| s.duration_ps).into(),
            mean(OnDevice::work_ps).into(),
            mean(OnDevice::wait_ps).into(),
            mean(OnDevice::idle_ps).into(),
            known.iter().filter_map(|s| s.z).reduce(f64::max).into(),
            known.iter().map(|s| s.cost_share).reduce(f64::max).into(),
            (!known.is_empty()).then(|| own.iter().any(|d| d.is_straggler())).into(),
        ]);
    }
    table
}

fn held_up(measured: &Measured<'_>, one: &OfDevice<'_>) -> Option<f64> {
    let all: Vec<f64> = one.counted().filter_map(|s| measured.held_up_ps(s)).map(|ps| ps as f64).collect();
    Summary::of(&all).map(|summary| summary.mean)
}

/// The class with most of these times.
fn most(of: impl Fn(Class) -> i64) -> Option<&'static str> {
    let longest = Class::ALL.into_iter().rev().max_by_key(|class| of(*class))?;
    (of(longest) > 0).then(|| longest.phrase())
}

/// Who was slowest in each step.
pub(super) fn slowest(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut table = Table::new("slowest", "Slowest device of each step", SLOWEST);
    let mut by_number: FxHashMap<i64, Vec<(&Device, &OnDevice)>> = FxHashMap::default();
    for one in &measured.devices {
        for step in &one.steps {
            by_number.entry(step.number).or_default().push((one.device, step));
        }
    }
    for step in &measured.steps.rows {
        let Some(on) = by_number.get(&step.number) else { continue };
        let Some((device, own)) = on.iter().max_by_key(|(_, s)| s.work_ps()) else { continue };
        let mut works: Vec<f64> = on.iter().map(|(_, s)| s.work_ps() as f64).collect();
        works.sort_by(f64::total_cmp);
        let median = quantile(&works, 0.5);
        let held: Vec<f64> =
            on.iter().filter_map(|(_, s)| measured.held_up_ps(s)).map(|ps| ps as f64).collect();
        let duration = step.duration_ps();
        let several = on.len() > 1;
        table.push(vec![
            step.number.into(),
            step.class.word().into(),
            duration.into(),
            several.then(|| profile.device(device.id).name.as_str()).into(),
            own.work_ps().into(),
            median.into(),
            (several && duration > 0).then(|| (own.work_ps() as f64 - median) / duration as f64).into(),
            Summary::of(&held).map(|s| s.mean).into(),
            most(|class| on.iter().map(|(_, s)| s.times.of(class)).fold(0, i64::saturating_add)).into(),
            on.len().into(),
        ]);
    }
    table
}

pub(super) fn steps(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut table = Table::new("steps", "Steps by device", STEPS);
    for one in &measured.devices {
        for step in &one.steps {
            let mut row: Vec<Cell> = vec![
                step.number.into(),
                profile.device(one.device.id).name.as_str().into(),
                step.class.word().into(),
                step.duration_ps.into(),
                step.work_ps().into(),
                step.wait_ps().into(),
                step.idle_ps().into(),
                step.start_ps.into(),
                step.end_ps.into(),
            ];
            row.extend(BEFORE.map(|class| Cell::from(step.times.of(class))));
            row.push(measured.held_up_ps(step).into());
            row.extend(BEHIND.map(|class| Cell::from(step.times.of(class))));
            row.push(most(|class| step.times.of(class)).into());
            row.push(profile.host(one.device.host).name.as_str().into());
            table.push(row);
        }
    }
    table
}
