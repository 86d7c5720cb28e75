//! The tables of `idle`.

use super::Counted;
use crate::account::{Class, Gap, Group, Times};
use crate::select::Selection;
use haloscope_profile::Profile;
use haloscope_report::{Cell, Column, Table};

/// Gaps that are listed.
const GAPS: usize = 50;

const WATERFALL: &[Column] = &[
    Column::text(
        "class",
        "What the time goes to",
        "Each instant of a device's capture is in one class; where several ops run at once, compute goes first, then copies, communication, transfers and waits.",
    ),
    Column::text(
        "group",
        "Group",
        "idle: no op runs; waiting: an op runs that waits or moves data; working: any other op.",
    ),
    Column::duration("time_ps", "Time", "Mean over devices."),
    Column::share(
        "share_of_capture",
        "Of capture",
        "Of the capture, or of the part of it that the scope selects.",
    ),
    Column::share(
        "share_of_active_window",
        "Of active window",
        "Of the time from a device's first op to its last; unknown for what lies outside.",
    ),
    Column::duration(
        "total_ps",
        "Sum",
        "Summed over devices: the rows add up to the captures of all devices.",
    ),
];

const DEVICES: &[Column] = &[
    Column::text("device", "Device", "Device."),
    Column::duration(
        "capture_ps",
        "Capture",
        "The capture, or the part of it that the scope selects: the sum of the other columns.",
    ),
    Class::Compute.column(),
    Class::Copy.column(),
    Class::Communication.column(),
    Class::AsyncWait.column(),
    Class::HostTransfer.column(),
    Class::Infeed.column(),
    Class::Overhead.column(),
    Class::Inside.column(),
    Class::Input.column(),
    Class::Between.column(),
    Class::After.column(),
    Class::Before.column(),
];

const LARGEST: &[Column] = &[
    Column::text("device", "Device", "Device."),
    Column::text("class", "Kind", "What most of the gap is."),
    Column::duration("duration_ps", "Time", "How long no op ran."),
    Column::duration("start_ps", "Start", "From the start of the run."),
    Column::duration("end_ps", "End", "From the start of the run."),
    Column::text("after", "After", "The program before the gap, or around it; unknown before the first."),
    Column::text("before", "Before", "The program after the gap, or around it; unknown after the last."),
];

pub(super) fn waterfall(sums: &Times, devices: usize) -> Table {
    let mut table = Table::new("waterfall", "Where the capture goes", WATERFALL);
    let outside = |class| matches!(class, Class::Before | Class::After);
    let active = sums.sum(|class| !outside(class));
    let of = |ps: i64, whole: i64| (whole > 0).then(|| ps as f64 / whole as f64);
    for class in Class::ALL {
        let total = sums.of(class);
        table.push(vec![
            class.phrase().into(),
            class.group().word().into(),
            (total as f64 / devices as f64).into(),
            of(total, sums.total()).into(),
            of(total, active).filter(|_| !outside(class)).into(),
            total.into(),
        ]);
    }
    table
}

/// The cells of the classes' columns, in the order of [`DEVICES`].
pub(crate) fn class_cells(times: &Times) -> impl Iterator<Item = Cell> + use<> {
    let times = *times;
    Class::ALL.into_iter().rev().map(move |class| times.of(class).into())
}

pub(super) fn devices(profile: &Profile, counted: &[Counted]) -> Table {
    let mut table = Table::new("devices", "By device", DEVICES);
    for one in counted {
        let name = profile.device(one.account.device).name.as_str();
        let mut row: Vec<Cell> = vec![name.into(), one.times.total().into()];
        row.extend(class_cells(&one.times));
        table.push(row);
    }
    table
}

/// A gap on a device.
pub(super) struct Placed<'a> {
    pub(super) gap: Gap,
    pub(super) on: &'a Counted,
}

/// The longest gaps inside active windows first.
pub(super) fn largest_gaps<'a>(counted: &'a [Counted], selection: &Selection<'_>) -> Vec<Placed<'a>> {
    let mut all: Vec<Placed<'a>> = Vec::new();
    for on in counted {
        let gaps = on.account.gaps(selection.window(on.position)).into_iter();
        let inside = gaps.filter(|g| !matches!(g.class, Class::Before | Class::After));
        all.extend(inside.map(|gap| Placed { gap, on }));
    }
    all.sort_by_key(|p| (p.gap.start_ps - p.gap.end_ps, p.gap.start_ps, p.on.account.device));
    all.truncate(GAPS);
    all
}

pub(super) fn gaps(profile: &Profile, gaps: &[Placed<'_>]) -> Table {
    let mut table = Table::new("gaps", "Longest gaps inside the active window", LARGEST);
    for Placed { gap, on } in gaps {
        let (before, after) = on.account.around(gap);
        table.push(vec![
            profile.device(on.account.device).name.as_str().into(),
            gap.class.phrase().into(),
            (gap.end_ps - gap.start_ps).into(),
            gap.start_ps.into(),
            gap.end_ps.into(),
            before.map(|l| l.module.as_str()).filter(|m| !m.is_empty()).into(),
            after.map(|l| l.module.as_str()).filter(|m| !m.is_empty()).into(),
        ]);
    }
    debug_assert!(gaps.iter().all(|p| p.gap.class.group() == Group::Idle));
    table
}
