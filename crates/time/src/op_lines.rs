//! The lines on which ops stand.

use haloscope_profile::{DeviceKind, LineKind};

/// No op: the event is not one.
pub(crate) const NONE: u32 = u32::MAX;

/// True for the lines on which a device's ops stand. On a host's threads other events stand beside them.
#[must_use]
pub fn holds_ops(device: DeviceKind, line: LineKind) -> bool {
    match device {
        DeviceKind::Tpu => line == LineKind::XlaOps,
        DeviceKind::Gpu => line == LineKind::Stream,
        DeviceKind::Cpu => line == LineKind::Thread,
    }
}
