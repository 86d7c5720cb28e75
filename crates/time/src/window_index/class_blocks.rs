//! What the busy time of a device goes to in any window.

use super::lengths::Lengths;
use super::line_sums::{LineSums, STEP};
use crate::account::{self, PLACES};
use crate::op_rows::DeviceOps;
use haloscope_profile::{Device, Event, Profile};

/// What [`crate::account::busy_times`] sums.
#[derive(Debug)]
pub(super) enum ClassBlocks {
    /// One line of ops that nest: sums before every block of events, and the place of each op.
    Line(LineSums<PLACES>, Vec<u8>),
    /// Several lines, on which ops run at once.
    Sets(Box<[Lengths]>),
}

impl ClassBlocks {
    /// Of a device.
    pub(super) fn of(profile: &Profile, device: &Device, ops: &DeviceOps<'_>) -> Self {
        Self::with_step(profile, device, ops, STEP)
    }

    /// With blocks of so many events.
    pub(super) fn with_step(profile: &Profile, device: &Device, ops: &DeviceOps<'_>, step: usize) -> Self {
        let lines: Vec<_> = ops.lines(profile).collect();
        match (&lines[..], account::is_nested(ops)) {
            ([(line, rows)], true) => {
                let places = account::places(ops, &device.peaks);
                let is = |event: &Event| at(&places, rows.of(event));
                Self::Line(LineSums::of(profile, line, step, is), places)
            }
            _ => Self::Sets(account::disjoint(profile, device, ops).into_iter().map(Lengths::of).collect()),
        }
    }

    /// The time in each place in a window, picoseconds.
    pub(super) fn times(&self, profile: &Profile, ops: &DeviceOps<'_>, window: (i64, i64)) -> [i64; PLACES] {
        match self {
            Self::Line(sums, places) => {
                let rows = ops.rows_of(sums.line());
                let is = |event: &Event| at(places, rows.of(event));
                let [until, before] = [window.1, window.0].map(|time| sums.until(profile, time, is));
                std::array::from_fn(|place| until[place] - before[place])
            }
            Self::Sets(sets) => {
                std::array::from_fn(|place| sets.get(place).map_or(0, |set| set.overlap(window.0, window.1)))
            }
        }
    }
}

fn at(places: &[u8], row: u32) -> [bool; PLACES] {
    let own = places.get(row as usize).copied();
    std::array::from_fn(|place| own == Some(place as u8))
}
