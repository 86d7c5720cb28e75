//! Dimension numbers and windows.

use std::fmt::{self, Write};

use super::{Words, list::Braced, list::join};
use crate::dims::{
    ConvolutionDimensionNumbers, DotDimensionNumbers, GatherDimensionNumbers, PaddingDimension,
    RaggedDotDimensionNumbers, ScatterDimensionNumbers, SliceDimension, WindowDimension,
};

pub(super) fn dot(numbers: &DotDimensionNumbers) -> String {
    let mut text = String::new();
    let mut part = |key: &str, dims: &[i64], always: bool| {
        if always || !dims.is_empty() {
            let comma = if text.is_empty() { "" } else { ", " };
            // Writing to a string cannot fail.
            let _ = write!(text, "{comma}{key}={}", Braced(dims));
        }
    };
    part("lhs_batch_dims", &numbers.lhs_batch, false);
    part("lhs_contracting_dims", &numbers.lhs_contracting, true);
    part("rhs_batch_dims", &numbers.rhs_batch, false);
    part("rhs_contracting_dims", &numbers.rhs_contracting, true);
    text
}

pub(super) fn ragged_dot(numbers: &RaggedDotDimensionNumbers) -> String {
    let mut text = dot(&numbers.dot);
    for (key, dims) in [("lhs_ragged_dims", &numbers.lhs_ragged), ("rhs_group_dims", &numbers.rhs_group)] {
        if !dims.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {key}={}", Braced(dims));
        }
    }
    text
}

pub(super) fn gather(numbers: &GatherDimensionNumbers) -> String {
    let mut text = format!(
        "offset_dims={}, collapsed_slice_dims={}, start_index_map={}",
        Braced(&numbers.offset_dims),
        Braced(&numbers.collapsed_slice_dims),
        Braced(&numbers.start_index_map)
    );
    batching(&mut text, "operand_batching_dims", &numbers.operand_batching_dims);
    batching(&mut text, "start_indices_batching_dims", &numbers.start_indices_batching_dims);
    format!("{text}, index_vector_dim={}", numbers.index_vector_dim)
}

pub(super) fn scatter(numbers: &ScatterDimensionNumbers) -> String {
    let mut text = format!(
        "update_window_dims={}, inserted_window_dims={}, scatter_dims_to_operand_dims={}",
        Braced(&numbers.update_window_dims),
        Braced(&numbers.inserted_window_dims),
        Braced(&numbers.scatter_dims_to_operand_dims)
    );
    batching(&mut text, "input_batching_dims", &numbers.input_batching_dims);
    batching(&mut text, "scatter_indices_batching_dims", &numbers.scatter_indices_batching_dims);
    format!("{text}, index_vector_dim={}", numbers.index_vector_dim)
}

fn batching(text: &mut String, key: &str, dims: &[i64]) {
    if !dims.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, ", {key}={}", Braced(dims));
    }
}

/// What each dimension of input, kernel and output means, for instance `b01f_01io->b01f`.
pub(super) fn convolution(numbers: &ConvolutionDimensionNumbers) -> String {
    let input = labels(('b', numbers.input_batch), ('f', numbers.input_feature), &numbers.input_spatial);
    let kernel = labels(
        ('i', numbers.kernel_input_feature),
        ('o', numbers.kernel_output_feature),
        &numbers.kernel_spatial,
    );
    let output = labels(('b', numbers.output_batch), ('f', numbers.output_feature), &numbers.output_spatial);
    format!("{input}_{kernel}->{output}")
}

fn labels(first: (char, i64), second: (char, i64), spatial: &[i64]) -> String {
    let mut labels = vec![String::from("?"); spatial.len() + 2];
    let mut put = |place: i64, label: String| {
        if let Some(slot) = usize::try_from(place).ok().and_then(|place| labels.get_mut(place)) {
            *slot = label;
        }
    };
    for (number, place) in spatial.iter().enumerate() {
        put(*place, number.to_string());
    }
    put(first.1, first.0.to_string());
    put(second.1, second.0.to_string());
    labels.concat()
}

/// A window without its braces: sizes, then whatever is not as if it were not there.
pub(super) fn window(dims: &[WindowDimension]) -> String {
    let each = |of: &dyn Fn(&WindowDimension) -> String| dims.iter().map(of).collect::<Vec<_>>().join("x");
    let mut text = format!("size={}", each(&|d| d.size.to_string()));
    let mut part = |key: &str, is_there: bool, of: &dyn Fn(&WindowDimension) -> String| {
        if is_there {
            // Writing to a string cannot fail.
            let _ = write!(text, " {key}={}", each(of));
        }
    };
    part("stride", dims.iter().any(|d| d.stride != 1), &|d| d.stride.to_string());
    let is_padded = dims.iter().any(|d| d.padding_low != 0 || d.padding_high != 0);
    part("pad", is_padded, &|d| format!("{}_{}", d.padding_low, d.padding_high));
    part("lhs_dilate", dims.iter().any(|d| d.base_dilation != 1), &|d| d.base_dilation.to_string());
    part("rhs_dilate", dims.iter().any(|d| d.window_dilation != 1), &|d| d.window_dilation.to_string());
    part("rhs_reversal", dims.iter().any(|d| d.reversal), &|d| u8::from(d.reversal).to_string());
    text
}

pub(super) fn padding(dims: &[PaddingDimension]) -> String {
    let has_interior = dims.iter().any(|d| d.interior != 0);
    let one = |d: &PaddingDimension| match has_interior {
        true => format!("{}_{}_{}", d.low, d.high, d.interior),
        false => format!("{}_{}", d.low, d.high),
    };
    dims.iter().map(one).collect::<Vec<_>>().join("x")
}

pub(super) fn slice(dims: &[SliceDimension]) -> String {
    let is_strided = dims.iter().any(|d| d.stride != 1);
    let write = |f: &mut fmt::Formatter<'_>| {
        join(f, dims, ", ", |f, d| {
            write!(f, "[{}:{}", d.start, d.limit)?;
            if is_strided {
                write!(f, ":{}", d.stride)?;
            }
            f.write_str("]")
        })
    };
    format!("{{{}}}", Words(write))
}
