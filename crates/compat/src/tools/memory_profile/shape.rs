//! The answer's shape: XProf's `MemoryProfile` in protobuf's JSON, with the fields that have their defaults.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::proto_json::{Int64, Uint64};

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MemoryProfile {
    pub(super) memory_profile_per_allocator: BTreeMap<String, PerAllocator>,
    pub(super) num_hosts: u32,
    pub(super) memory_ids: Vec<String>,
    pub(super) version: u32,
    pub(super) hlo_modules: Vec<HloModule>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PerAllocator {
    pub(super) memory_profile_snapshots: Vec<Snapshot>,
    pub(super) profile_summary: Summary,
    pub(super) active_allocations: Vec<Active>,
    pub(super) special_allocations: Vec<Activity>,
    pub(super) sampled_timeline_snapshots: Vec<Snapshot>,
}

#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Snapshot {
    pub(super) time_offset_ps: Int64,
    pub(super) aggregation_stats: Stats,
    pub(super) activity_metadata: Activity,
}

impl Snapshot {
    /// Heap and stack together.
    pub(super) fn in_use_bytes(&self) -> i64 {
        let stats = &self.aggregation_stats;
        stats.heap_allocated_bytes.0.saturating_add(stats.stack_reserved_bytes.0)
    }
}

#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stats {
    pub(super) stack_reserved_bytes: Int64,
    pub(super) heap_allocated_bytes: Int64,
    pub(super) free_memory_bytes: Int64,
    pub(super) fragmentation: f64,
    pub(super) peak_bytes_in_use: Int64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum Kind {
    #[default]
    #[serde(rename = "ALLOCATION")]
    Allocation,
    #[serde(rename = "DEALLOCATION")]
    Deallocation,
}

#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Activity {
    pub(super) memory_activity: Kind,
    pub(super) requested_bytes: Int64,
    pub(super) allocation_bytes: Int64,
    pub(super) address: Uint64,
    pub(super) tf_op_name: String,
    pub(super) step_id: Int64,
    pub(super) region_type: String,
    pub(super) data_type: String,
    pub(super) tensor_shape: String,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    pub(super) peak_bytes_usage_lifetime: Int64,
    pub(super) peak_stats: Stats,
    pub(super) peak_stats_time_ps: Int64,
    pub(super) memory_capacity: Int64,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Active {
    pub(super) snapshot_index: Int64,
    pub(super) special_index: Int64,
    pub(super) num_occurrences: Int64,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HloModule {
    pub(super) name: String,
    pub(super) start_time_ps: Int64,
    pub(super) end_time_ps: Int64,
    pub(super) id: Int64,
    pub(super) plane_name: String,
}
