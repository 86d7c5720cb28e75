//! Which slice each device is in, of a run over several.
//!
//! A device's plane may state it (`slice_index`). Else the names of the hosts tell it where the run is known to span several
//! slices, because its hosts recorded messages between them or chips of two hosts have the same number: names of a slice's hosts are alike but for a
//! number behind (`pool-a-w-0`, `pool-a-w-1`; `job-0-0`, `job-0-1`), and every slice has hosts of the same numbers. Where they do not fit, no
//! slices are told.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_profile::{Device, DeviceId, HostId, Profile, Stat};

use haloscope_time::transfers;
use haloscope_xspace::wire::{Fields, Value};

/// The slices of a run over several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slices {
    of: BTreeMap<DeviceId, usize>,
    names: Vec<String>,
}

impl Slices {
    /// The slices of these devices; `None` of a run on one, or where nobody says.
    #[must_use]
    pub fn of(profile: &Profile, devices: &[&Device]) -> Option<Self> {
        Self::stated(profile, devices).or_else(|| Self::by_names(profile, devices))
    }

    /// The name of a device's slice; empty for one that is not among them.
    #[must_use]
    pub fn name_of(&self, device: &Device) -> &str {
        self.place_of(device).and_then(|at| self.names.get(at)).map_or("", String::as_str)
    }

    /// The place of a device's slice among the slices.
    #[must_use]
    pub fn place_of(&self, device: &Device) -> Option<usize> {
        self.of.get(&device.id).copied()
    }

    fn stated(profile: &Profile, devices: &[&Device]) -> Option<Self> {
        let number = |device: &&Device| {
            profile.plane(device.plane).stat("slice_index").and_then(Stat::as_i64).map(|n| (device.id, n))
        };
        let found: Vec<(DeviceId, i64)> = devices.iter().filter_map(number).collect();
        let numbers: BTreeSet<i64> = found.iter().map(|(_, number)| *number).collect();
        if found.len() < devices.len() || numbers.len() < 2 {
            return None;
        }
        let place = |number: i64| numbers.iter().position(|other| *other == number).unwrap_or(0);
        Some(Self {
            of: found.iter().map(|(id, number)| (*id, place(*number))).collect(),
            names: numbers.iter().map(|number| format!("slice {number}")).collect(),
        })
    }

    fn by_names(profile: &Profile, devices: &[&Device]) -> Option<Self> {
        let hosts: BTreeSet<HostId> = devices.iter().map(|d| d.host).collect();
        let names: Vec<(HostId, String)> =
            hosts.iter().map(|host| (*host, profile.host(*host).name.clone())).collect();
        let names: Vec<(HostId, &str)> = names.iter().map(|(host, name)| (*host, name.as_str())).collect();
        let slices = grid(&names)?;
        let is_several =
            hosts.iter().any(|host| transfers::recorded(profile, *host)) || repeats(profile, devices);
        if !is_several {
            return None;
        }
        let place = |host: HostId| slices.iter().position(|(_, own)| own.contains(&host)).unwrap_or(0);
        Some(Self {
            of: devices.iter().map(|d| (d.id, place(d.host))).collect(),
            names: slices.iter().map(|(stem, _)| format!("slice {stem}")).collect(),
        })
    }
}

/// Hosts whose names are alike but for a number behind, where each such set has the same numbers, two of them at least, and there
/// are several sets: what they have in common, and the hosts.
fn grid<'n>(names: &[(HostId, &'n str)]) -> Option<Vec<(&'n str, Vec<HostId>)>> {
    let mut slices: BTreeMap<&str, (BTreeSet<u32>, Vec<HostId>)> = BTreeMap::new();
    for (host, name) in names {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: u32 = name[stem.len()..].parse().ok()?;
        let own = slices.entry(stem).or_default();
        if !own.0.insert(number) {
            return None;
        }
        own.1.push(*host);
    }
    let first = slices.values().next()?.0.clone();
    let fits = slices.len() > 1 && first.len() > 1 && slices.values().all(|own| own.0 == first);
    let named = |stem: &'n str| stem.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    fits.then(|| slices.into_iter().map(|(stem, (_, hosts))| (named(stem), hosts)).collect())
}

/// Whether two cores have the same number: of one slice none have.
fn repeats(profile: &Profile, devices: &[&Device]) -> bool {
    /// The core's number in the slice.
    const CORE: u32 = 6;
    let mut seen = BTreeSet::new();
    let numbers = devices.iter().filter_map(|device| number_of(profile, device, CORE));
    numbers.filter(|number| !seen.insert(*number)).count() > 0
}

/// A number of a device's `core_details`, of a TPU that states them; what is not written is 0.
pub(super) fn number_of(profile: &Profile, device: &Device, field: u32) -> Option<i64> {
    let plane = profile.plane(device.plane);
    let Some(Stat::Bytes(span)) = plane.stat("core_details") else { return None };
    let fields = Fields::new(profile.source_of(plane).slice(*span), 0).filter(|f| f.number == field);
    let number =
        fields.filter_map(|f| if let Value::Varint(value) = f.value { Some(value) } else { None }).last();
    i64::try_from(number.unwrap_or(0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid_of<'n>(names: &[&'n str]) -> Option<Vec<(&'n str, usize)>> {
        let hosts: Vec<(HostId, &str)> = (0..).map(HostId).zip(names.iter().copied()).collect();
        grid(&hosts).map(|found| found.into_iter().map(|(stem, own)| (stem, own.len())).collect())
    }

    #[test]
    fn names_that_are_a_grid_are_slices() {
        let workers = ["a-w-0", "a-w-1", "b-w-0", "b-w-1"];
        assert_eq!(grid_of(&workers), Some(vec![("a-w", 2), ("b-w", 2)]));
        let pods = ["job-0-0", "job-0-1", "job-0-2", "job-1-0", "job-1-1", "job-1-2"];
        assert_eq!(grid_of(&pods), Some(vec![("job-0", 3), ("job-1", 3)]));
    }

    #[test]
    fn names_that_are_none_tell_nothing() {
        assert_eq!(grid_of(&["w-0", "w-1", "w-2", "w-3"]), None, "one slice");
        assert_eq!(grid_of(&["a-w-0", "a-w-1", "b-w-0"]), None, "a host of one was not captured");
        assert_eq!(grid_of(&["a-0", "b-0"]), None, "a host each: then hosts say as much");
        assert_eq!(grid_of(&["tpu-a", "tpu-b"]), None);
        assert_eq!(grid_of(&[]), None);
    }
}
