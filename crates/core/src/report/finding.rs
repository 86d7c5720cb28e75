//! What follows from the numbers.

use serde::Serialize;

use super::Status;

/// How much a finding or a remark on the data matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Numbers are affected or time is lost.
    Warning,
    /// An answer is missing or most of the time is lost.
    Error,
}

/// A claim with its evidence, what fixing it could give at most, what to try, and what would disprove it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Stable id, such as `diluted_averages`.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence.
    pub claim: String,
    /// The numbers it rests on.
    pub evidence: String,
    /// What removing the cause could give at most, in words with a number.
    pub ceiling: String,
    /// What to try.
    pub lever: String,
    /// The observation that would refute it.
    pub falsifier: String,
    /// How it is known.
    pub status: Status,
}
