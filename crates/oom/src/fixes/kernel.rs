//! Memories of a kernel on the chip: VMEM, SMEM, semaphores, a SparseCore's.

use haloscope_report::Status;

use super::{Fix, fits, part, powers, size, smallest};
use crate::case::Case;
use crate::message::{Buffer, Form, What};
use crate::shape::{array, plain};

/// Bytes of a semaphore, and of a word of SMEM.
const WORD_BYTES: i64 = 4;
/// Bytes of SMEM that are left to the compiler.
const SPARE_BYTES: i64 = 4096;
/// Of what a stack needs under one limit, one part of so many is added when the limit is raised.
const HEADROOM: i64 = 5;
/// Vector subcores of a SparseCore that share its memory.
const SUBCORES: i64 = 16;

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let mut all = Vec::new();
    match case.space.as_str() {
        "sflag" => all.extend(fewer_semaphores(case)),
        "smem" => all.extend(scalars(case)),
        _ if case.form() == Some(Form::SparseCoreOffset) => all.extend(subcore(case)),
        _ => {
            all.extend(raise_limit(case));
            all.extend(fewer_buffers(case));
            all.extend(smaller_blocks(case));
            all.extend(less_scratch(case));
            all.extend(spills(case));
        }
    }
    all
}

/// Places of the buffers that are meant.
fn places(case: &Case<'_>, is_meant: impl Fn(&Buffer) -> bool) -> Vec<usize> {
    case.buffers.iter().enumerate().filter(|(_, buffer)| is_meant(buffer)).map(|(place, _)| place).collect()
}

fn is_kernel(case: &Case<'_>) -> bool {
    let named = case.message.and_then(|message| message.named.as_ref());
    named.is_none_or(|named| named.is_kernel() || named.opcode.is_empty())
}

/// A larger part of VMEM for the stack of one instruction.
fn raise_limit(case: &Case<'_>) -> Option<Fix> {
    if case.form() != Some(Form::ScopedStack) {
        // All of VMEM is asked for: there is no limit to raise.
        return None;
    }
    let used = case.used?;
    let limit = case.limit;
    let default =
        case.chips.iter().any(|chip| limit.is_some_and(|limit| limit.bytes == chip.scoped_vmem_bytes));
    let is_low = !case.chips.is_empty() && !default;
    let rooms: Vec<i64> = case.chips.iter().map(|chip| chip.vmem_bytes).collect();
    let verdicts: Vec<Option<bool>> =
        rooms.iter().map(|room| fits(used.bytes, *room, used.slack_bytes)).collect();
    let word = |(chip, verdict): (&&crate::chips::Chip, &Option<bool>)| {
        let verdict = match verdict {
            Some(true) => "enough",
            Some(false) => "too little",
            None => "about as much",
        };
        format!("{} has {}: {verdict}", chip.name, size(chip.vmem_bytes))
    };
    let words: Vec<String> = case.chips.iter().zip(&verdicts).map(word).collect();
    let words = if words.is_empty() {
        "the chip is not known: v5e and v6e have 128 MiB, v5p and v7x 64 MiB, v4 16 MiB".to_owned()
    } else {
        words.join(", ")
    };
    // More than is needed, in whole MiB, and no more than there is. Under a higher limit the compiler takes more for itself:
    // libtpu 0.0.52 asked for over 73 MiB under a limit of 65 where it had asked for 64 under one of 32.
    let needed = used.bytes.saturating_add(used.slack_bytes);
    let room = rooms.iter().copied().min().unwrap_or(i64::MAX);
    let ask = needed.saturating_add(needed / HEADROOM).min(room).max(needed);
    let mib = part(ask, 1 << 20);
    let (how, but) = if is_kernel(case) {
        (
            format!(
                "pl.pallas_call(..., compiler_params=pltpu.CompilerParams(vmem_limit_bytes={mib} * 2**20)); for all instructions \
                 --xla_tpu_scoped_vmem_limit_kib={} in LIBTPU_INIT_ARGS or compiler_options; if the compiler then asks for more, use its number",
                mib * 1024
            ),
            "XLA has less VMEM left for other values around the kernel",
        )
    } else {
        (
            format!(
                "remove xla_tpu_scoped_vmem_limit_kib from compiler_options or LIBTPU_INIT_ARGS, or set it to at least {}",
                part(ask, 1024)
            ),
            "no cost: the limit was set below the default, and the code is XLA's own",
        )
    };
    let low = match (is_kernel(case), is_low) {
        (false, _) => "; the limit is not a default: a flag set it",
        (true, true) => "; the limit is not a default: a flag or the kernel's vmem_limit_bytes set it",
        (true, false) => "",
    };
    let what = format!("let the stack take {} of VMEM ({words}{low})", size(used.bytes));
    let mut fix = Fix::unknown("raise_limit", what, how, but);
    fix.status = Status::Derived;
    fix.saves_bytes = Some(0);
    fix.left_bytes = Some(used.bytes);
    fix.limit_bytes = rooms.iter().copied().min().or_else(|| (!is_kernel(case)).then_some(16 << 20));
    fix.fits = match verdicts.as_slice() {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => *first,
        [] if !is_kernel(case) => fits(used.bytes, 16 << 20, used.slack_bytes),
        _ => None,
    };
    if rooms.is_empty() && fix.limit_bytes.is_none() {
        // On the smallest chip that has room at all.
        fix.fits = if used.bytes > 128 << 20 { Some(false) } else { None };
    }
    Some(fix)
}

/// One copy of each block in place of two.
fn fewer_buffers(case: &Case<'_>) -> Option<Fix> {
    let is_meant =
        |buffer: &Buffer| buffer.what.is_window() && buffer.levels.is_some_and(|levels| levels > 1);
    let saved = case.buffers.iter().filter(|buffer| is_meant(buffer)).fold(0i64, |sum, buffer| {
        let (bytes, levels) =
            (buffer.size.map_or(0, |size| size.bytes), i64::from(buffer.levels.unwrap_or(1)));
        sum.saturating_add(bytes - part(bytes, levels))
    });
    if saved == 0 {
        return None;
    }
    Some(
        Fix::unknown(
            "fewer_buffers",
            format!("one copy of each block instead of two ({} of windows)", size(case.window_bytes())),
            "pl.BlockSpec(..., pipeline_mode=pl.Buffered(1))",
            "transfers no longer overlap with the work; for a block whose index never changes this costs nothing",
        )
        .saving(case, saved, Status::Derived)
        .on(places(case, is_meant))
        .unless_alone(case.form() == Some(Form::OneAllocation)),
    )
}

/// Smaller blocks.
fn smaller_blocks(case: &Case<'_>) -> Option<Fix> {
    let (used, limit) = (case.used?.bytes, case.room()?);
    let how = "smaller block_shape in the BlockSpecs, and a larger grid";
    let but = "the grid has more steps, and operands that every step needs are copied more often";
    let windows = case.window_bytes();
    if windows == 0 {
        if !is_kernel(case) {
            return None;
        }
        // Of the stack nobody says what it is made of.
        let factor = smallest(powers().take(10), |n| part(used, n), limit)?;
        let operands =
            case.message.and_then(|message| message.named.as_ref()).map(|named| named.operands.join(", "));
        let operands =
            operands.filter(|o| !o.is_empty()).map_or_else(String::new, |o| format!(" (operands {o})"));
        let what = format!("blocks and scratch {factor} times smaller{operands}, if they fill the stack");
        return Some(
            Fix::unknown("smaller_blocks", what, how, but)
                .saving(case, used - part(used, factor), Status::Estimated)
                .by(factor),
        );
    }
    let rest = used.saturating_sub(windows).max(0);
    // Of one allocation alone nobody says what else is there: another block of its size at the least.
    let is_alone = case.form() == Some(Form::OneAllocation);
    let all = if is_alone { windows.saturating_mul(2) } else { windows };
    let factor = smallest(powers().take(12), |n| rest.saturating_add(part(all, n)), limit);
    let n = factor.unwrap_or(2);
    let largest = case
        .buffers
        .iter()
        .filter(|buffer| buffer.what.is_window())
        .max_by_key(|buffer| buffer.size.map(|s| s.bytes));
    let example = largest.and_then(|buffer| {
        let (kind, dimensions) = array(&buffer.window)?;
        let (place, extent) =
            dimensions.iter().copied().enumerate().find(|(_, extent)| *extent >= n && extent % n == 0)?;
        let mut smaller = dimensions;
        smaller[place] = extent / n;
        let words: Vec<String> = smaller.iter().map(ToString::to_string).collect();
        Some(format!(": {} becomes {}[{}]", plain(&buffer.window), kind.name(), words.join(",")))
    });
    let what = format!("blocks {n} times smaller{}", example.unwrap_or_default());
    Some(
        Fix::unknown("smaller_blocks", what, how, but)
            .saving(case, windows - part(windows, n), Status::Derived)
            .by(n)
            .on(places(case, |buffer| buffer.what.is_window()))
            .unless_alone(is_alone),
    )
}

/// Scratch memory that is smaller, or narrower.
fn less_scratch(case: &Case<'_>) -> Option<Fix> {
    let is_scratch = |buffer: &Buffer| buffer.what == What::Scratch;
    let scratch = case.scratch_bytes();
    if scratch == 0 {
        return None;
    }
    let (used, limit) = (case.used?.bytes, case.room()?);
    let rest = used.saturating_sub(scratch).max(0);
    let n = smallest(powers().take(12), |n| rest.saturating_add(part(scratch, n)), limit).unwrap_or(2);
    Some(
        Fix::unknown(
            "less_scratch",
            format!("scratch {n} times smaller ({} now)", size(scratch)),
            "smaller shapes in scratch_shapes: work on the block in pieces, or keep the scratch in bf16",
            "not possible if the work needs all of it at once",
        )
        .saving(case, scratch - part(scratch, n), Status::Derived)
        .by(n)
        .on(places(case, is_scratch)),
    )
}

/// Registers that did not suffice.
fn spills(case: &Case<'_>) -> Option<Fix> {
    let is_spill = |buffer: &Buffer| buffer.what == What::Spills;
    let any = case.buffers.iter().any(is_spill);
    let spilled = case.bytes_of(is_spill);
    any.then(|| {
        let fix = Fix::unknown(
            "fewer_live_values",
            "keep fewer values alive at a time in the kernel or fusion: registers spill to VMEM",
            "load and use a value in a loop over smaller pieces; for fusions of XLA, break the chain with jax.lax.optimization_barrier",
            "another release of the compiler may spill less",
        );
        if spilled > 0 { fix.saving(case, spilled, Status::Derived).on(places(case, is_spill)) } else { fix }
    })
}

/// Tables of scalars.
fn scalars(case: &Case<'_>) -> Vec<Fix> {
    let mut all = Vec::new();
    let (Some(used), Some(limit)) = (case.used, case.limit) else { return all };
    let Some(largest) = case.buffers.iter().max_by_key(|buffer| buffer.size.map(|size| size.bytes)) else {
        return all;
    };
    let place = places(case, |buffer| buffer == largest);
    let bytes = largest.size.map_or(0, |size| size.bytes);
    // What does not belong to the table: the message's own total, or what it says is too much.
    let over = case.message.and_then(crate::message::Message::over).map_or(0, |over| over.bytes);
    let must = over.max(used.bytes.saturating_sub(limit.bytes)).max(1);
    // The compiler keeps some of it for itself.
    let must = must.saturating_add(SPARE_BYTES);
    let entries = bytes / WORD_BYTES;
    let fitting = (bytes.saturating_sub(must) / WORD_BYTES).max(0);
    let name = match largest.what {
        What::Prefetched => "the prefetched table of scalars",
        _ => "the scratch in SMEM",
    };
    all.push(
        Fix::unknown(
            "table_in_hbm",
            format!("keep {name} ({}) in HBM, and copy in the piece that a step needs", size(bytes)),
            "pl.BlockSpec(memory_space=pl.ANY) and pltpu.make_async_copy into a small SMEM scratch, or an in_spec with \
             memory_space=pltpu.SMEM and a block of the table for each step",
            "one copy per step, which is hidden if it starts a step ahead",
        )
        .saving(case, bytes, Status::Derived)
        .on(place.clone()),
    );
    if largest.what == What::Prefetched {
        let mut packed = Fix::unknown(
            "pack_scalars",
            "two entries of 16 bits in a word",
            "(low | high << 16) before the call, shifts and masks in the kernel",
            "entries must stay below 65,536",
        )
        .saving(case, bytes / 2, Status::Estimated)
        .on(place.clone());
        if packed.fits == Some(true) && packed.spare_bytes().is_some_and(|spare| spare < SPARE_BYTES) {
            // The compiler keeps some SMEM for itself.
            packed.fits = None;
            packed.but += "; it would fill SMEM exactly, but the compiler needs some itself";
        }
        all.push(packed);
    }
    all.push(
        Fix::unknown(
            "fewer_scalars",
            format!("at most {fitting} words of 4 bytes instead of {entries}"),
            match largest.what {
                What::Prefetched => {
                    "fewer or longer pages, fewer sequences per call, or one call for each part of the batch"
                }
                _ => "a smaller scratch_shapes=[pltpu.SMEM(...)]",
            },
            "the compiler needs some SMEM itself: 4 KiB are left for it here",
        )
        .saving(case, must, Status::Estimated)
        .on(place),
    );
    all
}

fn fewer_semaphores(case: &Case<'_>) -> Option<Fix> {
    let (used, limit) = (case.used?, case.limit?);
    let now = used.bytes / WORD_BYTES;
    let most = limit.bytes / WORD_BYTES;
    let all: Vec<usize> = (0..case.buffers.len()).collect();
    Some(
        Fix::unknown(
            "fewer_semaphores",
            format!("fewer than {most} semaphores instead of {now}"),
            "one semaphore for each copy in flight, used in turn (s.at[i % n]): scratch_shapes=[pltpu.SemaphoreType.DMA((n,))]",
            "the compiler needs some of them itself; each copy in flight needs a semaphore",
        )
        .saving(case, used.bytes.saturating_sub(limit.bytes / 2), Status::Derived)
        .on(all),
    )
}

/// Memory of the vector subcores of a SparseCore.
fn subcore(case: &Case<'_>) -> Option<Fix> {
    let (used, limit) = (case.used?, case.limit?);
    let factor = smallest(powers().take(12), |n| part(used.bytes, n), limit.bytes).unwrap_or(2);
    let own = case.buffers.first().and_then(|buffer| memref_bytes(&buffer.shape));
    let of = own.filter(|own| own.saturating_mul(SUBCORES) == used.bytes).map_or_else(String::new, |own| {
        format!(" ({} on each of {SUBCORES} subcores, which share one memory)", size(own))
    });
    Some(
        Fix::unknown(
            "smaller_blocks",
            format!("scratch {factor} times smaller{of}"),
            "smaller scratch_types=[pltpu.VMEM(...)] of the SparseCore kernel, filled several times in a loop",
            "more copies, and each must be large enough to be worth starting",
        )
        .saving(case, used.bytes - part(used.bytes, factor), Status::Derived)
        .by(factor)
        .on((0..case.buffers.len()).collect()),
    )
}

/// Bytes of `2048x128xf32`.
fn memref_bytes(text: &str) -> Option<i64> {
    let (extents, kind) = text.rsplit_once('x')?;
    let bits: i64 = kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    let count = extents.split('x').try_fold(1i64, |count, n| count.checked_mul(n.parse().ok()?))?;
    count.checked_mul(bits)?.checked_div(8)
}
