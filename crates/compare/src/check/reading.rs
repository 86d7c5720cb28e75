//! What a metric of a run reads.

use haloscope_report::Unit;

/// What a run's samples are.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spread {
    /// One number a run: nothing tells how it varies.
    Once,
    /// The value is their mean.
    Mean(Vec<f64>),
    /// The value is their median.
    Median(Vec<f64>),
}

/// A metric of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    /// Its id as asked for.
    pub id: String,
    /// Its unit.
    pub unit: Unit,
    /// The number; `None` where it is unknown or in words. Of several things it is the largest.
    pub value: Option<f64>,
    /// The words, of metrics that are no numbers.
    pub text: Option<String>,
    /// Its samples.
    pub spread: Spread,
    /// What it was taken over, or why it is unknown.
    pub about: String,
    /// The analysis that has it.
    pub seen_in: &'static str,
    /// The values of several things that one id names; empty where it names one.
    pub each: Vec<One>,
}

/// The value of one of several things.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct One {
    /// Its value, in the reading's unit.
    pub value: f64,
    /// What it is the value of.
    pub about: String,
}

impl Reading {
    /// The reading of the one that is hardest to keep within a limit: of the largest for an upper one, of the smallest for a lower
    /// one, so that what holds for it holds for each.
    pub(super) fn hardest(mut self, is_upper: bool) -> Self {
        let of = |a: &One, b: &One| {
            if is_upper { b.value.total_cmp(&a.value) } else { a.value.total_cmp(&b.value) }
        };
        // Of equals the first, whichever limit.
        let Some(one) = self.each.iter().min_by(|a, b| of(a, b)).cloned() else { return self };
        let word = if is_upper { "largest" } else { "smallest" };
        self.about = format!("{}; the {word} of {}", one.about, self.each.len());
        self.value = Some(one.value);
        self
    }

    /// The reading of the first that is other than wanted, else this: what is claimed of several is claimed of each.
    pub(super) fn first_without(mut self, holds: impl Fn(f64) -> bool) -> Self {
        let Some(one) = self.each.iter().find(|one| !holds(one.value)) else { return self };
        self.about = format!("{}; one of {}", one.about, self.each.len());
        self.value = Some(one.value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Reading {
        Reading {
            id: "kernel_bundles(mm)".into(),
            unit: Unit::Count,
            value: values.iter().copied().reduce(f64::max),
            text: None,
            spread: Spread::Once,
            about: "as it was".into(),
            seen_in: "kernel list",
            each: values
                .iter()
                .zip(["a", "b", "c"])
                .map(|(v, name)| One { value: *v, about: name.into() })
                .collect(),
        }
    }

    #[test]
    fn of_several_the_one_counts_that_a_limit_holds_last() {
        let all = of(&[20.0, 10.0, 30.0]);
        let upper = all.clone().hardest(true);
        assert_eq!((upper.value, upper.about.as_str()), (Some(30.0), "c; the largest of 3"));
        let lower = all.clone().hardest(false);
        assert_eq!((lower.value, lower.about.as_str()), (Some(10.0), "b; the smallest of 3"));
        let other = all.clone().first_without(|v| v > 15.0);
        assert_eq!((other.value, other.about.as_str()), (Some(10.0), "b; one of 3"));
        assert_eq!(all.clone().first_without(|v| v > 5.0), all, "each has it");
        assert_eq!(of(&[7.0, 7.0]).hardest(false).about, "a; the smallest of 2");
    }

    #[test]
    fn what_is_of_one_thing_or_unknown_stays() {
        for one in [of(&[]), Reading { value: Some(3.0), ..of(&[]) }] {
            assert_eq!(one.clone().hardest(false), one);
            assert_eq!(one.clone().first_without(|_| false), one);
        }
    }
}
