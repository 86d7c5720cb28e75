//! The tables of `hosts`.

use super::measure::{Measured, OfDevice, OnDevice};
use crate::derive::stats::Summary;
use crate::profile::{HostId, Profile};
use crate::report::{Column, Table, Unit};

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

pub(super) fn steps(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut table = Table::new("steps", "Steps by device", STEPS);
    for one in &measured.devices {
        for step in &one.steps {
            table.push(vec![
                step.number.into(),
                profile.device(one.device.id).name.as_str().into(),
                step.class.word().into(),
                step.duration_ps.into(),
                step.work_ps().into(),
                step.wait_ps().into(),
                step.idle_ps().into(),
                step.start_ps.into(),
                step.end_ps.into(),
            ]);
        }
    }
    table
}
