//! The columns of files, lines and calls.

use haloscope_report::{Column, Unit};

const SELF: Column = Column::duration(
    "self_ps",
    "Own time",
    "Self time of the ops that come from here: whose innermost frame it is. Summed over devices.",
);
const SHARE: Column = Column::share("share", "Share", "Own time over the self time of all ops in the scope.");
const TOTAL: Column = Column::duration(
    "total_ps",
    "With callees",
    "Self time of the ops that have this anywhere in their stack, each op once.",
);
const FLOP_SHARE: Column = Column::share(
    "flop_share_of_peak",
    "FLOP/s of peak",
    "FLOPs over own time, over the peak of one device.",
);
const HBM_SHARE: Column = Column::share(
    "hbm_share_of_peak",
    "HBM of peak",
    "Bytes to and from HBM over own time, over the peak of one device.",
);
const OPS: Column = Column::count("ops", "Ops", "Distinct ops that come from here.");
const OCCURRENCES: Column =
    Column::count("occurrences", "Count", "Executions of these ops, summed over devices.");
const FLOPS: Column = Column::float(
    "flops",
    "FLOPs",
    Unit::Flop,
    "FLOPs of all executions of these ops; without those of while, call and conditional, which are those of the ops inside.",
);
const BYTES: Column =
    Column::bytes("bytes_accessed", "Bytes", "Bytes accessed by all executions, in all memories, likewise.");
const HBM_BYTES: Column =
    Column::bytes("hbm_bytes", "HBM bytes", "Bytes to and from HBM of all executions, likewise.");

pub(super) const FILES: &[Column] = &[
    Column::text("file", "File", "The file's path as the profile has it."),
    SELF,
    SHARE,
    TOTAL,
    FLOP_SHARE,
    HBM_SHARE,
    Column::count("lines", "Lines", "Lines that an op's stack names."),
    OPS,
    OCCURRENCES,
    FLOPS,
    BYTES,
    HBM_BYTES,
];

pub(super) const LINES: &[Column] = &[
    Column::text("place", "Line", "The end of the file's path, and the line."),
    SELF,
    SHARE,
    TOTAL,
    Column::text(
        "text",
        "Text",
        "The line's text. The command line fills it with `--source-root`; the page asks the server for it.",
    ),
    Column::text("top_op", "Largest op", "The op from here that takes the most time."),
    FLOP_SHARE,
    HBM_SHARE,
    OPS,
    OCCURRENCES,
    FLOPS,
    BYTES,
    HBM_BYTES,
    Column::text("function", "Function", "The function around the line, where the compiler recorded it."),
    Column::text("category", "Category", "HLO category of the largest op."),
    Column::text("module", "Module", "The HLO module of the largest op."),
    Column::text("file", "File", "The file's path as the profile has it."),
    Column::count("line", "Number", "The line in the file, from 1."),
];

pub(super) const CALLS: &[Column] = &[
    Column::duration("total_ps", "With callees", "Self time of the ops whose stack leads here."),
    Column::share("total_share", "Share", "That over the self time of all ops in the scope."),
    Column::duration("self_ps", "Own time", "Self time of the ops whose innermost frame is here."),
    OPS,
    Column::text("file", "File", "The file's path as the profile has it."),
    Column::count("line", "Number", "The line in the file, from 1."),
    Column::text("function", "Function", "The function around the line, where the compiler recorded it."),
];
