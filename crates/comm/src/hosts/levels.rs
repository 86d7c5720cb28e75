//! Of what devices are part: chips, hosts, slices. Slowness lives at the widest level whose units are slow as a whole.

use std::collections::{BTreeMap, BTreeSet};

use super::slices::{Slices, number_of};
use haloscope_profile::{Device, HostId, Profile};

/// A level of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Devices: cores of a chip, or chips that are one device.
    Device,
    /// Chips of several devices.
    Chip,
    /// Hosts with all their devices that ran.
    Host,
    /// Slices with all their hosts, of a run over several.
    Slice,
}

/// Some devices as units of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Units {
    /// The widest level at which they are whole units.
    pub level: Level,
    /// Names of the units, in the order of the devices.
    pub names: Vec<String>,
    /// How many devices they are.
    pub devices: usize,
    /// At the level of hosts: only one device of each host ran or was captured, so that host and device cannot be told apart.
    pub is_one_a_host: bool,
}

impl Units {
    /// These devices among all that ran.
    #[must_use]
    pub fn of(profile: &Profile, some: &[&Device], all: &[&Device]) -> Self {
        let chosen: BTreeSet<u32> = some.iter().map(|d| d.id.0).collect();
        let mut hosts: BTreeMap<HostId, Vec<&Device>> = BTreeMap::new();
        let mut chips: BTreeMap<(HostId, i64), Vec<&Device>> = BTreeMap::new();
        for device in all {
            hosts.entry(device.host).or_default().push(device);
            if let Some(chip) = chip(profile, device) {
                chips.entry((device.host, chip)).or_default().push(device);
            }
        }
        let is_whole = |own: &[&Device]| own.iter().all(|d| chosen.contains(&d.id.0));
        let devices = some.len();
        let of_host = |device: &Device| hosts.get(&device.host).map_or(&[][..], Vec::as_slice);
        if let Some(names) = whole_slices(profile, some, all) {
            return Self { level: Level::Slice, names, devices, is_one_a_host: false };
        }
        if hosts.len() > 1 && some.iter().all(|d| is_whole(of_host(d))) {
            let own: BTreeSet<HostId> = some.iter().map(|d| d.host).collect();
            let names = own.iter().map(|host| profile.host(*host).name.clone()).collect();
            return Self { level: Level::Host, names, devices, is_one_a_host: own.len() == devices };
        }
        let of_chip = |device: &Device| {
            let own = chips.get(&(device.host, chip(profile, device)?))?;
            (own.len() > 1).then_some(own)
        };
        if !some.is_empty() && some.iter().all(|d| of_chip(d).is_some_and(|own| is_whole(own))) {
            let own: BTreeSet<(HostId, i64)> =
                some.iter().filter_map(|d| Some((d.host, chip(profile, d)?))).collect();
            let name = |(host, chip): &(HostId, i64)| format!("chip {chip} of {}", profile.host(*host).name);
            return Self {
                level: Level::Chip,
                names: own.iter().map(name).collect(),
                devices,
                is_one_a_host: false,
            };
        }
        let names = some.iter().map(|d| d.name.clone()).collect();
        Self { level: Level::Device, names, devices, is_one_a_host: false }
    }

    /// The units in words, the first few by name.
    #[must_use]
    pub fn words(&self) -> String {
        const NAMED: usize = 4;
        let named: Vec<&str> = self.names.iter().take(NAMED).map(String::as_str).collect();
        let more = self.names.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{rest}", named.join(", "))
    }
}

/// The names of the slices that these devices are as a whole; `None` where they are not, or the run is on one.
fn whole_slices(profile: &Profile, some: &[&Device], all: &[&Device]) -> Option<Vec<String>> {
    let slices = Slices::of(profile, all).filter(|_| !some.is_empty())?;
    let own: BTreeSet<usize> = some.iter().filter_map(|d| slices.place_of(d)).collect();
    let of_those = all.iter().filter(|d| slices.place_of(d).is_some_and(|at| own.contains(&at)));
    let mut names: Vec<String> = some.iter().map(|d| slices.name_of(d).to_owned()).collect();
    names.sort();
    names.dedup();
    (of_those.count() == some.len()).then_some(names)
}

/// The number of a device's chip on its host, of a TPU that states it in `core_details`.
fn chip(profile: &Profile, device: &Device) -> Option<i64> {
    const CHIP: u32 = 4;
    number_of(profile, device, CHIP)
}
