//! What is dear to find out about a run, and is kept once somebody asked.

use std::sync::OnceLock;

use super::flows::{self, Arrow};
use super::overlap::Activity;
use super::ruler::steps_of;
use haloscope_profile::{Device, Profile};
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::steps::Steps;
use haloscope_time::window_index::Kept as All;

/// Filled on first use.
#[derive(Debug)]
pub(super) struct Kept {
    ops: Vec<OnceLock<DeviceOps<'static>>>,
    activity: Vec<OnceLock<Activity>>,
    steps: OnceLock<Steps>,
    arrows: OnceLock<Vec<Arrow>>,
}

impl Kept {
    pub(super) fn of(profile: &Profile) -> Self {
        Self {
            ops: profile.devices.iter().map(|_| OnceLock::new()).collect(),
            activity: profile.devices.iter().map(|_| OnceLock::new()).collect(),
            steps: OnceLock::new(),
            arrows: OnceLock::new(),
        }
    }

    /// Which op each event of a device belongs to.
    pub(super) fn ops<'a>(&'a self, profile: &'a Profile, device: &Device) -> &'a DeviceOps<'static> {
        if let Some(kept) = All::of(profile) {
            return kept.ops(profile, device);
        }
        self.ops[device.id.index()].get_or_init(|| DeviceOps::find(profile, device).into_owned())
    }

    /// When a device was busy with what.
    pub(super) fn activity(&self, profile: &Profile, device: &Device) -> &Activity {
        self.activity[device.id.index()].get_or_init(|| Activity::of(profile, device))
    }

    /// The steps of all devices.
    pub(super) fn steps<'a>(&'a self, profile: &'a Profile) -> &'a Steps {
        if let Some(steps) = Steps::kept(profile) {
            return steps;
        }
        self.steps.get_or_init(|| steps_of(profile))
    }

    /// The arrows of the run, by the time of the cause.
    pub(super) fn arrows(&self, profile: &Profile) -> &[Arrow] {
        self.arrows.get_or_init(|| flows::of_run(profile))
    }
}
