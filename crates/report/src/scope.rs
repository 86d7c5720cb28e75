//! Which part of a run a question is about. A parameter of every analysis.

use crate::Error;
use crate::units::LARGEST_PS;

/// Hosts, devices, modules, steps and the time that an answer covers. The default is everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Host names; empty means all.
    pub hosts: Vec<String>,
    /// Device names as the tables print them (`TPU:0`, `w-1/TPU:0`); empty means all.
    pub devices: Vec<String>,
    /// Substrings of HLO module names; empty means all.
    pub modules: Vec<String>,
    /// Step numbers; `None` means all, and the time between steps too.
    pub steps: Option<StepRange>,
    /// A time window in picoseconds from the start of the run.
    pub window_ps: Option<(i64, i64)>,
    /// Only the steady state: the steps that are neither warm-up, nor cut, nor outliers.
    pub steady: bool,
}

/// A set of step numbers: `3`, `2-5`, `2-5,9`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRange(Vec<(i64, i64)>);

impl Scope {
    /// A scope from the words of a command line or a query: each is the text of one option, `None` where not given.
    ///
    /// # Errors
    /// [`Error::Usage`] for a range or window that cannot be understood, with the form that was expected.
    pub fn from_words<'a>(word: impl Fn(&str) -> Option<&'a str>) -> Result<Self, Error> {
        let list = |key| -> Vec<String> {
            let words = word(key).unwrap_or_default().split(',').map(str::trim);
            words.filter(|w| !w.is_empty()).map(str::to_owned).collect()
        };
        Ok(Self {
            hosts: list("hosts"),
            devices: list("devices"),
            modules: list("modules"),
            steps: word("steps").filter(|w| !w.is_empty()).map(StepRange::parse).transpose()?,
            window_ps: word("window").filter(|w| !w.is_empty()).map(parse_window).transpose()?,
            steady: matches!(word("steady"), Some("" | "1" | "true" | "yes")),
        })
    }

    /// True if the scope restricts time: then totals are those of a part.
    #[must_use]
    pub fn cuts_time(&self) -> bool {
        self.steps.is_some() || self.window_ps.is_some() || self.steady
    }
}

impl StepRange {
    /// Parses `3`, `2-5` or `2-5,9`.
    ///
    /// # Errors
    /// [`Error::Usage`] with the expected form.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = || {
            Error::Usage(format!(
                "expected steps as a number, a range or a list (3, 2-5, 2-5,9), found `{text}`"
            ))
        };
        let number = |s: &str| s.trim().parse::<i64>().map_err(|_| bad());
        let mut parts = Vec::new();
        for part in text.split(',') {
            let part = part.trim();
            let range = match part.char_indices().skip(1).find(|(_, c)| *c == '-') {
                Some((i, _)) => (number(&part[..i])?, number(&part[i + 1..])?),
                None => (number(part)?, number(part)?),
            };
            if range.0 > range.1 {
                return Err(bad());
            }
            parts.push(range);
        }
        Ok(Self(parts))
    }

    /// True if the set holds this step number.
    #[must_use]
    pub fn contains(&self, step: i64) -> bool {
        self.0.iter().any(|&(from, to)| (from..=to).contains(&step))
    }
}

impl std::fmt::Display for StepRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, &(from, to)) in self.0.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            if from == to { write!(f, "{comma}{from}")? } else { write!(f, "{comma}{from}-{to}")? }
        }
        Ok(())
    }
}

/// `START..END`, each a number with `ps`, `ns`, `us`, `ms` or `s` (picoseconds without), from the start of the run.
fn parse_window(text: &str) -> Result<(i64, i64), Error> {
    let bad = |why: &str| Error::Usage(format!("expected a window such as 1.5ms..20ms, found `{text}`{why}"));
    let (from, to) = text.split_once("..").ok_or_else(|| bad(""))?;
    let time = |s: &str| parse_time_ps(s).ok_or_else(|| bad(""));
    let believable = |ps: i64| {
        (ps.unsigned_abs() <= LARGEST_PS as u64).then_some(ps).ok_or_else(|| bad(", which is beyond 26 days"))
    };
    let (from, to) = (believable(time(from)?)?, believable(time(to)?)?);
    if from >= to {
        return Err(bad(", which does not end after it starts"));
    }
    Ok((from, to))
}

/// A time with `ps`, `ns`, `us`, `ms` or `s`, in picoseconds without; `None` for what is none.
pub fn parse_time_ps(text: &str) -> Option<i64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let scale = match unit {
        "" | "ps" => 1.0,
        "ns" => 1e3,
        "us" => 1e6,
        "ms" => 1e9,
        "s" => 1e12,
        _ => return None,
    };
    if scale == 1.0 {
        return digits.trim().parse().ok();
    }
    let value: f64 = digits.trim().parse().ok()?;
    let ps = value * scale;
    (ps.is_finite() && ps.abs() < 9e18).then_some(ps.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(pairs: &[(&str, &'static str)]) -> Result<Scope, Error> {
        Scope::from_words(|key| pairs.iter().find(|(k, _)| *k == key).map(|(_, v)| *v))
    }

    #[test]
    fn reads_lists_ranges_and_windows() {
        let s = scope(&[("hosts", "a, b"), ("steps", "2-5,9"), ("window", "1.5ms..2s")]).unwrap();
        assert_eq!(s.hosts, ["a", "b"]);
        let steps = s.steps.unwrap();
        assert!(steps.contains(4) && steps.contains(9) && !steps.contains(6));
        assert_eq!(steps.to_string(), "2-5,9");
        assert_eq!(s.window_ps, Some((1_500_000_000, 2_000_000_000_000)));
    }

    #[test]
    fn says_what_it_expected() {
        for (key, value) in [("steps", "5-2"), ("steps", "x"), ("window", "3ms..1ms"), ("window", "3")] {
            let error = scope(&[(key, value)]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(value), "{error}");
        }
    }
}
