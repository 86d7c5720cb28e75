//! `idle`: where the time of a capture went, class by class, down to the time in which devices compute.

mod findings;
mod tables;

use crate::account::{self, Account, Class, Group, Times};
use crate::analysis::{Analysis, Input, MenuGroup, Params, Run};
use crate::intervals::Intervals;
use crate::quality;
use crate::select::Scoped;
use crate::steps::Steps;
use crate::usage::Usage;
use haloscope_profile::DeviceId;
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Notes, Report, Status, Unit, Value};
use tables::Placed;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "idle",
    label: "Idle time",
    group: MenuGroup::Time,
    question: "Where did the time of the capture go: outside the program, waiting for the host or for other devices, or into work?",
    params: &[],
    needs: &[
        "a device's op lines (TPU, GPU) or host events that name HLO ops (CPU)",
        "program executions, to tell gaps between programs from gaps inside: XLA Modules lines (TPU) or ops that name their program",
        "the profiler's start and stop times, for time outside the program",
    ],
    reads: &[Input::Profile],
    example: "idle logs",
    also: &[],
    run: Run::Of(run),
};

/// What the account of one device says in the scope.
struct Counted {
    device: DeviceId,
    times: Times,
    gaps: Vec<Placed>,
}

impl Counted {
    fn of(account: &Account, cut: Option<&Intervals>) -> Self {
        let times = account.times(cut);
        Self { device: account.device, times, gaps: tables::gaps_of(account, cut) }
    }
}

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection()?;
    let accounts = account::of_each(profile, selection, |position, account| {
        Counted::of(account, selection.window(position))
    });
    let silent: Vec<&str> = selection
        .devices
        .iter()
        .zip(&accounts)
        .filter(|(_, account)| account.is_none())
        .map(|(device, _)| device.name.as_str())
        .collect();
    quality::devices_without_ops(&silent, notes);
    let counted: Vec<Counted> = accounts.into_iter().flatten().filter(|one| one.times.total() > 0).collect();
    if counted.is_empty() {
        return Err(quality::no_ops(profile, selection));
    }
    if !scope.modules.is_empty() {
        quality::not_used("modules", notes);
    }
    quality::events(profile, selection, notes);
    let mut sums = Times::default();
    counted.iter().for_each(|c| sums.add(&c.times));
    let steps = Steps::find(profile, &selection.devices);
    let usage = Usage::measure(profile, selection, &steps);
    let gaps = tables::largest_gaps(&counted);
    Ok(Report {
        values: values(&usage, &sums, counted.len(), gaps.first().map(|g| g.gap.end_ps - g.gap.start_ps)),
        tables: vec![
            tables::waterfall(&sums, counted.len()),
            tables::devices(profile, &counted),
            tables::gaps(profile, &gaps),
        ],
        findings: findings::all(profile, &usage, &sums, &gaps),
        ..Report::default()
    })
}

fn values(usage: &Usage, sums: &Times, devices: usize, largest: Option<i64>) -> Vec<Value> {
    use Status::{Derived, Estimated, Measured};
    let capture_status = if usage.capture_is_recorded { Measured } else { Estimated };
    let mean = |ps: i64| ps as f64 / devices as f64;
    let span = mean(sums.total());
    let busy = span - mean(sums.of_group(Group::Idle));
    let active = sums.sum(|class| !matches!(class, Class::Before | Class::After));
    let idle_in_active = sums.sum(|c| matches!(c, Class::Between | Class::Input | Class::Inside));
    let ps = |id, label, value: Option<f64>, status, doc| Value::new(id, label, value, Unit::Ps, status, doc);
    let share = |id, label, value: Option<f64>, doc| Value::new(id, label, value, Unit::Share, Derived, doc);
    vec![
        ps(
            "capture_span_ps",
            "Capture",
            Some(span),
            capture_status,
            "The part of the capture that the scope selects, mean over devices that ran ops; estimated if the profiler recorded no start and stop.",
        ),
        ps(
            "device_busy_ps",
            "Device busy",
            Some(busy),
            Measured,
            "Time in which at least one op ran, mean over devices.",
        ),
        share(
            "idle_share_of_capture",
            "Idle share of the capture",
            (span > 0.0).then(|| units::sum([sums.of_group(Group::Idle)]) as f64 / sums.total() as f64),
            "1 - busy / capture.",
        ),
        share(
            "idle_share_of_active_window",
            "Idle share of the active window",
            (active > 0).then(|| idle_in_active as f64 / active as f64),
            "Idle time from a device's first op to its last, as a share of that time.",
        ),
        share(
            "waiting_share_of_active_window",
            "Waiting share of the active window",
            (active > 0).then(|| sums.of_group(Group::Waiting) as f64 / active as f64),
            "Time in ops that wait for another device, the host or a copy, while nothing else runs.",
        ),
        share(
            "working_share_of_active_window",
            "Working share of the active window",
            (active > 0).then(|| sums.of_group(Group::Working) as f64 / active as f64),
            "Time in all other ops, programs' own overhead included.",
        ),
        ps(
            "largest_gap_ps",
            "Largest gap",
            largest.map(|ps| ps as f64),
            Measured,
            "The longest stretch inside the active window in which a device ran no op.",
        ),
    ]
}
