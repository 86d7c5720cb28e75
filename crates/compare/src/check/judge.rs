//! A budget held against a run: whether the value, or the interval that holds it, lies within the limit.

use super::budget::{Budget, Kind, Limit};
use super::interval::{self, Interval};
use super::metric::Source;
use super::outcome::{Judged, Outcome};
use super::quantity::{cell, words};
use super::reading::{Reading, Spread};
use crate::Between;
use crate::verdict::LEAST_STEPS;
use haloscope_report::Error;
use haloscope_report::{Table, Unit, row};

/// The confidence of intervals that are only shown.
pub(super) const SHOWN: f64 = 0.95;

/// The numbers of a budget; its verdict and why stand in [`Judged`].
pub(super) struct Numbers {
    pub metric: String,
    /// What was asked of it.
    pub asked: String,
    pub unit: Unit,
    pub limit: Option<f64>,
    pub baseline: Option<f64>,
    pub value: Option<f64>,
    pub interval: Option<Interval>,
}

/// The table of all budgets.
pub(super) fn table(budgets: &[(Judged, Numbers)]) -> Table {
    let row = |(judged, n): &(Judged, Numbers)| {
        row![
            text(
                "metric",
                "Metric",
                "The metric's id: see `metrics`, or a value of another analysis, `analysis.value`.",
                n.metric.as_str()
            ),
            text("asked", "Asked", "The limit that was given.", n.asked.as_str()),
            text(
                "verdict",
                "Verdict",
                "`pass`, `fail`, or `unknown`, which fails the gate unless the budget allows it.",
                judged.outcome.word()
            ),
            text("unit", "Unit", "Unit of the numbers in the row.", n.unit.word()),
            quantity(
                "limit",
                "Limit",
                "The limit as a number; if it is relative, computed from this baseline.",
                cell(n.limit, n.unit)
            ),
            quantity("baseline", "Baseline", "The baseline's value.", cell(n.baseline, n.unit)),
            quantity("value", "Value", "The run's value.", cell(n.value, n.unit)),
            quantity(
                "low",
                "Low",
                "Lower end of the interval that contains the value with the requested confidence, or 95%; unknown if a run has only one number.",
                cell(n.interval.map(|i| i.low), n.unit)
            ),
            quantity("high", "High", "Upper end.", cell(n.interval.map(|i| i.high), n.unit)),
            prose("why", "Why", "What decided.", judged.why.as_str()),
        ]
    };
    Table::of("budgets", "Budgets", budgets.iter().map(row))
}

/// Holds a budget against a run, and against its baseline where the limit is relative to one.
///
/// # Errors
/// [`Error::Usage`] for a metric or a unit that does not exist.
pub(super) fn judge(
    budget: &Budget,
    run: &Source<'_>,
    baselines: &[Source<'_>],
) -> Result<(Judged, Numbers), Error> {
    let read = |source: &Source<'_>| Ok(source.read(&budget.metric)?.hardest(budget.kind.is_upper()));
    let now = read(run)?;
    let before = baselines.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
    let before = Before::of(before);
    let before = before.as_ref();
    let asked = format!("{} {}", budget.kind.key(), budget.limit);
    if let Some(text) = &now.text {
        let why = format!(
            "it is `{text}`, not a number: budgets are for numbers; for text use --claim '{}=={text}'",
            now.id
        );
        return Err(Error::Usage(format!("the budget file: [{}]: {why}", now.id)));
    }
    let (outcome, limit, interval, why) = match (now.value, budget.kind.is_relative(), before) {
        (None, ..) => (Outcome::Unknown, None, None, format!("unknown: {}", now.about)),
        (Some(_), true, None) => {
            (Outcome::Unknown, None, None, "there is no baseline to compare with: give --baseline".into())
        }
        (Some(_), true, Some(Before { reading: Reading { value: None, about, .. }, .. })) => {
            (Outcome::Unknown, None, None, format!("unknown for the baseline: {about}"))
        }
        (Some(value), true, Some(before @ Before { reading: Reading { value: Some(old), .. }, .. })) => {
            relative(budget, &now, value, before, *old)?
        }
        (Some(value), false, _) => absolute(budget, &now, value)?,
    };
    let over = limit
        .zip(now.value)
        .filter(|_| outcome == Outcome::Fail && now.unit == Unit::Ps && budget.kind.is_upper());
    let judged = Judged {
        what: format!("{} {asked}", now.id),
        outcome,
        may_be_unknown: budget.allow_unknown,
        against_baseline: budget.kind.is_relative(),
        why,
        speedup: over.filter(|(limit, _)| *limit > 0.0).map(|(limit, value)| value / limit),
        seen_in: now.seen_in,
    };
    let baseline = before.and_then(|before| before.reading.value);
    let numbers =
        Numbers { metric: now.id, asked, unit: now.unit, limit, baseline, value: now.value, interval };
    Ok((judged, numbers))
}

/// A metric of the baseline: of one run, or of several.
struct Before {
    reading: Reading,
    /// What runs of it differ by.
    between: Option<Between>,
}

impl Before {
    /// `None` without a baseline. The value of several runs is their mean; samples of all count.
    fn of(mut runs: Vec<Reading>) -> Option<Self> {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.value).collect();
        if runs.len() < 2 || values.len() < runs.len() {
            // The one that does not know it says why.
            let unknown = runs.iter().position(|run| run.value.is_none()).unwrap_or(0);
            return (!runs.is_empty()).then(|| Self { reading: runs.swap_remove(unknown), between: None });
        }
        let samples: Option<Vec<&[f64]>> = runs
            .iter()
            .map(|run| match &run.spread {
                Spread::Mean(samples) => Some(&samples[..]),
                _ => None,
            })
            .collect();
        let between = samples.as_ref().and_then(|runs| Between::of(runs));
        let spread = samples.map_or(Spread::Once, |runs| Spread::Mean(runs.concat()));
        let value = Some(values.iter().sum::<f64>() / values.len() as f64);
        let first = runs.swap_remove(0);
        Some(Self { reading: Reading { value, spread, ..first }, between })
    }
}

type Decided = (Outcome, Option<f64>, Option<Interval>, String);

fn absolute(budget: &Budget, now: &Reading, value: f64) -> Result<Decided, Error> {
    let limit = match budget.read(now.unit)? {
        Limit::Absolute(limit) | Limit::OfBaseline(limit) => limit,
    };
    let interval = of(now, budget.confidence.unwrap_or(SHOWN));
    let (outcome, why) = decide(budget, now, value, limit, interval);
    Ok((outcome, Some(limit), interval, why))
}

/// `old` is the baseline's value.
fn relative(budget: &Budget, now: &Reading, value: f64, before: &Before, old: f64) -> Result<Decided, Error> {
    let sign = if budget.kind == Kind::MaxIncrease { 1.0 } else { -1.0 };
    let (limit, factor, shift) = match budget.read(now.unit)? {
        Limit::Absolute(amount) => (old + sign * amount, 1.0, sign * amount),
        Limit::OfBaseline(share) => (old * (1.0 + sign * share), 1.0 + sign * share, 0.0),
    };
    // The baseline varies too: the interval is that of the difference from the limit, put around the limit.
    let (interval, by_value) = match (&before.reading.spread, &now.spread) {
        // A run against itself.
        (Spread::Mean(a), Spread::Mean(b)) if a == b && a.len() >= LEAST_STEPS => {
            (Some(Interval { low: value, high: value }), None)
        }
        (Spread::Mean(a), Spread::Mean(b)) => {
            let moved: Vec<f64> = a.iter().map(|v| v * factor + shift).collect();
            let found = interval::difference(&moved, b, budget.confidence.unwrap_or(SHOWN), before.between);
            (found.map(|d| Interval { low: limit + d.low, high: limit + d.high }), None)
        }
        // Of what a run has once nothing tells how it varies.
        _ => (None, budget.confidence),
    };
    let samples = matches!((&before.reading.spread, &now.spread), (Spread::Mean(_), Spread::Mean(_)));
    let confidence = if samples { Some(budget.confidence.unwrap_or(SHOWN)) } else { by_value };
    let bound = Bound { limit, is_upper: budget.kind.is_upper(), includes: true };
    let (outcome, why) = bound.decide(now, value, interval, confidence);
    let why = if outcome == Outcome::Unknown && interval.is_some() {
        format!("Undecided: the interval straddles the {} limit; {why}", budget.limit)
    } else {
        why
    };
    Ok((outcome, Some(limit), interval, why))
}

/// The interval that holds a metric with a confidence, where it has samples.
pub(super) fn of(reading: &Reading, confidence: f64) -> Option<Interval> {
    match &reading.spread {
        Spread::Once => None,
        Spread::Mean(samples) => interval::mean(samples, confidence),
        Spread::Median(samples) => interval::median(samples, confidence),
    }
}

fn decide(
    budget: &Budget,
    now: &Reading,
    value: f64,
    limit: f64,
    interval: Option<Interval>,
) -> (Outcome, String) {
    let bound = Bound { limit, is_upper: budget.kind.is_upper(), includes: true };
    bound.decide(now, value, interval, budget.confidence)
}

/// A limit of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// The limit.
    pub limit: f64,
    /// Whether the value may not be larger; else it may not be smaller.
    pub is_upper: bool,
    /// Whether the value may be the limit.
    pub includes: bool,
}

impl Bound {
    fn keeps(&self, value: f64) -> bool {
        let kept = if self.is_upper { value < self.limit } else { value > self.limit };
        kept || self.includes && value == self.limit
    }

    /// Whether a value keeps the limit. With a confidence the interval decides: all of it on the right side passes, all of it
    /// on the wrong side fails, and one that holds the limit is unknown.
    pub(super) fn decide(
        &self,
        now: &Reading,
        value: f64,
        interval: Option<Interval>,
        confidence: Option<f64>,
    ) -> (Outcome, String) {
        let show = |v: f64| words(v, now.unit);
        let by_value = Outcome::Pass.when(self.keeps(value));
        let relation = match (by_value, self.is_upper) {
            (Outcome::Pass, true) => "is within",
            (Outcome::Pass, false) => "reaches",
            (_, true) => "is over",
            (_, false) => "falls short of",
        };
        let said = format!("{} {relation} {}", show(value), show(self.limit));
        let Some(confidence) = confidence else { return (by_value, said) };
        let sure = words(confidence, Unit::Share);
        match (interval, &now.spread) {
            (None, Spread::Once) => {
                (by_value, format!("{said}; a run has only one such number, so no confidence applies"))
            }
            (None, _) => (
                Outcome::Unknown,
                format!(
                    "{said}, but there are too few samples to know how sure that is: capture more steps, or leave confidence out"
                ),
            ),
            (Some(Interval { low, high }), _) => {
                let within = format!("{} to {} at {sure}", show(low), show(high));
                match (self.keeps(low), self.keeps(high)) {
                    (true, true) => (Outcome::Pass, format!("{said} ({within})")),
                    (false, false) => (Outcome::Fail, format!("{said} ({within})")),
                    _ => (
                        Outcome::Unknown,
                        format!(
                            "{said}, but it may be anywhere from {within}, on both sides of the limit: capture more steps"
                        ),
                    ),
                }
            }
        }
    }
}

impl Outcome {
    /// This where it holds, else a failure.
    pub(super) fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::Fail }
    }
}
