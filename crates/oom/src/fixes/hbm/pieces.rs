//! What is made a piece at a time: matrices of all pairs, losses, batches.

use std::collections::BTreeSet;

use haloscope_hlo::ElementType;
use haloscope_report::Status;

use super::checkpoint::of_loop;
use super::{easy, first, least, places, sum, temporaries, worth};
use crate::case::Case;
use crate::fixes::{Fix, part, powers, size, smallest};
use crate::framework::Framework;
use crate::loss::{self, Logits};
use crate::message::{Buffer, What};
use crate::shape::array;

/// Extents from which two equal ones are taken for a matrix of all pairs.
const PAIRS: i64 = 1024;

/// So many times smaller is a batch named where no batch is small enough.
const MOST_TIMES: i64 = 64;

/// Matrices of all pairs of positions, as attention makes them; none where they are not worth a word.
fn pairs<'c>(case: &'c Case<'_>) -> Vec<(usize, &'c Buffer)> {
    let is_pairs = |buffer: &Buffer| {
        buffer.what == What::Temporary
            && array(&buffer.shape)
                .is_some_and(|(_, n)| matches!(n.as_slice(), [.., a, b] if a == b && *a >= PAIRS))
    };
    // What a loop keeps for each of its trips may be square by chance.
    let stacked: BTreeSet<usize> =
        of_loop(case).map(|kept| places(&kept.buffers)).into_iter().flatten().collect();
    let mut pairs = worth(case, is_pairs);
    pairs.retain(|(place, _)| !stacked.contains(place));
    if sum(&pairs) < least(case) { Vec::new() } else { pairs }
}

/// Whether the compiler computes values of a forward pass again by itself: of what it keeps others take the place of what goes.
fn is_recomputed(case: &Case<'_>) -> bool {
    case.holding.is_some_and(|holding| holding.is_rematerialised && holding.gradient == Some(true))
}

/// The same in blocks of rows.
pub(super) fn all_pairs(case: &Case<'_>) -> Option<Fix> {
    let pairs = pairs(case);
    if pairs.is_empty() {
        return None;
    }
    let all = sum(&pairs);
    let rest = case.used?.bytes.saturating_sub(all);
    let limit = easy(case.room()?);
    let chunks = smallest(powers().take(7), |n| rest.saturating_add(part(all, n)), limit).unwrap_or(128);
    let side = array(&pairs.first()?.1.shape).and_then(|(_, n)| n.last().copied()).unwrap_or(0);
    Some(
        Fix::unknown(
            "blockwise",
            format!(
                "do not build the whole matrix of {side} x {side} pairs ({}, {}): {chunks} blocks of rows take 1/{chunks} of it",
                first(&pairs),
                size(all)
            ),
            if case.holding.is_some_and(|holding| holding.gradient == Some(true)) {
                "for attention a kernel that never writes the scores (splash or flash attention, \
                 jax.nn.dot_product_attention with an implementation that has one); otherwise jax.lax.map over blocks of rows, with jax.checkpoint around the work on a block: without it the backward pass keeps all blocks"
            } else {
                "for attention a kernel that never writes the scores (splash or flash attention, jax.nn.dot_product_attention with an implementation that has one); otherwise jax.lax.map over blocks of rows"
            },
            "not possible if a value for all pairs is itself a result",
        )
        .saving(case, all - part(all, chunks), Status::Estimated)
        .by(chunks)
        // Of layers that are written out one by one the scores are those that the compiler did not compute again: without them others
        // are there.
        .guessed(is_recomputed(case) && case.holding.is_some_and(|holding| holding.has_loop == Some(false)))
        .on(places(&pairs)),
    )
}

/// Logits, and what a loss makes of them, of which the name of an op of the program says so.
pub(super) fn loss_in_chunks(case: &Case<'_>) -> Option<Fix> {
    let of = |buffer: &Buffer| array(&buffer.shape).and_then(|(_, extents)| loss::logits(&extents));
    let said = temporaries(case).map(|(_, buffer)| buffer).filter(|buffer| loss::is_of_loss(&buffer.op_name));
    let mut shapes: BTreeSet<Logits> = said.filter_map(of).collect();
    shapes.extend(case.holding.iter().flat_map(|holding| &holding.logits));
    // Whatever has as many elements and words holds the same, for the backward pass or on the way to it.
    let meant =
        |shape: Logits| worth(case, |buffer| buffer.what == What::Temporary && of(buffer) == Some(shape));
    let (shape, logits) =
        shapes.into_iter().map(|shape| (shape, meant(shape))).max_by_key(|(_, logits)| sum(logits))?;
    let all = sum(&logits);
    if all == 0 {
        return None;
    }
    let rest = case.used?.bytes.saturating_sub(all);
    let tokens = shape.1 / shape.0.max(1);
    let fitting = smallest(powers(), |n| rest.saturating_add(part(all, n)), easy(case.room()?));
    let chunks = fitting.filter(|n| *n <= tokens).unwrap_or(16);
    let is_cast = logits
        .iter()
        .any(|(_, buffer)| array(&buffer.shape).is_some_and(|(kind, _)| kind == ElementType::F32));
    let cast = if is_cast { "; they are kept in f32: cast to f32 only where a chunk is reduced" } else { "" };
    let how = match case.framework {
        Some(Framework::PyTorchXla | Framework::PyTorch) => {
            "a fused linear cross entropy, or the head and the loss over chunks of tokens, each in a checkpoint"
        }
        Some(Framework::TensorFlow) => "the head and the loss over chunks of tokens, in tf.recompute_grad",
        _ => {
            "jax.lax.scan or jax.lax.map over chunks of tokens, with jax.checkpoint around the head and the loss of one; or a fused \
             cross entropy kernel"
        }
    };
    Some(
        Fix::unknown(
            "chunked_loss",
            format!(
                "do not keep the logits of all {tokens} tokens for {} words ({}, {}): the head and the loss over {chunks} chunks of tokens take 1/{chunks} of it{cast}",
                shape.0,
                first(&logits),
                size(all)
            ),
            how,
            "the product of the head is computed twice; not possible if the logits are themselves a result",
        )
        .saving(case, all - part(all, chunks), Status::Estimated)
        .by(chunks)
        .on(places(&logits)),
    )
}

/// Fewer examples at a time.
pub(super) fn smaller_batch(case: &Case<'_>) -> Option<Fix> {
    let used = case.used?.bytes;
    let limit = easy(case.room()?);
    let temporary = case.temporary_bytes().filter(|bytes| *bytes > 0)?;
    if temporary < used / 20 {
        return None;
    }
    let rest = used.saturating_sub(temporary).max(0);
    let factor = smallest(powers().take(6), |n| rest.saturating_add(part(temporary, n)), limit);
    let n = factor.unwrap_or(MOST_TIMES);
    // Matrices of all pairs that fill the memory shrink with what they are pairs of, which need not be a batch.
    let is_of_pairs = 3 * sum(&pairs(case)) >= 2 * temporary;
    let how = match case.framework {
        Some(Framework::PyTorchXla | Framework::PyTorch) => {
            "a smaller batch per device, with gradients accumulated over several of them"
        }
        _ => {
            "a smaller batch per device, with gradients accumulated over micro-batches (jax.lax.scan over them)"
        }
    };
    let all: Vec<usize> =
        case.buffers.iter().enumerate().filter(|(_, b)| b.what == What::Temporary).map(|(i, _)| i).collect();
    Some(
        Fix::unknown(
            "smaller_batch",
            format!(
                "a batch (or sequence) {n} times smaller, if the {} of temporaries shrink with it",
                size(temporary)
            ),
            how,
            "temporaries of weights and of gradients do not shrink with the batch",
        )
        .saving(case, temporary - part(temporary, n), Status::Estimated)
        .by(n)
        .guessed(is_of_pairs && is_recomputed(case))
        .on(all),
    )
}
