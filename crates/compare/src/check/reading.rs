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
    /// The number; `None` where it is unknown or in words.
    pub value: Option<f64>,
    /// The words, of metrics that are no numbers.
    pub text: Option<String>,
    /// Its samples.
    pub spread: Spread,
    /// What it was taken over, or why it is unknown.
    pub about: String,
    /// The analysis that has it.
    pub seen_in: &'static str,
}
