//! Tables `runs` and `steps`, and the series of step times.

use crate::{RunSamples, StepVerdict};
use haloscope_report::{Column, Series, Table, Unit};

const RUNS: &[Column] = &[
    Column::text("run", "Run", "The experiment."),
    Column::text("verdict", "Verdict", "Its step time against the baseline's."),
    Column::duration("step_delta_ps", "Delta", "Its mean step time less the baseline's."),
    Column::share("step_delta_share", "Of a step", "The same over the baseline's."),
    Column::duration("step_delta_low_ps", "Low", "Lower end of the delta's 95% interval."),
    Column::duration("step_delta_high_ps", "High", "Its upper end."),
    Column::duration("step_time_mean_ps", "Step time", "Its mean step time."),
    Column::count("steps", "Steps", "Its steps that count."),
];

const STEPS: &[Column] = &[
    Column::text("run", "Run", "The run."),
    Column::count("step", "Step", "The step's number."),
    Column::text("class", "Class", "steady, warm-up or outlier: as `steps` has it."),
    Column::duration("time_ps", "Time", "The slowest device's time."),
];

/// One row an experiment.
pub(super) fn runs<'r>(
    experiments: impl IntoIterator<Item = (&'r str, &'r RunSamples<'r>, &'r StepVerdict)>,
) -> Table {
    let mut table = Table::new("runs", "Every experiment against the baseline", RUNS);
    for (label, run, said) in experiments {
        table.push(vec![
            label.into(),
            said.verdict.word().into(),
            (said.delta_ps.round() as i64).into(),
            said.delta_share.into(),
            said.test.map(|test| test.low).into(),
            said.test.map(|test| test.high).into(),
            run.mean_ps().into(),
            run.steps.len().into(),
        ]);
    }
    table
}

pub(super) fn steps(runs: [&RunSamples<'_>; 2], labels: [&str; 2]) -> Table {
    let mut table = Table::new("steps", "Steps", STEPS);
    for (run, label) in runs.into_iter().zip(labels) {
        let counted = run.steps.len() > 2;
        for step in &run.steps {
            table.push(vec![
                label.into(),
                step.number.into(),
                // Of one or two steps none can be called usual.
                Some(step.class.word()).filter(|_| counted).into(),
                step.time_ps.into(),
            ]);
        }
    }
    table
}

pub(super) fn series(runs: [&RunSamples<'_>; 2], labels: [&str; 2]) -> Vec<Series> {
    let of = |(id, (run, label)): (&str, (&RunSamples<'_>, &str))| Series {
        id: id.into(),
        title: label.into(),
        x: ("Step", Unit::Count),
        y: ("Time", Unit::Ps),
        points: run.steps.iter().map(|step| [step.number as f64, step.time_ps]).collect(),
    };
    ["baseline", "experiment"].into_iter().zip(runs.into_iter().zip(labels)).map(of).collect()
}
