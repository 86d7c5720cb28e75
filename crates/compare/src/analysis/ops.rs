//! Table `ops`: every op of either run, those that change the step's time most first.

use super::side::{Change, Side};
use haloscope_report::{Cell, Columns, Row, Table, Unit, row};

pub(super) fn table(side: &Side<'_, '_>, rows: usize) -> Table {
    let rows = side.largest().into_iter().take(rows).map(|change| row(side, change));
    Table::of("ops", "Ops by what they add to the step", rows)
}

fn row(side: &Side<'_, '_>, change: &Change) -> Row<impl Columns + use<>> {
    let op = side.op(change);
    let both = change.group.is_in_both();
    let text = |t: Option<&str>| t.filter(|t| !t.is_empty()).map_or(Cell::Unknown, Cell::from);
    let effect = |ps: i64| Some(ps).filter(|_| both);
    let executions = |run: &crate::RunSamples<'_>, at: &[usize]| {
        // Of several ops, those of the one that runs most.
        at.iter().filter_map(|at| run.ops.get(*at)).map(|op| op.executions).reduce(f64::max)
    };
    row![
        text("op", "Op", "Its name in the experiment; in the baseline if it is gone.", side.name(change)),
        text(
            "change",
            "Change",
            "slower, faster: beyond chance (p below 0.01) and by 1% of its time or more; new, gone; regrouped: one became several, or several one; unchanged: shown to be within 3% of its time or 0.1% of a step; undecided: neither is shown.",
            change.became.word()
        ),
        duration(
            "delta_ps",
            "Delta",
            "Time in a step of the experiment minus that of the baseline, mean over steps and devices.",
            change.effects.delta_ps
        ),
        duration(
            "baseline_ps",
            "Baseline",
            "Time in which it was the innermost op, in a step of the baseline.",
            Some(change.baseline_ps).filter(|_| !change.group.a.is_empty())
        ),
        duration(
            "experiment_ps",
            "Experiment",
            "The same in the experiment.",
            Some(change.experiment_ps).filter(|_| !change.group.b.is_empty())
        ),
        float(
            "p",
            "p",
            Unit::Ratio,
            "The chance of such a difference by noise alone (Welch's test, over the steps in which it ran), corrected for the number of ops (Holm); unknown with fewer than three such steps in a run.",
            change.p
        ),
        text("was", "Was", "Its name in the baseline.", side.was(change)),
        text(
            "framework_op",
            "Framework op",
            "The scope path in JAX, PyTorch or TensorFlow.",
            text(op.map(|op| &*op.meta.framework_op))
        ),
        text("category", "Category", "HLO category.", text(op.map(|op| &*op.meta.category))),
        text("module", "Module", "The HLO module.", text(op.map(|op| &*op.module))),
        duration(
            "low_ps",
            "Low",
            "Lower end of the delta's 95% interval, of this op by itself.",
            change.test.map(|test| test.low)
        ),
        duration("high_ps", "High", "Its upper end.", change.test.map(|test| test.high)),
        duration(
            "count_ps",
            "Count",
            "Part of the delta that comes from more or fewer executions.",
            effect(change.effects.count_ps)
        ),
        duration(
            "work_ps",
            "Work",
            "Part that comes from more or less work in one; unknown if its FLOPs and bytes were not counted.",
            effect(change.effects.work_ps).filter(|_| change.effects.knows_work)
        ),
        duration(
            "efficiency_ps",
            "Efficiency",
            "The rest: more or less time for the same work.",
            effect(change.effects.efficiency_ps)
        ),
        float(
            "baseline_executions",
            "Runs before",
            Unit::Ratio,
            "Executions in a step on a device, in the baseline.",
            executions(side.a, &change.group.a)
        ),
        float(
            "experiment_executions",
            "Runs now",
            Unit::Ratio,
            "The same in the experiment.",
            executions(side.b, &change.group.b)
        ),
        text(
            "how",
            "Matched by",
            "How it was matched: structure (the programs were aligned), form (what it does to which shapes), name.",
            change.how.map(|how| how.word())
        ),
        text("source", "Source", "File and line that it comes from.", text(op.map(|op| &*op.meta.source))),
    ]
}
