//! What is dear to find out about a run, and is kept once somebody asked.

use std::sync::OnceLock;

use super::flows::{self, Arrow};
use super::overlap;
use super::ruler::steps_of;
use haloscope_profile::{Device, Profile};
use haloscope_time::busy;
use haloscope_time::intervals::Intervals;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::steps::Steps;
use haloscope_time::window_index::WindowIndex;

/// Filled on first use.
#[derive(Debug)]
pub(super) struct Kept {
    ops: Vec<OnceLock<DeviceOps<'static>>>,
    busy: Vec<OnceLock<Intervals>>,
    background: Vec<OnceLock<Option<(Intervals, Intervals)>>>,
    steps: OnceLock<Steps>,
    arrows: OnceLock<Vec<Arrow>>,
}

impl Kept {
    pub(super) fn of(profile: &Profile) -> Self {
        Self {
            ops: profile.devices.iter().map(|_| OnceLock::new()).collect(),
            busy: profile.devices.iter().map(|_| OnceLock::new()).collect(),
            background: profile.devices.iter().map(|_| OnceLock::new()).collect(),
            steps: OnceLock::new(),
            arrows: OnceLock::new(),
        }
    }

    /// Which op each event of a device belongs to.
    pub(super) fn ops<'a>(&'a self, profile: &'a Profile, device: &Device) -> &'a DeviceOps<'static> {
        if let Some(kept) = WindowIndex::of(profile) {
            return kept.ops(profile, device);
        }
        self.ops[device.id.index()].get_or_init(|| DeviceOps::find(profile, device).into_owned())
    }

    /// When a device was busy.
    pub(super) fn busy(&self, profile: &Profile, device: &Device) -> &Intervals {
        self.busy[device.id.index()].get_or_init(|| busy::intervals(profile, device))
    }

    /// Asynchronous work behind compute, and not; `None` where the profile shows none.
    pub(super) fn background(&self, profile: &Profile, device: &Device) -> Option<&(Intervals, Intervals)> {
        self.background[device.id.index()].get_or_init(|| overlap::background(profile, device)).as_ref()
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
