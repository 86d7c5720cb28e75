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
            None => "all that the program keeps: arguments, results, temporaries and constants together. The message says this even if there are no temporaries"
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
                "rounded GiB (1024^3 bytes): {} is {:.2} GB, give or take {}",
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
                "{}{of} is what a program gets. It is less than in the data sheet and less than JAX's hbm_capacity_bytes, because the runtime keeps some",
                size(limit.bytes)
            ),
        );
    }
    if message.form == Form::ScopedStack {
        let is = if message.named.as_ref().is_none_or(super::message::Named::is_kernel) {
            "it is possible: a kernel's blocks, with two copies of each, and its scratch are there. The limit can be raised; it is not a bug of the compiler, and not all of VMEM"
        } else {
            "it is possible: a flag set the limit lower than what XLA's own code needs"
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
                "the sizes are rounded: it is {} too much, as the message says after them",
                size(over.bytes)
            ),
        );
    }
    if message.form == Form::SparseCoreOffset {
        add("INTERNAL", "a SparseCore's memory ran out: this is not a bug of the compiler".to_owned());
        add("words", "words have 4 bytes; all vector subcores share one memory for their scratch, so each has a part of it".to_owned());
    }
    if message.form == Form::OneAllocation {
        add(
            "would exceed memory",
            "one allocation alone is larger than the whole memory: other allocations do not matter"
                .to_owned(),
        );
    }
    if message.form == Form::RuntimeAllocation {
        add(
            "trying to allocate",
            "the request that failed is rarely what fills the memory: look at what was allocated before it"
                .to_owned(),
        );
    }
    if message.form == Form::ProgramLoad {
        add(
            "at the bottom of memory",
            "the program's temporaries and code need room in one piece; live arrays take the rest".to_owned(),
        );
    }
    if case.buffers.iter().any(|buffer| buffer.what == What::Spills) {
        add("register allocator spill slots", "values that did not fit into registers".to_owned());
    }
    all
}
