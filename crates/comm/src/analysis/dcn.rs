//! What goes between slices, over the data centre's network.

use super::Measured;
use crate::megascale;
use haloscope_profile::{HostId, Profile};
use haloscope_report::Table;

/// The transfers between slices by collective, as `megascale` has them; `None` in a run on one slice.
pub(super) fn table(profile: &Profile, measured: &Measured<'_>) -> Option<Table> {
    let mut hosts: Vec<HostId> =
        measured.comm.devices.iter().map(|d| profile.device(d.device).host).collect();
    hosts.dedup();
    megascale::between_slices(profile, &hosts, "dcn")
}
