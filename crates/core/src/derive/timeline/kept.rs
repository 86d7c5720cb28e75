//! What is dear to find out about a run, and is kept once somebody asked.

use std::sync::OnceLock;

use crate::derive::op_rows::DeviceOps;
use crate::profile::{Device, Profile};

/// Filled on first use.
#[derive(Debug)]
pub(super) struct Kept {
    ops: Vec<OnceLock<DeviceOps<'static>>>,
}

impl Kept {
    pub(super) fn of(profile: &Profile) -> Self {
        Self { ops: profile.devices.iter().map(|_| OnceLock::new()).collect() }
    }

    /// Which op each event of a device belongs to.
    pub(super) fn ops(&self, profile: &Profile, device: &Device) -> &DeviceOps<'static> {
        self.ops[device.id.index()].get_or_init(|| DeviceOps::find(profile, device).into_owned())
    }
}
