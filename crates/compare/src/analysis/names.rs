//! Tables by name and by class: `names` and `classes`.

use super::side::{Keyed, Side};
use crate::samples::mean;
use crate::significance::{Test, welch};
use crate::{Rest, RunSamples, SampledOp};
use haloscope_report::{Column, Table, row};
use haloscope_time::account::Class;

const DELTA_SHARE: Column = Column::share(
    "delta_share",
    "Of it",
    "The delta divided by the baseline; unknown if the baseline has none of it.",
);
const EXPERIMENT: Column = Column::duration("experiment_ps", "Experiment", "The same in the experiment.");
const LOW: Column = Column::duration("low_ps", "Low", "Lower end of the delta's 95% interval.");
const HIGH: Column = Column::duration("high_ps", "High", "Its upper end.");

pub(super) fn names(side: &Side<'_, '_>, rows: usize) -> Table {
    let steps = [side.a.steps.len(), side.b.steps.len()];
    let parenthesised = [without_name(side.a), without_name(side.b)];
    let mut keyed = Keyed::default();
    for (at, run) in [side.a, side.b].into_iter().enumerate() {
        for (op, category) in run.ops.iter().zip(&parenthesised[at]) {
            let key = if op.meta.framework_op.is_empty() { category } else { &*op.meta.framework_op };
            keyed.add(key, at, steps, &op.step_ps);
        }
    }
    let row = |(name, samples): (&str, [Vec<f64>; 2])| {
        let time = Time::of(&samples);
        row![
            text(
                "framework_op",
                "Framework op",
                "The scope path in JAX, PyTorch or TensorFlow; the category in parentheses, for ops without one.",
                name
            ),
            duration(
                "delta_ps",
                "Delta",
                "Time in a step of the experiment minus that of the baseline.",
                time.delta_ps()
            ),
            column(DELTA_SHARE, time.delta_share()),
            duration(
                "baseline_ps",
                "Baseline",
                "Time of all ops of this name in a step of the baseline.",
                time.baseline_ps
            ),
            column(EXPERIMENT, time.experiment_ps),
            column(LOW, time.test.map(|test| test.low)),
            column(HIGH, time.test.map(|test| test.high)),
        ]
    };
    Table::of("names", "By framework op", keyed.by_difference().into_iter().take(rows).map(row))
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
    let row = |(name, samples): (&str, [Vec<f64>; 2])| {
        let time = Time::of(&samples);
        row![
            text("class", "Class", "What takes the time of a step.", name),
            duration(
                "delta_ps",
                "Delta",
                "Time in a step of the experiment minus that of the baseline; the rows add up to the step's.",
                time.delta_ps()
            ),
            column(DELTA_SHARE, time.delta_share()),
            duration(
                "baseline_ps",
                "Baseline",
                "Time in a step of the baseline, mean over steps and devices.",
                time.baseline_ps
            ),
            column(EXPERIMENT, time.experiment_ps),
            column(LOW, time.test.map(|test| test.low)),
            column(HIGH, time.test.map(|test| test.high)),
        ]
    };
    Table::of("classes", "By use of a step's time", rows.into_iter().map(row))
}

/// The time of something in a step of both runs.
struct Time {
    baseline_ps: f64,
    experiment_ps: f64,
    test: Option<Test>,
}

impl Time {
    /// From its samples in the baseline and in the experiment.
    fn of([before, after]: &[Vec<f64>; 2]) -> Self {
        Self { baseline_ps: mean(before), experiment_ps: mean(after), test: welch(before, after) }
    }

    fn delta_ps(&self) -> f64 {
        self.experiment_ps - self.baseline_ps
    }

    fn delta_share(&self) -> Option<f64> {
        (self.baseline_ps > 0.0).then(|| self.delta_ps() / self.baseline_ps)
    }
}
