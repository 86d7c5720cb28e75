//! Headline numbers of `compare`.

use super::renamed;
use super::side::{Became, Side};
use super::waterfall::signed;
use crate::verdict::LEAST_STEPS;
use crate::{RunSamples, StepVerdict, Verdict};
use haloscope_report::{Status, Unit, Value, units};

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
            "Of the step time: faster, slower; unchanged: shown to be the same, within the margin; undecided: neither is shown; not comparable.",
        ),
        Value::new(
            "verdict_says",
            "In words",
            Some(words(said)),
            Unit::None,
            status,
            "The verdict as a sentence: changed and by how much, the same, or undecided and what would decide.",
        ),
        Value::new(
            "verdict_why",
            "Why",
            Some(said.why.as_str()),
            Unit::None,
            status,
            "The evidence for the verdict.",
        ),
    ];
    values.extend(of_difference(said, status));
    values.extend([
        Value::new(
            "step_delta_interval_ps",
            "95% interval",
            interval,
            Unit::None,
            status,
            "Low and high end of the difference's 95% interval (Welch), picoseconds.",
        ),
        time(
            "baseline_step_ps",
            "Step time, baseline",
            Some(a.mean_ps()),
            "Mean over the counted steps, as in `overview`.",
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
            "Mean step time of the experiment minus that of the baseline, to the picosecond: the sum of the waterfall.",
        ),
        share(
            "step_delta_share",
            "Step time, relative difference",
            said.delta_share,
            "Divided by the baseline's mean step time.",
        ),
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
            "The chance of such a large difference between step times of one distribution, by Welch's t test; similar neighbouring steps count for less.",
        ),
        Value::new(
            "verdict_by",
            "Changed by",
            Some(by(said)).filter(|by| !by.is_empty()),
            Unit::None,
            status,
            "The evidence for a change: the mean, the usual steps (their shift), a few slow steps, a level from some step on.",
        ),
        time(
            "usual_delta_ps",
            "Usual steps, difference",
            said.usual_shift.map(|t| t.delta),
            "Shift of the usual steps (Hodges and Lehmann), which a few slow ones do not move; without warm-up.",
        ),
        time(
            "usual_delta_low_ps",
            "Usual steps, low",
            said.usual_shift.map(|t| t.low),
            "Low end of its 95% interval.",
        ),
        time(
            "usual_delta_high_ps",
            "Usual steps, high",
            said.usual_shift.map(|t| t.high),
            "High end of its 95% interval.",
        ),
        share(
            "margin_share",
            "Margin",
            Some(said.margin),
            "The step time is the same if the difference is shown to be within this share of a step.",
        ),
        time(
            "same_low_ps",
            "Margin's interval, low",
            said.same_ps.map(|(low, _)| low),
            "Low end of the interval that must lie within the margin to be the same: 90%, the farther of mean and usual steps.",
        ),
        time("same_high_ps", "Margin's interval, high", said.same_ps.map(|(_, high)| high), "Its high end."),
        Value::new(
            "steps_to_decide",
            "Steps that would decide",
            said.steps_to_decide,
            Unit::Count,
            Status::Estimated,
            "For each run, if steps continue as they are; unknown if it is already decided, or if no number of steps would decide.",
        ),
        ratio("step_delta_rank_p", "p, ranks", said.rank_p, "The same by the rank test of Mann and Whitney."),
        time(
            "noise_floor_ps",
            "Noise floor",
            said.noise_floor_ps,
            "The smallest difference in step time that could be distinguished from noise here.",
        ),
        share(
            "noise_floor_share",
            "Noise floor, share",
            said.noise_floor_share,
            "Divided by the baseline's mean step time.",
        ),
        count(
            "baseline_steps",
            "Steps, baseline",
            said.baseline_steps,
            "Steps that count; steps at the edges of the capture do not.",
        ),
        count("experiment_steps", "Steps, experiment", said.experiment_steps, "The same of the experiment."),
    ]
}

/// What a change rests on, in words with `, ` between them; empty without one.
pub(super) fn by(said: &StepVerdict) -> String {
    said.by.iter().map(|by| by.word()).collect::<Vec<_>>().join(", ")
}

/// The verdict as a sentence without a full stop.
pub(crate) fn words(said: &StepVerdict) -> String {
    let told = said.told_ps();
    let base = said.delta_share.filter(|share| *share != 0.0).map(|share| said.delta_ps / share);
    let share = base.map(|base| format!(" ({})", signed_share(told / base))).unwrap_or_default();
    let by = format!("{}{share}", signed(told.round() as i64));
    let margin = units::share(said.margin);
    match said.verdict {
        Verdict::Slower => format!("Changed: a step takes longer, {by}"),
        Verdict::Faster => format!("Changed: a step takes less time, {by}"),
        Verdict::Unchanged => format!("The same: the difference, {by}, is within {margin} of a step"),
        Verdict::Undecided => {
            let what = if said.baseline_steps.min(said.experiment_steps) < LEAST_STEPS {
                "there are too few steps"
            } else {
                "it is neither shown to differ nor to be the same"
            };
            let steps = said.steps_to_decide;
            let steps =
                steps.map(|n| format!("; about {n} steps of each run would decide")).unwrap_or_default();
            format!("Undecided: {by}, {what}{steps}")
        }
        Verdict::NotComparable => "Not comparable".to_owned(),
    }
}

fn signed_share(share: f64) -> String {
    format!("{}{}", if share > 0.0 { "+" } else { "" }, units::share(share))
}

/// What is said of ops that were held against each other.
pub(super) fn of_ops(side: &Side<'_, '_>) -> Vec<Value> {
    let count = |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Derived, doc);
    let matched = side.matches.matched_share(|at| side.a.ops.get(at).map_or(0.0, |op| op.mean_ps()));
    vec![
        Value::new(
            "matched_share",
            "Op time matched",
            matched,
            Unit::Share,
            Status::Derived,
            "Share of the baseline's op time in ops that the experiment also has.",
        ),
        count(
            "ops_changed",
            "Ops changed",
            side.count(&[Became::Slower, Became::Faster]),
            "Ops of both runs whose time changed by more than noise and by 1% or more.",
        ),
        count("ops_new", "Ops new", side.count(&[Became::New]), "Ops that only the experiment has."),
        count("ops_gone", "Ops gone", side.count(&[Became::Gone]), "Ops that only the baseline has."),
        count(
            "ops_regrouped",
            "Ops split or merged",
            side.count(&[Became::Regrouped]),
            "One op that became several, or several that became one; each such group counts once.",
        ),
        count(
            "ops_renamed",
            "Ops renamed",
            renamed::count(side),
            "Ops of both runs whose name differs and nothing else.",
        ),
    ]
}
