//! The numbers that rules compare with, and where each comes from. `Practice` is what people who tune such programs for a
//! living use in their own scripts; `ours` is a choice of this project, made so that small effects stay quiet.

const MIB: i64 = 1 << 20;

/// Logits: share of the peak (ours).
pub(super) const LOGITS_SHARE: f64 = 0.05;
/// Chunks that the saving of a chunked loss is computed with (practice: 4 to 16).
pub(super) const LOSS_CHUNKS: i64 = 8;

/// Donation: share of the peak (ours).
pub(super) const DONATION_SHARE: f64 = 0.01;

/// Optimiser state in f32: share of the peak (ours).
pub(super) const OPTIMISER_SHARE: f64 = 0.05;

/// Share of the schedule from which a temporary is long-lived (practice).
pub(super) const LONG_SHARE: f64 = 0.5;
/// Share of the schedule from which it is nearly as old as the program (practice).
pub(super) const VERY_LONG_SHARE: f64 = 0.8;
/// Bytes from which such a buffer is critical (practice).
pub(super) const CRITICAL_BYTES: i64 = 100 * MIB;
/// Long-lived temporaries together: share of the peak (ours).
pub(super) const LONG_LIVED_PEAK_SHARE: f64 = 0.05;

/// Values cheap to compute again: share of the peak (ours).
pub(super) const REMAT_SHARE: f64 = 0.02;

/// Buffers of one shape: how many (ours).
pub(super) const SAME_SHAPE_COUNT: usize = 4;
/// And their share of the peak (ours).
pub(super) const SAME_SHAPE_SHARE: f64 = 0.1;

/// Padding in bytes (practice).
pub(super) const PADDING_BYTES: i64 = 500 * MIB;
/// Or as a share of the peak (ours).
pub(super) const PADDING_SHARE: f64 = 0.1;

/// Unused share of the temporary allocation (ours).
pub(super) const FRAGMENTATION_SHARE: f64 = 0.1;
/// And the unused bytes as a share of the peak (ours).
pub(super) const FRAGMENTATION_PEAK_SHARE: f64 = 0.02;

/// A peak before this share of the schedule is taken for the forward pass where names do not tell (practice).
pub(super) const FORWARD_BEFORE: f64 = 0.5;
/// A peak behind this share is taken for the backward pass (practice).
pub(super) const BACKWARD_AFTER: f64 = 0.7;

/// Use of the device's memory from which to make room (practice).
pub(super) const FULL_SHARE: f64 = 0.9;
/// Use below which there is room (practice).
pub(super) const ROOM_SHARE: f64 = 0.5;

/// A jump of the heap: share of the peak (ours).
pub(super) const SPIKE_SHARE: f64 = 0.1;
