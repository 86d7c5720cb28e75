//! Claims: `latency<=0.71ms`, held against the profile, and against the floors below which no result can be.

use super::floor::{self, Floor};
use super::judge::{self, Bound, SHOWN};
use super::metric::Source;
use super::outcome::{Judged, Outcome};
use super::quantity::{self, cell, words};
use super::reading::Reading;
use haloscope_report::Error;
use haloscope_report::{Cell, Table, Unit, row};

/// Longer operators first.
const OPERATORS: [(&str, Operator); 7] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("==", Operator::Is),
    ("!=", Operator::IsNot),
    ("<", Operator::Less),
    (">", Operator::More),
    ("=", Operator::Is),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    AtMost,
    AtLeast,
    Less,
    More,
    Is,
    IsNot,
}

/// A claim as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim<'a> {
    text: &'a str,
    metric: &'a str,
    operator: Operator,
    limit: &'a str,
}

/// Reads claims with `;` between them.
///
/// # Errors
/// [`Error::Usage`] for what is not a metric, an operator and a limit.
pub(super) fn parse(text: &str) -> Result<Vec<Claim<'_>>, Error> {
    text.split(';').map(str::trim).filter(|claim| !claim.is_empty()).map(one).collect()
}

fn one(text: &str) -> Result<Claim<'_>, Error> {
    let at = text.find(['<', '>', '=', '!']);
    let split = at.and_then(|at| {
        let (metric, rest) = text.split_at(at);
        let (word, operator) = OPERATORS.iter().find(|(word, _)| rest.starts_with(word))?;
        let (metric, limit) = (metric.trim(), rest.strip_prefix(word)?.trim());
        (!metric.is_empty() && !limit.is_empty()).then_some(Claim {
            text,
            metric,
            operator: *operator,
            limit,
        })
    });
    split.ok_or_else(|| {
        Error::Usage(format!(
            "a claim is a metric, one of <= < >= > == !=, and a limit, such as latency<=0.71ms; found `{text}`"
        ))
    })
}

/// The table of claims and floors.
pub(super) fn table(claims: &[(Judged, Held)]) -> Table {
    let row = |(judged, held): &(Judged, Held)| {
        let metric = &held.metric;
        let number = |v: Option<f64>| cell(v, metric.unit);
        row![
            text(
                "claim",
                "Claim",
                "What is claimed, or the floor it is checked against.",
                held.what.as_str()
            ),
            text("verdict", "Verdict", "`pass`, `fail`, or `unknown`.", judged.outcome.word()),
            text("metric", "Metric", "The metric of the claim.", metric.id.as_str()),
            text("unit", "Unit", "Unit of the numbers in the row.", metric.unit.word()),
            quantity(
                "limit",
                "Limit",
                "The number claimed; for a floor, the least that is possible.",
                number(held.limit)
            ),
            quantity(
                "value",
                "Value",
                "The run's value.",
                metric.text.as_deref().map_or_else(|| number(metric.value), Cell::from)
            ),
            quantity(
                "low",
                "Low",
                "Lower end of the interval that contains the value with 95% (--confidence); unknown if a run has only one number.",
                number(held.interval.map(|i| i.low))
            ),
            quantity("high", "High", "Upper end.", number(held.interval.map(|i| i.high))),
            prose("why", "Why", "What decided.", judged.why.as_str()),
        ]
    };
    Table::of("claims", "Claims and their floors", claims.iter().map(row))
}

/// What claims are held against beside the profile.
pub(super) struct Terms {
    /// How sure a claim must be; without it the value alone decides.
    pub confidence: Option<f64>,
    /// Results of less time are impossible, picoseconds.
    pub floor_ps: Option<f64>,
    /// Whether what is unknown passes.
    pub allow_unknown: bool,
}

/// Holds claims and floors against a run.
///
/// # Errors
/// [`Error::Usage`] for a metric or a unit that does not exist.
pub(super) fn judge(
    claims: &[Claim<'_>],
    run: &Source<'_>,
    terms: &Terms,
) -> Result<Vec<(Judged, Held)>, Error> {
    let mut all = Vec::new();
    let mut timed: Vec<Reading> = Vec::new();
    for claim in claims {
        let now = run.read(claim.metric)?;
        all.push(claim.judge(&now, terms)?);
        if is_result(&now.id) && !timed.iter().any(|known| known.id == now.id) {
            timed.push(now);
        }
    }
    if timed.is_empty() && (terms.floor_ps.is_some() || !claims.is_empty()) {
        timed.push(run.read("latency")?);
    }
    if let Some(floor_ps) = terms.floor_ps {
        all.extend(timed.iter().map(|now| stated(now, floor_ps, terms)));
    }
    if terms.floor_ps.is_some() || !claims.is_empty() {
        all.extend(floor::of_run(run).map(|floor| known(&floor, terms)));
    }
    Ok(all)
}

/// Whether a floor applies to a metric: whole results, not parts of one.
fn is_result(metric: &str) -> bool {
    metric == "latency" || metric.starts_with("step_time") || metric.starts_with("overview.step_time")
}

impl Claim<'_> {
    fn judge(&self, now: &Reading, terms: &Terms) -> Result<(Judged, Held), Error> {
        let usage = |why: String| Error::Usage(format!("the claim `{}`: {why}", self.text));
        let mut held = Held { what: self.text.to_owned(), metric: now.clone(), limit: None, interval: None };
        if let Some(found) = &now.text {
            let same = found == self.limit;
            let holds = match self.operator {
                Operator::Is => same,
                Operator::IsNot => !same,
                _ => return Err(usage(format!("{} is text: use == or !=", now.id))),
            };
            return Ok(held.judged(Outcome::Pass.when(holds), format!("it is {found}"), terms));
        }
        if now.value.is_none() {
            return Ok(held.judged(Outcome::Unknown, format!("unknown: {}", now.about), terms));
        }
        let limit = quantity::parse(self.limit, now.unit).map_err(usage)?;
        held.limit = Some(limit);
        // What several things share a name for is claimed of each of them.
        let is = |value: f64| (value - limit).abs() <= 1e-9 * value.abs().max(limit.abs());
        let now = match self.operator {
            Operator::AtMost | Operator::Less => now.clone().hardest(true),
            Operator::AtLeast | Operator::More => now.clone().hardest(false),
            Operator::Is => now.clone().first_without(is),
            Operator::IsNot => now.clone().first_without(|value| !is(value)),
        };
        held.metric = now.clone();
        let (now, value) = (&now, now.value.unwrap_or(f64::NAN));
        held.interval = judge::of(now, terms.confidence.unwrap_or(SHOWN));
        // What nobody can reach is no claim, whatever the profile says.
        if let Some(floor_ps) = terms.floor_ps
            && is_result(&now.id)
            && matches!(self.operator, Operator::AtMost | Operator::Less | Operator::Is)
            && limit < floor_ps
        {
            let why = format!(
                "impossible: {} is below the floor of {}",
                words(limit, Unit::Ps),
                words(floor_ps, Unit::Ps)
            );
            return Ok(held.judged(Outcome::Fail, why, terms));
        }
        let (is_upper, includes) = match self.operator {
            Operator::AtMost => (true, true),
            Operator::Less => (true, false),
            Operator::AtLeast => (false, true),
            Operator::More => (false, false),
            Operator::Is | Operator::IsNot => {
                let holds = is(value) == (self.operator == Operator::Is);
                let mut why = format!("it is {}", words(value, now.unit));
                if !now.each.is_empty() {
                    why += &format!("; {}", now.about);
                }
                return Ok(held.judged(Outcome::Pass.when(holds), why, terms));
            }
        };
        let bound = Bound { limit, is_upper, includes };
        let (outcome, why) = bound.decide(now, value, held.interval, terms.confidence);
        Ok(held.judged(outcome, format!("{why}; {}", now.about), terms))
    }
}

/// A result against the floor that somebody stated.
fn stated(now: &Reading, floor_ps: f64, terms: &Terms) -> (Judged, Held) {
    let floor = words(floor_ps, Unit::Ps);
    let held = Held {
        what: format!("{} not below {floor}", now.id),
        metric: now.clone(),
        limit: Some(floor_ps),
        interval: judge::of(now, SHOWN),
    };
    let (outcome, why) = match now.value {
        None => (Outcome::Unknown, format!("unknown: {}", now.about)),
        Some(value) if value < floor_ps => (
            Outcome::Fail,
            format!(
                "impossible: {} is below the floor of {floor}. Either the work was not done, or something else was timed",
                words(value, Unit::Ps)
            ),
        ),
        Some(value) => {
            (Outcome::Pass, format!("{:.2}x the floor of {floor}", value / floor_ps.max(f64::MIN_POSITIVE)))
        }
    };
    held.judged(outcome, why, terms)
}

/// A result against the floor that the roofline sets.
fn known(floor: &Floor, terms: &Terms) -> (Judged, Held) {
    let metric = Reading {
        id: "roofline".into(),
        unit: Unit::Ps,
        value: Some(floor.time_ps),
        text: None,
        spread: super::reading::Spread::Once,
        about: String::new(),
        seen_in: "roofline",
        each: Vec::new(),
    };
    let held = Held {
        what: format!("{} not below the roofline", floor.what),
        metric,
        limit: Some(floor.least_ps),
        interval: None,
    };
    // Nobody can tell which of both numbers is wrong, and so nothing that rests on either is shown.
    let outcome = if floor.is_beaten() { Outcome::Unknown } else { Outcome::Pass };
    held.judged(outcome, floor.why(), terms)
}

/// What is claimed, or the floor that it is held against, with the number that it is about.
pub(super) struct Held {
    what: String,
    metric: Reading,
    limit: Option<f64>,
    interval: Option<super::interval::Interval>,
}

impl Held {
    fn judged(self, outcome: Outcome, why: String, terms: &Terms) -> (Judged, Self) {
        let judged = Judged {
            what: self.what.clone(),
            outcome,
            may_be_unknown: terms.allow_unknown,
            against_baseline: false,
            why,
            speedup: None,
            seen_in: self.metric.seen_in,
        };
        (judged, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_a_metric_an_operator_and_a_limit() {
        let claims = parse("latency<=0.71ms; roofline.regime == compute;flop_share_of_peak>0.4;").unwrap();
        let parts: Vec<_> = claims.iter().map(|c| (c.metric, c.operator, c.limit)).collect();
        assert_eq!(
            parts,
            [
                ("latency", Operator::AtMost, "0.71ms"),
                ("roofline.regime", Operator::Is, "compute"),
                ("flop_share_of_peak", Operator::More, "0.4")
            ]
        );
        for text in ["latency", "latency<=", "<=3ms", "latency!3"] {
            assert!(parse(text).unwrap_err().to_string().contains("latency<=0.71ms"), "{text}");
        }
        assert!(parse(" ; ").unwrap().is_empty());
    }
}
