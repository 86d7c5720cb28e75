//! Headline numbers of `compare`.

use super::renamed;
use super::side::{Became, Side};
use crate::{RunSamples, StepVerdict};
use haloscope_report::{Status, Unit, Value};

/// How the step times of two runs are known.
pub(crate) fn status_of(a: &RunSamples<'_>, b: &RunSamples<'_>) -> Status {
    if a.source.is_inferred() || b.source.is_inferred() { Status::Estimated } else { Status::Derived }
}

/// What is said of any two runs, comparable or not.
pub(super) fn of_step(a: &RunSamples<'_>, b: &RunSamples<'_>, said: &StepVerdict) -> Vec<Value> {
    let status = status_of(a, b);
    let time = |id, label, ps: Option<f64>, doc| Value::new(id, label, ps, Unit::Ps, status, doc);
    let interval = said.test.map(|test| format!("{}..{}", test.low.round() as i64, test.high.round() as i64));
    let mut values = vec![
        Value::new(
            "verdict",
            "Verdict",
            Some(said.verdict.word()),
            Unit::None,
            status,
            "Of the step time: faster, slower, unchanged, undecided (too few steps), not comparable.",
        ),
        Value::new(
            "verdict_why",
            "Why",
            Some(said.why.as_str()),
            Unit::None,
            status,
            "What the verdict rests on.",
        ),
    ];
    values.extend(of_difference(said, status));
    values.extend([
        Value::new(
            "step_delta_interval_ps",
            "95% interval, ps",
            interval,
            Unit::None,
            status,
            "Low and high end of the difference's 95% interval (Welch), picoseconds.",
        ),
        time(
            "baseline_step_ps",
            "Step time, baseline",
            Some(a.mean_ps()),
            "Mean over the counted steps, as `overview` has it.",
        ),
        time("experiment_step_ps", "Step time, experiment", Some(b.mean_ps()), "The same of the experiment."),
    ]);
    values
}

/// The difference of the step times, how sure it is, and what it rests on.
pub(crate) fn of_difference(said: &StepVerdict, status: Status) -> Vec<Value> {
    let time = |id, label, ps: Option<f64>, doc| Value::new(id, label, ps, Unit::Ps, status, doc);
    let ratio = |id, label, p: Option<f64>, doc| Value::new(id, label, p, Unit::Ratio, status, doc);
    let share = |id, label, share: Option<f64>, doc| Value::new(id, label, share, Unit::Share, status, doc);
    let count =
        |id, label, steps: usize, doc| Value::new(id, label, Some(steps), Unit::Count, Status::Measured, doc);
    vec![
        Value::new(
            "step_delta_ps",
            "Step time, difference",
            Some(said.delta_ps.round() as i64),
            Unit::Ps,
            status,
            "Mean step time of the experiment less that of the baseline, to the picosecond: the sum of the waterfall.",
        ),
        share("step_delta_share", "The same, share", said.delta_share, "Over the baseline's mean step time."),
        time(
            "step_delta_low_ps",
            "Difference, low",
            said.test.map(|t| t.low),
            "Low end of the 95% interval.",
        ),
        time(
            "step_delta_high_ps",
            "Difference, high",
            said.test.map(|t| t.high),
            "High end of the 95% interval.",
        ),
        ratio(
            "step_delta_p",
            "p, Welch",
            said.test.map(|t| t.p),
            "The chance of a difference as large in step times of one distribution, by Welch's t test.",
        ),
        ratio("step_delta_rank_p", "p, ranks", said.rank_p, "The same by the rank test of Mann and Whitney."),
        time(
            "noise_floor_ps",
            "Noise floor",
            said.noise_floor_ps,
            "The smallest difference of the step time that would have been told from noise here.",
        ),
        share(
            "noise_floor_share",
            "Noise floor, share",
            said.noise_floor_share,
            "Over the baseline's mean step time.",
        ),
        count(
            "baseline_steps",
            "Steps, baseline",
            said.baseline_steps,
            "Steps that count: those at the edges of the capture do not.",
        ),
        count("experiment_steps", "Steps, experiment", said.experiment_steps, "The same of the experiment."),
    ]
}

/// What is said of ops that were held against each other.
pub(super) fn of_ops(side: &Side<'_, '_>) -> Vec<Value> {
    let count = |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Derived, doc);
    let matched = side.matches.matched_share(|at| side.a.ops.get(at).map_or(0.0, |op| op.mean_ps()));
    vec![
        Value::new(
            "matched_share",
            "Op time known again",
            matched,
            Unit::Share,
            Status::Derived,
            "Share of the baseline's op time that is in ops which the experiment has too.",
        ),
        count(
            "ops_changed",
            "Ops changed",
            side.count(&[Became::Slower, Became::Faster]),
            "Ops of both runs whose time changed beyond chance, and by 1% or more.",
        ),
        count("ops_new", "Ops new", side.count(&[Became::New]), "Ops that only the experiment has."),
        count("ops_gone", "Ops gone", side.count(&[Became::Gone]), "Ops that only the baseline has."),
        count(
            "ops_regrouped",
            "Ops cut differently",
            side.count(&[Became::Regrouped]),
            "One that became several, or several that became one: each such group once.",
        ),
        count(
            "ops_renamed",
            "Ops renamed",
            renamed::count(side),
            "Ops of both runs that are called otherwise; nothing else about them.",
        ),
    ]
}
