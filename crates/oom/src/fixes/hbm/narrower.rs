//! The same values in fewer bytes: tiles without padding, narrower types.

use haloscope_hlo::ElementType;
use haloscope_report::Status;

use super::{SMALL_BYTES, bytes, first, least, places, sum, worth};
use crate::case::Case;
use crate::fixes::{Fix, size};
use crate::message::Buffer;
use crate::program;
use crate::shape::array;

/// What tiles add to shapes with small last extents.
pub(super) fn padding(case: &Case<'_>) -> Option<Fix> {
    let lost = |buffer: &Buffer| {
        bytes(buffer).saturating_sub(buffer.unpadded.map_or(bytes(buffer), |size| size.bytes))
    };
    let padded: Vec<(usize, &Buffer)> =
        case.buffers.iter().enumerate().filter(|(_, buffer)| lost(buffer) >= SMALL_BYTES).collect();
    let all = padded.iter().fold(0i64, |sum, (_, buffer)| sum.saturating_add(lost(buffer)));
    if padded.is_empty() || all < least(case) {
        return None;
    }
    Some(
        Fix::unknown(
            "less_padding",
            format!("give {} last dimensions that fill a tile (8 x 128 for f32): {} is padding", first(&padded), size(all)),
            "put a long dimension last (transpose), merge small ones (reshape), or pad to multiples of 128 only where it is small",
            "XLA chooses layouts itself: check the padded sizes after the change",
        )
        .saving(case, all, Status::Estimated)
        .on(places(&padded)),
    )
}

/// f32 that could be bf16.
pub(super) fn half(case: &Case<'_>) -> Option<Fix> {
    // Fourier transforms take nothing narrower than f32.
    let is_transformed = |extents: &[i64]| {
        case.holding
            .zip(program::elements(extents))
            .is_some_and(|(holding, count)| program::is_transformed(count, &holding.transforms))
    };
    let is_wide = |buffer: &Buffer| {
        array(&buffer.shape)
            .is_some_and(|(kind, extents)| kind == ElementType::F32 && !is_transformed(&extents))
    };
    let wide = worth(case, is_wide);
    if wide.is_empty() {
        return None;
    }
    let all = sum(&wide);
    Some(
        Fix::unknown(
            "narrower",
            format!("keep {} in bf16 ({} in f32)", first(&wide), size(all)),
            "x.astype(jnp.bfloat16), dtype= and param_dtype= of the layers; for scores and logits, do not cast to f32 before the values are reduced",
            "numerical results change; optimiser state usually needs f32",
        )
        .saving(case, all / 2, Status::Estimated)
        // Some ops keep their operands in f32 all the same, sorts among them.
        .guessed(true)
        .on(places(&wide)),
    )
}
