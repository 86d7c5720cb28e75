//! The messages of XLA's wire format that this crate reads.
//!
//! They restate, field by field and only as far as needed, `xla/service/hlo.proto` and `xla/xla_data.proto`. Fields that
//! are not listed here are skipped by the decoder, so a newer XLA costs nothing but what it added. Some messages are
//! kept as raw bytes (literal, sharding): they share the wire type of `bytes`, and nobody pays for decoding them.
//!
//! Nothing here leaves the crate; [`crate::Module`] is what callers see.

use std::collections::BTreeMap;

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Hlo {
    #[prost(message, optional, tag = "1")]
    pub(crate) hlo_module: Option<HloModule>,
    #[prost(message, optional, tag = "3")]
    pub(crate) buffer_assignment: Option<BufferAssignment>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HloModule {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) entry_computation_name: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) computations: Vec<HloComputation>,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
    #[prost(int64, tag = "6")]
    pub(crate) entry_computation_id: i64,
    #[prost(message, optional, tag = "7")]
    pub(crate) schedule: Option<HloSchedule>,
    #[prost(message, optional, tag = "8")]
    pub(crate) input_output_alias: Option<InputOutputAlias>,
    #[prost(message, repeated, tag = "13")]
    pub(crate) profile_info: Vec<ProfileInfo>,
    #[prost(message, optional, tag = "17")]
    pub(crate) stack_frame_index: Option<StackFrameIndex>,
    #[prost(message, optional, tag = "18")]
    pub(crate) buffer_donor: Option<BufferDonors>,
    #[prost(message, optional, tag = "19")]
    pub(crate) frontend_attributes: Option<FrontendAttributes>,
    #[prost(string, tag = "21")]
    pub(crate) device_type: String,
    #[prost(bytes = "vec", repeated, tag = "22")]
    pub(crate) payloads: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProfileInfo {
    #[prost(string, tag = "5")]
    pub(crate) fingerprint: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HloComputation {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) instructions: Vec<HloInstruction>,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
    #[prost(int64, tag = "6")]
    pub(crate) root_id: i64,
    #[prost(bool, tag = "7")]
    pub(crate) is_fusion_computation: bool,
    #[prost(string, tag = "8")]
    pub(crate) execution_thread: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HloInstruction {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) opcode: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) shape: Option<Shape>,
    #[prost(message, optional, tag = "7")]
    pub(crate) metadata: Option<OpMetadata>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub(crate) literal: Option<Vec<u8>>,
    #[prost(int64, tag = "9")]
    pub(crate) parameter_number: i64,
    #[prost(string, tag = "11")]
    pub(crate) fusion_kind: String,
    #[prost(int64, tag = "13")]
    pub(crate) tuple_index: i64,
    #[prost(int64, repeated, tag = "14")]
    pub(crate) dimensions: Vec<i64>,
    #[prost(message, optional, tag = "15")]
    pub(crate) window: Option<Window>,
    #[prost(message, optional, tag = "16")]
    pub(crate) convolution_dimension_numbers: Option<ConvolutionDimensionNumbers>,
    #[prost(message, repeated, tag = "17")]
    pub(crate) slice_dimensions: Vec<SliceDimensions>,
    #[prost(int32, tag = "18")]
    pub(crate) exponent_bits: i32,
    #[prost(int32, tag = "19")]
    pub(crate) mantissa_bits: i32,
    #[prost(int64, repeated, tag = "20")]
    pub(crate) dynamic_slice_sizes: Vec<i64>,
    #[prost(message, optional, tag = "21")]
    pub(crate) padding_config: Option<PaddingConfig>,
    #[prost(int64, tag = "26")]
    pub(crate) channel_id: i64,
    #[prost(string, tag = "28")]
    pub(crate) custom_call_target: String,
    #[prost(message, optional, tag = "30")]
    pub(crate) dot_dimension_numbers: Option<DotDimensionNumbers>,
    #[prost(int64, repeated, tag = "32")]
    pub(crate) fft_length: Vec<i64>,
    #[prost(message, optional, tag = "33")]
    pub(crate) gather_dimension_numbers: Option<GatherDimensionNumbers>,
    #[prost(int64, repeated, tag = "34")]
    pub(crate) gather_slice_sizes: Vec<i64>,
    #[prost(int64, tag = "35")]
    pub(crate) id: i64,
    #[prost(int64, repeated, tag = "36")]
    pub(crate) operand_ids: Vec<i64>,
    #[prost(int64, repeated, tag = "37")]
    pub(crate) control_predecessor_ids: Vec<i64>,
    #[prost(int64, repeated, tag = "38")]
    pub(crate) called_computation_ids: Vec<i64>,
    #[prost(bytes = "vec", optional, tag = "40")]
    pub(crate) sharding: Option<Vec<u8>>,
    #[prost(bytes = "vec", tag = "43")]
    pub(crate) backend_config: Vec<u8>,
    #[prost(bool, tag = "47")]
    pub(crate) is_host_transfer: bool,
    #[prost(message, optional, tag = "48")]
    pub(crate) scatter_dimension_numbers: Option<ScatterDimensionNumbers>,
    #[prost(message, repeated, tag = "49")]
    pub(crate) replica_groups: Vec<ReplicaGroup>,
    #[prost(int64, tag = "50")]
    pub(crate) feature_group_count: i64,
    #[prost(message, optional, tag = "51")]
    pub(crate) precision_config: Option<PrecisionConfig>,
    #[prost(message, repeated, tag = "52")]
    pub(crate) source_target_pairs: Vec<SourceTarget>,
    #[prost(int64, tag = "58")]
    pub(crate) batch_group_count: i64,
    #[prost(string, tag = "63")]
    pub(crate) comparison_direction: String,
    #[prost(message, optional, tag = "68")]
    pub(crate) frontend_attributes: Option<FrontendAttributes>,
    #[prost(bool, tag = "71")]
    pub(crate) use_global_device_ids: bool,
    #[prost(message, repeated, tag = "74")]
    pub(crate) output_operand_aliasing: Vec<OutputOperandAliasing>,
    #[prost(string, tag = "79")]
    pub(crate) async_execution_thread: String,
    #[prost(int32, optional, tag = "80")]
    pub(crate) cross_program_prefetch_index: Option<i32>,
    #[prost(message, optional, tag = "82")]
    pub(crate) statistics_viz: Option<StatisticsViz>,
    #[prost(message, optional, tag = "87")]
    pub(crate) collective_device_list: Option<CollectiveDeviceList>,
    #[prost(message, optional, tag = "90")]
    pub(crate) ragged_dot_dimension_numbers: Option<RaggedDotDimensionNumbers>,
    #[prost(message, optional, tag = "92")]
    pub(crate) iota_collective_device_list: Option<IotaReplicaGroupList>,
    #[prost(message, optional, tag = "93")]
    pub(crate) mesh_axes_replica_group_list: Option<MeshAxesReplicaGroupList>,
    #[prost(message, optional, tag = "99")]
    pub(crate) backend_config_payload: Option<Payload>,
}

/// `value` and `id` form a `oneof` in the original: `id` points into `HloModule::payloads`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Payload {
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(crate) value: Option<Vec<u8>>,
    #[prost(int64, optional, tag = "2")]
    pub(crate) id: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Shape {
    #[prost(int32, tag = "2")]
    pub(crate) element_type: i32,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) dimensions: Vec<i64>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) tuple_shapes: Vec<Shape>,
    #[prost(message, optional, tag = "5")]
    pub(crate) layout: Option<Layout>,
    #[prost(bool, repeated, tag = "6")]
    pub(crate) is_dynamic_dimension: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Layout {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) minor_to_major: Vec<i64>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) tiles: Vec<Tile>,
    #[prost(int64, tag = "7")]
    pub(crate) element_size_in_bits: i64,
    #[prost(int64, tag = "8")]
    pub(crate) memory_space: i64,
    #[prost(int64, tag = "15")]
    pub(crate) dynamic_shape_metadata_prefix_bytes: i64,
    #[prost(int64, tag = "16")]
    pub(crate) tail_padding_alignment_in_elements: i64,
    #[prost(message, repeated, tag = "17")]
    pub(crate) split_configs: Vec<SplitConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Tile {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) dimensions: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SplitConfig {
    #[prost(int64, tag = "1")]
    pub(crate) dimension: i64,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) split_indices: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OpMetadata {
    #[prost(string, tag = "1")]
    pub(crate) op_type: String,
    #[prost(string, tag = "2")]
    pub(crate) op_name: String,
    #[prost(string, tag = "3")]
    pub(crate) source_file: String,
    #[prost(int32, tag = "4")]
    pub(crate) source_line: i32,
    #[prost(string, tag = "12")]
    pub(crate) deduplicated_name: String,
    #[prost(int32, tag = "15")]
    pub(crate) stack_frame_id: i32,
    #[prost(int32, tag = "17")]
    pub(crate) source_end_line: i32,
    #[prost(int32, tag = "18")]
    pub(crate) source_column: i32,
    #[prost(int32, tag = "19")]
    pub(crate) source_end_column: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Window {
    #[prost(message, repeated, tag = "1")]
    pub(crate) dimensions: Vec<WindowDimension>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WindowDimension {
    #[prost(int64, tag = "1")]
    pub(crate) size: i64,
    #[prost(int64, tag = "2")]
    pub(crate) stride: i64,
    #[prost(int64, tag = "3")]
    pub(crate) padding_low: i64,
    #[prost(int64, tag = "4")]
    pub(crate) padding_high: i64,
    #[prost(int64, tag = "5")]
    pub(crate) window_dilation: i64,
    #[prost(int64, tag = "6")]
    pub(crate) base_dilation: i64,
    #[prost(bool, tag = "7")]
    pub(crate) window_reversal: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ConvolutionDimensionNumbers {
    #[prost(int64, tag = "3")]
    pub(crate) kernel_input_feature_dimension: i64,
    #[prost(int64, tag = "4")]
    pub(crate) kernel_output_feature_dimension: i64,
    #[prost(int64, repeated, tag = "6")]
    pub(crate) kernel_spatial_dimensions: Vec<i64>,
    #[prost(int64, tag = "7")]
    pub(crate) input_batch_dimension: i64,
    #[prost(int64, tag = "8")]
    pub(crate) input_feature_dimension: i64,
    #[prost(int64, tag = "9")]
    pub(crate) output_batch_dimension: i64,
    #[prost(int64, tag = "10")]
    pub(crate) output_feature_dimension: i64,
    #[prost(int64, repeated, tag = "11")]
    pub(crate) input_spatial_dimensions: Vec<i64>,
    #[prost(int64, repeated, tag = "12")]
    pub(crate) output_spatial_dimensions: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SliceDimensions {
    #[prost(int64, tag = "1")]
    pub(crate) start: i64,
    #[prost(int64, tag = "2")]
    pub(crate) limit: i64,
    #[prost(int64, tag = "3")]
    pub(crate) stride: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PaddingConfig {
    #[prost(message, repeated, tag = "1")]
    pub(crate) dimensions: Vec<PaddingDimension>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PaddingDimension {
    #[prost(int64, tag = "1")]
    pub(crate) edge_padding_low: i64,
    #[prost(int64, tag = "2")]
    pub(crate) edge_padding_high: i64,
    #[prost(int64, tag = "3")]
    pub(crate) interior_padding: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DotDimensionNumbers {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) lhs_contracting_dimensions: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) rhs_contracting_dimensions: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) lhs_batch_dimensions: Vec<i64>,
    #[prost(int64, repeated, tag = "4")]
    pub(crate) rhs_batch_dimensions: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RaggedDotDimensionNumbers {
    #[prost(message, optional, tag = "1")]
    pub(crate) dot_dimension_numbers: Option<DotDimensionNumbers>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) lhs_ragged_dimensions: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) rhs_group_dimensions: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct GatherDimensionNumbers {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) offset_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) collapsed_slice_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) start_index_map: Vec<i64>,
    #[prost(int64, tag = "4")]
    pub(crate) index_vector_dim: i64,
    #[prost(int64, repeated, tag = "5")]
    pub(crate) operand_batching_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "6")]
    pub(crate) start_indices_batching_dims: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ScatterDimensionNumbers {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) update_window_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) inserted_window_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) scatter_dims_to_operand_dims: Vec<i64>,
    #[prost(int64, tag = "4")]
    pub(crate) index_vector_dim: i64,
    #[prost(int64, repeated, tag = "5")]
    pub(crate) input_batching_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "6")]
    pub(crate) scatter_indices_batching_dims: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PrecisionConfig {
    #[prost(int32, repeated, tag = "1")]
    pub(crate) operand_precision: Vec<i32>,
    #[prost(int32, tag = "2")]
    pub(crate) algorithm: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SourceTarget {
    #[prost(int64, tag = "1")]
    pub(crate) source: i64,
    #[prost(int64, tag = "2")]
    pub(crate) target: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct FrontendAttributes {
    #[prost(btree_map = "string, string", tag = "1")]
    pub(crate) map: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OutputOperandAliasing {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) output_shape_index: Vec<i64>,
    #[prost(int64, tag = "2")]
    pub(crate) operand_index: i64,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) operand_shape_index: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StatisticsViz {
    #[prost(int64, tag = "1")]
    pub(crate) stat_index_to_visualize: i64,
    #[prost(message, repeated, tag = "2")]
    pub(crate) statistics: Vec<Statistic>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Statistic {
    #[prost(string, tag = "1")]
    pub(crate) stat_name: String,
    #[prost(double, tag = "2")]
    pub(crate) stat_val: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReplicaGroup {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) replica_ids: Vec<i64>,
}

/// Builds from 2024 and 2025 nested the iota list as field 2; later ones moved it to `HloInstruction` field 92.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CollectiveDeviceList {
    #[prost(message, repeated, tag = "1")]
    pub(crate) replica_groups: Vec<ReplicaGroup>,
    #[prost(message, optional, tag = "2")]
    pub(crate) iota_replica_group_list: Option<IotaReplicaGroupList>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct IotaReplicaGroupList {
    #[prost(int64, tag = "1")]
    pub(crate) num_replica_groups: i64,
    #[prost(int64, tag = "2")]
    pub(crate) num_devices_per_group: i64,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) iota_reshape_dims: Vec<i64>,
    #[prost(int32, repeated, tag = "4")]
    pub(crate) iota_transpose_perm: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MeshAxesReplicaGroupList {
    #[prost(message, optional, tag = "1")]
    pub(crate) mesh: Option<Mesh>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) axes: Vec<AxisRef>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Mesh {
    #[prost(message, repeated, tag = "1")]
    pub(crate) axes: Vec<MeshAxis>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) device_ids: Vec<i64>,
    #[prost(message, optional, tag = "3")]
    pub(crate) iota_transform: Option<IotaTransform>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MeshAxis {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(int64, tag = "2")]
    pub(crate) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct IotaTransform {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) reshape_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) transpose_perm: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AxisRef {
    #[prost(int64, tag = "1")]
    pub(crate) mesh_axis_index: i64,
    #[prost(message, optional, tag = "2")]
    pub(crate) sub_axis_info: Option<SubAxis>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SubAxis {
    #[prost(int64, tag = "1")]
    pub(crate) pre_size: i64,
    #[prost(int64, tag = "2")]
    pub(crate) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HloSchedule {
    #[prost(btree_map = "int64, message", tag = "1")]
    pub(crate) sequences: BTreeMap<i64, InstructionSequence>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InstructionSequence {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) instruction_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InputOutputAlias {
    #[prost(message, repeated, tag = "1")]
    pub(crate) entries: Vec<AliasEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AliasEntry {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) output_shape_index: Vec<i64>,
    #[prost(int64, tag = "2")]
    pub(crate) parameter_number: i64,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) parameter_shape_index: Vec<i64>,
    #[prost(int32, tag = "4")]
    pub(crate) kind: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferDonors {
    #[prost(message, repeated, tag = "1")]
    pub(crate) entries: Vec<BufferDonorEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferDonorEntry {
    #[prost(int64, tag = "1")]
    pub(crate) parameter_number: i64,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) parameter_shape_index: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StackFrameIndex {
    #[prost(string, repeated, tag = "1")]
    pub(crate) file_names: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) function_names: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) file_locations: Vec<FileLocation>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) stack_frames: Vec<StackFrame>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct FileLocation {
    #[prost(int32, tag = "1")]
    pub(crate) file_name_id: i32,
    #[prost(int32, tag = "2")]
    pub(crate) function_name_id: i32,
    #[prost(int32, tag = "3")]
    pub(crate) line: i32,
    #[prost(int32, tag = "4")]
    pub(crate) column: i32,
    #[prost(int32, tag = "5")]
    pub(crate) end_line: i32,
    #[prost(int32, tag = "6")]
    pub(crate) end_column: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StackFrame {
    #[prost(int32, tag = "1")]
    pub(crate) file_location_id: i32,
    #[prost(int32, tag = "2")]
    pub(crate) parent_frame_id: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferAssignment {
    #[prost(message, repeated, tag = "1")]
    pub(crate) logical_buffers: Vec<LogicalBuffer>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) buffer_allocations: Vec<BufferAllocation>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) heap_simulator_traces: Vec<HeapSimulatorTrace>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LogicalBuffer {
    #[prost(int64, tag = "1")]
    pub(crate) id: i64,
    #[prost(int64, tag = "2")]
    pub(crate) size: i64,
    #[prost(message, optional, tag = "3")]
    pub(crate) defined_at: Option<Location>,
    #[prost(int64, tag = "4")]
    pub(crate) color: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Location {
    #[prost(string, tag = "2")]
    pub(crate) instruction_name: String,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) shape_index: Vec<i64>,
    #[prost(int64, tag = "4")]
    pub(crate) instruction_id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferAllocation {
    #[prost(int64, tag = "1")]
    pub(crate) index: i64,
    #[prost(int64, tag = "2")]
    pub(crate) size: i64,
    #[prost(bool, tag = "3")]
    pub(crate) is_thread_local: bool,
    #[prost(bool, tag = "5")]
    pub(crate) is_entry_computation_parameter: bool,
    #[prost(int64, tag = "6")]
    pub(crate) parameter_number: i64,
    #[prost(bool, tag = "7")]
    pub(crate) maybe_live_out: bool,
    #[prost(int64, tag = "8")]
    pub(crate) color: i64,
    #[prost(message, repeated, tag = "9")]
    pub(crate) assigned: Vec<Assigned>,
    #[prost(int64, repeated, tag = "10")]
    pub(crate) parameter_shape_index: Vec<i64>,
    #[prost(bool, tag = "11")]
    pub(crate) is_tuple: bool,
    #[prost(bool, tag = "12")]
    pub(crate) is_constant: bool,
    #[prost(bool, tag = "13")]
    pub(crate) is_parameter_aliased_with_output: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Assigned {
    #[prost(int64, tag = "1")]
    pub(crate) logical_buffer_id: i64,
    #[prost(int64, tag = "2")]
    pub(crate) offset: i64,
    #[prost(int64, tag = "3")]
    pub(crate) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HeapSimulatorTrace {
    #[prost(message, repeated, tag = "1")]
    pub(crate) events: Vec<HeapEvent>,
    #[prost(bool, tag = "2")]
    pub(crate) whole_module_simulation: bool,
    #[prost(int64, tag = "3")]
    pub(crate) buffer_allocation_index: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HeapEvent {
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(int64, tag = "2")]
    pub(crate) buffer_id: i64,
    #[prost(string, tag = "3")]
    pub(crate) computation_name: String,
    #[prost(string, tag = "4")]
    pub(crate) instruction_name: String,
    #[prost(int64, tag = "5")]
    pub(crate) share_with_canonical_id: i64,
}
