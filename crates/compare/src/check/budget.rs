//! Budgets: what a TOML file asks of a run's metrics.
//!
//! A table a metric, with limits of its value (`max`, `min`) and of how far it may move from the baseline's (`max_increase`,
//! `max_decrease`). `confidence` and `allow_unknown` stand in a metric's table, or at the top for all.

use toml::{Table, Value};

use super::quantity;
use haloscope_report::Error;
use haloscope_report::Unit;

const LIMITS: [(&str, Kind); 4] = [
    ("max", Kind::Max),
    ("min", Kind::Min),
    ("max_increase", Kind::MaxIncrease),
    ("max_decrease", Kind::MaxDecrease),
];

/// A kind of limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The value is at most this.
    Max,
    /// The value is at least this.
    Min,
    /// The value is at most so much more than the baseline's.
    MaxIncrease,
    /// The value is at most so much less than the baseline's.
    MaxDecrease,
}

impl Kind {
    /// The key in the file.
    pub(super) fn key(self) -> &'static str {
        LIMITS.iter().find(|(_, kind)| *kind == self).map_or("", |(key, _)| key)
    }

    /// Whether it holds the run against its baseline.
    pub(super) fn is_relative(self) -> bool {
        matches!(self, Self::MaxIncrease | Self::MaxDecrease)
    }

    /// Whether the value may not be larger.
    pub(super) fn is_upper(self) -> bool {
        matches!(self, Self::Max | Self::MaxIncrease)
    }
}

/// One limit of one metric.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Budget {
    /// The metric.
    pub metric: String,
    /// What kind of limit.
    pub kind: Kind,
    /// The limit as written.
    pub limit: String,
    /// How sure it has to be, between 0 and 1; without it the value alone decides.
    pub confidence: Option<f64>,
    /// Whether an unknown value passes.
    pub allow_unknown: bool,
}

/// A limit as a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    /// In the metric's unit.
    Absolute(f64),
    /// A share of the baseline's value.
    OfBaseline(f64),
}

/// What a file asks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Budgets {
    /// The limits, in the order of the metrics' names.
    pub all: Vec<Budget>,
    /// Whether what is unknown passes where nothing else is said.
    pub allow_unknown: bool,
}

/// Reads a file of budgets.
///
/// # Errors
/// [`Error::Usage`] with what was expected: for what is no TOML, for keys that do not exist, for a metric without a limit.
pub(super) fn parse(text: &str, confidence: Option<f64>, allow_unknown: bool) -> Result<Budgets, Error> {
    let file: Table = toml::from_str(text).map_err(|why| {
        let line = why.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        bad(&format!("not valid TOML, line {line}: {}", why.message()))
    })?;
    let mut defaults = Defaults { confidence, allow_unknown };
    let mut budgets = Budgets::default();
    for (key, value) in &file {
        if !value.is_table() && !defaults.take(key, value)? {
            return Err(bad(&format!(
                "`{key}` at the top level; allowed there are confidence, allow_unknown, and a table for each metric"
            )));
        }
    }
    for (key, value) in &file {
        let Value::Table(table) = value else { continue };
        // `[memory-peak.peak_bytes]` is a table in a table, `["memory-peak.peak_bytes"]` is not; both mean the same.
        if !table.is_empty() && table.values().all(Value::is_table) {
            for (value_id, inner) in table {
                if let Value::Table(inner) = inner {
                    metric(&format!("{key}.{value_id}"), inner, defaults, &mut budgets.all)?;
                }
            }
        } else {
            metric(key, table, defaults, &mut budgets.all)?;
        }
    }
    if budgets.all.is_empty() {
        return Err(bad("no metric; write for example [step_time] and below it max = \"85ms\""));
    }
    budgets.allow_unknown = defaults.allow_unknown;
    Ok(budgets)
}

#[derive(Debug, Clone, Copy)]
struct Defaults {
    confidence: Option<f64>,
    allow_unknown: bool,
}

impl Defaults {
    /// Takes a key that is no limit; whether it was one.
    fn take(&mut self, key: &str, value: &Value) -> Result<bool, Error> {
        match (key, value) {
            ("confidence", value) => self.confidence = Some(confidence(value)?),
            ("allow_unknown", Value::Boolean(allowed)) => self.allow_unknown = *allowed,
            ("allow_unknown", other) => {
                return Err(bad(&format!("allow_unknown must be true or false, found {}", shown(other))));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn metric(id: &str, table: &Table, defaults: Defaults, out: &mut Vec<Budget>) -> Result<(), Error> {
    let mut own = defaults;
    let mut limits = Vec::new();
    for (key, value) in table {
        if own.take(key, value)? {
            continue;
        }
        let Some((_, kind)) = LIMITS.iter().find(|(word, _)| word == key) else {
            let known: Vec<_> = LIMITS.iter().map(|(word, _)| *word).collect();
            return Err(bad(&format!(
                "[{id}] has `{key}`; there are: {}, confidence, allow_unknown",
                known.join(", ")
            )));
        };
        limits.push((*kind, written(id, key, value)?));
    }
    if limits.is_empty() {
        return Err(bad(&format!("[{id}] states no limit; add max, min, max_increase or max_decrease")));
    }
    // In the order of `LIMITS`, whatever that of the file.
    limits.sort_by_key(|(kind, _)| LIMITS.iter().position(|(_, other)| other == kind));
    out.extend(limits.into_iter().map(|(kind, limit)| Budget {
        metric: id.to_owned(),
        kind,
        limit,
        confidence: own.confidence,
        allow_unknown: own.allow_unknown,
    }));
    Ok(())
}

fn written(id: &str, key: &str, value: &Value) -> Result<String, Error> {
    match value {
        Value::String(text) => Ok(text.trim().to_owned()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) if number.is_finite() => Ok(number.to_string()),
        other => Err(bad(&format!(
            "[{id}] {key}: expected a limit such as \"85ms\" or \"3%\", found {}",
            shown(other)
        ))),
    }
}

fn confidence(value: &Value) -> Result<f64, Error> {
    let number = match value {
        Value::Float(number) => Some(*number),
        Value::String(text) => quantity::percent(text),
        _ => None,
    };
    number.filter(|c| *c > 0.0 && *c < 1.0).ok_or_else(|| {
        bad(&format!("confidence must be between 0 and 1, such as 0.95; found {}", shown(value)))
    })
}

/// A value as a message shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        other => format!("a {}", other.type_str()),
    }
}

fn bad(why: &str) -> Error {
    Error::Usage(format!("the budget file: {why}"))
}

impl Budget {
    /// The limit in the metric's unit. A percentage of [`Kind::is_relative`] limits is one of the baseline's value. Where the
    /// unit stands in the metric's name (`_ps`, `_bytes`) a bare number is in that unit.
    ///
    /// # Errors
    /// [`Error::Usage`] for a limit of another unit.
    pub(super) fn read(&self, unit: Unit) -> Result<Limit, Error> {
        if let Some(share) = quantity::percent(&self.limit).filter(|_| self.kind.is_relative()) {
            return Ok(Limit::OfBaseline(share));
        }
        let names = |word: &str| self.metric.split(['_', '.']).any(|part| part == word);
        let says_unit = unit == Unit::Ps && names("ps") || unit == Unit::Bytes && names("bytes");
        if let Some(number) = self.limit.parse::<f64>().ok().filter(|v| says_unit && v.is_finite()) {
            return Ok(Limit::Absolute(number));
        }
        let number = quantity::parse(&self.limit, unit);
        number
            .map(Limit::Absolute)
            .map_err(|why| bad(&format!("[{}] {}: {why}", self.metric, self.kind.key())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, None, false).unwrap_err().to_string()
    }

    #[test]
    fn metrics_limits_and_defaults() {
        let text = "confidence = 0.99\nallow_unknown = true\n\n[step_time]\nmax_increase = \"3%\"\nmax = \"85ms\"\n\n\
                    [memory-peak.peak_bytes]\nmax = \"12GiB\"\nallow_unknown = false\n\n\
                    [\"comm.exposed_ps_per_step\"]\nmax = 5e9\nconfidence = \"95%\"\n";
        let budgets = parse(text, Some(0.5), false).unwrap();
        let of = |id: &str| budgets.all.iter().filter(move |b| b.metric == id).collect::<Vec<_>>();
        assert_eq!(budgets.all.len(), 4);
        let step = of("step_time");
        assert_eq!((step[0].kind, step[0].limit.as_str()), (Kind::Max, "85ms"));
        assert_eq!((step[1].kind, step[1].limit.as_str()), (Kind::MaxIncrease, "3%"));
        assert!(step.iter().all(|b| b.confidence == Some(0.99) && b.allow_unknown));
        assert_eq!(step[0].read(Unit::Ps).unwrap(), Limit::Absolute(85e9));
        assert_eq!(step[1].read(Unit::Ps).unwrap(), Limit::OfBaseline(0.03));
        let peak = of("memory-peak.peak_bytes");
        assert!(!peak[0].allow_unknown);
        assert_eq!(peak[0].read(Unit::Bytes).unwrap(), Limit::Absolute(12.0 * 1_073_741_824.0));
        let exposed = of("comm.exposed_ps_per_step");
        assert_eq!(
            (exposed[0].confidence, exposed[0].read(Unit::Ps).unwrap()),
            (Some(0.95), Limit::Absolute(5e9))
        );
    }

    #[test]
    fn what_does_not_exist_is_an_error_that_lists_what_does() {
        let unknown = error("[step_time]\nmaximum = \"85ms\"\n");
        assert!(
            unknown.contains("`maximum`") && unknown.contains("max, min, max_increase, max_decrease"),
            "{unknown}"
        );
        assert!(error("tolerance = 3\n").contains("confidence, allow_unknown"));
        assert!(error("").contains("no metric"));
        assert!(error("[step_time]\n").contains("states no limit"));
        assert!(error("[step_time]\nmax = true\n").contains("such as \"85ms\""));
        assert!(error("[a]\nmax = 1\nconfidence = 95\n").contains("between 0 and 1"));
        assert!(error("[a]\nmax = 1\nallow_unknown = 1\n").contains("true or false"));
        assert!(error("[a]\n\nmax = \n").contains("line 3"), "{}", error("[a]\n\nmax = \n"));
    }

    #[test]
    fn a_limit_of_another_unit_is_an_error() {
        let budgets = parse("[step_time]\nmax = 85\n", None, false).unwrap();
        let error = budgets.all[0].read(Unit::Ps).unwrap_err().to_string();
        assert!(error.contains("[step_time] max") && error.contains("85ms"), "{error}");
    }
}
