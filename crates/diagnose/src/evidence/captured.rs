//! How many of the devices that the main program runs on are in the profile.

use haloscope_profile::HloModule;
use haloscope_time::virtual_devices;

use super::Evidence;

/// The devices of the program that ran the longest.
pub(crate) struct Captured<'p> {
    pub module: &'p HloModule,
    /// How many of them have ops in the profile,
    pub recorded: u64,
    /// of how many that it was compiled for.
    pub wanted: u64,
}

impl<'p> Evidence<'p> {
    /// The devices of the main program.
    ///
    /// # Errors
    /// Why nobody knows how many it runs on.
    pub(crate) fn captured(&self) -> Result<Captured<'p>, String> {
        let launches = self.accounts().iter().flatten().flat_map(|account| &account.launches);
        let longest = launches.max_by_key(|launch| launch.end_ps - launch.start_ps);
        let of_longest = |module: &&HloModule| {
            longest.is_some_and(|launch| match launch.program_id {
                Some(id) => module.program_id == Some(id),
                None => module.name == launch.module,
            })
        };
        let profile = self.profile;
        let module = profile.modules.iter().find(of_longest);
        let module = module.ok_or("the profile holds no HLO module of the program that ran")?;
        let decoded = module.decode(profile);
        let decoded = decoded.map_err(|_| format!("the HLO module {} could not be read", module.label()))?;
        let partitions = decoded.module.partition_count();
        let partitions = partitions
            .ok_or_else(|| format!("{} does not say how many devices it was compiled for", module.label()))?;
        let wanted = partitions.saturating_mul(decoded.module.replica_count().unwrap_or(1).max(1));
        let devices = self.selection.devices.iter().zip(self.accounts()).filter(|(_, own)| own.is_some());
        // One CPU may stand for all of them.
        let recorded: usize = devices.map(|(device, _)| virtual_devices::of(profile, device)).sum();
        Ok(Captured { module, recorded: recorded as u64, wanted })
    }
}
