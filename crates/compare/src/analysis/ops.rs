//! Table `ops`: every op of either run, those that change the step's time most first.

use super::side::{Change, Side};
use haloscope_report::{Cell, Column, Table};

const COLUMNS: &[Column] = &[
    Column::text("op", "Op", "Its name in the experiment; in the baseline where it is gone."),
    Column::text(
        "change",
        "Change",
        "slower, faster: beyond chance (p below 0.01) and by 1% of its time or more; new, gone; regrouped: one became several, or several one; unchanged; undecided: too few steps.",
    ),
    Column::duration(
        "delta_ps",
        "Delta",
        "Time in a step of the experiment less that of the baseline, mean over steps and devices.",
    ),
    Column::duration(
        "baseline_ps",
        "Baseline",
        "Time in which it was the innermost op, in a step of the baseline.",
    ),
    Column::duration("experiment_ps", "Experiment", "The same in the experiment."),
    Column::float(
        "p",
        "p",
        haloscope_report::Unit::Ratio,
        "The chance of such a difference without a cause (Welch's test), corrected for the number of ops (Holm).",
    ),
    Column::text("was", "Was", "Its name in the baseline."),
    Column::text("framework_op", "Framework op", "The scope path in JAX, PyTorch or TensorFlow."),
    Column::text("category", "Category", "HLO category."),
    Column::text("module", "Module", "The HLO module."),
    Column::duration("low_ps", "Low", "Lower end of the delta's 95% interval, of this op by itself."),
    Column::duration("high_ps", "High", "Its upper end."),
    Column::duration("count_ps", "Count", "Part of the delta that comes from more or fewer executions."),
    Column::duration(
        "work_ps",
        "Work",
        "Part that comes from more or less work in one; unknown where nobody counted its FLOPs and bytes.",
    ),
    Column::duration(
        "efficiency_ps",
        "Efficiency",
        "Part that is left: more or less time for the same work.",
    ),
    Column::float(
        "baseline_executions",
        "Runs before",
        haloscope_report::Unit::Ratio,
        "Executions in a step on a device, in the baseline.",
    ),
    Column::float(
        "experiment_executions",
        "Runs now",
        haloscope_report::Unit::Ratio,
        "The same in the experiment.",
    ),
    Column::text(
        "how",
        "Known by",
        "How it was known again: structure (the programs were aligned), form (what it does to which shapes), name.",
    ),
    Column::text("source", "Source", "File and line that it comes from."),
];

pub(super) fn table(side: &Side<'_, '_>, rows: usize) -> Table {
    let mut table = Table::new("ops", "Ops by what they add to the step", COLUMNS);
    for change in side.largest().into_iter().take(rows) {
        table.push(row(side, change));
    }
    table
}

fn row(side: &Side<'_, '_>, change: &Change) -> Vec<Cell> {
    let op = side.op(change);
    let both = change.group.is_in_both();
    let text = |t: Option<&str>| t.filter(|t| !t.is_empty()).map_or(Cell::Unknown, Cell::from);
    let effect = |ps: i64| Some(ps).filter(|_| both);
    let executions = |run: &crate::RunSamples<'_>, at: &[usize]| {
        // Of several ops, those of the one that runs most.
        at.iter().filter_map(|at| run.ops.get(*at)).map(|op| op.executions).reduce(f64::max)
    };
    vec![
        side.name(change).into(),
        change.became.word().into(),
        change.effects.delta_ps.into(),
        Some(change.baseline_ps).filter(|_| !change.group.a.is_empty()).into(),
        Some(change.experiment_ps).filter(|_| !change.group.b.is_empty()).into(),
        change.p.into(),
        side.was(change).into(),
        text(op.map(|op| &*op.meta.framework_op)),
        text(op.map(|op| &*op.meta.category)),
        text(op.map(|op| &*op.module)),
        change.test.map(|test| test.low).into(),
        change.test.map(|test| test.high).into(),
        effect(change.effects.count_ps).into(),
        effect(change.effects.work_ps).filter(|_| change.effects.knows_work).into(),
        effect(change.effects.efficiency_ps).into(),
        executions(side.a, &change.group.a).into(),
        executions(side.b, &change.group.b).into(),
        change.how.map(|how| how.word()).into(),
        text(op.map(|op| &*op.meta.source)),
    ]
}
