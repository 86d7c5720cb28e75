//! The tables of `idle`.

use super::Counted;
use crate::account::{Class, Gap, Group, Times};
use crate::select::Selection;
use haloscope_profile::Profile;
use haloscope_report::{Table, row};

/// Gaps that are listed.
const GAPS: usize = 50;

pub(super) fn waterfall(sums: &Times, devices: usize) -> Table {
    let mut table = Vec::new();
    let outside = |class| matches!(class, Class::Before | Class::After);
    let active = sums.sum(|class| !outside(class));
    let of = |ps: i64, whole: i64| (whole > 0).then(|| ps as f64 / whole as f64);
    for class in Class::ALL {
        let total = sums.of(class);
        let row = row![
            text(
                "class",
                "What the time goes to",
                "Each instant of a device's capture is in one class; where several ops run at once, compute goes first, then copies, communication, transfers and waits.",
                class.phrase()
            ),
            text(
                "group",
                "Group",
                "idle: no op runs; waiting: an op runs that waits or moves data; working: any other op.",
                class.group().word()
            ),
            duration("time_ps", "Time", "Mean over devices.", total as f64 / devices as f64),
            share(
                "share_of_capture",
                "Of capture",
                "Of the capture, or of the part of it that the scope selects.",
                of(total, sums.total())
            ),
            share(
                "share_of_active_window",
                "Of active window",
                "Of the time from a device's first op to its last; unknown for what lies outside.",
                of(total, active).filter(|_| !outside(class))
            ),
            duration(
                "total_ps",
                "Sum",
                "Summed over devices: the rows add up to the captures of all devices.",
                total
            ),
        ];
        table.push(row);
    }
    Table::of("waterfall", "Where the capture goes", table)
}

pub(super) fn devices(profile: &Profile, counted: &[Counted]) -> Table {
    let row = |one: &Counted| {
        let times = &one.times;
        row![
            text("device", "Device", "Device.", profile.device(one.account.device).name.as_str()),
            duration(
                "capture_ps",
                "Capture",
                "The capture, or the part of it that the scope selects: the sum of the other columns.",
                times.total()
            ),
            column(Class::Compute.column(), times.of(Class::Compute)),
            column(Class::Copy.column(), times.of(Class::Copy)),
            column(Class::Communication.column(), times.of(Class::Communication)),
            column(Class::AsyncWait.column(), times.of(Class::AsyncWait)),
            column(Class::HostTransfer.column(), times.of(Class::HostTransfer)),
            column(Class::Infeed.column(), times.of(Class::Infeed)),
            column(Class::Overhead.column(), times.of(Class::Overhead)),
            column(Class::Inside.column(), times.of(Class::Inside)),
            column(Class::Input.column(), times.of(Class::Input)),
            column(Class::Between.column(), times.of(Class::Between)),
            column(Class::After.column(), times.of(Class::After)),
            column(Class::Before.column(), times.of(Class::Before)),
        ]
    };
    Table::of("devices", "By device", counted.iter().map(row))
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
    let mut rows = Vec::new();
    for Placed { gap, on } in gaps {
        let (before, after) = on.account.around(gap);
        let row = row![
            text("device", "Device", "Device.", profile.device(on.account.device).name.as_str()),
            text("class", "Kind", "What most of the gap is.", gap.class.phrase()),
            duration("duration_ps", "Time", "How long no op ran.", gap.end_ps - gap.start_ps),
            duration("start_ps", "Start", "From the start of the run.", gap.start_ps),
            duration("end_ps", "End", "From the start of the run.", gap.end_ps),
            text(
                "after",
                "After",
                "The program before the gap, or around it; unknown before the first.",
                before.map(|l| l.module.as_str()).filter(|m| !m.is_empty())
            ),
            text(
                "before",
                "Before",
                "The program after the gap, or around it; unknown after the last.",
                after.map(|l| l.module.as_str()).filter(|m| !m.is_empty())
            ),
        ];
        rows.push(row);
    }
    debug_assert!(gaps.iter().all(|p| p.gap.class.group() == Group::Idle));
    Table::of("gaps", "Longest gaps inside the active window", rows)
}
