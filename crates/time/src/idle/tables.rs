//! The tables of `idle`.

use super::Counted;
use crate::account::{Account, Class, Gap, Group, Times};
use crate::intervals::Intervals;
use crate::launches::Launch;
use haloscope_profile::{DeviceId, Profile};
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
                "Each instant of a device's capture is in one class; if several ops run at once, compute comes first, then copies, communication, transfers and waits.",
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
                "Of the time from a device's first op to its last; unknown for time outside it.",
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
            text("device", "Device", "Device.", profile.device(one.device).name.as_str()),
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
#[derive(Clone)]
pub(super) struct Placed {
    pub(super) gap: Gap,
    pub(super) device: DeviceId,
    /// The programs before it and after it.
    around: (Option<String>, Option<String>),
}

impl Placed {
    fn order(&self) -> (i64, i64, DeviceId) {
        (self.gap.start_ps - self.gap.end_ps, self.gap.start_ps, self.device)
    }
}

/// The longest gaps of a device inside its active window, as many as are listed of all.
pub(super) fn gaps_of(account: &Account, cut: Option<&Intervals>) -> Vec<Placed> {
    let mut all = account.gaps(cut);
    all.retain(|gap| !matches!(gap.class, Class::Before | Class::After));
    all.sort_by_key(|gap| (gap.start_ps - gap.end_ps, gap.start_ps));
    all.truncate(GAPS);
    let placed = |gap| {
        let (before, after) = account.around(&gap);
        let module = |launch: Option<&Launch>| launch.map(|l| l.module.clone());
        Placed { gap, device: account.device, around: (module(before), module(after)) }
    };
    all.into_iter().map(placed).collect()
}

/// The longest gaps inside active windows first.
pub(super) fn largest_gaps(counted: &[Counted]) -> Vec<Placed> {
    let mut all: Vec<Placed> = counted.iter().flat_map(|on| on.gaps.iter().cloned()).collect();
    all.sort_by_key(Placed::order);
    all.truncate(GAPS);
    all
}

pub(super) fn gaps(profile: &Profile, gaps: &[Placed]) -> Table {
    let mut rows = Vec::new();
    for Placed { gap, device, around: (before, after) } in gaps {
        let row = row![
            text("device", "Device", "Device.", profile.device(*device).name.as_str()),
            text("class", "Kind", "The class of most of the gap.", gap.class.phrase()),
            duration("duration_ps", "Time", "How long no op ran.", gap.end_ps - gap.start_ps),
            duration("start_ps", "Start", "From the start of the run.", gap.start_ps),
            duration("end_ps", "End", "From the start of the run.", gap.end_ps),
            text(
                "after",
                "After",
                "The program before the gap, or around it; unknown before the first.",
                before.as_deref().filter(|m| !m.is_empty())
            ),
            text(
                "before",
                "Before",
                "The program after the gap, or around it; unknown after the last.",
                after.as_deref().filter(|m| !m.is_empty())
            ),
        ];
        rows.push(row);
    }
    debug_assert!(gaps.iter().all(|p| p.gap.class.group() == Group::Idle));
    Table::of("gaps", "Longest gaps inside the active window", rows)
}
