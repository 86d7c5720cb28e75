//! What came of one check, in three words: it holds, it does not, or nobody can tell.

/// What came of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was shown to hold.
    Pass,
    /// It was shown not to.
    Fail,
    /// The profile cannot tell. Counts as a failure unless the check allows it.
    Unknown,
}

impl Outcome {
    /// The word in tables; JUnit is made from it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
        }
    }
}

/// A check as others count it.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    /// What was asked, such as `step_time max 85ms`.
    pub what: String,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether it may be unknown.
    pub may_be_unknown: bool,
    /// Whether it holds the run against its baseline.
    pub against_baseline: bool,
    /// Why, in words with numbers.
    pub why: String,
    /// Time now over the time that was asked for; of times that are too long.
    pub speedup: Option<f64>,
    /// The analysis that has the number.
    pub seen_in: &'static str,
}

impl Judged {
    /// Whether it keeps the gate shut.
    pub(super) fn blocks(&self) -> bool {
        match self.outcome {
            Outcome::Pass => false,
            Outcome::Fail => true,
            Outcome::Unknown => !self.may_be_unknown,
        }
    }
}
