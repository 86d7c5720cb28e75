//! What may be said of many ops at once.

use super::LEAST_STEPS;
use crate::samples::mean;
use crate::significance::{Moments, Test, error_of, holm, least_rank_p, mann_whitney, welch};
use haloscope_time::special::t_critical;

/// An op changed only where Welch's p, corrected for the number of ops, is below this,
pub const OP_P: f64 = 0.01;
/// the rank test's below this, where it can get there: of ops that wait, a few long times make a mean,
const OP_RANK_P: f64 = 0.01;
/// and the difference at least this share of its own time.
pub const OP_SHARE: f64 = 0.01;
/// An op is unchanged where its difference is shown to be within this share of its own time,
pub const OP_MARGIN: f64 = 0.03;
/// or within this share of a step, whatever that is of its own time.
const OP_STEP_MARGIN: f64 = 0.001;
/// The chance with which a difference beyond the margin is called none.
const OP_SAME_P: f64 = 0.05;

/// What became of the time of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It takes longer, by more than noise.
    Slower,
    /// It takes less time, by more than noise.
    Faster,
    /// A difference beyond the margin is ruled out.
    Unchanged,
    /// Neither is shown.
    Undecided,
}

/// One of many differences that were looked at together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpVerdict {
    /// What may be said.
    pub change: Change,
    /// Welch's test of the steps in which the op ran, spread over all steps; its p is the plain one. `None` with fewer than two
    /// of them in a run.
    pub test: Option<Test>,
    /// Its p, corrected for all differences that were looked at; `None` with too few steps to tell anything.
    pub p: Option<f64>,
}

/// Judges the ops that two runs have in common, all together: for each its time in every step of the baseline and of the
/// experiment. A step of the baseline takes `step_ps`.
///
/// An op of a program that only some steps run is compared over those steps: the others say nothing of it, and would be noise
/// that hides any difference.
#[must_use]
pub fn of_ops(ops: &[(&[f64], &[f64])], step_ps: f64) -> Vec<OpVerdict> {
    let samples: Vec<(Vec<f64>, Vec<f64>)> = ops.iter().map(|(a, b)| where_it_ran(a, b)).collect();
    let enough = |a: &[f64], b: &[f64]| a.len() >= LEAST_STEPS && b.len() >= LEAST_STEPS;
    let tests: Vec<Option<Test>> = samples.iter().map(|(a, b)| welch(a, b)).collect();
    let tested = |((a, b), test): (&(Vec<f64>, Vec<f64>), &Option<Test>)| {
        test.filter(|_| enough(a, b)).map_or(f64::NAN, |test| test.p)
    };
    let mut adjusted: Vec<f64> = samples.iter().zip(&tests).map(tested).collect();
    holm(&mut adjusted);
    let one = |(a, b): &(Vec<f64>, Vec<f64>), test: Option<Test>, p: f64| {
        let Some(told) = test.filter(|_| enough(a, b)) else {
            return OpVerdict { change: Change::Undecided, test, p: None };
        };
        let is_large = told.delta != 0.0 && told.delta.abs() >= OP_SHARE * mean(a);
        let by_ranks = least_rank_p(a.len(), b.len()) >= OP_RANK_P
            || mann_whitney(a, b).is_none_or(|rank_p| rank_p < OP_RANK_P);
        let change = match (p < OP_P && is_large && by_ranks, told.delta > 0.0) {
            (true, true) => Change::Slower,
            (true, false) => Change::Faster,
            (false, _) if is_within(a, b, (OP_MARGIN * mean(a)).max(OP_STEP_MARGIN * step_ps)) => {
                Change::Unchanged
            }
            (false, _) => Change::Undecided,
        };
        OpVerdict { change, test, p: Some(p) }
    };
    let judged = samples.iter().zip(tests).zip(adjusted).map(|((samples, test), p)| one(samples, test, p));
    judged.zip(ops.iter().zip(&samples)).map(|(said, (all, ran))| said.spread(share_of(all, ran))).collect()
}

impl OpVerdict {
    /// The difference in the steps in which an op ran as one of a mean step.
    fn spread(self, share: f64) -> Self {
        let over_all = |test: Test| Test {
            delta: test.delta * share,
            low: test.low * share,
            high: test.high * share,
            ..test
        };
        Self { test: self.test.map(over_all), ..self }
    }
}

/// The share of both runs' steps that are among the samples.
fn share_of((a, b): &(&[f64], &[f64]), (x, y): &(Vec<f64>, Vec<f64>)) -> f64 {
    (x.len() + y.len()) as f64 / (a.len() + b.len()).max(1) as f64
}

/// The samples of the steps in which an op ran, where it runs in as large a share of both runs' steps; else all of them.
fn where_it_ran(a: &[f64], b: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let ran = |s: &[f64]| s.iter().copied().filter(|ps| *ps > 0.0).collect::<Vec<_>>();
    let (x, y) = (ran(a), ran(b));
    let share = |part: &[f64], of: &[f64]| part.len() as f64 / of.len().max(1) as f64;
    // Captures cut a pattern of steps anywhere.
    let one = 1.0 / a.len().min(b.len()).max(1) as f64;
    let as_often = (share(&x, a) - share(&y, b)).abs() <= one + 1e-9;
    if as_often && !x.is_empty() && !y.is_empty() { (x, y) } else { (a.to_vec(), b.to_vec()) }
}

/// Whether the difference is shown to be within a margin (two one-sided tests).
fn is_within(a: &[f64], b: &[f64], margin: f64) -> bool {
    let Some((x, y)) = Moments::of(a).zip(Moments::of(b)) else { return false };
    let (error, df) = error_of(&x, &y);
    let reach = if error > 0.0 { t_critical(2.0 * OP_SAME_P, df) * error } else { 0.0 };
    (y.mean - x.mean).abs() + reach <= margin
}
