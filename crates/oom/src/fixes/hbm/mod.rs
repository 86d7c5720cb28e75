//! HBM, as the compiler fills it.

mod arguments;
mod checkpoint;
mod narrower;
mod pieces;

use super::{Fix, HEADROOM, size};
use crate::case::Case;
use crate::message::{Buffer, What};
use crate::shape::plain;

/// A cure that saves less than this share of what is needed is not worth a word.
const WORTH_SHARE: f64 = 0.02;
/// Smaller buffers are left alone, however many there are.
const SMALL_BYTES: i64 = 1 << 20;

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let mut all = Vec::new();
    all.extend(arguments::donate(case));
    all.extend(arguments::carry(case));
    all.extend(arguments::no_doubles(case));
    all.extend(arguments::keep_sharded(case));
    all.extend(checkpoint::checkpoint(case));
    all.extend(pieces::all_pairs(case));
    all.extend(pieces::loss_in_chunks(case));
    all.extend(narrower::padding(case));
    all.extend(arguments::shard(case));
    all.extend(narrower::half(case));
    all.extend(pieces::smaller_batch(case));
    if case.holding.is_none() && case.buffers.is_empty() {
        all.extend(blind(case));
    }
    all
}

/// What is aimed at: the compiler plans anew, and what just fits by the numbers may not.
fn easy(room: i64) -> i64 {
    room - room / HEADROOM
}

fn bytes(buffer: &Buffer) -> i64 {
    buffer.size.map_or(0, |size| size.bytes)
}

/// The buffers that are meant, with their places: none where together they are not worth a word.
fn worth<'c>(case: &'c Case<'_>, is_meant: impl Fn(&Buffer) -> bool) -> Vec<(usize, &'c Buffer)> {
    let all = case.buffers.iter().enumerate();
    let meant: Vec<_> = all.filter(|(_, buffer)| bytes(buffer) >= SMALL_BYTES && is_meant(buffer)).collect();
    if sum(&meant) < least(case) { Vec::new() } else { meant }
}

/// Bytes from which a cure is worth a word.
fn least(case: &Case<'_>) -> i64 {
    case.used.map_or(0, |used| (used.bytes as f64 * WORTH_SHARE) as i64)
}

fn sum(buffers: &[(usize, &Buffer)]) -> i64 {
    buffers.iter().fold(0, |sum, (_, buffer)| sum.saturating_add(bytes(buffer)))
}

fn places(buffers: &[(usize, &Buffer)]) -> Vec<usize> {
    buffers.iter().map(|(place, _)| *place).collect()
}

/// The first of some buffers, in words.
fn first(buffers: &[(usize, &Buffer)]) -> String {
    let words: Vec<String> = buffers
        .iter()
        .take(3)
        .map(|(_, buffer)| format!("{} {}", buffer.name, plain(&buffer.shape)).trim().to_owned())
        .collect();
    let more = buffers.len().saturating_sub(3);
    if more > 0 { format!("{} and {more} more", words.join(", ")) } else { words.join(", ") }
}

fn temporaries<'c>(case: &'c Case<'_>) -> impl Iterator<Item = (usize, &'c Buffer)> {
    case.buffers.iter().enumerate().filter(|(_, buffer)| buffer.what == What::Temporary)
}

/// What can be said where a message names no buffer.
fn blind(case: &Case<'_>) -> Vec<Fix> {
    let must =
        case.used.zip(case.limit).map(|(used, limit)| used.minus(limit).bytes).filter(|over| *over > 0);
    let must = must.map_or_else(String::new, |over| format!("; at least {} must go", size(over)));
    let factor = case
        .used
        .zip(case.limit)
        .filter(|(_, limit)| limit.bytes > 0)
        .map(|(used, limit)| used.bytes as f64 / limit.bytes as f64);
    let mut all = vec![
        Fix::unknown(
            "donate",
            "donate arguments that results replace, if they are not donated yet",
            "jax.jit(f, donate_argnums=...)",
            "saves the size of the results that have the shape of an argument",
        ),
        Fix::unknown(
            "checkpoint",
            "compute values of the forward pass again, if this trains a model",
            "jax.checkpoint around layers or the scan's body",
            "helps only with temporaries; the message does not say how much they are",
        ),
        Fix::unknown(
            "shard",
            format!("shard arguments over more devices{must}"),
            "NamedSharding(mesh, P('x', ...)) for parameters and optimiser state",
            "helps only with what is kept whole on each device",
        ),
    ];
    if let Some(factor) = factor.filter(|factor| *factor > 1.0) {
        all.push(Fix::unknown(
            "smaller_batch",
            format!(
                "a smaller batch: at least {factor:.2} times smaller, even if everything shrinks with it"
            ),
            "a smaller batch per device, with gradients accumulated over micro-batches",
            "arguments do not shrink with the batch",
        ));
    }
    all
}
