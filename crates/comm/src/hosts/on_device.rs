//! What a device did in its steps.

use crate::straggler::Standing;
use haloscope_profile::Device;
use haloscope_report::units;
use haloscope_time::account::{Class, Group, Times};
use haloscope_time::steps::StepClass;

/// A step on a device.
#[derive(Debug, Clone, Copy)]
pub struct OnDevice {
    /// Its number.
    pub number: i64,
    /// Whether it counts as steady, warm-up or outlier.
    pub class: StepClass,
    /// When it starts, picoseconds from the start of the run.
    pub start_ps: i64,
    /// When it ends, picoseconds from the start of the run.
    pub end_ps: i64,
    /// By the device's own clock where it recorded one.
    pub duration_ps: i64,
    /// Its time by class, picoseconds.
    pub times: Times,
}

impl OnDevice {
    /// Compute, copies and programs' own overhead.
    pub(crate) fn work_ps(&self) -> i64 {
        self.times.of_group(Group::Working)
    }

    /// Communication, transfers and waits for copies.
    pub fn wait_ps(&self) -> i64 {
        self.times.of_group(Group::Waiting)
    }

    pub(crate) fn idle_ps(&self) -> i64 {
        self.times.of_group(Group::Idle)
    }

    /// Time in collectives, picoseconds.
    pub fn communication_ps(&self) -> i64 {
        self.times.of(Class::Communication)
    }
}

/// A device with its steps.
pub struct OfDevice<'p> {
    /// The device.
    pub device: &'p Device,
    /// By start.
    pub steps: Vec<OnDevice>,
    /// How it compares with the others, where that can be told.
    pub standing: Option<Standing>,
    /// The program that it spends most time in.
    pub(super) program: String,
}

impl OfDevice<'_> {
    /// The steps that statistics are taken over.
    pub fn counted(&self) -> impl Iterator<Item = &OnDevice> {
        self.steps.iter().filter(|s| s.class != StepClass::Edge)
    }

    /// A mean over the counted steps.
    pub(crate) fn mean(&self, of: impl Fn(&OnDevice) -> i64) -> Option<f64> {
        let count = self.counted().count();
        (count > 0).then(|| units::sum(self.counted().map(of)) as f64 / count as f64)
    }

    pub(crate) fn is_straggler(&self) -> bool {
        self.standing.is_some_and(|s| s.is_straggler)
    }
}
