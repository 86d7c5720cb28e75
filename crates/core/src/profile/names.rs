//! Names of stats that analyses ask for. Spelled as the profiler writes them.

/// Where the device itself says an op started, in picoseconds.
pub(crate) const DEVICE_OFFSET_PS: &str = "device_offset_ps";
/// How long an op took by the device's own clock, in picoseconds.
pub(crate) const DEVICE_DURATION_PS: &str = "device_duration_ps";
