//! Dimension numbers, windows and the like: plain copies of what an instruction's proto says.

use crate::proto;

/// Which dimensions a `dot` contracts and which it treats as batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DotDimensionNumbers {
    /// Dimensions of the left operand that are summed over.
    pub lhs_contracting: Vec<i64>,
    /// Dimensions of the right operand that are summed over.
    pub rhs_contracting: Vec<i64>,
    /// Batch dimensions of the left operand.
    pub lhs_batch: Vec<i64>,
    /// Batch dimensions of the right operand.
    pub rhs_batch: Vec<i64>,
}

/// A `ragged-dot`'s dimensions: those of a dot, and which are ragged or grouped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaggedDotDimensionNumbers {
    /// The dot underneath.
    pub dot: DotDimensionNumbers,
    /// Ragged dimensions of the left operand.
    pub lhs_ragged: Vec<i64>,
    /// Group dimensions of the right operand.
    pub rhs_group: Vec<i64>,
}

/// What each dimension of a convolution's input, kernel and output means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvolutionDimensionNumbers {
    /// Batch dimension of the input.
    pub input_batch: i64,
    /// Feature dimension of the input.
    pub input_feature: i64,
    /// Spatial dimensions of the input.
    pub input_spatial: Vec<i64>,
    /// Input-feature dimension of the kernel.
    pub kernel_input_feature: i64,
    /// Output-feature dimension of the kernel.
    pub kernel_output_feature: i64,
    /// Spatial dimensions of the kernel.
    pub kernel_spatial: Vec<i64>,
    /// Batch dimension of the output.
    pub output_batch: i64,
    /// Feature dimension of the output.
    pub output_feature: i64,
    /// Spatial dimensions of the output.
    pub output_spatial: Vec<i64>,
}

/// One dimension of a sliding window (convolution, reduce-window, select-and-scatter).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowDimension {
    /// Elements in the window.
    pub size: i64,
    /// Step from one window to the next, in elements.
    pub stride: i64,
    /// Padding before the first element; negative crops.
    pub padding_low: i64,
    /// Padding after the last element; negative crops.
    pub padding_high: i64,
    /// Distance between the window's own elements (right-hand side dilation).
    pub window_dilation: i64,
    /// Distance between the base's elements (left-hand side dilation).
    pub base_dilation: i64,
    /// Whether the window runs backwards.
    pub reversal: bool,
}

/// One dimension of a `slice`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceDimension {
    /// First element taken.
    pub start: i64,
    /// Element after the last that may be taken.
    pub limit: i64,
    /// Step between elements taken.
    pub stride: i64,
}

/// One dimension of a `pad`, in elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaddingDimension {
    /// Padding before; negative crops.
    pub low: i64,
    /// Padding after; negative crops.
    pub high: i64,
    /// Padding between neighbours.
    pub interior: i64,
}

/// Dimension numbers of a `gather`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GatherDimensionNumbers {
    /// Output dimensions that run inside a slice.
    pub offset_dims: Vec<i64>,
    /// Operand dimensions dropped from the output.
    pub collapsed_slice_dims: Vec<i64>,
    /// Operand dimension of each index component.
    pub start_index_map: Vec<i64>,
    /// Dimension of the indices that holds the components.
    pub index_vector_dim: i64,
    /// Batching dimensions of the operand.
    pub operand_batching_dims: Vec<i64>,
    /// Batching dimensions of the indices.
    pub start_indices_batching_dims: Vec<i64>,
}

/// Dimension numbers of a `scatter`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScatterDimensionNumbers {
    /// Update dimensions that run inside a window.
    pub update_window_dims: Vec<i64>,
    /// Operand dimensions that the updates lack.
    pub inserted_window_dims: Vec<i64>,
    /// Operand dimension of each index component.
    pub scatter_dims_to_operand_dims: Vec<i64>,
    /// Dimension of the indices that holds the components.
    pub index_vector_dim: i64,
    /// Batching dimensions of the operand.
    pub input_batching_dims: Vec<i64>,
    /// Batching dimensions of the indices.
    pub scatter_indices_batching_dims: Vec<i64>,
}

impl From<proto::DotDimensionNumbers> for DotDimensionNumbers {
    fn from(d: proto::DotDimensionNumbers) -> Self {
        Self {
            lhs_contracting: d.lhs_contracting_dimensions,
            rhs_contracting: d.rhs_contracting_dimensions,
            lhs_batch: d.lhs_batch_dimensions,
            rhs_batch: d.rhs_batch_dimensions,
        }
    }
}

impl From<proto::RaggedDotDimensionNumbers> for RaggedDotDimensionNumbers {
    fn from(d: proto::RaggedDotDimensionNumbers) -> Self {
        Self {
            dot: d.dot_dimension_numbers.unwrap_or_default().into(),
            lhs_ragged: d.lhs_ragged_dimensions,
            rhs_group: d.rhs_group_dimensions,
        }
    }
}

impl From<proto::ConvolutionDimensionNumbers> for ConvolutionDimensionNumbers {
    fn from(d: proto::ConvolutionDimensionNumbers) -> Self {
        Self {
            input_batch: d.input_batch_dimension,
            input_feature: d.input_feature_dimension,
            input_spatial: d.input_spatial_dimensions,
            kernel_input_feature: d.kernel_input_feature_dimension,
            kernel_output_feature: d.kernel_output_feature_dimension,
            kernel_spatial: d.kernel_spatial_dimensions,
            output_batch: d.output_batch_dimension,
            output_feature: d.output_feature_dimension,
            output_spatial: d.output_spatial_dimensions,
        }
    }
}

impl From<proto::WindowDimension> for WindowDimension {
    fn from(d: proto::WindowDimension) -> Self {
        Self {
            size: d.size,
            stride: d.stride,
            padding_low: d.padding_low,
            padding_high: d.padding_high,
            window_dilation: d.window_dilation,
            base_dilation: d.base_dilation,
            reversal: d.window_reversal,
        }
    }
}

impl From<proto::SliceDimensions> for SliceDimension {
    fn from(d: proto::SliceDimensions) -> Self {
        Self { start: d.start, limit: d.limit, stride: d.stride }
    }
}

impl From<proto::PaddingDimension> for PaddingDimension {
    fn from(d: proto::PaddingDimension) -> Self {
        Self { low: d.edge_padding_low, high: d.edge_padding_high, interior: d.interior_padding }
    }
}

impl From<proto::GatherDimensionNumbers> for GatherDimensionNumbers {
    fn from(d: proto::GatherDimensionNumbers) -> Self {
        Self {
            offset_dims: d.offset_dims,
            collapsed_slice_dims: d.collapsed_slice_dims,
            start_index_map: d.start_index_map,
            index_vector_dim: d.index_vector_dim,
            operand_batching_dims: d.operand_batching_dims,
            start_indices_batching_dims: d.start_indices_batching_dims,
        }
    }
}

impl From<proto::ScatterDimensionNumbers> for ScatterDimensionNumbers {
    fn from(d: proto::ScatterDimensionNumbers) -> Self {
        Self {
            update_window_dims: d.update_window_dims,
            inserted_window_dims: d.inserted_window_dims,
            scatter_dims_to_operand_dims: d.scatter_dims_to_operand_dims,
            index_vector_dim: d.index_vector_dim,
            input_batching_dims: d.input_batching_dims,
            scatter_indices_batching_dims: d.scatter_indices_batching_dims,
        }
    }
}
