//! Devices of the framework that one plane stands for: on a CPU, `--xla_force_host_platform_device_count=8` makes eight of one machine.

use std::collections::BTreeSet;

use haloscope_profile::{Device, DeviceKind, LineKind, Mark, Profile};

/// So many ops of a thread are looked at: each device has worked on threads of the pool long before.
const LOOKED_AT: usize = 1 << 12;

/// How many devices of the framework a device stands for, by the stat `device_ordinal` of its ops: 1 but on CPUs.
#[must_use]
pub fn of(profile: &Profile, device: &Device) -> usize {
    let plane = profile.plane(device.plane);
    let Some(ordinal) = plane.stat_id("device_ordinal").filter(|_| device.kind == DeviceKind::Cpu) else {
        return 1;
    };
    let source = profile.source_of(plane);
    let mut seen = BTreeSet::new();
    for line in profile.lines_of(device.plane).filter(|line| line.kind == LineKind::Thread) {
        let events = profile.events(line);
        for event in events.iter().filter(|event| events.has(event.index, Mark::HloOp)).take(LOOKED_AT) {
            let stat = events.stats(source, event.index).find(|stat| stat.metadata_id == ordinal);
            seen.extend(stat.and_then(|stat| stat.value?.as_u64_bits()));
        }
    }
    seen.len().max(1)
}
