//! The kernels of a run's GPUs, as many of them as XProf keeps.

use haloscope_profile::{HostId, Profile};
use haloscope_time::kernels::{of_host, sort};

pub(crate) use haloscope_time::kernels::Kernel;

/// As many kernels are kept of each host, and of all together: those that took longest.
const LIMIT: usize = 1000;

/// The kernels of these hosts that took longest, longest first.
pub(crate) fn kernels<'p>(profile: &'p Profile, hosts: &[HostId]) -> Vec<Kernel<'p>> {
    let mut all: Vec<_> =
        hosts.iter().flat_map(|&host| of_host(profile, host).into_iter().take(LIMIT)).collect();
    sort(&mut all);
    all.truncate(LIMIT);
    all
}
