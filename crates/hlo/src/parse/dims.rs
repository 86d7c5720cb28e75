//! Windows, paddings and the dimensions of convolutions.

use super::{
    cursor::{Cursor, Parsed},
    metadata::pairs,
};
use crate::proto;

/// `{size=3x3 stride=2x1 pad=0_1x1_1 lhs_dilate=1x2 rhs_dilate=1x1 rhs_reversal=0x1}`.
pub(super) fn window(cursor: &mut Cursor<'_>) -> Parsed<proto::Window> {
    const EXPECTED: &str = "a number for each dimension of the window, with x between them";
    let mut dims: Vec<proto::WindowDimension> = Vec::new();
    let mut has_size = false;
    pairs(cursor, |cursor, key| {
        let before = *cursor;
        let width = if key == "pad" { 2 } else { 1 };
        let values = crossed(cursor, width..=width, EXPECTED)?;
        if key == "size" && !has_size {
            has_size = true;
            let plain = proto::WindowDimension {
                stride: 1,
                window_dilation: 1,
                base_dilation: 1,
                ..proto::WindowDimension::default()
            };
            dims = vec![plain; values.len()];
        }
        if values.len() != dims.len() {
            *cursor = before;
            return cursor.unexpected(if has_size { EXPECTED } else { "size= before the rest of a window" });
        }
        for (dim, value) in dims.iter_mut().zip(values) {
            let first = value.first().copied().unwrap_or_default();
            match key {
                "size" => dim.size = first,
                "stride" => dim.stride = first,
                "lhs_dilate" => dim.base_dilation = first,
                "rhs_dilate" => dim.window_dilation = first,
                "rhs_reversal" => dim.window_reversal = first != 0,
                "pad" => {
                    (dim.padding_low, dim.padding_high) = (first, value.last().copied().unwrap_or_default());
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    Ok(proto::Window { dimensions: dims })
}

/// `0_1x2_3_1`: low, high and perhaps interior padding of each dimension.
pub(super) fn padding(cursor: &mut Cursor<'_>) -> Parsed<proto::PaddingConfig> {
    // A scalar has no dimensions to pad.
    if matches!(cursor.peek(), None | Some(b',' | b'\n')) {
        return Ok(proto::PaddingConfig::default());
    }
    let values =
        crossed(cursor, 2..=3, "low_high or low_high_interior for each dimension, with x between them")?;
    let dimension = |value: Vec<i64>| {
        let at = |place: usize| value.get(place).copied().unwrap_or_default();
        proto::PaddingDimension { edge_padding_low: at(0), edge_padding_high: at(1), interior_padding: at(2) }
    };
    Ok(proto::PaddingConfig { dimensions: values.into_iter().map(dimension).collect() })
}

/// Numbers with `_` between those of a dimension and `x` between dimensions.
fn crossed(
    cursor: &mut Cursor<'_>,
    width: std::ops::RangeInclusive<usize>,
    expected: &'static str,
) -> Parsed<Vec<Vec<i64>>> {
    let before = *cursor;
    let word = cursor.word(expected)?;
    let dimension = |part: &str| part.split('_').map(str::parse).collect::<Result<Vec<i64>, _>>();
    match word.split('x').map(dimension).collect::<Result<Vec<_>, _>>() {
        Ok(values) if values.iter().all(|value| width.contains(&value.len())) => Ok(values),
        _ => {
            *cursor = before;
            cursor.unexpected(expected)
        }
    }
}

/// `{[0:4], [1:9:2]}`: start, limit and stride of each dimension.
pub(super) fn slice(cursor: &mut Cursor<'_>) -> Parsed<Vec<proto::SliceDimensions>> {
    let mut dims = Vec::new();
    cursor.list("{", "}", |cursor| {
        cursor.expect("[")?;
        let start = cursor.integer()?;
        cursor.expect(":")?;
        let limit = cursor.integer()?;
        let stride = if cursor.eat(":") { cursor.integer()? } else { 1 };
        cursor.expect("]")?;
        dims.push(proto::SliceDimensions { start, limit, stride });
        Ok(())
    })?;
    Ok(dims)
}

/// `b01f_01io->b01f`: what each dimension of input, kernel and output means.
pub(super) fn convolution(cursor: &mut Cursor<'_>) -> Parsed<proto::ConvolutionDimensionNumbers> {
    const EXPECTED: &str = "dimensions of a convolution, for instance b01f_01io->b01f";
    let before = *cursor;
    let read = |cursor: &mut Cursor<'_>| {
        let (input, kernel) = cursor.word(EXPECTED)?.split_once('_').unwrap_or_default();
        cursor.expect("->")?;
        let output = cursor.word(EXPECTED)?;
        Ok((labels(input, 'b', 'f'), labels(kernel, 'i', 'o'), labels(output, 'b', 'f')))
    };
    let (Some(input), Some(kernel), Some(output)) = read(cursor)? else {
        *cursor = before;
        return cursor.unexpected(EXPECTED);
    };
    Ok(proto::ConvolutionDimensionNumbers {
        input_batch_dimension: input.0,
        input_feature_dimension: input.1,
        input_spatial_dimensions: input.2,
        kernel_input_feature_dimension: kernel.0,
        kernel_output_feature_dimension: kernel.1,
        kernel_spatial_dimensions: kernel.2,
        output_batch_dimension: output.0,
        output_feature_dimension: output.1,
        output_spatial_dimensions: output.2,
    })
}

/// Places of two letters and of the digits; a question mark is a dimension that means nothing.
fn labels(text: &str, first: char, second: char) -> Option<(i64, i64, Vec<i64>)> {
    let count = text.chars().filter(char::is_ascii_digit).count();
    let mut spatial = vec![None; count];
    let (mut first_place, mut second_place) = (None, None);
    for (place, label) in (0i64..).zip(text.chars()) {
        let slot = match label.to_digit(10) {
            Some(digit) => spatial.get_mut(digit as usize)?,
            None if label == first => &mut first_place,
            None if label == second => &mut second_place,
            None if label == '?' => continue,
            None => return None,
        };
        if slot.replace(place).is_some() {
            return None;
        }
    }
    Some((first_place?, second_place?, spatial.into_iter().collect::<Option<_>>()?))
}
