//! Which numbers of which report belong together: the names that invariants go by. A name that a report has not is nothing to hold.

/// In each row of a grid one number is the sum of others.
pub(crate) struct RowSum {
    pub analysis: &'static str,
    /// The table; empty for the headline values.
    pub grid: &'static str,
    pub whole: &'static str,
    pub parts: &'static [&'static str],
}

const fn row(
    analysis: &'static str,
    grid: &'static str,
    whole: &'static str,
    parts: &'static [&'static str],
) -> RowSum {
    RowSum { analysis, grid, whole, parts }
}

/// The classes of the account, of which each instant of a device has one.
const CLASSES: &[&str] = &[
    "compute_ps",
    "copy_ps",
    "communication_ps",
    "async_wait_ps",
    "host_transfer_ps",
    "infeed_ps",
    "overhead_ps",
    "inside_ps",
    "input_ps",
    "between_ps",
    "after_ps",
    "before_ps",
];

/// Sums along rows.
pub(crate) const ROW_SUMS: &[RowSum] = &[
    row("idle", "devices", "capture_ps", CLASSES),
    row("steps", "classes", "time_ps", CLASSES),
    row("hosts", "steps", "work_ps", &["compute_ps", "copy_ps", "overhead_ps"]),
    row("hosts", "steps", "wait_ps", &["communication_ps", "async_wait_ps", "host_transfer_ps", "infeed_ps"]),
    row("comm", "devices", "step_ps", &["busy_ps", "exposed_ps", "idle_ps"]),
    row("comm", "", "step_ps", &["busy_ps_per_step", "exposed_ps_per_step", "idle_ps_per_step"]),
    row(
        "comm",
        "",
        "exposed_ps_per_step",
        &["waiting_ps_per_step", "transfer_ps_per_step", "waiting_unknown_ps_per_step"],
    ),
    row("input", "stages", "self_ps", &["work_ps", "waiting_ps"]),
    row("memory peak", "", "peak_bytes", &["lasting_bytes", "temporary_bytes"]),
    row("memory peak", "programs", "peak_bytes", &["lasting_bytes", "temporary_bytes"]),
    row("memory peak", "spaces", "peak_bytes", &["lasting_bytes", "temporary_bytes"]),
];

/// The rows of a table add up to a headline value of the same report.
pub(crate) struct ColumnSum {
    pub analysis: &'static str,
    pub table: &'static str,
    pub column: &'static str,
    /// The value.
    pub whole: &'static str,
    /// Whether the rows may be less than the whole: they leave something out.
    pub is_part: bool,
}

const fn all(
    analysis: &'static str,
    table: &'static str,
    column: &'static str,
    whole: &'static str,
) -> ColumnSum {
    ColumnSum { analysis, table, column, whole, is_part: false }
}

const fn some(
    analysis: &'static str,
    table: &'static str,
    column: &'static str,
    whole: &'static str,
) -> ColumnSum {
    ColumnSum { is_part: true, ..all(analysis, table, column, whole) }
}

/// Sums along columns.
pub(crate) const COLUMN_SUMS: &[ColumnSum] = &[
    all("overview", "time", "time_ps", "active_window_ps"),
    all("idle", "waterfall", "time_ps", "capture_span_ps"),
    some("ops", "ops", "self_ps", "self_time_ps"),
    some("ops", "ops", "occurrences", "occurrences"),
    all("roofline", "programs", "time_ps", "time_ps"),
    all("roofline", "categories", "time_ps", "time_ps"),
    some("roofline", "ops", "time_ps", "time_ps"),
    all("compute", "categories", "self_ps", "self_time_ps"),
    all("compute", "phases", "self_ps", "self_time_ps"),
    some("compute", "layers", "self_ps", "self_time_ps"),
    some("compute", "lines", "self_ps", "self_time_ps"),
    some("source", "files", "self_ps", "self_time_ps"),
    some("source", "lines", "self_ps", "self_time_ps"),
    some("kernels", "kernels", "total_ps", "time_ps"),
    all("kernels", "durations", "total_ps", "time_ps"),
    all("comm", "kinds", "exposed_ps", "exposed_ps_per_step"),
    some("comm", "ops", "exposed_ps", "exposed_ps_per_step"),
    some("comm", "lines", "exposed_ps", "exposed_ps_per_step"),
    all("critical-path", "parts", "time_ps", "path_ps"),
    some("memory peak", "buffers", "bytes", "peak_bytes"),
    all("memory peak", "by_group", "bytes", "peak_bytes"),
    all("memory peak", "by_layer", "bytes", "peak_bytes"),
    all("memory peak", "by_scope", "bytes", "peak_bytes"),
    all("memory peak", "by_opcode", "bytes", "peak_bytes"),
    all("memory peak", "by_source", "bytes", "peak_bytes"),
];

/// Columns whose cells are shares of one whole, so that those of a table are together at most that.
pub(crate) const SHARES_OF_ONE: &[&str] =
    &["share", "self_share", "time_share", "share_of_capture", "share_of_active_window", "path_share"];

/// Tables whose shares are each of a whole of its own.
pub(crate) const SHARES_OF_MANY: &[(&str, &str)] = &[
    ("utilization", "units"),
    // Each unit has its own capacity.
    ("kernel", "units"),
    ("compare", "waterfall"),
    ("memory diagnose", "checks"),
    ("memory profile", "alive"),
    // The whole and the average step stand among the steps.
    ("roofline", "steps"),
    // A row says of what of the row before a part is.
    ("compute", "coverage"),
];

/// Pairs of which the first is at most the second, wherever a row has both.
pub(crate) const AT_MOST: &[(&str, &str)] = &[
    ("self_ps", "total_ps"),
    ("busy_ps", "duration_ps"),
    ("busy_ps", "active_window_ps"),
    ("busy_ps", "capture_span_ps"),
    ("active_window_ps", "capture_span_ps"),
    ("device_busy_ps", "active_window_ps"),
    ("device_busy_ps", "capture_span_ps"),
    ("exposed_ps", "step_ps"),
    ("exposed_ps_per_step", "step_ps"),
    ("hidden_ps", "inflight_ps"),
    ("hidden_ps_per_step", "inflight_ps_per_step"),
    ("inflight_ps_per_step", "step_ps"),
    ("waiting_ps", "step_ps"),
    ("infeed_ps", "waiting_ps"),
    ("input_idle_ps_per_step", "step_ps"),
    ("start_ps", "end_ps"),
    ("from_ps", "to_ps"),
    ("from_event", "until_event"),
    ("peak_unpadded_bytes", "peak_bytes"),
    ("donated_bytes", "entry_parameter_bytes"),
    ("requested_bytes", "bytes"),
    ("idle_share_of_active_window", "idle_share_of_capture"),
    ("duration_min_ps", "duration_max_ps"),
    ("min_bytes", "mean_bytes"),
    ("mean_bytes", "max_bytes"),
    ("longest_ps", "total_ps"),
    ("profiled_devices", "device_count"),
    ("last", "shared"),
];

/// The order of statistics of one sample, by the words in their ids.
pub(crate) const RISING: &[&str] = &["min", "p50", "p90", "p95", "p99", "max"];

/// A rate and its peak in the same row.
pub(crate) const PEAKS: &[(&str, &str)] = &[
    ("flop_rate", "peak_flop_rate"),
    ("hbm_rate", "peak_hbm_rate"),
    ("attainable_flop_rate", "peak_flop_rate"),
    ("transfer_rate", "peak_rate"),
];

/// Shares that may pass 1, or be below 0: changes, spreads and what is held against something other than its whole.
pub(crate) const FREE_SHARES: &[&str] = &[
    // Differences and their waterfall.
    "delta_share",
    "step_delta_share",
    // A level over the one before, less 1.
    "change_share",
    "off",
    "off_median",
    // More than a step may be open between two runs.
    "noise_floor_share",
    // Most over least, or a deviation over a mean.
    "work_spread",
    "imbalance_share",
    "jitter",
    // Slower with the change than without.
    "saved_share",
    // Shorter with spills than without, where the packer was luckier.
    "spill_cost_share",
    // Two rates.
    "demand_share",
];

/// Shares that a model's error or rounding may lift a little above 1: a rate over a peak, or an expected time over one that passed.
pub(crate) const MODELLED_SHARES: &[&str] = &[
    "of_peak",
    "efficiency",
    "utilization",
    "mfu",
    "roofline_share",
    "gap_share",
    "shortfall_share",
    "achieved",
];

/// Tables of which numbers may be below 0 or above their whole, all of them.
pub(crate) const FREE_TABLES: &[(&str, &str)] = &[("critical-path", "what_if"), ("compare", "waterfall")];

/// Numbers that may be below 0: differences, offsets, places in time.
pub(crate) const SIGNED: &[&str] = &[
    "delta",
    "off",
    "offset",
    "slack",
    "early",
    "late",
    "saved",
    "residual",
    "low",
    "high",
    "excess",
    "start",
    "end",
    "from",
    "to",
    "first",
    "difference",
    "headroom",
    "gap",
    "shortfall",
    "peak_ps",
    "cost_bundles",
];

/// Trees whose parts lie within what they are parts of, with the columns that add up.
pub(crate) const TREES: &[(&str, &str, &[&str])] = &[
    (
        "op-profile",
        "profile",
        &["self_ps", "share", "flops", "model_flops", "bytes_accessed", "hbm_bytes", "ops"],
    ),
    ("source", "calls", &["total_ps", "total_share"]),
];

/// Numbers that stand in several reports under one id and are not one number, by id: the analyses that mean something else, and what.
pub(crate) const OTHER_MEANINGS: &[(&str, &[&str])] = &[
    // Over the time of ops; elsewhere over the active window.
    ("flop_rate", &["roofline"]),
    ("hbm_rate", &["roofline"]),
    ("flop_share_of_peak", &["op-profile"]),
    ("hbm_share_of_peak", &["op-profile"]),
    // Of all ops; that of `diagnose` is of a step.
    ("gap_ps", &["roofline"]),
    ("gap_share", &["roofline"]),
    // Of kernels; elsewhere of all ops.
    ("time_ps", &["kernels"]),
    ("occurrences", &["kernels"]),
    // Every relayout of a program; that of `compute` is of transposes and reshapes which are ops of their own.
    ("relayout_ps", &["hlo counters"]),
    // The one step whose path is looked at.
    ("step_ps", &["critical-path"]),
    // Devices that the program runs on, and those that ran steps; elsewhere those in the scope.
    ("device_count", &["compute mfu", "hosts", "critical-path"]),
    // Checks of its own.
    ("unknown_count", &["memory diagnose", "audit flags"]),
    // What the allocator held; elsewhere what the compiler planned.
    ("peak_bytes", &["memory profile"]),
    ("allocated_bytes", &["memory profile"]),
    // Of requests, not of steps.
    ("latency_mean_ps", &["inference"]),
    // Of the module that was asked about, each its own way of choosing one.
    ("instructions", &["hlo graph", "hlo search", "hlo text", "hlo diff", "hlo counters"]),
    ("modules", &["hlo search", "inspect", "hlo modules"]),
    ("copies", &["hlo search"]),
    ("programs", &["hlo modules"]),
];

/// Numbers of different reports that are one: analysis, table (empty for the headline values), the first text of its row (empty for the
/// sum over rows), column.
pub(crate) struct One {
    pub says: &'static str,
    /// Whether it is of whole steps, of which a window may cut some.
    pub is_of_steps: bool,
    pub of: &'static [Cells],
}

/// Cells that are added up.
pub(crate) struct Cells {
    pub analysis: &'static str,
    pub table: &'static str,
    /// First cells of the rows; none for all rows.
    pub rows: &'static [&'static str],
    pub column: &'static str,
}

const fn value(analysis: &'static str, column: &'static str) -> Cells {
    Cells { analysis, table: "", rows: &[], column }
}

const fn cells(
    analysis: &'static str,
    table: &'static str,
    rows: &'static [&'static str],
    column: &'static str,
) -> Cells {
    Cells { analysis, table, rows, column }
}

/// What is one number in several places.
pub(crate) const ONES: &[One] = &[
    One {
        says: "exposed communication of the active window",
        is_of_steps: false,
        of: &[
            cells("overview", "time", &["exposed communication"], "time_ps"),
            cells("idle", "waterfall", &["exposed communication"], "time_ps"),
        ],
    },
    One {
        says: "compute of the active window",
        is_of_steps: false,
        of: &[
            cells(
                "overview",
                "time",
                &["compute-bound ops", "memory-bound ops", "ops of unknown limit"],
                "time_ps",
            ),
            cells("idle", "waterfall", &["compute"], "time_ps"),
        ],
    },
    One {
        says: "transfers to and from the host",
        is_of_steps: false,
        of: &[
            cells("overview", "time", &["transfers to and from the host"], "time_ps"),
            cells("idle", "waterfall", &["transfers to and from the host"], "time_ps"),
        ],
    },
    One {
        says: "the mean step over devices",
        is_of_steps: true,
        of: &[
            value("overview", "step_time_device_mean_ps"),
            value("steps", "step_time_device_mean_ps"),
            value("comm", "step_ps"),
            value("compute mfu", "step_time_ps"),
        ],
    },
    One {
        says: "the mean step",
        is_of_steps: true,
        of: &[value("overview", "step_time_mean_ps"), value("steps", "step_time_mean_ps")],
    },
    One {
        says: "self time of all ops",
        is_of_steps: false,
        of: &[
            value("ops", "self_time_ps"),
            value("op-profile", "self_time_ps"),
            value("compute", "self_time_ps"),
            value("source", "self_time_ps"),
        ],
    },
    One {
        says: "busy time of all devices",
        is_of_steps: false,
        of: &[cells("overview", "devices", &[], "busy_ps"), value("compute", "busy_ps")],
    },
];

/// What adds up over parts of a scope: analysis, table (empty for the headline values), column.
pub(crate) const ADDITIVE: &[(&str, &str, &str)] = &[
    ("overview", "devices", "busy_ps"),
    ("overview", "hosts", "flops"),
    ("overview", "hosts", "hbm_bytes"),
    ("ops", "", "self_time_ps"),
    ("ops", "", "occurrences"),
    ("ops", "", "flops"),
    ("ops", "", "hbm_bytes"),
];
