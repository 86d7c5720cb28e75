//! FLOPs of a convolution: only positions where the kernel meets real input count.

use super::extent;
use crate::{dims::WindowDimension, instruction::Attributes, shape::Shape};

/// Positions that are walked one by one at most. Beyond it the count is unknown rather than slow; real programs stay
/// several orders of magnitude below.
const WALK_LIMIT: u64 = 1 << 22;

/// `2 * (input features / feature groups) * output features * (batch / batch groups) * valid positions`, the last one
/// multiplied over spatial dimensions. `None` where shapes and dimension numbers do not fit together.
pub(super) fn flops(attributes: &Attributes, lhs: &Shape, rhs: &Shape, result: &Shape) -> Option<u64> {
    let numbers = attributes.convolution.as_ref()?;
    let at = |shape: &Shape, dim: i64| extent(shape, usize::try_from(dim).ok()?);
    let groups = |count: Option<i64>| u64::try_from(count.unwrap_or(1)).ok().filter(|groups| *groups > 0);
    let mut positions = 1u64;
    for (spatial, dim) in attributes.window.iter().enumerate() {
        let input = at(lhs, *numbers.input_spatial.get(spatial)?)?;
        let kernel = at(rhs, *numbers.kernel_spatial.get(spatial)?)?;
        let output = at(result, *numbers.output_spatial.get(spatial)?)?;
        positions = positions.checked_mul(valid_positions(dim, input, kernel, output)?)?;
    }
    let input_features = at(lhs, numbers.input_feature)? / groups(attributes.feature_group_count)?;
    let output_features = at(result, numbers.output_feature)?;
    let batch = at(lhs, numbers.input_batch)? / groups(attributes.batch_group_count)?;
    [input_features, output_features, batch, positions]
        .into_iter()
        .try_fold(2u64, |product, factor| product.checked_mul(factor))
}

/// Pairs of a kernel and an output position of one dimension whose input position exists: in bounds and, where the input
/// is dilated, not in a gap. With kernel position `k` and output position `o` the input position is
/// `(o * stride - padding_low + k * window_dilation) / base_dilation`.
pub(crate) fn valid_positions(dim: &WindowDimension, input: u64, kernel: u64, output: u64) -> Option<u64> {
    let positive = |value: i64| Some(i128::from(value)).filter(|value| *value > 0);
    let stride = positive(dim.stride)?;
    let window_dilation = positive(dim.window_dilation)?;
    let base_dilation = positive(dim.base_dilation)?;
    // The input's extent with its gaps; the last element has none behind it.
    let limit = i128::from(input).checked_sub(1)?.checked_mul(base_dilation)?.checked_add(1)?;
    // Walk the shorter of kernel and output, and count along the other in one step.
    let (walked, walked_step, counted, counted_step) = if kernel <= output {
        (kernel, window_dilation, output, stride)
    } else {
        (output, stride, kernel, window_dilation)
    };
    if walked > WALK_LIMIT {
        return None;
    }
    let mut valid = 0u64;
    for position in 0..i128::from(walked) {
        let start = position * walked_step - i128::from(dim.padding_low);
        valid =
            valid.checked_add(count_hits(start, counted_step, i128::from(counted), limit, base_dilation)?)?;
    }
    Some(valid)
}

/// How many `x` in `0..count` have `start + x * step` in `0..limit` and divisible by `base`.
fn count_hits(start: i128, step: i128, count: i128, limit: i128, base: i128) -> Option<u64> {
    let below = (-start).max(0);
    let first = below / step + i128::from(below % step != 0);
    let room = limit.checked_sub(start)?;
    let end = if room <= 0 { 0 } else { (room - 1) / step + 1 }.min(count);
    if first >= end {
        return Some(0);
    }
    let common = gcd(step, base);
    if start.rem_euclid(common) != 0 {
        return Some(0);
    }
    // x solves (step/common) * x = -start/common modulo period, so hits are `period` apart.
    let period = base / common;
    let inverse = inverse_modulo((step / common).rem_euclid(period.max(1)), period);
    let residue = ((-start / common).rem_euclid(period) * inverse).rem_euclid(period);
    let first_hit = first + (residue - first).rem_euclid(period);
    let hits = if first_hit >= end { 0 } else { (end - 1 - first_hit) / period + 1 };
    u64::try_from(hits).ok()
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a.rem_euclid(b));
    }
    a
}

/// The inverse of `value` modulo `modulus`, for values without a common factor.
fn inverse_modulo(value: i128, modulus: i128) -> i128 {
    let (mut old, mut new) = ((value, 1i128), (modulus, 0i128));
    while new.0 != 0 {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    old.1.rem_euclid(modulus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, position by position.
    fn by_definition(dim: &WindowDimension, input: u64, kernel: u64, output: u64) -> u64 {
        let mut valid = 0;
        for k in 0..kernel as i64 {
            for o in 0..output as i64 {
                let dilated = o * dim.stride - dim.padding_low + k * dim.window_dilation;
                let fits = dilated >= 0 && dilated % dim.base_dilation == 0;
                valid += u64::from(fits && dilated / dim.base_dilation < input as i64);
            }
        }
        valid
    }

    #[test]
    fn counts_as_the_definition_does() {
        for (stride, base_dilation, window_dilation) in
            [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 3), (3, 2, 1), (2, 4, 3), (6, 4, 2), (7, 7, 1)]
        {
            for padding_low in [-3, 0, 1, 5] {
                for (input, kernel, output) in
                    [(9, 3, 7), (4, 9, 5), (1, 6, 6), (8, 8, 8), (5, 1, 12), (0, 3, 3)]
                {
                    let dim = WindowDimension {
                        size: kernel as i64,
                        stride,
                        padding_low,
                        window_dilation,
                        base_dilation,
                        ..WindowDimension::default()
                    };
                    assert_eq!(
                        valid_positions(&dim, input, kernel, output),
                        Some(by_definition(&dim, input, kernel, output)),
                        "{dim:?} input {input} kernel {kernel} output {output}"
                    );
                }
            }
        }
    }

    #[test]
    fn gives_up_on_absurd_windows() {
        let dim =
            WindowDimension { stride: 1, window_dilation: 1, base_dilation: 1, ..WindowDimension::default() };
        assert_eq!(valid_positions(&dim, u64::MAX, u64::MAX, u64::MAX), None);
        assert_eq!(valid_positions(&WindowDimension::default(), 1, 1, 1), None);
        let huge = WindowDimension {
            stride: i64::MAX,
            window_dilation: i64::MAX,
            base_dilation: i64::MAX,
            padding_low: i64::MIN,
            ..WindowDimension::default()
        };
        assert!(valid_positions(&huge, u64::MAX, 1000, u64::MAX).is_some());
    }
}
