//! Tables by name and by class: `names` and `classes`.

use super::side::{Keyed, Side};
use crate::samples::mean;
use crate::{Rest, RunSamples, SampledOp};
use haloscope_report::{Cell, Column, Table};
use haloscope_time::account::Class;
use haloscope_time::significance::welch;

const NAMES: &[Column] = &[
    Column::text(
        "framework_op",
        "Framework op",
        "The scope path in JAX, PyTorch or TensorFlow; the category in parentheses, for ops without one.",
    ),
    Column::duration("delta_ps", "Delta", "Time in a step of the experiment less that of the baseline."),
    Column::share(
        "delta_share",
        "Of it",
        "The delta over the baseline; unknown where the baseline has none of it.",
    ),
    Column::duration("baseline_ps", "Baseline", "Time of all ops of this name in a step of the baseline."),
    Column::duration("experiment_ps", "Experiment", "The same in the experiment."),
    Column::duration("low_ps", "Low", "Lower end of the delta's 95% interval."),
    Column::duration("high_ps", "High", "Its upper end."),
];

const CLASSES: &[Column] = &[
    Column::text("class", "Class", "What the time of a step goes to."),
    Column::duration(
        "delta_ps",
        "Delta",
        "Time in a step of the experiment less that of the baseline; they add up to the step's.",
    ),
    Column::share(
        "delta_share",
        "Of it",
        "The delta over the baseline; unknown where the baseline has none of it.",
    ),
    Column::duration(
        "baseline_ps",
        "Baseline",
        "Time in a step of the baseline, mean over steps and devices.",
    ),
    Column::duration("experiment_ps", "Experiment", "The same in the experiment."),
    Column::duration("low_ps", "Low", "Lower end of the delta's 95% interval."),
    Column::duration("high_ps", "High", "Its upper end."),
];

pub(super) fn names(side: &Side<'_, '_>, rows: usize) -> Table {
    let mut table = Table::new("names", "By framework op", NAMES);
    let steps = [side.a.steps.len(), side.b.steps.len()];
    let parenthesised = [without_name(side.a), without_name(side.b)];
    let mut keyed = Keyed::default();
    for (at, run) in [side.a, side.b].into_iter().enumerate() {
        for (op, category) in run.ops.iter().zip(&parenthesised[at]) {
            let key = if op.meta.framework_op.is_empty() { category } else { &*op.meta.framework_op };
            keyed.add(key, at, steps, &op.step_ps);
        }
    }
    fill(&mut table, keyed.by_difference().into_iter().take(rows));
    table
}

/// What stands for the name of each op without one.
fn without_name(run: &RunSamples<'_>) -> Vec<String> {
    let word = |op: &SampledOp<'_>| match &*op.meta.category {
        "" => "(not recorded)".to_owned(),
        category => format!("({category})"),
    };
    run.ops.iter().map(word).collect()
}

pub(super) fn classes(side: &Side<'_, '_>) -> Table {
    let mut table = Table::new("classes", "By what a step's time goes to", CLASSES);
    let steps = [side.a.steps.len(), side.b.steps.len()];
    let mut keyed = Keyed::default();
    for (at, run) in [side.a, side.b].into_iter().enumerate() {
        for op in &run.ops {
            keyed.add(op.class.phrase(), at, steps, &op.step_ps);
        }
        for rest in &run.remainders {
            keyed.add(rest.what.phrase(), at, steps, &rest.step_ps);
        }
    }
    let order = Class::ALL.into_iter().rev().map(Rest::Class);
    let order = order.chain([Rest::Modules, Rest::Unrecorded, Rest::Devices, Rest::Clocks]);
    let rank: Vec<&str> = order.map(Rest::phrase).collect();
    let mut rows = keyed.by_difference();
    rows.sort_by_key(|(name, _)| rank.iter().position(|known| known == name));
    fill(&mut table, rows);
    table
}

fn fill<'k>(table: &mut Table, rows: impl IntoIterator<Item = (&'k str, [Vec<f64>; 2])>) {
    for (name, [before, after]) in rows {
        let test = welch(&before, &after);
        let (baseline, experiment) = (mean(&before), mean(&after));
        table.push(vec![
            Cell::from(name),
            (experiment - baseline).into(),
            (baseline > 0.0).then(|| (experiment - baseline) / baseline).into(),
            baseline.into(),
            experiment.into(),
            test.map(|test| test.low).into(),
            test.map(|test| test.high).into(),
        ]);
    }
}
