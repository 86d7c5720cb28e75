//! Which dimensions an instruction works on, and how.

use prost::Message;

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
