//! Conditions on a number of `overview`: `step_time>1.2x`, `step_time_p90>150ms`, `mfu<0.3`.

use super::time;

/// What a number is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// So many times what it was before.
    Times(f64),
    /// This much, in the number's own unit: picoseconds, a share, a count.
    Amount(f64),
}

/// A condition on a number of `overview`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    text: String,
    name: String,
    is_above: bool,
    bound: Bound,
}

impl Condition {
    /// Reads `NAME>BOUND` or `NAME<BOUND`. A bound in `x` is a multiple of the median of earlier looks; a time has its unit.
    ///
    /// # Errors
    /// What was expected and what was found.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "expected a value of `overview`, > or <, and a limit, such as step_time>1.2x or step_time>150ms; found `{text}`"
            )
        };
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (name, bound) = (text[..at].trim(), text[at + 1..].trim());
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(wrong());
        }
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        let bound = if let Some(times) = bound.strip_suffix('x') {
            Bound::Times(number(times).ok_or_else(wrong)?)
        } else if let Some(amount) = number(bound) {
            Bound::Amount(amount)
        } else {
            Bound::Amount(time::parse(bound).map_err(|_| wrong())?.as_secs_f64() * 1e12)
        };
        Ok(Self {
            text: text.to_owned(),
            name: name.to_owned(),
            is_above: text[at..].starts_with('>'),
            bound,
        })
    }

    /// As it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The ids that the name may stand for in `overview`, the likeliest first: `step_time` is the median step.
    pub(super) fn ids(&self) -> Vec<String> {
        let tails = ["", "_ps", "_p50_ps", "_mean_ps", "_p50", "_mean", "_bytes"];
        tails.iter().map(|tail| format!("{}{tail}", self.name)).collect()
    }

    /// Whether earlier looks are needed to judge.
    pub(super) fn needs_earlier(&self) -> bool {
        matches!(self.bound, Bound::Times(_))
    }

    /// Whether a number fulfils it; `usual` is the median of earlier looks. `None` where that is needed and not known.
    pub(super) fn holds(&self, number: f64, usual: Option<f64>) -> Option<bool> {
        let limit = match self.bound {
            Bound::Amount(amount) => amount,
            Bound::Times(times) => usual? * times,
        };
        Some(if self.is_above { number > limit } else { number < limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiple_is_held_against_what_was_usual() {
        let slow = Condition::parse("step_time > 1.2x").unwrap();
        assert_eq!(slow.holds(130.0, Some(100.0)), Some(true));
        assert_eq!(slow.holds(110.0, Some(100.0)), Some(false));
        assert_eq!(slow.holds(110.0, None), None);
        assert!(slow.ids().contains(&"step_time_p50_ps".to_owned()));
    }

    #[test]
    fn an_amount_needs_nothing_earlier() {
        let slow = Condition::parse("step_time_p90>150ms").unwrap();
        assert_eq!(slow.holds(0.2e12, None), Some(true));
        let low = Condition::parse("mfu<0.3").unwrap();
        assert_eq!((low.holds(0.2, None), low.holds(0.4, None)), (Some(true), Some(false)));
        assert!(!low.needs_earlier());
    }

    #[test]
    fn what_is_no_condition_is_refused() {
        for wrong in
            ["", "step_time", "step_time>", ">1.2x", "step_time>fast", "step time>1x", "a>-1x", "a>0x", "a>x"]
        {
            assert!(Condition::parse(wrong).is_err(), "{wrong}");
        }
    }
}
