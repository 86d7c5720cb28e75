//! Columns of `hlo counters`.

use haloscope_report::{Column, Unit};

pub(super) const COUNTERS: &[Column] = &[
    Column::text("counter", "Counter", "What is counted."),
    Column::count(
        "found",
        "Found",
        "Instructions of the module, each once however often it runs, those in fusions included except for copies.",
    ),
    Column::count("in_fusions", "In fusions", "Those in bodies of fusions."),
    Column::count(
        "executed",
        "Executed",
        "Executions in one run of the program: instructions times trip counts of the loops around them; unknown where one of them is.",
    ),
    Column::count("expected", "Expected", "The number asked for."),
    Column::flag("holds", "Holds", "Whether as many were found."),
];

pub(super) const COPY_ROWS: &[Column] = &[
    Column::text(
        "copy",
        "Copy",
        "Name of the copy, of the start of an asynchronous one, or of the fusion that does nothing else.",
    ),
    Column::text("why", "Why", "Why it may be there."),
    Column::text("basis", "Basis", "How the reason is known: derived from the graph, or a guess."),
    Column::bytes("bytes", "Bytes", "Size of the copy, padding included."),
    Column::bytes(
        "moved_bytes",
        "Moved",
        "Bytes read and written by one execution; unknown for a copy that is part of a fusion.",
    ),
    Column::bytes(
        "run_moved_bytes",
        "In a run",
        "The same in one run of the program, loops counted by their trip counts.",
    ),
    Column::bytes(
        "total_moved_bytes",
        "In all",
        "The same in all executions that the profile shows, of all devices; unknown without a profile.",
    ),
    Column::duration(
        "self_ps",
        "Self time",
        "Measured, of a start and its end together, or of the fusion around it; summed over executions and devices.",
    ),
    Column::text("detail", "Because", "What in the graph says so."),
    Column::flag("defensive", "Defensive", "Whether it only keeps one value from another's writes."),
    Column::text("kind", "Kind", "By itself, asynchronous (start and end counted once), or in a fusion."),
    Column::count("executions", "Executions", "Executions in one run of the program."),
    Column::text("from", "From", "What is copied, with layout and memory space."),
    Column::text("to", "To", "What it becomes."),
    Column::text("producer", "Producer", "What makes the value, through bitcasts and tuples."),
    Column::text("consumers", "Consumers", "Who reads the copy."),
    Column::text(
        "op_name",
        "Op name",
        "The framework's name for it, else for what makes the value: copies seldom have one.",
    ),
    Column::text("source", "Source", "File and line, likewise."),
];

pub(super) const WHYS: &[Column] = &[
    Column::text("why", "Why", "Why copies may be there."),
    Column::flag("defensive", "Defensive", "Whether such copies only keep one value from another's writes."),
    Column::count("copies", "Copies", "How many, those in fusions not counted."),
    Column::bytes("run_moved_bytes", "In a run", "Bytes that they read and write in one run of the program."),
    Column::duration("self_ps", "Self time", "Measured, summed over executions and devices."),
];

pub(super) const RELAYOUTS: &[Column] = &[
    Column::text("instruction", "Instruction", "Name of the instruction."),
    Column::text(
        "what",
        "What",
        "transpose, reshape, layout change, or a fusion that does nothing but that; told by opcodes and shapes.",
    ),
    Column::bytes("moved_bytes", "Moved", "Bytes read and written by one execution, padding included."),
    Column::bytes("run_moved_bytes", "In a run", "The same in one run of the program."),
    Column::duration("self_ps", "Self time", "Measured, summed over executions and devices."),
    Column::count("occurrences", "Measured", "Executions that the profile shows, of all devices."),
    Column::text("feeds", "Feeds", "Products, kernels and fusions that read it through memory."),
    Column::text("made_by", "Made by", "The product, kernel or fusion whose result it reads."),
    Column::count("executions", "Executions", "Executions in one run of the program."),
    Column::text("from", "From", "What it reads, with layout and memory space."),
    Column::text("to", "To", "What it writes."),
    Column::text("op_name", "Op name", "The framework's name for it, else for what makes the value."),
    Column::text("source", "Source", "File and line, likewise."),
];

pub(super) const MATMULS: &[Column] = &[
    Column::text("instruction", "Instruction", "Name of the dot or convolution."),
    Column::count("m", "M", "Rows of the result."),
    Column::count("n", "N", "Columns of the result."),
    Column::count("k", "K", "Extent that is summed over."),
    Column::count("batch", "Batch", "Independent products."),
    Column::text("types", "Types", "Element types of left and right operand and result."),
    Column::float("flops", "FLOPs", Unit::Flop, "2 batch M N K, of one execution."),
    Column::float("run_flops", "In a run", Unit::Flop, "The same in one run of the program."),
    Column::share(
        "fill_128",
        "Fills 128",
        "K times N over both rounded up to 128: the share of matrix units of 128 x 128 that the product can fill.",
    ),
    Column::share("fill_256", "Fills 256", "The same for units of 256 x 256."),
    Column::text("opcode", "Opcode", "dot, or convolution: TPU's compiler writes products as convolutions."),
    Column::text("inside", "Fusion", "The outermost fusion around it."),
    Column::duration(
        "self_ps",
        "Self time",
        "Measured, of the instruction or the fusion around it; summed over executions and devices.",
    ),
    Column::count("executions", "Executions", "Executions in one run of the program."),
    Column::text("op_name", "Op name", "The framework's name."),
    Column::text("source", "Source", "File and line."),
];

pub(super) const OPCODES: &[Column] = &[
    Column::text("opcode", "Opcode", "The opcode."),
    Column::count("found", "Found", "Instructions of the module, each once."),
    Column::count("in_fusions", "In fusions", "Those in bodies of fusions."),
    Column::count(
        "applied",
        "Applied",
        "Those in functions that others apply to elements, such as a reduction's.",
    ),
    Column::count(
        "executed",
        "Executed",
        "Executions of the others in one run of the program; unknown where one of them is.",
    ),
];

pub(super) const CATEGORIES: &[Column] = &[
    Column::text("category", "Category", "HLO category, of instructions outside of fusions."),
    Column::count("found", "Found", "Instructions, each once."),
    Column::count("executed", "Executed", "Executions in one run of the program."),
    Column::float(
        "flops",
        "FLOPs",
        Unit::Flop,
        "In one run of the program, by XLA's cost analysis, loops counted by their trip counts.",
    ),
    Column::bytes("bytes", "Bytes", "Read and written in one run, likewise."),
];
