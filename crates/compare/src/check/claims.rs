//! Claims: `latency<=0.71ms`, held against the profile, and against the floors below which no result can be.

use super::floor::{self, Floor};
use super::judge::{self, Bound, SHOWN};
use super::metric::{Reading, Source};
use super::outcome::{Judged, Outcome};
use super::quantity::{self, cell, words};
use haloscope_report::Error;
use haloscope_report::{Column, Table, Unit};

const COLUMNS: &[Column] = &[
    Column::text("claim", "Claim", "What is claimed, or the floor that it is held against."),
    Column::text("verdict", "Verdict", "`pass`, `fail`, or `unknown`."),
    Column::text("metric", "Metric", "The metric that it is about."),
    Column::text("unit", "Unit", "Unit of the numbers of the row."),
    Column::quantity("limit", "Limit", "The number claimed; of a floor, the least that is possible."),
    Column::quantity("value", "Value", "The run's value."),
    Column::quantity(
        "low",
        "Low",
        "Lower end of the interval that holds the value with 95% (--confidence); unknown where a run has one number.",
    ),
    Column::quantity("high", "High", "Upper end."),
    Column::prose("why", "Why", "What decided."),
];

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
pub(super) fn table(judged: &[Judged]) -> Table {
    let mut table = Table::new("claims", "Claims, and the floors that they are held against", COLUMNS);
    judged.iter().for_each(|one| table.push(one.cells.clone()));
    table
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
pub(super) fn judge(claims: &[Claim<'_>], run: &Source<'_>, terms: &Terms) -> Result<Vec<Judged>, Error> {
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
    fn judge(&self, now: &Reading, terms: &Terms) -> Result<Judged, Error> {
        let usage = |why: String| Error::Usage(format!("the claim `{}`: {why}", self.text));
        let mut row = Row { what: self.text.to_owned(), metric: now, limit: None, interval: None };
        if let Some(found) = &now.text {
            let same = found == self.limit;
            let holds = match self.operator {
                Operator::Is => same,
                Operator::IsNot => !same,
                _ => return Err(usage(format!("{} is in words: it takes == and !=", now.id))),
            };
            return Ok(row.judged(Outcome::Pass.when(holds), format!("it is {found}"), terms));
        }
        let Some(value) = now.value else {
            return Ok(row.judged(Outcome::Unknown, format!("unknown: {}", now.about), terms));
        };
        let limit = quantity::parse(self.limit, now.unit).map_err(usage)?;
        row.limit = Some(limit);
        row.interval = judge::of(now, terms.confidence.unwrap_or(SHOWN));
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
            return Ok(row.judged(Outcome::Fail, why, terms));
        }
        let (is_upper, includes) = match self.operator {
            Operator::AtMost => (true, true),
            Operator::Less => (true, false),
            Operator::AtLeast => (false, true),
            Operator::More => (false, false),
            Operator::Is | Operator::IsNot => {
                let is = (value - limit).abs() <= 1e-9 * value.abs().max(limit.abs());
                let holds = is == (self.operator == Operator::Is);
                let why = format!("it is {}", words(value, now.unit));
                return Ok(row.judged(Outcome::Pass.when(holds), why, terms));
            }
        };
        let bound = Bound { limit, is_upper, includes };
        let (outcome, why) = bound.decide(now, value, row.interval, terms.confidence);
        Ok(row.judged(outcome, format!("{why}; {}", now.about), terms))
    }
}

/// A result against the floor that somebody stated.
fn stated(now: &Reading, floor_ps: f64, terms: &Terms) -> Judged {
    let floor = words(floor_ps, Unit::Ps);
    let row = Row {
        what: format!("{} not below {floor}", now.id),
        metric: now,
        limit: Some(floor_ps),
        interval: judge::of(now, SHOWN),
    };
    let (outcome, why) = match now.value {
        None => (Outcome::Unknown, format!("unknown: {}", now.about)),
        Some(value) if value < floor_ps => (
            Outcome::Fail,
            format!(
                "impossible: {} is below the floor of {floor}. Either the work was not done, or not this was timed",
                words(value, Unit::Ps)
            ),
        ),
        Some(value) => {
            (Outcome::Pass, format!("{:.2}x the floor of {floor}", value / floor_ps.max(f64::MIN_POSITIVE)))
        }
    };
    row.judged(outcome, why, terms)
}

/// A result against the floor that the roofline sets.
fn known(floor: &Floor, terms: &Terms) -> Judged {
    let metric = Reading {
        id: "roofline".into(),
        unit: Unit::Ps,
        value: Some(floor.time_ps),
        text: None,
        spread: super::metric::Spread::Once,
        about: String::new(),
        seen_in: "roofline",
    };
    let row = Row {
        what: format!("{} not below the roofline", floor.what),
        metric: &metric,
        limit: Some(floor.least_ps),
        interval: None,
    };
    // Nobody can tell which of both numbers is wrong, and so nothing that rests on either is shown.
    let outcome = if floor.is_beaten() { Outcome::Unknown } else { Outcome::Pass };
    row.judged(outcome, floor.why(), terms)
}

struct Row<'a> {
    what: String,
    metric: &'a Reading,
    limit: Option<f64>,
    interval: Option<super::interval::Interval>,
}

impl Row<'_> {
    fn judged(&self, outcome: Outcome, why: String, terms: &Terms) -> Judged {
        let number = |v: Option<f64>| cell(v, self.metric.unit);
        let value = match &self.metric.text {
            Some(text) => text.as_str().into(),
            None => number(self.metric.value),
        };
        let cells = vec![
            self.what.as_str().into(),
            outcome.word().into(),
            self.metric.id.as_str().into(),
            self.metric.unit.word().into(),
            number(self.limit),
            value,
            number(self.interval.map(|i| i.low)),
            number(self.interval.map(|i| i.high)),
            why.as_str().into(),
        ];
        Judged {
            what: self.what.clone(),
            outcome,
            may_be_unknown: terms.allow_unknown,
            against_baseline: false,
            why,
            speedup: None,
            seen_in: self.metric.seen_in,
            cells,
        }
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
