//! Tables `runs` and `steps`, and the series of step times.

use super::values;
use crate::{RunSamples, StepVerdict};
use haloscope_report::{Series, Table, Unit, row};

/// One row an experiment.
pub(super) fn runs<'r>(
    experiments: impl IntoIterator<Item = (&'r str, &'r RunSamples<'r>, &'r StepVerdict)>,
) -> Table {
    let mut rows = Vec::new();
    for (label, run, said) in experiments {
        let row = row![
            text("run", "Run", "The experiment.", label),
            text("verdict", "Verdict", "Its step time against the baseline's.", said.verdict.word()),
            duration(
                "step_delta_ps",
                "Delta",
                "Its mean step time minus the baseline's.",
                said.delta_ps.round() as i64
            ),
            share("step_delta_share", "Of a step", "The same divided by the baseline's.", said.delta_share),
            text(
                "verdict_by",
                "By",
                "The evidence for a change: mean, usual steps, a few steps, from a step on.",
                Some(values::by(said)).filter(|by| !by.is_empty())
            ),
            duration(
                "step_delta_low_ps",
                "Low",
                "Lower end of the delta's 95% interval.",
                said.test.map(|test| test.low)
            ),
            duration("step_delta_high_ps", "High", "Its upper end.", said.test.map(|test| test.high)),
            duration("step_time_mean_ps", "Step time", "Its mean step time.", run.mean_ps()),
            count("steps", "Steps", "Its steps that count.", run.steps.len()),
            count(
                "steps_to_decide",
                "Would decide",
                "Steps of each run that would decide it, if undecided.",
                said.steps_to_decide
            ),
        ];
        rows.push(row);
    }
    Table::of("runs", "Every experiment against the baseline", rows)
}

pub(super) fn steps(runs: [&RunSamples<'_>; 2], labels: [&str; 2]) -> Table {
    let mut rows = Vec::new();
    for (run, label) in runs.into_iter().zip(labels) {
        let counted = run.steps.len() > 2;
        for step in &run.steps {
            let row = row![
                text("run", "Run", "The run.", label),
                count("step", "Step", "The step's number.", step.number),
                // Of one or two steps none can be called usual.
                text(
                    "class",
                    "Class",
                    "steady, warm-up or outlier, as in `steps`.",
                    Some(step.class.word()).filter(|_| counted)
                ),
                duration("time_ps", "Time", "The slowest device's time.", step.time_ps),
            ];
            rows.push(row);
        }
    }
    Table::of("steps", "Steps", rows)
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
