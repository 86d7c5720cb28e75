//! The columns of a node, and how its numbers become cells.

use crate::ops::Op;
use crate::roofline::{Limits, Work};
use haloscope_profile::Peaks;
use haloscope_report::{Cell, Column, Unit};

use super::sums::Sums;

/// Characters of an expression that are shown.
const EXPRESSION: usize = 200;

pub(super) const COLUMNS: &[Column] = &[
    Column::duration(
        "self_ps",
        "Self time",
        "Time minus that of ops directly inside, summed over executions and devices; for a group, the sum of its parts.",
    ),
    Column::share("share", "Share", "Self time as a share of the root's."),
    Column::share(
        "wasted_share",
        "Wasted",
        "Share x (1 - the larger of both shares of peak), each at most 1. It does not add up, because a group's value uses the group's own rates.",
    ),
    Column::share(
        "flop_share_of_peak",
        "FLOP/s of peak",
        "FLOPs over self time, over the peak of one device.",
    ),
    Column::share(
        "hbm_share_of_peak",
        "HBM of peak",
        "Bytes to and from HBM over self time, over the peak of one device.",
    ),
    Column::count("occurrences", "Count", "Executions of the ops, summed over devices."),
    Column::text(
        "kind",
        "What",
        "What the node is: all, program, category, scope, file, line, duplicates (ops that the compiler names as copies of one), op or idle.",
    ),
    Column::count("ops", "Ops", "Distinct ops."),
    Column::rate("flop_rate", "FLOP rate", Unit::FlopRate, "FLOPs over self time, of one device."),
    Column::rate(
        "hbm_rate",
        "HBM rate",
        Unit::ByteRate,
        "Bytes to and from HBM over self time, of one device.",
    ),
    Column::duration("average_ps", "Average", "Self time of one execution; of ops and their copies only."),
    Column::float(
        "flops",
        "FLOPs",
        Unit::Flop,
        "FLOPs of all executions as counted for the device; those of while, call and conditional are those of the ops inside and not counted again.",
    ),
    Column::float(
        "model_flops",
        "Model FLOPs",
        Unit::Flop,
        "FLOPs of all executions of the operations as written.",
    ),
    Column::bytes("bytes_accessed", "Bytes", "Bytes accessed by all executions, in all memories."),
    Column::bytes("hbm_bytes", "HBM bytes", "Bytes to and from HBM of all executions."),
    Column::text("category", "Category", "HLO category of an op."),
    Column::text("module", "Module", "The HLO module of an op or program."),
    Column::text("program_id", "Program", "The program's id, as the profiler labels it."),
    Column::text("framework_op", "Framework op", "The scope path of an op in JAX, PyTorch or TensorFlow."),
    Column::text("source", "Source", "File and line that an op comes from."),
    Column::text("expression", "Expression", "The HLO expression of an op, cut to 200 characters."),
];

/// What neither limit explains, of the time itself; `None` where nothing is known of one of them.
pub(super) fn wasted(limits: &Limits) -> Option<f64> {
    let near = limits.flop_share.zip(limits.hbm_share).map(|(flops, hbm)| flops.max(hbm));
    near.map(|near| 1.0 - near.min(1.0))
}

/// The cells of a node. `op` is the op that it stands for or, of copies, the largest.
pub(super) fn cells(
    sums: &Sums,
    kind: &'static str,
    op: Option<&Op<'_>>,
    root_ps: i64,
    peaks: &Peaks,
) -> Vec<Cell> {
    let work = Work {
        time_ps: sums.self_ps as f64,
        flops: sums.flops.filter(|_| sums.has_rates),
        hbm_bytes: sums.hbm_bytes.filter(|_| sums.has_rates),
    };
    let limits = work.against(peaks);
    let share = (root_ps > 0).then(|| sums.self_ps as f64 / root_ps as f64);
    let text = |t: &str| if t.is_empty() { Cell::Unknown } else { Cell::from(t) };
    let of_op = |get: &dyn Fn(&Op<'_>) -> Cell| op.map_or(Cell::Unknown, get);
    let only_op = op.filter(|_| kind == "op");
    let is_idle = kind == "idle";
    let counted = |count: u64| if is_idle { Cell::Unknown } else { count.into() };
    vec![
        sums.self_ps.into(),
        share.into(),
        wasted(&limits).zip(share).map(|(wasted, share)| wasted * share).into(),
        limits.flop_share.into(),
        limits.hbm_share.into(),
        counted(sums.occurrences),
        kind.into(),
        counted(sums.ops),
        limits.flop_rate.into(),
        limits.hbm_rate.into(),
        op.filter(|_| sums.occurrences > 0).map(|_| sums.self_ps as f64 / sums.occurrences as f64).into(),
        sums.flops.into(),
        sums.model_flops.into(),
        sums.bytes.into(),
        sums.hbm_bytes.into(),
        of_op(&|op| text(&op.meta.category)),
        sums.module.map_or(Cell::Unknown, &text),
        sums.program_id.map(|id| id.to_string()).into(),
        only_op.map_or(Cell::Unknown, |op| text(&op.meta.framework_op)),
        only_op.map_or(Cell::Unknown, |op| text(&op.meta.source)),
        only_op.map_or(Cell::Unknown, |op| {
            text(&op.meta.expression.chars().take(EXPRESSION).collect::<String>())
        }),
    ]
}
