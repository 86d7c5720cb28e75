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
    /// Each as it stands in the message: they are decoded one after the other, for decoded they take several times as much.
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub(crate) computations: Vec<Vec<u8>>,
    #[prost(message, optional, tag = "4")]
    pub(crate) host_program_shape: Option<ProgramShape>,
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
    #[prost(message, optional, tag = "15")]
    pub(crate) device_assignment: Option<DeviceAssignment>,
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
pub(crate) struct ProgramShape {
    #[prost(message, repeated, tag = "1")]
    pub(crate) parameters: Vec<Shape>,
    #[prost(message, optional, tag = "2")]
    pub(crate) result: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeviceAssignment {
    #[prost(int32, tag = "2")]
    pub(crate) computation_count: i32,
    #[prost(message, repeated, tag = "3")]
    pub(crate) computation_devices: Vec<ComputationDevices>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ComputationDevices {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) replica_device_ids: Vec<i64>,
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

/// A computation whose instructions are not decoded.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PackedComputation {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(crate) instructions: Vec<Vec<u8>>,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
    #[prost(int64, tag = "6")]
    pub(crate) root_id: i64,
    #[prost(bool, tag = "7")]
    pub(crate) is_fusion_computation: bool,
    #[prost(string, tag = "8")]
    pub(crate) execution_thread: String,
}

/// What of a computation the others refer to.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ComputationHead {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
}

/// What of an instruction the others refer to.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct InstructionHead {
    #[prost(int64, tag = "35")]
    pub(crate) id: i64,
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
    #[prost(bytes = "vec", tag = "22")]
    pub(crate) outfeed_config: Vec<u8>,
    #[prost(int32, tag = "23")]
    pub(crate) distribution: i32,
    #[prost(float, tag = "24")]
    pub(crate) epsilon: f32,
    #[prost(int64, tag = "25")]
    pub(crate) feature_index: i64,
    #[prost(int64, tag = "26")]
    pub(crate) channel_id: i64,
    #[prost(bytes = "vec", tag = "27")]
    pub(crate) infeed_config: Vec<u8>,
    #[prost(string, tag = "28")]
    pub(crate) custom_call_target: String,
    #[prost(message, optional, tag = "29")]
    pub(crate) outfeed_shape: Option<Shape>,
    #[prost(message, optional, tag = "30")]
    pub(crate) dot_dimension_numbers: Option<DotDimensionNumbers>,
    #[prost(int32, tag = "31")]
    pub(crate) fft_type: i32,
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
    #[prost(bytes = "vec", optional, tag = "54")]
    pub(crate) domain_entry_sharding: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "55")]
    pub(crate) domain_exit_sharding: Option<Vec<u8>>,
    #[prost(bool, tag = "56")]
    pub(crate) constrain_layout: bool,
    #[prost(message, repeated, tag = "57")]
    pub(crate) operand_shapes_with_layout: Vec<Shape>,
    #[prost(int64, tag = "58")]
    pub(crate) batch_group_count: i64,
    #[prost(message, optional, tag = "59")]
    pub(crate) triangular_solve_options: Option<TriangularSolveOptions>,
    #[prost(bool, tag = "60")]
    pub(crate) is_stable: bool,
    #[prost(message, optional, tag = "61")]
    pub(crate) parameter_replication: Option<ParameterReplication>,
    #[prost(message, optional, tag = "62")]
    pub(crate) cholesky_options: Option<CholeskyOptions>,
    #[prost(string, tag = "63")]
    pub(crate) comparison_direction: String,
    #[prost(bool, tag = "65")]
    pub(crate) custom_call_has_side_effect: bool,
    #[prost(int64, tag = "66")]
    pub(crate) delta: i64,
    #[prost(bool, tag = "67")]
    pub(crate) indices_are_sorted: bool,
    #[prost(message, optional, tag = "68")]
    pub(crate) frontend_attributes: Option<FrontendAttributes>,
    #[prost(bool, tag = "69")]
    pub(crate) unique_indices: bool,
    #[prost(int32, tag = "70")]
    pub(crate) rng_algorithm: i32,
    #[prost(bool, tag = "71")]
    pub(crate) use_global_device_ids: bool,
    #[prost(string, tag = "72")]
    pub(crate) comparison_type: String,
    #[prost(message, repeated, tag = "74")]
    pub(crate) output_operand_aliasing: Vec<OutputOperandAliasing>,
    #[prost(int32, tag = "75")]
    pub(crate) padding_type: i32,
    #[prost(int32, tag = "76")]
    pub(crate) custom_call_schedule: i32,
    #[prost(int32, tag = "77")]
    pub(crate) custom_call_api_version: i32,
    #[prost(string, tag = "79")]
    pub(crate) async_execution_thread: String,
    #[prost(int32, optional, tag = "80")]
    pub(crate) cross_program_prefetch_index: Option<i32>,
    #[prost(int64, tag = "81")]
    pub(crate) k: i64,
    #[prost(message, optional, tag = "82")]
    pub(crate) statistics_viz: Option<StatisticsViz>,
    #[prost(bool, tag = "85")]
    pub(crate) largest: bool,
    #[prost(message, optional, tag = "87")]
    pub(crate) collective_device_list: Option<CollectiveDeviceList>,
    #[prost(message, optional, tag = "88")]
    pub(crate) original_value: Option<OriginalValue>,
    #[prost(bool, tag = "89")]
    pub(crate) is_composite: bool,
    #[prost(message, optional, tag = "90")]
    pub(crate) ragged_dot_dimension_numbers: Option<RaggedDotDimensionNumbers>,
    #[prost(message, optional, tag = "91")]
    pub(crate) result_accuracy: Option<ResultAccuracy>,
    #[prost(message, optional, tag = "92")]
    pub(crate) iota_collective_device_list: Option<IotaReplicaGroupList>,
    #[prost(message, optional, tag = "93")]
    pub(crate) mesh_axes_replica_group_list: Option<MeshAxesReplicaGroupList>,
    #[prost(message, optional, tag = "99")]
    pub(crate) backend_config_payload: Option<Payload>,
    #[prost(bool, tag = "100")]
    pub(crate) has_dynamic_root: bool,
    #[prost(string, tag = "102")]
    pub(crate) comparison_order: String,
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
    #[prost(string, tag = "16")]
    pub(crate) scheduling_name: String,
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

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct TriangularSolveOptions {
    #[prost(bool, tag = "1")]
    pub(crate) left_side: bool,
    #[prost(bool, tag = "2")]
    pub(crate) lower: bool,
    #[prost(bool, tag = "3")]
    pub(crate) unit_diagonal: bool,
    #[prost(int32, tag = "4")]
    pub(crate) transpose_a: i32,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct CholeskyOptions {
    #[prost(bool, tag = "1")]
    pub(crate) lower: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ParameterReplication {
    #[prost(bool, repeated, tag = "1")]
    pub(crate) replicated_at_leaf_buffers: Vec<bool>,
}

/// `mode` and `tolerance` form a `oneof` in the original.
#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct ResultAccuracy {
    #[prost(int32, optional, tag = "1")]
    pub(crate) mode: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub(crate) tolerance: Option<Tolerance>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Tolerance {
    #[prost(double, tag = "1")]
    pub(crate) atol: f64,
    #[prost(double, tag = "2")]
    pub(crate) rtol: f64,
    #[prost(int64, tag = "3")]
    pub(crate) ulps: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OpSharding {
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) tile_assignment_dimensions: Vec<i64>,
    #[prost(int64, repeated, tag = "4")]
    pub(crate) tile_assignment_devices: Vec<i64>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) tuple_shardings: Vec<OpSharding>,
    #[prost(bool, tag = "6")]
    pub(crate) replicate_on_last_tile_dim: bool,
    #[prost(message, repeated, tag = "7")]
    pub(crate) metadata: Vec<OpMetadata>,
    #[prost(int32, repeated, tag = "8")]
    pub(crate) last_tile_dims: Vec<i32>,
    #[prost(int64, repeated, tag = "9")]
    pub(crate) iota_reshape_dims: Vec<i64>,
    #[prost(int32, repeated, tag = "10")]
    pub(crate) iota_transpose_perm: Vec<i32>,
    #[prost(bool, tag = "11")]
    pub(crate) is_shard_group: bool,
    #[prost(int64, tag = "12")]
    pub(crate) shard_group_id: i64,
    #[prost(int32, tag = "13")]
    pub(crate) shard_group_type: i32,
    #[prost(message, optional, tag = "14")]
    pub(crate) named_sharding: Option<NamedSharding>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct NamedSharding {
    #[prost(message, optional, tag = "2")]
    pub(crate) mesh: Option<Mesh>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) dim_shardings: Vec<DimensionSharding>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) replicated_axes: Vec<AxisRef>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) unreduced_axes: Vec<AxisRef>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) metadata: Vec<OpMetadata>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) manual_axes: Vec<AxisRef>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DimensionSharding {
    #[prost(message, repeated, tag = "1")]
    pub(crate) axes: Vec<AxisRef>,
    #[prost(bool, tag = "2")]
    pub(crate) is_closed: bool,
}

/// Values of a literal, each type in a field of its own. Types narrower than a byte take one.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Literal {
    #[prost(message, optional, tag = "1")]
    pub(crate) shape: Option<Shape>,
    #[prost(bool, repeated, tag = "2")]
    pub(crate) preds: Vec<bool>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) u8s: Vec<u8>,
    #[prost(int32, repeated, tag = "4")]
    pub(crate) s32s: Vec<i32>,
    #[prost(int64, repeated, tag = "5")]
    pub(crate) s64s: Vec<i64>,
    #[prost(uint32, repeated, tag = "6")]
    pub(crate) u32s: Vec<u32>,
    #[prost(uint64, repeated, tag = "7")]
    pub(crate) u64s: Vec<u64>,
    #[prost(float, repeated, tag = "8")]
    pub(crate) f32s: Vec<f32>,
    #[prost(double, repeated, tag = "9")]
    pub(crate) f64s: Vec<f64>,
    #[prost(message, repeated, tag = "10")]
    pub(crate) tuple_literals: Vec<Literal>,
    #[prost(bytes = "vec", tag = "11")]
    pub(crate) f16s: Vec<u8>,
    #[prost(float, repeated, tag = "12")]
    pub(crate) c64s: Vec<f32>,
    #[prost(bytes = "vec", tag = "13")]
    pub(crate) bf16s: Vec<u8>,
    #[prost(bytes = "vec", tag = "15")]
    pub(crate) s8s: Vec<u8>,
    #[prost(bytes = "vec", tag = "16")]
    pub(crate) u16s: Vec<u8>,
    #[prost(bytes = "vec", tag = "17")]
    pub(crate) s16s: Vec<u8>,
    #[prost(double, repeated, tag = "18")]
    pub(crate) c128s: Vec<f64>,
    #[prost(bytes = "vec", tag = "19")]
    pub(crate) f8e5m2s: Vec<u8>,
    #[prost(bytes = "vec", tag = "20")]
    pub(crate) f8e4m3fns: Vec<u8>,
    #[prost(bytes = "vec", tag = "21")]
    pub(crate) s4s: Vec<u8>,
    #[prost(bytes = "vec", tag = "22")]
    pub(crate) u4s: Vec<u8>,
    #[prost(bytes = "vec", tag = "23")]
    pub(crate) f8e4m3b11fnuzs: Vec<u8>,
    #[prost(bytes = "vec", tag = "24")]
    pub(crate) f8e5m2fnuzs: Vec<u8>,
    #[prost(bytes = "vec", tag = "25")]
    pub(crate) f8e4m3fnuzs: Vec<u8>,
    #[prost(bytes = "vec", tag = "26")]
    pub(crate) s2s: Vec<u8>,
    #[prost(bytes = "vec", tag = "27")]
    pub(crate) u2s: Vec<u8>,
    #[prost(bytes = "vec", tag = "28")]
    pub(crate) f8e4m3s: Vec<u8>,
    #[prost(bytes = "vec", tag = "29")]
    pub(crate) f8e3m4s: Vec<u8>,
    #[prost(bytes = "vec", tag = "30")]
    pub(crate) s1s: Vec<u8>,
    #[prost(bytes = "vec", tag = "31")]
    pub(crate) u1s: Vec<u8>,
    #[prost(bytes = "vec", tag = "32")]
    pub(crate) f4e2m1fns: Vec<u8>,
    #[prost(bytes = "vec", tag = "33")]
    pub(crate) f8e8m0fnus: Vec<u8>,
    #[prost(int32, repeated, tag = "34")]
    pub(crate) dynamic_sizes: Vec<i32>,
    #[prost(bytes = "vec", tag = "35")]
    pub(crate) f6e3m2fns: Vec<u8>,
    #[prost(bytes = "vec", tag = "36")]
    pub(crate) f6e2m3fns: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OriginalValue {
    #[prost(message, repeated, tag = "1")]
    pub(crate) elements: Vec<OriginalElement>,
    #[prost(bool, tag = "2")]
    pub(crate) is_synthetic_call: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OriginalElement {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) shape_index: Vec<i64>,
    #[prost(message, optional, tag = "2")]
    pub(crate) original_array: Option<OriginalArray>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OriginalArray {
    #[prost(string, tag = "1")]
    pub(crate) instruction_name: String,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) shape_index: Vec<i64>,
}
