//! The numbers by which a run is judged, and two runs side by side.
//!
//! A share stands below what it is a share of something: its denominator moves with the edit as much as its numerator, so that
//! a share alone never says better or worse.

mod measure;

use crate::verdict::LEAST_STEPS;
use crate::{StepVerdict, Verdict};
use haloscope_report::{Cell, Status, Table, Unit, Value, row};

pub(crate) use measure::of;

/// What tells whether a difference of a metric is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judge {
    /// Its samples, one a step; less is better.
    Samples,
    /// The same, where this metric is the same; else it is about something else.
    SamplesOf(&'static str),
    /// What this metric says, where both change the same way.
    Like(&'static str),
    /// This work over the peak and the step time: better where a step with the same work is faster.
    WorkOverTime(&'static str),
    /// One exact number; less is better.
    Exact,
    /// Words, or a number of which neither more nor less is better: only whether it is the same.
    Same,
    /// A name: another one is no difference.
    Name,
    /// One measurement: nothing tells its noise.
    Nothing,
}

/// One number of a run.
#[derive(Debug, Clone)]
pub(crate) struct Metric {
    /// Stable id, such as `step_time_mean_ps`: what budgets and claims name.
    pub id: &'static str,
    pub label: &'static str,
    pub unit: Unit,
    /// Unknown where the profile does not tell.
    pub value: Cell,
    pub status: Status,
    /// Its value in every counted step, for intervals; empty where there is only one.
    pub samples: Vec<f64>,
    pub judge: Judge,
    pub doc: &'static str,
}

impl Metric {
    /// The metric as a headline number.
    pub(crate) fn to_value(&self) -> Value {
        Value::new(self.id, self.label, Some(self.value.clone()), self.unit, self.status, self.doc)
    }
}

/// The metric with this id.
pub(crate) fn find<'m>(metrics: &'m [Metric], id: &str) -> Option<&'m Metric> {
    metrics.iter().find(|metric| metric.id == id)
}

/// Numbers that are the same within this share are the same.
const SAME: f64 = 1e-3;

/// What became of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Better,
    Worse,
    Unchanged,
    /// It is another, which is neither better nor worse.
    Changed,
    /// There are samples, and they show neither a difference nor that there is none.
    Undecided,
    Unknown,
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Unchanged => "unchanged",
            Self::Changed => "changed",
            Self::Undecided => "undecided",
            Self::Unknown => "unknown",
        }
    }
}

/// What became of the metric at this place of both lists, and why that cannot be said where it cannot.
pub(crate) fn outcome(a: &[Metric], b: &[Metric], at: usize) -> (Outcome, &'static str) {
    let (Some(own), Some(other)) = (a.get(at), b.get(at)) else { return (Outcome::Unknown, "") };
    if own.value == Cell::Unknown || other.value == Cell::Unknown {
        return (Outcome::Unknown, "");
    }
    let sign = delta(own, other).number().map_or(0.0, f64::signum);
    let place = |id: &str| a.iter().position(|metric| metric.id == id);
    match own.judge {
        Judge::Nothing => (Outcome::Unknown, "one measurement per run, so its noise is unknown"),
        Judge::Same | Judge::Exact | Judge::Name if is_same(own, other) => (Outcome::Unchanged, ""),
        Judge::Name => (
            Outcome::Unknown,
            "names change with every compilation, and ops with nearly equal times change places: `ops` says which op is which",
        ),
        Judge::Same => (Outcome::Changed, ""),
        Judge::Exact if sign < 0.0 => (Outcome::Better, ""),
        Judge::Exact => (Outcome::Worse, ""),
        Judge::SamplesOf(id) if !place(id).is_some_and(|at| is_same(&a[at], &b[at])) => {
            (Outcome::Unknown, "its name differs between the runs: `ops` says which op is which")
        }
        Judge::Samples | Judge::SamplesOf(_) => {
            let step = find(a, STEP_TIME).and_then(|step| step.value.number()).unwrap_or(0.0);
            match StepVerdict::of_parts(&own.samples, &other.samples, step).verdict {
                Verdict::Faster => (Outcome::Better, ""),
                Verdict::Slower => (Outcome::Worse, ""),
                Verdict::Unchanged => (Outcome::Unchanged, ""),
                Verdict::Undecided if own.samples.len().min(other.samples.len()) < LEAST_STEPS => {
                    (Outcome::Unknown, "too few steps")
                }
                Verdict::Undecided => {
                    (Outcome::Undecided, "neither shown to differ nor to be within 1% of a step")
                }
                Verdict::NotComparable => (Outcome::Unknown, ""),
            }
        }
        Judge::Like(id) => {
            let Some(like) = place(id) else { return (Outcome::Unknown, "") };
            let same_way = delta(&a[like], &b[like]).number().map_or(0.0, f64::signum) == sign;
            match outcome(a, b, like) {
                (Outcome::Better | Outcome::Worse, _) if !same_way => (
                    Outcome::Unknown,
                    "it changes in the opposite direction to the value that it is derived from: read both",
                ),
                outcome => outcome,
            }
        }
        Judge::WorkOverTime(work) => {
            let same = place(work).is_some_and(|at| is_same(&a[at], &b[at]));
            if !same {
                return (Outcome::Unknown, "the work changed with it: read the work and the step time");
            }
            place(STEP_TIME).map_or((Outcome::Unknown, ""), |at| outcome(a, b, at))
        }
    }
}

/// The metric that all others are seen beside.
pub(crate) const STEP_TIME: &str = "step_time_mean_ps";

fn is_same(a: &Metric, b: &Metric) -> bool {
    match (a.value.number(), b.value.number()) {
        (Some(x), Some(y)) => (x - y).abs() <= SAME * x.abs().max(y.abs()),
        _ => a.value == b.value,
    }
}

fn delta(a: &Metric, b: &Metric) -> Cell {
    match (&a.value, &b.value) {
        (Cell::Int(x), Cell::Int(y)) => y.checked_sub(*x).into(),
        (x, y) => x.number().zip(y.number()).map(|(x, y)| y - x).into(),
    }
}

/// Both runs' metrics side by side; without verdicts where the runs are not comparable.
pub(crate) fn table(baseline: &[Metric], experiment: &[Metric], are_comparable: bool) -> Table {
    let mut rows = Vec::new();
    for (at, (a, b)) in baseline.iter().zip(experiment).enumerate() {
        let delta = delta(a, b);
        let base = a.value.number().filter(|base| *base > 0.0 && a.unit != Unit::Share);
        let (verdict, note) =
            if are_comparable { outcome(baseline, experiment, at) } else { (Outcome::Unknown, "") };
        let row = row![
            text("metric", "Metric", "What is measured; `id` has its id.", a.label),
            text("unit", "Unit", "Unit of the numbers; empty for words.", a.unit.word()),
            quantity("baseline", "Baseline", "That of the baseline.", a.value.clone()),
            quantity("experiment", "Experiment", "That of the experiment.", b.value.clone()),
            change("delta", "Delta", "Experiment minus baseline; for shares, in points.", delta.clone()),
            text(
                "verdict",
                "Verdict",
                "better or worse, beyond noise; unchanged: shown to be the same; undecided: neither is shown; changed for words and work; unknown if there is no evidence, or if the runs are not comparable.",
                are_comparable.then(|| verdict.word())
            ),
            share(
                "delta_share",
                "Delta share",
                "Delta divided by the baseline; not for shares.",
                delta.number().zip(base).map(|(delta, base)| delta / base)
            ),
            text("id", "Id", "A stable name of the metric.", a.id),
            text(
                "status",
                "Known",
                "How the experiment's number is known: measured, derived, estimated or unknown.",
                b.status.word()
            ),
            prose(
                "note",
                "Note",
                "Why it is unknown or undecided, if that is not obvious.",
                Some(note).filter(|note| !note.is_empty())
            ),
        ];
        rows.push(row);
    }
    Table::of("metrics", "Metrics", rows)
}

#[cfg(test)]
mod tests;
