//! The columns of `compute`.

use haloscope_report::{Column, Unit};

macro_rules! parts {
    ($first:expr $(, $more:expr)* $(,)?) => {
        &[
            $first,
            Column::duration("self_ps", "Self time", "Time less that of ops directly inside, summed over executions and devices."),
            Column::share("self_share", "Share", "Self time over the self time of all ops in the scope."),
            $($more,)*
            Column::count("occurrences", "Count", "Executions, summed over devices."),
            Column::share("flop_share_of_peak", "FLOP/s of peak", "FLOPs over self time, over the device's 16-bit peak."),
            Column::share("hbm_share_of_peak", "HBM of peak", "Bytes to and from HBM over self time, over the peak bandwidth."),
            Column::duration("shortfall_ps", "Shortfall", "Time beyond the roofline: over ops that have a limit, time less max(FLOPs / peak, bytes / bandwidth)."),
            Column::float("flops", "FLOPs", Unit::Flop, "FLOPs as counted for the device, without those of while, call and conditional."),
            Column::bytes("hbm_bytes", "HBM bytes", "Bytes to and from HBM; without those of asynchronous copies and transfers, which pass in the time of other ops."),
        ]
    };
}

const MATMUL: Column = Column::share(
    "matmul_share",
    "Matmul",
    "Part of this row's time in products of matrices, kernels for groups of rows included.",
);

pub(super) const CATEGORIES: &[Column] = parts![Column::text(
    "category",
    "Category",
    "What the ops do: by what their fusions hold where the HLO is at hand, else by their names."
)];

pub(super) const PHASES: &[Column] = parts![
    Column::text(
        "phase",
        "Phase",
        "forward, backward, recomputation (rematerialised forward), optimiser, other (named, and none of these), unknown (not named)."
    ),
    MATMUL
];

pub(super) const LAYERS: &[Column] = parts![
    Column::text(
        "layer",
        "Layer",
        "As the scope path names it; layers that run as one loop have one row together."
    ),
    Column::duration("forward_ps", "Forward", "Self time of the forward pass."),
    Column::duration("backward_ps", "Backward", "Self time of the backward pass."),
    Column::duration("recomputation_ps", "Recomputed", "Self time of what is computed a second time."),
    MATMUL,
];

pub(super) const LINES: &[Column] =
    parts![Column::text("line", "Source line", "File and line that the ops come from."), MATMUL,];

pub(super) const GROUPS: &[Column] = &[
    Column::text(
        "group",
        "Group",
        "The source line; of ops without one the framework op; of ops without either the category.",
    ),
    Column::duration(
        "shortfall_ps",
        "Shortfall",
        "Sum over its ops of time less max(FLOPs / peak, bytes / bandwidth).",
    ),
    Column::share("shortfall_share", "Of all", "Shortfall over the self time of all ops in the scope."),
    Column::duration("self_ps", "Self time", "Of the group's ops that have a limit."),
    Column::share(
        "roofline_share",
        "Of roofline",
        "The least time by the roofline over the time taken: 100% on the roof.",
    ),
    Column::text("bound_by", "Bound by", "The limit that takes more of the least time: compute or memory."),
    Column::text("slowest_op", "Largest op", "The op with the largest shortfall."),
    Column::text("category", "Category", "What that op does."),
    Column::text(
        "precision",
        "Type",
        "Type of what is multiplied; `mixed` where ops differ, unknown where nothing tells.",
    ),
    Column::text(
        "peak_of",
        "Peak used",
        "The type whose peak FLOP rate was used: 16-bit float where nobody states that of its own.",
    ),
    Column::text("by", "By", "What the group is named by: source, framework op, category."),
    Column::count("ops", "Ops", "Distinct ops."),
    Column::duration("compute_only_ps", "Compute only", "FLOPs over peak."),
    Column::duration("memory_only_ps", "Memory only", "Bytes over bandwidth."),
];

pub(super) const COVERAGE: &[Column] = &[
    Column::text("what", "Ops", "Why ops are, or are not, held against the roofline."),
    Column::duration("self_ps", "Self time", "Of these ops."),
    Column::share("self_share", "Share", "Of all self time."),
    Column::count("ops", "Distinct", "Distinct ops."),
];

pub(super) const AUDIT: &[Column] = &[
    Column::text(
        "kind",
        "Kind",
        "padded product, padded bytes, cast, cast there and back, copy: and why it is there, relayout.",
    ),
    Column::text("op", "Op", "The op whose time it is."),
    Column::duration(
        "self_ps",
        "Time",
        "Self time of the op, of an asynchronous copy its start's and end's.",
    ),
    Column::share("self_share", "Share", "Of all self time."),
    Column::duration(
        "wasted_ps",
        "Wasted",
        "Time that would be spared: for casts, copies and relayouts all of it; for padding an estimate: the least time by the roofline with padding less that without.",
    ),
    Column::bytes("bytes", "Bytes", "Bytes that the op moves; for padded bytes those that are padding."),
    Column::text("detail", "Detail", "Shapes and reasons."),
    Column::text("status", "Known", "derived or estimated."),
    Column::count("occurrences", "Count", "Executions, summed over devices."),
    Column::text("framework_op", "Framework op", "The scope path in JAX, PyTorch or TensorFlow."),
    Column::text("source", "Source", "File and line."),
    Column::text("module", "Module", "The HLO module."),
];

pub(super) const GROUPED: &[Column] = &[
    Column::text("module", "Module", "The HLO module."),
    Column::count(
        "plain",
        "Grouped",
        "Grouped products of one run of the program (gmm, ragged_dot), transposed ones not among them.",
    ),
    Column::count("transposed", "Transposed", "Grouped products that give gradients of the weights (tgmm)."),
    Column::duration("self_ps", "Self time", "Of all of them, over executions and devices."),
    Column::float(
        "layers_of_two",
        "Layers, 2 products",
        Unit::Ratio,
        "Estimated layers with experts, where each multiplies twice: transposed / 2, else grouped / 2.",
    ),
    Column::float(
        "layers_of_three",
        "Layers, 3 products",
        Unit::Ratio,
        "The same where a gate makes it three products.",
    ),
    Column::float(
        "forward_passes",
        "Forward passes",
        Unit::Ratio,
        "Estimated: grouped / transposed less 1. 1 without recomputation, 2 where the forward pass is computed twice.",
    ),
];
