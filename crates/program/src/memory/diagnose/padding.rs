//! Tiles that are not full.

use super::Outcome;
use super::context::{Context, size};
use super::thresholds::{PADDING_BYTES, PADDING_SHARE};
use crate::attribution::Attributed;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};

/// What a buffer takes beyond its elements; 0 for tables of pointers and where the shape has no size.
fn waste(buffer: &Attributed<'_, '_>) -> i64 {
    let elements = buffer.shape.bytes().and_then(|bytes| i64::try_from(bytes).ok());
    let elements = elements.filter(|_| !buffer.shape.is_tuple());
    elements.map_or(0, |elements| buffer.alive.buffer.logical.size_bytes.saturating_sub(elements).max(0))
}

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold =
        format!("{}, or {} of the peak", units::bytes(PADDING_BYTES as f64), units::share(PADDING_SHARE));
    let mut wasteful: Vec<_> =
        context.attribution.buffers.iter().filter(|buffer| waste(buffer) > 0).collect();
    wasteful.sort_by_key(|buffer| std::cmp::Reverse(waste(buffer)));
    let bytes = units::sum(wasteful.iter().map(|buffer| waste(buffer)));
    let share = context.of_peak(bytes);
    let word = |buffer: &&Attributed<'_, '_>| {
        let of = if buffer.op_name.is_empty() { &buffer.alive.instruction().name } else { &buffer.op_name };
        format!(
            "{of} {}: {} of {}",
            buffer.shape,
            units::bytes(waste(buffer) as f64),
            units::bytes(buffer.alive.bytes as f64)
        )
    };
    let words: Vec<String> = wasteful.iter().take(3).map(word).collect();
    let finding = (bytes > PADDING_BYTES || share > PADDING_SHARE).then(|| Finding {
        id: "padding",
        severity: Severity::Warning,
        claim: format!("{} at the peak is padding of tiles", size(context, bytes)),
        evidence: words.join("; "),
        ceiling: format!("{} less, if every tile were full", units::bytes(bytes as f64)),
        recommendation: "give arrays a last dimension that is a multiple of 128 and a second-to-last one that is a multiple of 8 (16 for \
                bf16): merge small dimensions, or put a large one last"
            .to_owned(),
        falsifier: "the compiler chooses a layout for the new shape that pads just as much".to_owned(),
        status: Status::Derived,
        ..Finding::default()
    });
    let said = if words.is_empty() { "no tile is padded".to_owned() } else { words.join("; ") };
    Outcome::measured(bytes, Some(share), threshold, said, finding)
}
