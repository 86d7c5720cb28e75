//! Where a message says what is not so.

use haloscope_report::units;

use crate::case::Case;
use crate::message::{Form, What};

/// Words of a message, and what is so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Correction {
    /// What it says.
    pub(crate) says: String,
    /// What is so.
    pub(crate) is: String,
}

fn size(bytes: i64) -> String {
    units::bytes(bytes as f64)
}

/// What to read otherwise.
#[must_use]
pub(crate) fn all(case: &Case<'_>) -> Vec<Correction> {
    let mut all = Vec::new();
    let Some(message) = case.message else { return all };
    let mut add = |says: &str, is: String| all.push(Correction { says: says.to_owned(), is });
    if !message.blamed.is_empty() {
        let is = match case.holding {
            Some(holding) => format!(
                "all that the program keeps: {} of arguments, {} of results, {} of temporaries, {} of constants",
                size(holding.argument_bytes),
                size(holding.result_bytes),
                size(holding.temporary_bytes),
                size(holding.constant_bytes)
            ),
            None => "all that the program keeps: arguments, results, temporaries and constants together. The message says so \
                     also where there is not one temporary"
                .to_owned(),
        };
        add(&message.blamed, is);
    }
    if let Some(required) =
        message.required.filter(|required| required.slack_bytes > 0 && message.space == "hbm")
    {
        add(
            "G",
            format!(
                "GiB, powers of 1024, rounded: {} is {:.2} GB, give or take {}",
                size(required.bytes),
                required.bytes as f64 / 1e9,
                size(required.slack_bytes)
            ),
        );
    }
    if message.space == "hbm"
        && !message.form.is_at_run_time()
        && let Some(limit) = message.limit
    {
        let of = match case.chips.as_slice() {
            [chip] => format!(" (of a {} device)", chip.name),
            _ => String::new(),
        };
        add(
            "available HBM",
            format!(
                "{}{of} is what a program gets. It is less than the data sheet and than JAX's hbm_capacity_bytes, as the runtime \
                 keeps some",
                size(limit.bytes)
            ),
        );
    }
    if message.form == Form::ScopedStack {
        let is = if message.named.as_ref().is_none_or(super::message::Named::is_kernel) {
            "it is: a kernel's blocks, with two copies of each, and its scratch lie there. It is a limit that can be raised, not \
             a bug of the compiler, and not all of VMEM"
        } else {
            "it is: the limit is lower than what XLA's own code needs, as a flag set it"
        };
        add("It should not be possible to run out of scoped vmem", is.to_owned());
    }
    if case.buffers.iter().any(|buffer| buffer.what.is_window() && buffer.shape.starts_with("u8[")) {
        add(
            "u8[...]",
            "the raw bytes of all copies of a block; the block is what the tag calls the window".to_owned(),
        );
    }
    if let (Some(required), Some(limit), Some(over)) = (message.required, message.limit, message.over)
        && required.bytes == limit.bytes
        && over.bytes > 0
    {
        add(
            "Used as much as there is",
            format!(
                "the sizes are rounded: it is {} too much, as the message says behind them",
                size(over.bytes)
            ),
        );
    }
    if message.form == Form::SparseCoreOffset {
        add("INTERNAL", "a SparseCore's memory ran out: no bug of the compiler".to_owned());
        add("words", "of 4 bytes; the scratch of all vector subcores lies in one memory, so that each has a part of it".to_owned());
    }
    if message.form == Form::OneAllocation {
        add(
            "would exceed memory",
            "one allocation alone is larger than the whole memory: what else is there does not matter"
                .to_owned(),
        );
    }
    if message.form == Form::RuntimeAllocation {
        add(
            "trying to allocate",
            "the last request, which found no room, is rarely what fills the memory: look at what was allocated before".to_owned(),
        );
    }
    if message.form == Form::ProgramLoad {
        add(
            "at the bottom of memory",
            "room for the program's temporaries and code in one piece; arrays that are alive already take the rest".to_owned(),
        );
    }
    if case.buffers.iter().any(|buffer| buffer.what == What::Spills) {
        add("register allocator spill slots", "values for which registers did not suffice".to_owned());
    }
    all
}
