//! Values of the forward pass that are kept for the backward pass, and computing them again.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_report::Status;
use haloscope_time::layer::Layer;

use super::{SMALL_BYTES, bytes, first, least, places, sum, temporaries};
use crate::case::Case;
use crate::fixes::{Fix, part, size};
use crate::framework::Framework;
use crate::message::Buffer;
use crate::program;
use crate::shape::{array, plain};

/// Trips from which a leading extent is taken for that of a loop over layers or steps.
const TRIPS: i64 = 4;

/// More are no trips of a loop where nothing else says that there is one.
const MOST_TRIPS: i64 = 4096;

/// Values of the forward pass that are kept for the backward pass.
pub(super) struct Kept<'c> {
    /// For how many trips or layers.
    count: i64,
    /// What each is, in a word.
    one: &'static str,
    /// All of them, in words, behind what they take.
    of: String,
    pub(super) buffers: Vec<(usize, &'c Buffer)>,
    /// Bytes of them that need not be kept.
    again_bytes: i64,
    /// Bytes of what all trips or layers begin with, which must stay. Where the program does not say which of the values that is, one of
    /// the middle is taken.
    begin_bytes: i64,
    /// Whether nothing but the number of values of one shape says what one is.
    is_guess: bool,
    /// How what a trip or layer keeps is computed again, and how it is by groups of them.
    how: [&'static str; 2],
}

/// Computes again what is kept for the backward pass.
pub(super) fn checkpoint(case: &Case<'_>) -> Vec<Fix> {
    if case.holding.is_some_and(|holding| holding.gradient == Some(false)) {
        // Nothing is kept for a backward pass that is not there.
        return Vec::new();
    }
    let Some(kept) = of_loop(case).or_else(|| of_layers(case)) else { return Vec::new() };
    let (all, n, one) = (kept.again_bytes, kept.count, kept.one);
    let [how, nested] = kept.how;
    let word = format!("{} kept {} ({})", size(all), kept.of, first(&kept.buffers));
    let mut fixes = Vec::new();
    if kept.begin_bytes < all {
        let what = format!(
            "compute again what is {word}; the inputs of each {one} stay ({})",
            size(kept.begin_bytes)
        );
        let but = "the forward pass is computed twice: about a third more work";
        fixes.push(
            Fix::unknown("checkpoint", what, how, but)
                .saving(case, all - kept.begin_bytes, Status::Estimated)
                .guessed(kept.is_guess)
                .on(places(&kept.buffers)),
        );
    }
    let groups = (n as f64).sqrt().ceil() as i64;
    let stays = part(kept.begin_bytes, n).saturating_mul(groups.saturating_add(part(n, groups)));
    if n >= 16 && stays < kept.begin_bytes {
        let what = format!(
            "keep the inputs of one {one} in {groups}, of {word}, and compute the rest again group by group"
        );
        let but = "most of the forward pass is computed three times";
        fixes.push(
            Fix::unknown("checkpoint_in_groups", what, nested, but)
                .saving(case, all - stays, Status::Estimated)
                .by(groups)
                .guessed(kept.is_guess)
                .on(places(&kept.buffers)),
        );
    }
    fixes
}

/// The size in the middle.
fn middle(buffers: &[(usize, &Buffer)]) -> i64 {
    let mut sizes: Vec<i64> = buffers.iter().map(|(_, buffer)| bytes(buffer)).collect();
    sizes.sort_unstable();
    sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// What a loop keeps for each of its trips, stacked.
pub(super) fn of_loop<'c>(case: &'c Case<'_>) -> Option<Kept<'c>> {
    if case.holding.is_some_and(|holding| holding.has_loop == Some(false)) {
        // What comes first in a shape is no trip of a loop that is not there.
        return None;
    }
    let trips = |buffer: &Buffer| {
        array(&buffer.shape).filter(|(_, n)| n.len() > 1).and_then(|(_, n)| n.first().copied())
    };
    // Where it is known how often loops go round, other extents are those of a batch. A trip may stand before or behind the loop, and a loop
    // may do two at a time.
    let known = case.holding.and_then(|holding| holding.trips.as_ref());
    let may_be_trips =
        |n: i64| known.is_none_or(|known| known.iter().any(|trips| (trips - n).abs() <= 1 || 2 * trips == n));
    let mut loops: BTreeMap<i64, Vec<(usize, &Buffer)>> = BTreeMap::new();
    for (place, buffer) in temporaries(case) {
        if let Some(n) = trips(buffer).filter(|n| *n >= TRIPS && may_be_trips(*n)) {
            loops.entry(n).or_default().push((place, buffer));
        }
    }
    let is_of_loop = |stacks: &[(usize, &Buffer)]| {
        let large = stacks.iter().filter(|(_, buffer)| bytes(buffer) >= least(case)).count();
        let has = |of: fn(&Buffer) -> &str, words: &[&str]| {
            stacks.iter().any(|(_, buffer)| words.iter().any(|word| of(buffer).contains(word)))
        };
        let says = has(|buffer| &buffer.op_name, &["while", "scan"])
            || has(|buffer| &buffer.name, &["while", "dynamic-update-slice", "AllocateBuffer"]);
        let is_of_gradient = stacks.iter().any(|(_, buffer)| program::is_of_gradient(&buffer.op_name));
        // Nobody says that there is a loop: rows of a batch come first too, and are more than trips, or of matrices.
        let may_be = stacks
            .iter()
            .filter(|(_, buffer)| bytes(buffer) >= least(case))
            .all(|(_, buffer)| array(&buffer.shape).is_some_and(|(_, n)| n.len() > 2 && n[0] <= MOST_TRIPS));
        large >= 1 && (says || (may_be && (large >= 2 || is_of_gradient)))
    };
    let (n, stacks) =
        loops.into_iter().filter(|(_, stacks)| is_of_loop(stacks)).max_by_key(|(_, stacks)| sum(stacks))?;
    let least = least(case) / 4;
    let buffers: Vec<_> = stacks.into_iter().filter(|(_, buffer)| bytes(buffer) >= least).collect();
    let how = match case.framework {
        Some(Framework::PyTorchXla) => [
            "torch_xla.utils.checkpoint.checkpoint around each layer",
            "the same around groups of layers, and around each layer in them",
        ],
        Some(Framework::TensorFlow) => {
            ["tf.recompute_grad around each layer", "tf.recompute_grad around groups of layers"]
        }
        _ => [
            "jax.checkpoint around the scan's body, with policy=jax.checkpoint_policies.nothing_saveable or one that saves a few",
            "two nested scans, with jax.checkpoint around both bodies",
        ],
    };
    // Where the program is known, it says what goes from trip to trip, and what nothing but the loop back takes; else what a trip
    // begins with is one of what is kept, the one in the middle.
    let handed = case.holding.and_then(|holding| holding.handed.get(&n));
    let all = sum(&buffers);
    let again_bytes = handed.map_or(all, |handed| handed.stacked_bytes.min(all));
    let begin_bytes =
        handed.map_or_else(|| middle(&buffers), |handed| handed.carried_bytes.saturating_mul(n));
    Some(Kept {
        count: n,
        one: "trip",
        of: format!("for each of {n} iterations of a loop"),
        buffers,
        again_bytes,
        begin_bytes,
        is_guess: false,
        how,
    })
}

/// What layers that are written out one by one keep of a forward pass: values of one shape, of ops that are differentiated. JAX's
/// names say which those are.
fn of_layers<'c>(case: &'c Case<'_>) -> Option<Kept<'c>> {
    let mut shapes: BTreeMap<&str, Vec<(usize, &Buffer)>> = BTreeMap::new();
    for (place, buffer) in temporaries(case) {
        if program::is_of_forward(&buffer.op_name)
            && bytes(buffer) >= SMALL_BYTES
            && !buffer.op_name.contains("while/body")
        {
            shapes.entry(plain(&buffer.shape)).or_default().push((place, buffer));
        }
    }
    let are_many = |count: usize| i64::try_from(count).is_ok_and(|count| count >= TRIPS);
    let groups: Vec<_> = shapes.into_values().filter(|values| are_many(values.len())).collect();
    let fewest = groups.iter().map(Vec::len).min()?;
    let mut buffers: Vec<_> = groups.into_iter().flatten().collect();
    buffers.sort_by_key(|(place, _)| *place);
    if sum(&buffers) < least(case) {
        return None;
    }
    // As many layers as their names say, else as there are values of the rarest shape.
    let named: BTreeSet<String> =
        buffers.iter().filter_map(|(_, buffer)| Some(Layer::of(&buffer.op_name)?.to_string())).collect();
    let is_named = are_many(named.len());
    let (count, one) = if is_named { (named.len(), "layer") } else { (fewest, "part") };
    let count = i64::try_from(count).ok()?;
    let begin_bytes = middle(&buffers).saturating_mul(count);
    let how = [
        "jax.checkpoint around each layer's function (nn.remat in Flax), with policy=jax.checkpoint_policies.nothing_saveable or one that saves a few",
        "jax.checkpoint around functions of several layers, and around each layer in them",
    ];
    let of = format!("of the forward pass by {count} {one}s");
    Some(Kept { count, one, of, again_bytes: sum(&buffers), buffers, begin_bytes, is_guess: !is_named, how })
}
