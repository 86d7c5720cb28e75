//! How much memory devices have.

use super::allocator::{AllocatorEvent, allocators};
use haloscope_profile::{Device, DeviceKind, HostId, Profile, Stat, chips};
use haloscope_report::scope::Scope;

/// How much main memory (HBM of a TPU, global memory of a GPU) a device has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes.
    pub bytes: i64,
    /// Who says so.
    pub source: Source,
}

/// Where the size of a memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// An allocator of the device accounts for as much: reserved, allocated and available together.
    Allocator,
    /// The profile states it.
    Trace,
    /// The table of chips, see [`chips`].
    Table,
}

impl Source {
    /// The word used in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Allocator => "allocator",
            Self::Trace => "trace",
            Self::Table => "table",
        }
    }
}

/// Whether an allocator hands out memory of a device: names of those of the host say `host` or `cpu`.
#[must_use]
pub fn is_on_device(allocator: &str) -> bool {
    let name = allocator.to_ascii_lowercase();
    !name.contains("host") && !name.contains("cpu")
}

/// The main memory of the smallest device of a host, of those in the scope: as its allocators account for it, else as the
/// profile states it, else as the table of chips has it. `None` for processors, and for chips that nobody knows.
#[must_use]
pub fn of_host(profile: &Profile, scope: &Scope, host: HostId) -> Option<Capacity> {
    let is_meant = |name: &str| scope.devices.is_empty() || scope.devices.iter().any(|wanted| wanted == name);
    let devices = profile.devices.iter().filter(|d| d.host == host && is_meant(&d.name));
    let stated = devices.filter_map(|device| stated(profile, device)).min_by_key(|capacity| capacity.bytes);
    let account =
        |event: &AllocatorEvent<'_>| Some(event.in_use_bytes().saturating_add(event.available_bytes?));
    let all = allocators(profile, host);
    let of_devices = all.iter().filter(|allocator| is_on_device(&allocator.name));
    let accounted = of_devices.filter_map(|a| a.events.iter().filter_map(account).max()).min();
    // What an allocator has is what a program can get: less than the chip's memory where the runtime keeps some.
    let most = stated.map_or(i64::MAX, |stated| stated.bytes);
    let accounted = accounted.filter(|bytes| (1..=most).contains(bytes));
    accounted.map(|bytes| Capacity { bytes, source: Source::Allocator }).or(stated)
}

fn stated(profile: &Profile, device: &Device) -> Option<Capacity> {
    let stat = |name| profile.plane(device.plane).stat(name).and_then(Stat::as_f64).filter(|v| *v > 0.0);
    match device.kind {
        DeviceKind::Tpu => {
            let bytes = chips::tpu(&device.type_name)?.hbm_bytes as i64;
            Some(Capacity { bytes, source: Source::Table })
        }
        DeviceKind::Gpu => Some(Capacity { bytes: stat("memory_size")? as i64, source: Source::Trace }),
        DeviceKind::Cpu => None,
    }
}
