//! The tables of `hosts`.

use rustc_hash::FxHashMap;

use super::measure::{Measured, OfDevice, OnDevice};
use haloscope_profile::{Device, HostId, Profile};
use haloscope_report::{Table, Unit, row};
use haloscope_time::account::Class;
use haloscope_time::stats::{Summary, quantile};

pub(super) fn devices(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut rows = Vec::new();
    for one in &measured.devices {
        let times: Vec<f64> = one.counted().map(|s| s.duration_ps as f64).collect();
        let summary = Summary::of(&times);
        let row = row![
            text("device", "Device", "Device.", one.device.name.as_str()),
            duration(
                "step_time_mean_ps",
                "Step, mean",
                "Mean over its counted steps, by its own clock if it recorded one.",
                summary.map(|s| s.mean)
            ),
            duration(
                "step_time_p50_ps",
                "Step, median",
                "Median over its counted steps.",
                summary.map(|s| s.p50)
            ),
            duration(
                "work_ps",
                "Work",
                "Time in ops that do not wait: compute, copies on the device and programs' own overhead. Mean over its counted steps.",
                one.mean(OnDevice::work_ps)
            ),
            duration(
                "wait_ps",
                "Wait",
                "Time in collectives, in transfers to and from the host and in waits for asynchronous copies, while nothing else runs. Mean over its counted steps.",
                one.mean(OnDevice::wait_ps)
            ),
            duration(
                "idle_ps",
                "Idle",
                "Time without any op. Mean over its counted steps.",
                one.mean(OnDevice::idle_ps)
            ),
            duration(
                "held_up_ps",
                "Held up by others",
                "Its exposed communication minus that of the device with the least in the same step, for which the others wait. Mean over counted steps; unknown for one device.",
                held_up(measured, one)
            ),
            float(
                "z_score",
                "z-score",
                Unit::Ratio,
                "Modified z-score of its work among all devices: 0.6745 (work - median) / median absolute deviation. Above 3.5 is far out.",
                one.standing.and_then(|s| s.z)
            ),
            share(
                "slowest_share",
                "Slowest in",
                "Share of the steps in which it worked longest.",
                one.standing.map(|s| s.slowest_share)
            ),
            share(
                "cost_share",
                "Cost",
                "Its work minus the median device's, divided by the step time.",
                one.standing.map(|s| s.cost_share)
            ),
            flag(
                "straggler",
                "Straggler",
                "It, or its host or chip, differs from the others by 3.5 robust deviations, step after step, at a cost of 1% of the step time or more.",
                one.standing.map(|s| s.is_straggler)
            ),
            count(
                "steps",
                "Steps",
                "Counted steps: steps that the capture may have cut do not count.",
                times.len()
            ),
            text("host", "Host", "Host.", profile.host(one.device.host).name.as_str()),
        ];
        rows.push(row);
    }
    Table::of("devices", "Devices", rows)
}

pub(super) fn hosts(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut rows = Vec::new();
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
        let row = row![
            text("host", "Host", "Host.", host.name.as_str()),
            count("devices", "Devices", "Devices that ran steps.", own.len()),
            duration(
                "step_time_mean_ps",
                "Step, mean",
                "Mean over its devices and their counted steps.",
                mean(|s| s.duration_ps)
            ),
            duration(
                "work_ps",
                "Work",
                "Mean over its devices and their counted steps.",
                mean(OnDevice::work_ps)
            ),
            duration(
                "wait_ps",
                "Wait",
                "Mean over its devices and their counted steps.",
                mean(OnDevice::wait_ps)
            ),
            duration(
                "idle_ps",
                "Idle",
                "Mean over its devices and their counted steps.",
                mean(OnDevice::idle_ps)
            ),
            float(
                "z_score",
                "z-score",
                Unit::Ratio,
                "Largest of its devices.",
                known.iter().filter_map(|s| s.z).reduce(f64::max)
            ),
            share(
                "cost_share",
                "Cost",
                "Largest of its devices.",
                known.iter().map(|s| s.cost_share).reduce(f64::max)
            ),
            flag(
                "straggler",
                "Straggler",
                "Whether one of its devices is a straggler.",
                (!known.is_empty()).then(|| own.iter().any(|d| d.is_straggler()))
            ),
        ];
        rows.push(row);
    }
    Table::of("hosts", "Hosts", rows)
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
    let mut table = Vec::new();
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
        let row = row![
            count("step", "Step", "Step number.", step.number),
            text("class", "Class", "steady, warm-up, edge or outlier, as in `steps`.", step.class.word()),
            duration("duration_ps", "Time", "That of the device that took longest.", duration),
            text(
                "device",
                "Most work on",
                "The device that worked longest: the others may wait for it.",
                several.then(|| profile.device(device.id).name.as_str())
            ),
            duration("work_ps", "Its work", "Time in it in ops that do not wait.", own.work_ps()),
            duration("median_work_ps", "Median work", "Over the devices.", median),
            share(
                "lost_share",
                "Lost at most",
                "Its work minus the median's, divided by the step's time.",
                (several && duration > 0).then(|| (own.work_ps() as f64 - median) / duration as f64)
            ),
            duration(
                "held_up_ps",
                "Held up",
                "How long the devices wait for others in this step: their mean.",
                Summary::of(&held).map(|s| s.mean)
            ),
            text(
                "bottleneck",
                "Most time in",
                "The class that takes the most time, summed over devices.",
                most(|class| on.iter().map(|(_, s)| s.times.of(class)).fold(0, i64::saturating_add))
            ),
            count("devices", "Devices", "Devices that ran the step.", on.len()),
        ];
        table.push(row);
    }
    Table::of("slowest", "Slowest device of each step", table)
}

pub(super) fn steps(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut rows = Vec::new();
    for one in &measured.devices {
        for step in &one.steps {
            let times = &step.times;
            let row = row![
                count("step", "Step", "Step number.", step.number),
                text("device", "Device", "Device.", profile.device(one.device.id).name.as_str()),
                text("class", "Class", "steady, warm-up, edge or outlier, as in `steps`.", step.class.word()),
                duration(
                    "duration_ps",
                    "Time",
                    "Time of the step on this device, by its own clock if it recorded one.",
                    step.duration_ps
                ),
                duration("work_ps", "Work", "Time in it in ops that do not wait.", step.work_ps()),
                duration(
                    "wait_ps",
                    "Wait",
                    "Time in it in ops that wait or move data between devices or to the host.",
                    step.wait_ps()
                ),
                duration("idle_ps", "Idle", "Time in it without any op.", step.idle_ps()),
                duration("start_ps", "Start", "From the start of the run.", step.start_ps),
                duration("end_ps", "End", "From the start of the run.", step.end_ps),
                column(Class::Compute.column(), times.of(Class::Compute)),
                column(Class::Copy.column(), times.of(Class::Copy)),
                column(Class::Overhead.column(), times.of(Class::Overhead)),
                column(Class::Communication.column(), times.of(Class::Communication)),
                duration(
                    "held_up_ps",
                    "Held up by others",
                    "Its exposed communication minus that of the device with the least in this step; unknown for one device.",
                    measured.held_up_ps(step)
                ),
                column(Class::AsyncWait.column(), times.of(Class::AsyncWait)),
                column(Class::HostTransfer.column(), times.of(Class::HostTransfer)),
                column(Class::Infeed.column(), times.of(Class::Infeed)),
                column(Class::Input.column(), times.of(Class::Input)),
                column(Class::Inside.column(), times.of(Class::Inside)),
                column(Class::Between.column(), times.of(Class::Between)),
                text(
                    "bottleneck",
                    "Most time in",
                    "The class that takes the most of the step on this device.",
                    most(|class| times.of(class))
                ),
                text("host", "Host", "Host.", profile.host(one.device.host).name.as_str()),
            ];
            rows.push(row);
        }
    }
    Table::of("steps", "Steps by device", rows)
}
