//! HBM, as the compiler fills it.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_hlo::ElementType;
use haloscope_report::Status;
use haloscope_time::layer::Layer;

use super::{Fix, HEADROOM, part, powers, size, smallest};
use crate::case::Case;
use crate::framework::Framework;
use crate::loss::{self, Logits};
use crate::message::{Buffer, What};
use crate::program;
use crate::shape::{array, plain};

/// A cure that saves less than this share of what is needed is not worth a word.
const WORTH_SHARE: f64 = 0.02;
/// Smaller buffers are left alone, however many there are.
const SMALL_BYTES: i64 = 1 << 20;
/// Trips from which a leading extent is taken for that of a loop over layers or steps.
const TRIPS: i64 = 4;
/// More are no trips of a loop where nothing else says that there is one.
const MOST_TRIPS: i64 = 4096;
/// Values of f32 of which at most XLA makes one of f64.
const MOST_PARTS: i64 = 16;
/// Extents from which two equal ones are taken for a matrix of all pairs.
const PAIRS: i64 = 1024;

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let mut all = Vec::new();
    all.extend(donate(case));
    all.extend(carry(case));
    all.extend(no_doubles(case));
    all.extend(keep_sharded(case));
    all.extend(checkpoint(case));
    all.extend(all_pairs(case));
    all.extend(loss_in_chunks(case));
    all.extend(padding(case));
    all.extend(shard(case));
    all.extend(half(case));
    all.extend(smaller_batch(case));
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

/// Arguments whose memory a result of the same shape could have.
fn donate(case: &Case<'_>) -> Option<Fix> {
    let how = match case.framework {
        Some(Framework::PyTorchXla) => {
            "write results back into the tensors that they replace (in place) inside the compiled step: torch_xla donates such inputs"
        }
        Some(Framework::TensorFlow) => {
            "keep the state in a tf.Variable and assign to it inside the tf.function"
        }
        _ => {
            "jax.jit(f, donate_argnums=...) or donate_argnames for what the call replaces: a cache, parameters, optimiser state"
        }
    };
    let but = "the caller must not use the old value again after the call";
    if case.holding.is_none() {
        // A message that says how much of the result lies in arguments.
        let result = case.result_bytes().filter(|bytes| *bytes > 0)?;
        let could = result.min(case.argument_bytes()?);
        let what = format!(
            "donate arguments that a result replaces: {} of results share no memory with arguments",
            size(result)
        );
        return (could > 0)
            .then(|| Fix::unknown("donate", what, how, but).saving(case, could, Status::Estimated));
    }
    let mut free: BTreeMap<String, Vec<(usize, &Buffer)>> = BTreeMap::new();
    for (place, buffer) in worth(case, |buffer| buffer.what == What::Result) {
        free.entry(result_shape(case, buffer)).or_default().push((place, buffer));
    }
    let mut taken = Vec::new();
    let mut given = Vec::new();
    let is_meant = |buffer: &Buffer| {
        buffer.what == What::Argument && !buffer.is_donated && !is_filled_beside(case, buffer)
    };
    for argument in worth(case, is_meant) {
        if let Some(result) = free.get_mut(plain(&argument.1.shape)).and_then(Vec::pop) {
            taken.push(result);
            given.push(argument);
        }
    }
    let saved = sum(&taken);
    if taken.is_empty() || saved < least(case) {
        return None;
    }
    let what = format!(
        "donate {}: a result of {} has its shape and could have its memory",
        first(&given),
        size(saved)
    );
    Some(Fix::unknown("donate", what, how, but).saving(case, saved, Status::Derived).on(places(&taken)))
}

/// Whether a loop fills a stack of this buffer's shape while it reads it: the two cannot share their memory.
fn is_filled_beside(case: &Case<'_>, buffer: &Buffer) -> bool {
    let shape = array(&buffer.shape).map(|(kind, extents)| (kind.name(), extents));
    case.holding.zip(shape).is_some_and(|(holding, shape)| holding.filled_beside.contains(&shape))
}

/// What a loop reads in one place and writes anew in another, which could be one that it updates.
fn carry(case: &Case<'_>) -> Option<Fix> {
    let twice = worth(case, |buffer| buffer.what == What::Argument && is_filled_beside(case, buffer));
    if twice.is_empty() {
        return None;
    }
    let how = match case.framework {
        Some(Framework::PyTorchXla) => {
            "carry it through torch_xla.experimental.scan and update it there with index_copy_ or dynamic_update_slice"
        }
        Some(Framework::TensorFlow) => {
            "carry it as a loop variable of tf.while_loop and update it with tensor_scatter_nd_update"
        }
        _ => {
            "put it into the carry of jax.lax.scan (or fori_loop), update it with jax.lax.dynamic_update_slice at the number of the trip, \
             and donate it: donate_argnums=..."
        }
    };
    Some(
        Fix::unknown(
            "carry_in_loop",
            format!(
                "carry {} through the loop and update it in place ({}): it goes in as what the loop reads and comes out as another value, \
                 so that both are there; donating it alone saves nothing",
                first(&twice),
                size(sum(&twice))
            ),
            how,
            "XLA keeps a copy where a trip reads the old value after it has written the new one",
        )
        .on(places(&twice)),
    )
}

/// The shape in which a program gives a value back: its own, or the only one of its type that has as many elements, as which it is seen
/// outside.
fn result_shape(case: &Case<'_>, buffer: &Buffer) -> String {
    let own = plain(&buffer.shape).to_owned();
    let Some((holding, (kind, extents))) = case.holding.zip(array(&buffer.shape)) else { return own };
    let count = program::elements(&extents);
    let is_seen = |seen: &&(&str, Vec<i64>)| seen.0 == kind.name() && program::elements(&seen.1) == count;
    let mut all = holding.results.iter().filter(is_seen);
    match (all.next(), all.next()) {
        (Some((kind, extents)), None) => {
            let words: Vec<String> = extents.iter().map(ToString::to_string).collect();
            format!("{kind}[{}]", words.join(","))
        }
        _ => own,
    }
}

/// f64, which a TPU has no units for: XLA makes each value of two f32, and products of more.
fn no_doubles(case: &Case<'_>) -> Option<Fix> {
    let doubles = &case.holding?.doubles;
    // How many times as much a buffer takes as the f32 that would stand for it.
    let times = |buffer: &Buffer| match array(&buffer.shape)? {
        (ElementType::F64, _) => Some(2),
        (ElementType::F32, extents) => {
            let (parts, rest) = extents.split_first()?;
            (2..=MOST_PARTS)
                .contains(parts)
                .then(|| doubles.contains(rest))
                .filter(|is_one| *is_one)
                .map(|_| *parts)
        }
        _ => None,
    };
    let meant = worth(case, |buffer| times(buffer).is_some());
    if !meant.iter().any(|(_, buffer)| array(&buffer.shape).is_some_and(|(kind, _)| kind == ElementType::F64))
    {
        return None;
    }
    let left = meant
        .iter()
        .fold(0i64, |sum, (_, buffer)| sum.saturating_add(part(bytes(buffer), times(buffer).unwrap_or(1))));
    let how = match case.framework {
        Some(Framework::PyTorchXla | Framework::PyTorch) => {
            "torch.float32 in place of torch.float64 (tensor.float(), torch.set_default_dtype)"
        }
        Some(Framework::TensorFlow) => {
            "tf.float32 in place of tf.float64 (tf.cast; NumPy's arrays are float64)"
        }
        _ => "without jax_enable_x64 (JAX_ENABLE_X64) JAX makes f32 of it; else x.astype(jnp.float32)",
    };
    Some(
        Fix::unknown(
            "no_f64",
            format!(
                "compute in f32 in place of f64: a TPU has no f64, and XLA makes it of several f32 ({}, {})",
                first(&meant),
                size(sum(&meant))
            ),
            how,
            "numbers have 24 bits of precision in place of 53",
        )
        .saving(case, sum(&meant) - left, Status::Estimated)
        .on(places(&meant)),
    )
}

/// What is gathered whole before it is used.
fn keep_sharded(case: &Case<'_>) -> Option<Fix> {
    let is_gathered = |buffer: &Buffer| {
        buffer.what == What::Temporary
            && (buffer.name.contains("all-gather") || buffer.op_name.ends_with("/all_gather"))
    };
    let gathered = worth(case, is_gathered);
    if gathered.is_empty() {
        return None;
    }
    let all = sum(&gathered);
    let devices = case.holding.and_then(|holding| holding.partitions).filter(|n| *n > 1);
    let n = devices.and_then(|n| i64::try_from(n).ok()).unwrap_or(2);
    let of = devices.map_or_else(
        || "at least half of it".to_owned(),
        |n| format!("what {n} devices share stays at 1/{n} on each"),
    );
    Some(
        Fix::unknown(
            "keep_sharded",
            format!("do not gather {} whole ({}): {of}", first(&gathered), size(all)),
            "contract over the sharded dimension and reduce the result (leave out the with_sharding_constraint that asks for all \
             of it), or gather a block or a layer at a time inside the loop that uses it",
            "the result is reduced over devices instead: other traffic",
        )
        .saving(case, all - part(all, n), if devices.is_some() { Status::Derived } else { Status::Estimated })
        .on(places(&gathered)),
    )
}

/// Values of the forward pass that are kept for the backward pass.
struct Kept<'c> {
    /// For how many trips or layers.
    count: i64,
    /// What each is, in a word.
    one: &'static str,
    /// All of them, in words, behind what they take.
    of: String,
    buffers: Vec<(usize, &'c Buffer)>,
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
fn checkpoint(case: &Case<'_>) -> Vec<Fix> {
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
            "compute again what is {word}; what a {one} begins with stays ({})",
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
            "keep what one {one} of {groups} begins with, of {word}, and compute the rest again group by group"
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
fn of_loop<'c>(case: &'c Case<'_>) -> Option<Kept<'c>> {
    if case.holding.is_some_and(|holding| holding.has_loop == Some(false)) {
        // What comes first in a shape is no trip of a loop that is not there.
        return None;
    }
    let trips = |buffer: &Buffer| {
        array(&buffer.shape).filter(|(_, n)| n.len() > 1).and_then(|(_, n)| n.first().copied())
    };
    let mut loops: BTreeMap<i64, Vec<(usize, &Buffer)>> = BTreeMap::new();
    for (place, buffer) in temporaries(case) {
        if let Some(n) = trips(buffer).filter(|n| *n >= TRIPS) {
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
            "two scans, one in the other, with jax.checkpoint around both bodies",
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
        of: format!("for each of {n} trips of a loop"),
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

fn temporaries<'c>(case: &'c Case<'_>) -> impl Iterator<Item = (usize, &'c Buffer)> {
    case.buffers.iter().enumerate().filter(|(_, buffer)| buffer.what == What::Temporary)
}

/// Matrices of all pairs of positions, as attention makes them.
fn all_pairs(case: &Case<'_>) -> Option<Fix> {
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
    if sum(&pairs) < least(case) || pairs.is_empty() {
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
                "do not make the matrix of all {side} x {side} pairs whole ({}, {}): {chunks} blocks of rows take 1/{chunks} of it",
                first(&pairs),
                size(all)
            ),
            "for attention a kernel that never writes the scores (splash or flash attention, \
             jax.nn.dot_product_attention with an implementation that has one); else jax.lax.map over blocks of rows",
            "where a value of all pairs is a result in itself it cannot be left out",
        )
        .saving(case, all - part(all, chunks), Status::Estimated)
        .by(chunks)
        // Of layers that are written out one by one the scores are those that the compiler did not compute again: without them others
        // are there.
        .guessed(case.holding.is_some_and(|holding| {
            holding.is_rematerialised && holding.gradient == Some(true) && holding.has_loop == Some(false)
        }))
        .on(places(&pairs)),
    )
}

/// Logits, and what a loss makes of them, of which the name of an op of the program says so.
fn loss_in_chunks(case: &Case<'_>) -> Option<Fix> {
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
    let cast =
        if is_cast { "; they are kept in f32: leave a cast to f32 to where a chunk is reduced" } else { "" };
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
                "do not keep the logits of all {tokens} tokens for {} words ({}, {}): the head and the loss by {chunks} chunks of \
                 tokens take 1/{chunks} of it{cast}",
                shape.0,
                first(&logits),
                size(all)
            ),
            how,
            "the product of the head is computed twice; where logits are a result in themselves they cannot be left out",
        )
        .saving(case, all - part(all, chunks), Status::Estimated)
        .by(chunks)
        .on(places(&logits)),
    )
}

/// What tiles add to shapes with small last extents.
fn padding(case: &Case<'_>) -> Option<Fix> {
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
            "XLA chooses layouts itself: look at the padded sizes after the change",
        )
        .saving(case, all, Status::Estimated)
        .on(places(&padded)),
    )
}

/// Arguments over more devices.
fn shard(case: &Case<'_>) -> Option<Fix> {
    let limit = case.room()?;
    let used = case.used?.bytes;
    let how = match case.framework {
        Some(Framework::PyTorchXla) => {
            "torch_xla.distributed.spmd: mark_sharding, or FSDP (SpmdFullyShardedDataParallel)"
        }
        Some(Framework::TensorFlow) => {
            "tf.experimental.dtensor layouts, or a smaller model part on each replica"
        }
        _ => {
            "jax.device_put(x, NamedSharding(mesh, P('x', ...))), and the same in in_shardings: FSDP or tensor parallelism"
        }
    };
    let large = worth(case, |buffer| buffer.what == What::Argument);
    let (all, status) = if case.holding.is_some() || !large.is_empty() {
        (sum(&large), Status::Derived)
    } else {
        (case.argument_bytes()?, Status::Estimated)
    };
    if all == 0 || all < used / 20 {
        return None;
    }
    // Results that take the shape of an argument are sharded with it.
    let is_sharded_too = |buffer: &Buffer| {
        buffer.what == What::Result
            && large.iter().any(|(_, argument)| plain(&argument.shape) == result_shape(case, buffer))
    };
    let results = worth(case, is_sharded_too);
    let both = all.saturating_add(sum(&results));
    let rest = used.saturating_sub(both);
    let devices = smallest(powers().take(12), |n| rest.saturating_add(part(both, n)), limit);
    let n = devices.unwrap_or(4096);
    let what = if large.is_empty() { "arguments".to_owned() } else { first(&large) };
    let now = case.holding.and_then(|holding| holding.partitions).filter(|n| *n > 1);
    let now = now.map_or_else(String::new, |n| {
        format!("; the program runs on {n} devices, and this is what one of them keeps")
    });
    let fix = Fix::unknown(
        "shard",
        format!(
            "shard {what}{} over {n} times as many devices ({} on each now{now})",
            if results.is_empty() { "" } else { ", and with them results of their shapes," },
            size(both)
        ),
        how,
        "what is sharded is gathered or reduced where it is used: traffic",
    )
    .saving(case, both - part(both, n), status)
    .by(n)
    .on(places(&large).into_iter().chain(places(&results)).collect());
    // Without any arguments it would not fit either: where temporaries fill it, whether it does is up to them, which are split where the
    // batch is.
    let is_up_to_temporaries =
        devices.is_none() && case.temporary_bytes().is_some_and(|bytes| 2 * bytes >= rest);
    Some(if is_up_to_temporaries { Fix { fits: None, ..fix } } else { fix })
}

/// f32 that could be bf16.
fn half(case: &Case<'_>) -> Option<Fix> {
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
            "x.astype(jnp.bfloat16), dtype= and param_dtype= of the layers; for scores and logits leave out the cast to f32 \
             before the values are reduced",
            "numerics change; optimiser state is kept in f32 for a reason",
        )
        .saving(case, all / 2, Status::Estimated)
        // Some ops keep their operands in f32 all the same, sorts among them.
        .guessed(true)
        .on(places(&wide)),
    )
}

/// Fewer examples at a time.
fn smaller_batch(case: &Case<'_>) -> Option<Fix> {
    let used = case.used?.bytes;
    let limit = easy(case.room()?);
    let temporary = case.temporary_bytes().filter(|bytes| *bytes > 0)?;
    if temporary < used / 20 {
        return None;
    }
    let rest = used.saturating_sub(temporary).max(0);
    let factor = smallest(powers().take(10), |n| rest.saturating_add(part(temporary, n)), limit);
    let n = factor.unwrap_or(1024);
    let how = match case.framework {
        Some(Framework::PyTorchXla | Framework::PyTorch) => {
            "a smaller batch for each device, with gradients added up over several of them"
        }
        _ => {
            "a smaller batch for each device, with gradients added up over micro-batches (jax.lax.scan over them)"
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
        .on(all),
    )
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
            "donate arguments that results replace, if they are not",
            "jax.jit(f, donate_argnums=...)",
            "helps by the size of the results that have an argument's shape",
        ),
        Fix::unknown(
            "checkpoint",
            "compute values of the forward pass again, if this trains a model",
            "jax.checkpoint around layers or the scan's body",
            "helps only with temporaries, which the message does not tell from arguments",
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
            format!("a smaller batch: even if all of it shrank with the batch, {factor:.2} times smaller at the least"),
            "a smaller batch for each device, with gradients added up over micro-batches",
            "arguments do not shrink with the batch",
        ));
    }
    all
}
