//! Arguments and what is kept like them: donated, carried, not kept twice, not whole on each device.

use std::collections::BTreeMap;

use haloscope_hlo::ElementType;
use haloscope_report::Status;

use super::{bytes, first, least, places, sum, worth};
use crate::case::Case;
use crate::fixes::{Fix, part, powers, size, smallest};
use crate::framework::Framework;
use crate::message::{Buffer, What};
use crate::program;
use crate::shape::{array, plain};

/// Values of f32 of which at most XLA makes one of f64.
const MOST_PARTS: i64 = 16;

/// So many times as many devices are named where no number of them suffices.
const MOST_DEVICES: i64 = 16;

/// Arguments whose memory a result of the same shape could have.
pub(super) fn donate(case: &Case<'_>) -> Option<Fix> {
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
pub(super) fn carry(case: &Case<'_>) -> Option<Fix> {
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
            "put it into the carry of jax.lax.scan (or fori_loop), update it with jax.lax.dynamic_update_slice at the iteration number, and donate it: donate_argnums=..."
        }
    };
    Some(
        Fix::unknown(
            "carry_in_loop",
            format!(
                "carry {} through the loop and update it in place ({}): now the loop reads one value and writes another, so both are in memory; donating it alone saves nothing",
                first(&twice),
                size(sum(&twice))
            ),
            how,
            "XLA keeps a copy if an iteration reads the old value after writing the new one",
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
pub(super) fn no_doubles(case: &Case<'_>) -> Option<Fix> {
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
            "torch.float32 instead of torch.float64 (tensor.float(), torch.set_default_dtype)"
        }
        Some(Framework::TensorFlow) => {
            "tf.float32 instead of tf.float64 (tf.cast; NumPy's arrays are float64)"
        }
        _ => "without jax_enable_x64 (JAX_ENABLE_X64), JAX uses f32; otherwise x.astype(jnp.float32)",
    };
    Some(
        Fix::unknown(
            "no_f64",
            format!(
                "compute in f32 instead of f64: a TPU has no f64, so XLA builds it from several f32 ({}, {})",
                first(&meant),
                size(sum(&meant))
            ),
            how,
            "numbers have 24 bits of precision instead of 53",
        )
        .saving(case, sum(&meant) - left, Status::Estimated)
        .on(places(&meant)),
    )
}

/// What is gathered whole before it is used.
pub(super) fn keep_sharded(case: &Case<'_>) -> Option<Fix> {
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
            format!("do not gather all of {} ({}): {of}", first(&gathered), size(all)),
            "contract over the sharded dimension and reduce the result (leave out the with_sharding_constraint that asks for all \
             of it), or gather a block or a layer at a time inside the loop that uses it",
            "the result is reduced over devices instead, which is also traffic",
        )
        .saving(case, all - part(all, n), if devices.is_some() { Status::Derived } else { Status::Estimated })
        .on(places(&gathered)),
    )
}

/// Arguments over more devices.
pub(super) fn shard(case: &Case<'_>) -> Option<Fix> {
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
    let devices = smallest(powers().take(8), |n| rest.saturating_add(part(both, n)), limit);
    let n = devices.unwrap_or(MOST_DEVICES);
    let what = if large.is_empty() { "arguments".to_owned() } else { first(&large) };
    let now = case.holding.and_then(|holding| holding.partitions).filter(|n| *n > 1);
    let now = now.map_or_else(String::new, |n| {
        format!("; the program runs on {n} devices, and this is what one of them keeps")
    });
    let fix = Fix::unknown(
        "shard",
        format!(
            "shard {what}{} over {n} times as many devices ({} on each now{now})",
            if results.is_empty() { "" } else { ", and results of the same shapes," },
            size(both)
        ),
        how,
        "sharded values are gathered or reduced where they are used, which is traffic",
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
