//! A case in words and tables.

use haloscope_report::{Cell, Finding, Report, Severity, Status, Table, Unit, Value, row, units};
use haloscope_time::layer::Layer;

use crate::case::Case;
use crate::corrections;
use crate::fixes::{self, Fix};
use crate::message::{Buffer, Message, What};
use crate::shape::plain;
use crate::size::Size;

/// Buffers that are listed.
const LISTED: usize = 40;

fn size(bytes: i64) -> String {
    units::bytes(bytes as f64)
}

fn bytes(size: Option<Size>) -> Option<i64> {
    size.map(|size| size.bytes)
}

/// How a size is known: as stated, or rounded.
fn status(size: Option<Size>) -> Status {
    if size.is_some_and(|size| size.slack_bytes == 0) { Status::Measured } else { Status::Derived }
}

/// The program of a run.
pub(crate) fn module_value(label: &str) -> Value {
    Value::new(
        "program",
        "Program",
        Some(label),
        Unit::None,
        Status::Measured,
        "The program of the run with the most memory, or the one of --module.",
    )
}

/// The report.
pub(crate) fn of(case: &Case<'_>, messages: &[Message]) -> Report {
    let fixes = fixes::all(case);
    let corrections = corrections::all(case);
    let mut tables = vec![parts(case), largest(case), cure_table(case, &fixes)];
    if !corrections.is_empty() {
        let rows = corrections.iter().map(|correction| {
            row![
                prose("says", "The message says", "Words of the message.", correction.says.as_str()),
                prose("is", "What it means", "What it means.", correction.is.as_str()),
            ]
        });
        tables.push(Table::of("corrections", "What the message says, and what it means", rows));
    }
    if messages.len() > 1 {
        tables.push(message_table(messages, case.message));
    }
    Report {
        values: values(case, messages, &fixes),
        tables,
        findings: vec![finding(case, &fixes)],
        ..Report::default()
    }
}

/// The module or instruction that a message is about: where it names none, that of its first buffer on the chip.
fn subject_of(message: &Message) -> String {
    let named = message.named.as_ref().map(|named| named.name.clone());
    let named = named.unwrap_or_else(|| message.module.clone());
    let is_on_chip = !matches!(message.space.as_str(), "hbm" | "gpu" | "device");
    match message.buffers.first() {
        Some(buffer) if named.is_empty() && is_on_chip => buffer.name.clone(),
        _ => named,
    }
}

/// The largest buffer that is known.
fn largest_buffer<'c>(case: &'c Case<'_>) -> Option<&'c Buffer> {
    // Of equal ones the first.
    case.buffers.iter().rev().max_by_key(|buffer| bytes(buffer.size))
}

/// A buffer in a few words.
fn words(buffer: &Buffer) -> String {
    let mut words = buffer.what.word().to_owned();
    if let Some(operand) = buffer.operand {
        words += &format!(
            " of {} {operand}",
            if buffer.what == What::OutputWindow { "result" } else { "operand" }
        );
    }
    let shape = if buffer.window.is_empty() { plain(&buffer.shape) } else { plain(&buffer.window) };
    match buffer.levels {
        Some(levels) => words += &format!(", {levels} x {shape}"),
        None if !shape.is_empty() => words += &format!(" {shape}"),
        None => {}
    }
    if !buffer.name.is_empty() {
        words += &format!(" of {}", buffer.name);
    }
    words
}

fn over(case: &Case<'_>) -> Option<Size> {
    let said = case.message.and_then(|message| message.over);
    said.or_else(|| Some(case.used?.minus(case.limit?)).map(|size| Size { bytes: size.bytes.max(0), ..size }))
}

/// Whether it does not fit: what a message says always; of a run nobody may say how much there is.
fn is_over(case: &Case<'_>) -> Option<bool> {
    if case.message.is_some() { Some(true) } else { over(case).map(|over| over.bytes > 0) }
}

fn values(case: &Case<'_>, messages: &[Message], fixes: &[Fix]) -> Vec<Value> {
    let message = case.message;
    let text = |id, label, text: Option<String>, doc| {
        Value::new(id, label, text.filter(|text| !text.is_empty()), Unit::None, Status::Measured, doc)
    };
    let sized = |id, label, size: Option<Size>, doc| {
        Value::new(id, label, bytes(size), Unit::Bytes, status(size), doc)
    };
    let chips: Vec<&str> = case.chips.iter().map(|chip| chip.name).collect();
    let largest = largest_buffer(case);
    let mut all = vec![text(
        "space",
        "Memory",
        Some(case.space.clone()),
        "The memory that ran out: hbm, vmem, smem, sflag, spmem, gpu; device if that was not recorded.",
    )];
    if let Some(message) = message {
        all.extend([
            text("kind", "Kind", Some(message.form.word().to_owned()), "The wording of the message: hbm total, scoped stack, largest allocations, one allocation, SparseCore offset, program load or runtime allocation."),
            text("status", "Status", Some(message.status.clone()), "The status in front of the message."),
            text("code", "Error code", Some(format!("{} {}", message.code, message.code_name).trim().to_owned()), "XLA's code of the error and its name; texts of older releases have none."),
        ]);
    }
    all.extend([
        sized("used_bytes", "Needed", case.used, "Bytes that were asked for, rounded as in the message. For a run, the peak of its program."),
        sized("limit_bytes", "Available", case.limit, "Bytes that are available: for an error of the compiler, all that a program can get; for one at run time, what was free."),
        sized("over_bytes", "Too much", over(case), "Bytes that are too much: as the message says, or needed minus available; 0 if it fits."),
    ]);
    if let Some((required, limit)) = message.and_then(|message| message.words) {
        let words = |id, label, n, doc| Value::new(id, label, Some(n), Unit::Count, Status::Measured, doc);
        all.extend([
            words(
                "required_words",
                "Words needed",
                required,
                "Words of 4 bytes that were asked for, as the compiler for SparseCores counts.",
            ),
            words("limit_words", "Words available", limit, "The highest offset, in words, that may be used."),
        ]);
    }
    let of = message.map(subject_of);
    all.extend([
        text("subject", "Program or instruction", of, "The module or instruction that the message names."),
        Value::new(
            "largest",
            "Largest buffer",
            largest.map(words),
            Unit::None,
            Status::Measured,
            "The largest buffer: its purpose, shape and name.",
        ),
        sized(
            "largest_bytes",
            "Its size",
            largest.and_then(|buffer| buffer.size),
            "Bytes of the largest buffer, padding and copies included.",
        ),
        Value::new(
            "chip",
            "Chip",
            (!chips.is_empty()).then(|| chips.join(" or ")),
            Unit::None,
            Status::Estimated,
            "The TPU generations whose limit the message states, or the one that the text names.",
        ),
        Value::new(
            "framework",
            "Framework",
            case.framework.map(|framework| framework.name().to_owned()),
            Unit::None,
            Status::Estimated,
            "Recognised by names in the text.",
        ),
        Value::new(
            "cures_that_fit",
            "Changes that make it fit",
            Some(fixes.iter().filter(|fix| fix.fits == Some(true)).count()),
            Unit::Count,
            Status::Derived,
            "Changes of the table that are enough, each by itself.",
        ),
    ]);
    if message.is_some() {
        all.push(Value::new("messages", "Messages in the text", Some(messages.len()), Unit::Count, Status::Measured, "Different out-of-memory messages; the report is about the first that is an error and states a limit."));
    }
    all
}

fn parts(case: &Case<'_>) -> Table {
    let mut parts: Vec<(String, Option<i64>, &str, Status)> = Vec::new();
    let is_held = case.holding.is_some();
    let by = if is_held { "buffer assignment" } else { "message" };
    if !case.is_on_chip() && !case.form().is_some_and(crate::message::Form::is_at_run_time) {
        for (name, bytes) in [
            ("arguments", case.argument_bytes()),
            ("results", case.result_bytes()),
            ("temporaries", case.temporary_bytes()),
            ("constants", case.constant_bytes()),
        ] {
            parts.push((name.to_owned(), bytes, by, Status::Derived));
        }
        let known = case.holding.map(|holding| holding.total_bytes());
        if let Some((used, known)) = case.used.zip(known) {
            let rest = used.bytes.saturating_sub(known).max(0);
            parts.push((
                "code and everything else".to_owned(),
                Some(rest),
                "needed minus the others",
                Status::Estimated,
            ));
        }
    } else if case.is_on_chip() {
        for what in [
            What::InputWindow,
            What::OutputWindow,
            What::Scratch,
            What::Prefetched,
            What::Spills,
            What::Stack,
            What::Unknown,
        ] {
            let of: Vec<&Buffer> = case.buffers.iter().filter(|buffer| buffer.what == what).collect();
            if !of.is_empty() {
                let known = of.iter().any(|buffer| buffer.size.is_some());
                parts.push((
                    format!("{}s", what.word().trim_end_matches('s')),
                    known.then(|| case.bytes_of(|b| b.what == what)),
                    "message",
                    Status::Derived,
                ));
            }
        }
    }
    for part in case.message.map(|message| message.parts.as_slice()).unwrap_or_default() {
        let known = parts.iter().any(|(name, ..)| *name == part.name);
        if !known {
            parts.push((
                format!("{} ({})", part.name, list(part.list)),
                Some(part.size.bytes),
                "message",
                Status::Measured,
            ));
        }
    }
    let used = case.used.map_or(0, |used| used.bytes);
    let rows = parts.iter().map(|(name, bytes, by, status)| {
        let share = bytes.filter(|_| used > 0).map(|bytes| bytes as f64 / used as f64);
        let status = if bytes.is_some() { *status } else { Status::Unknown };
        row![
            text(
                "part",
                "Part",
                "What the memory is for; parts from a list in the message have the name of the list.",
                name.as_str()
            ),
            bytes("bytes", "Bytes", "Its bytes.", *bytes),
            share("share", "Share", "Of what is needed.", share),
            text("by", "Source", "Where the number comes from.", *by),
            text("status", "Status", "Measured, derived or estimated.", status.word()),
        ]
    });
    Table::of("parts", "What fills the memory", rows)
}

fn list(name: &str) -> &'static str {
    match name {
        "total" => "of the total",
        "program" => "of the program",
        "capacity" => "of the memory",
        "output" => "of the output",
        "assignment" => "of the buffers",
        "persistent" => "of what lasts",
        "heap" => "of the heap",
        _ => "of the allocator",
    }
}

/// The layer, else the scope of an op.
fn layer(op_name: &str) -> String {
    if let Some(layer) = Layer::of(op_name) {
        return layer.to_string();
    }
    let mut words: Vec<&str> = op_name.split('/').collect();
    words.pop();
    let is_scope = |word: &&&str| !word.starts_with("jit(") && !word.starts_with("pjit(") && !word.is_empty();
    let scope: Vec<&str> = words.iter().filter(is_scope).copied().collect();
    scope.join("/")
}

fn largest(case: &Case<'_>) -> Table {
    let used = case.used.map_or(0, |used| used.bytes);
    let mut buffers: Vec<&Buffer> = case.buffers.iter().collect();
    buffers.sort_by_key(|buffer| std::cmp::Reverse(bytes(buffer.size)));
    let rows = buffers.into_iter().take(LISTED).map(|buffer| {
        let own = bytes(buffer.size);
        let unpadded = bytes(buffer.unpadded);
        let padding = own.zip(unpadded).map(|(own, unpadded)| own.saturating_sub(unpadded).max(0));
        let share = own.filter(|_| used > 0).map(|own| own as f64 / used as f64);
        let text = |text: &str| if text.is_empty() { Cell::Unknown } else { Cell::from(text) };
        row![
            text("what", "What", "What the buffer is for.", buffer.what.word()),
            text("name", "Name", "The instruction, parameter or kernel.", text(&buffer.name)),
            bytes("bytes", "Bytes", "Its bytes in memory, padding and copies included.", own),
            share("share", "Share", "Of what is needed.", share),
            bytes("padding_bytes", "Padding", "Bytes that its tiled layout adds to its elements.", padding),
            text(
                "shape",
                "Shape",
                "Its shape; of a window that of one copy.",
                text(if buffer.window.is_empty() { &buffer.shape } else { &buffer.window })
            ),
            count(
                "copies",
                "Copies",
                "Of a window: how many there are, so that transfers overlap with the work.",
                buffer.levels.map(i64::from)
            ),
            text(
                "layer",
                "Layer",
                "The layer, else the named scopes of the op.",
                text(&layer(&buffer.op_name))
            ),
            text("op_name", "Op", "The framework's name of the op.", text(&buffer.op_name)),
            text("source", "Source", "File and line of the user's program.", text(&buffer.source)),
        ]
    });
    Table::of("largest", "Largest buffers", rows)
}

fn cure_table(case: &Case<'_>, fixes: &[Fix]) -> Table {
    let rows = fixes.iter().map(|fix| {
        let fits = match fix.fits {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        };
        row![
            text("cure", "Change", "The kind of change.", fix.id.replace('_', " ")),
            text("fits", "Fits", "Whether the program fits with this change alone: yes, no, or unknown.", fits),
            bytes("saves_bytes", "Saves", "Bytes that it saves.", fix.saves_bytes),
            bytes("left_bytes", "Needed then", "Bytes that are needed with the change.", fix.left_bytes),
            bytes(
                "spare_bytes",
                "To spare",
                "Bytes that are free with the change; if negative, bytes that are still too much.",
                fix.spare_bytes()
            ),
            bytes(
                "together_bytes",
                "With those above",
                "Bytes that are needed with this change and those above it that concern other buffers.",
                fix.together_bytes
            ),
            count(
                "times",
                "Times",
                "How many times smaller it becomes, how many parts it is split into, or how many times as many devices hold it; of groups, how many iterations or layers are in one.",
                fix.times
            ),
            text("status", "Status", "Whether the saving is measured, derived or estimated.", fix.status.word()),
            prose("what", "What", "What to do.", fix.what.as_str()),
            prose("how", "How", "How, in the framework's words.", fix.how.as_str()),
            prose("but", "But", "What it costs, or when it does not work.", fix.but.as_str()),
        ]
    });
    let title =
        if is_over(case) == Some(false) { "What would make it smaller" } else { "What would make it fit" };
    Table::of("cures", title, rows)
}

fn message_table(messages: &[Message], main: Option<&Message>) -> Table {
    let rows = messages.iter().map(|message| {
        row![
            count("line", "Line", "The line of the text, from 1.", message.line),
            text("kind", "Kind", "The wording.", message.form.word()),
            text("space", "Memory", "The memory.", message.space.as_str()),
            bytes("used_bytes", "Needed", "Bytes that were asked for.", bytes(message.required)),
            bytes("limit_bytes", "Available", "Bytes that were available.", bytes(message.limit)),
            flag(
                "main",
                "This one",
                "Whether the report is about it.",
                main.is_some_and(|main| std::ptr::eq(main, message))
            ),
        ]
    });
    Table::of("messages", "Messages in the text", rows)
}

/// What happened, and the first cure.
fn finding(case: &Case<'_>, fixes: &[Fix]) -> Finding {
    let space = match case.space.as_str() {
        "hbm" => "HBM",
        "vmem" => "VMEM",
        "smem" => "SMEM",
        "sflag" => "Semaphore memory",
        "spmem" => "A SparseCore's memory",
        "gpu" => "GPU memory",
        _ => "Device memory",
    };
    let subject = case.message.map(subject_of);
    let subject =
        subject.filter(|name| !name.is_empty()).map_or_else(String::new, |name| format!(" for {name}"));
    let over = over(case);
    let is_over = is_over(case);
    let numbers = match (case.used, case.limit, over) {
        (Some(used), Some(limit), Some(over)) if over.bytes > 0 => {
            format!(
                "{} needed, {} available, {} too much",
                size(used.bytes),
                size(limit.bytes),
                size(over.bytes)
            )
        }
        (Some(used), Some(limit), _) => {
            format!("{} needed, {} available", size(used.bytes), size(limit.bytes))
        }
        (Some(used), None, _) => {
            format!("{} needed; how much is available was not recorded", size(used.bytes))
        }
        _ => "the message states no size".to_owned(),
    };
    let largest = largest_buffer(case).map(|buffer| {
        let own = bytes(buffer.size).map_or_else(String::new, |own| format!(" ({})", size(own)));
        let place = [layer(&buffer.op_name), buffer.source.clone()];
        let place: Vec<String> = place.into_iter().filter(|word| !word.is_empty()).collect();
        let place = if place.is_empty() { String::new() } else { format!(", {}", place.join(", ")) };
        format!("largest: {}{own}{place}", words(buffer))
    });
    let sum = |name: &str, bytes: Option<i64>| {
        bytes.filter(|bytes| *bytes > 0).map(|bytes| format!("{} of {name}", size(bytes)))
    };
    let parts = if case.is_on_chip() {
        [sum("windows", Some(case.window_bytes())), sum("scratch", Some(case.scratch_bytes())), None, None]
    } else {
        [
            sum("arguments", case.argument_bytes()),
            sum("results", case.result_bytes()),
            sum("temporaries", case.temporary_bytes()),
            sum("constants", case.constant_bytes()),
        ]
    };
    let evidence: Vec<String> = parts.into_iter().flatten().chain(largest).collect();
    let blind = case.space == "hbm"
        && case.buffers.is_empty()
        && !case.form().is_some_and(crate::message::Form::is_at_run_time);
    // Where it fits nothing has to be changed: the table says what would be saved all the same.
    let suffices = is_over == Some(false);
    let first = fixes.first().filter(|_| !suffices);
    let spare = case.limit.zip(case.used).map(|(limit, used)| limit.bytes.saturating_sub(used.bytes));
    let ceiling = match first {
        None if suffices => {
            let spare = spare.map_or_else(String::new, |spare| format!(" with {} to spare", size(spare)));
            format!("it fits{spare}: nothing has to be changed")
        }
        Some(fix) => match (fix.fits, fix.spare_bytes()) {
            (Some(true), Some(spare)) => format!("{}: then it fits with {} to spare", fix.what, size(spare)),
            (Some(false), Some(spare)) => {
                format!(
                    "no single change is enough; the first leaves {} too much: {}",
                    size(-spare),
                    fix.what
                )
            }
            _ => format!("{}; whether it then fits is unknown", fix.what),
        },
        None => "not known: the numbers show no change that would make it fit".to_owned(),
    };
    let dump = "compile again with XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\" (no device is needed), then give --dump DIR: the dump has the buffers";
    Finding {
        id: match is_over {
            Some(true) => "does_not_fit",
            Some(false) => "fits",
            None => "limit_unknown",
        },
        severity: if is_over == Some(true) { Severity::Error } else { Severity::Info },
        claim: match is_over {
            Some(true) => format!("{space} is too small{subject}: {numbers}"),
            Some(false) => format!("{space} is large enough{subject}: {numbers}"),
            None => format!("Whether {space} is large enough{subject} could not be decided: {numbers}"),
        },
        evidence: if evidence.is_empty() {
            "the message names no buffer".to_owned()
        } else {
            evidence.join("; ")
        },
        ceiling,
        recommendation: if suffices {
            "the table says what each change would save".to_owned()
        } else if blind {
            dump.to_owned()
        } else {
            first.map(|fix| fix.how.clone()).unwrap_or_default()
        },
        falsifier: if suffices {
            "the program still runs out of memory: the runtime and other programs also use some of it"
        } else {
            "the same error comes again with the change: compile to see it, no device is needed"
        }
        .to_owned(),
        status: Status::Derived,
        ..Finding::default()
    }
}
