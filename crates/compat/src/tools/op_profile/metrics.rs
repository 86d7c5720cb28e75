//! What a node of the tree adds up to, and its share of what the device could have done.

use haloscope_time::op_meta::Access;
use serde::Serialize;

use crate::db::{PerfEnv, Row, bandwidth, gibi, over};
use crate::proto_json::Double;

/// Sums over the ops of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    /// Picoseconds.
    pub(super) time_ps: u64,
    /// Picoseconds at the devices' default clock; 0 where nobody measured it.
    pub(super) normalized_ps: u64,
    /// Executions; 0 for programs and scopes.
    pub(super) occurrences: u64,
    /// As counted for the device.
    pub(super) flops: f64,
    /// As written in the model.
    pub(super) model_flops: f64,
    /// Bytes: HBM both ways, other memories read, other memories written.
    pub(super) bytes: [u64; 3],
}

impl Sums {
    /// An op with all that runs inside it.
    pub(super) fn new(row: &Row<'_>) -> Self {
        let mut bytes = [0_u64; 3];
        for access in &row.accesses {
            let slot = match (access.space, access.operation) {
                (Access::HBM, Access::READ | Access::WRITE) => 0,
                (Access::HBM, _) => continue,
                (_, Access::READ) => 1,
                (_, Access::WRITE) => 2,
                _ => continue,
            };
            bytes[slot] = bytes[slot].saturating_add(access.bytes);
        }
        Self {
            time_ps: row.time_ps,
            normalized_ps: row.normalized_ps,
            occurrences: row.occurrences,
            flops: row.flops,
            model_flops: row.model_flops,
            bytes,
        }
    }

    /// What an op adds to a program or scope around it: its own time, and its work unless other ops inside do it.
    pub(super) fn within(row: &Row<'_>) -> Self {
        let own = Self { time_ps: row.self_ps, normalized_ps: row.normalized_ps, ..Self::default() };
        if row.time_ps == row.self_ps { Self { occurrences: 0, ..Self::new(row) } } else { own }
    }

    /// Adds another sum.
    pub(super) fn add(&mut self, other: &Self) {
        self.time_ps = self.time_ps.saturating_add(other.time_ps);
        self.normalized_ps = self.normalized_ps.saturating_add(other.normalized_ps);
        self.occurrences = self.occurrences.saturating_add(other.occurrences);
        self.flops += other.flops;
        self.model_flops += other.model_flops;
        for (sum, bytes) in self.bytes.iter_mut().zip(other.bytes) {
            *sum = sum.saturating_add(bytes);
        }
    }
}

/// The message of this name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metrics {
    flops: Double,
    bandwidth_utils: [Double; 3],
    raw_time: Double,
    raw_flops: Double,
    raw_bytes_accessed_array: [Double; 3],
    occurrences: u32,
    avg_time_ps: Double,
    bf16_flops: Double,
    uncapped_flops: Double,
    normalized_time_ps: Double,
}

impl Metrics {
    /// Of a node, in a tree whose root takes `total_ps`. FLOPs are those that a device at its peak does in the root's
    /// time, as a share, so that shares of children add up.
    pub(super) fn new(sums: &Sums, perf: &PerfEnv, total_ps: u64) -> Self {
        let nanos = sums.time_ps as f64 / 1e3;
        let slower =
            if sums.normalized_ps == 0 { 1.0 } else { over(sums.time_ps as f64, sums.normalized_ps as f64) };
        let utilization = over(over(sums.flops, nanos) * slower, perf.tera_flops * 1e3);
        let share = over(sums.time_ps as f64, total_ps as f64);
        let memory = |index: usize| {
            let rate = gibi(over(sums.bytes[index] as f64, nanos));
            let peak = [bandwidth::HBM, bandwidth::SRAM_READ, bandwidth::SRAM_WRITE][index];
            over(rate, gibi(perf.giga_bytes(peak))).min(1.0)
        };
        // Without time there is no rate, and from none come no bytes.
        let bytes = |index: usize| if sums.time_ps == 0 { 0.0 } else { sums.bytes[index] as f64 };
        Self {
            flops: Double(utilization.min(1.0) * share),
            bandwidth_utils: [0, 1, 2].map(|i| Double(memory(i))),
            raw_time: Double(sums.time_ps as f64),
            raw_flops: Double(sums.model_flops),
            raw_bytes_accessed_array: [0, 1, 2].map(|i| Double(bytes(i))),
            occurrences: u32::try_from(sums.occurrences).unwrap_or(u32::MAX),
            avg_time_ps: Double(over(sums.time_ps as f64, sums.occurrences as f64)),
            bf16_flops: Double(sums.flops),
            uncapped_flops: Double(utilization * share),
            normalized_time_ps: Double(sums.normalized_ps as f64),
        }
    }
}
