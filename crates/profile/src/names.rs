//! Names of stats that analyses ask for. Spelled as the profiler writes them.

/// Where the device itself says an op started, in picoseconds.
pub(crate) const DEVICE_OFFSET_PS: &str = "device_offset_ps";
/// How long an op took by the device's own clock, in picoseconds.
pub(crate) const DEVICE_DURATION_PS: &str = "device_duration_ps";

/// Names the HLO op that an event executes (GPU kernels, CPU ops).
pub(crate) const HLO_OP: &str = "hlo_op";
/// The number of the step that an event marks.
pub(crate) const STEP_NUM: &str = "step_num";
/// The stage of an input pipeline that an event belongs to.
pub(crate) const INPUT_STAGE: &str = "_ipl_stage_id";
