//! The answer's shape: XProf's `PreprocessResult` in protobuf's JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::proto_json::{Int64, is_default};

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Result {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) heap_sizes: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unpadded_heap_sizes: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) max_heap: Vec<HeapObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) max_heap_by_size: Vec<HeapObject>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) logical_buffer_spans: BTreeMap<i32, Span>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) max_heap_to_by_size: Vec<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) by_size_to_max_heap: Vec<usize>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) module_name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) entry_computation_name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) peak_heap_mib: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) peak_unpadded_heap_mib: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) peak_heap_size_position: usize,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) entry_computation_parameters_mib: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) non_reusable_mib: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) maybe_live_out_mib: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) indefinite_lifetimes: Vec<Allocation>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) total_buffer_allocation_mib: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) indefinite_buffer_allocation_mib: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) hlo_instruction_names: Vec<String>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) max_scoped_vmem_allocation_mib: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) max_scoped_vmem_instruction_name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) buffer_blocks: Vec<Block>,
}

#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeapObject {
    /// The number of its colour. Part of a `oneof`, and so there even where it is 0.
    pub(super) numbered: usize,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) label: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) logical_buffer_id: i32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) logical_buffer_size_mib: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) unpadded_shape_mib: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) instruction_name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) shape_string: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) tf_op_name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) group_name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) op_code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_info: Option<SourceInfo>,
}

#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceInfo {
    #[serde(skip_serializing_if = "is_default")]
    pub(super) file_name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) line_number: i32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) stack_frame: String,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Span {
    #[serde(skip_serializing_if = "is_default")]
    pub(super) start: usize,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) limit: usize,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Allocation {
    #[serde(skip_serializing_if = "is_default")]
    pub(super) id: Int64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) size_mib: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) attributes: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) logical_buffers: Vec<LogicalBuffer>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) common_shape: String,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogicalBuffer {
    #[serde(skip_serializing_if = "is_default")]
    pub(super) id: Int64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) shape: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) size_mib: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) hlo_name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) shape_index: Vec<Int64>,
}

#[derive(Debug, Default, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Block {
    #[serde(skip_serializing_if = "is_default")]
    pub(super) logical_buffer_id: i32,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) offset: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) size: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) start_step: usize,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) end_step: usize,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) tf_op_name: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) category: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_info: Option<SourceInfo>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) shape_string: String,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) unpadded_size: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) color: String,
}
