//! How fast a program steps, from a short look at it: whether it does yet, how long a step takes, whether it still compiles.

use std::collections::BTreeMap;

use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_time::select::Selection;
use haloscope_time::steps::Steps;
use haloscope_time::{compilations, launches, stats};

/// Medians of two looks may differ by this share of the longer one where steps are steady.
const STEADY_WITHIN: f64 = 0.10;
/// Fewer whole steps than this say nothing about a median.
const FEWEST: usize = 3;
/// Compiling for more than this share of a look is warm-up.
const COMPILING: f64 = 0.02;

/// How fast a program steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// Steps that were seen whole.
    pub steps: usize,
    /// The median of their times, picoseconds; `None` without steps.
    pub step_ps: Option<i64>,
    /// The median from the start of a step to the next one's, picoseconds: what a step costs with what is between steps.
    pub period_ps: Option<i64>,
    /// Whether steps are guessed from launches of a program.
    pub is_inferred: bool,
    /// Whether the program runs its ops one by one: then what is guessed to be a step is the launch of an op.
    pub is_op_by_op: bool,
    /// Whether anything ran on a device at all.
    pub has_work: bool,
    /// Time in which some thread compiled, picoseconds.
    pub compile_ps: i64,
    /// The length of the look, picoseconds.
    pub span_ps: i64,
}

impl Pace {
    /// The pace that a profile shows.
    ///
    /// # Errors
    /// [`Error::Nothing`] for a profile without anything to look at.
    pub fn of(profile: &Profile) -> Result<Self, Error> {
        let selection = Selection::resolve(profile, &Scope::default())?;
        let steps = Steps::find(profile, &selection.devices);
        let mut starts: Vec<i64> =
            steps.rows.iter().filter_map(|s| s.instances.iter().map(|i| i.start_ps).min()).collect();
        starts.sort_unstable();
        let periods: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let durations = steps.durations();
        let spans = profile.lines.iter().filter_map(|line| profile.events(line).span_ps());
        let (from, to) =
            spans.fold((i64::MAX, i64::MIN), |(from, to), span| (from.min(span.0), to.max(span.1)));
        let whole = |values: &[f64]| stats::Summary::of(values).map(|all| all.p50 as i64);
        Ok(Self {
            steps: durations.len(),
            step_ps: whole(&durations),
            period_ps: whole(&periods).filter(|ps| *ps > 0),
            is_inferred: steps.source.is_inferred(),
            is_op_by_op: steps.source.is_inferred() && is_op_by_op(profile, &selection, steps.rows.len()),
            has_work: selection.devices.iter().any(|device| device.active),
            compile_ps: compilations::find(profile, |_| true).busy_ps,
            span_ps: to.saturating_sub(from).max(0),
        })
    }

    /// Whether a program compiles for a part of the look that matters.
    #[must_use]
    pub fn is_compiling(&self) -> bool {
        self.compile_ps as f64 > COMPILING * self.span_ps as f64
    }

    /// Whether the look has too few steps to say how long they take.
    #[must_use]
    pub fn has_few_steps(&self) -> bool {
        self.steps < FEWEST
    }

    /// Whether this look and the one before it show the same pace, and no compiling.
    #[must_use]
    pub fn is_steady_after(&self, before: &Self) -> bool {
        let (Some(now), Some(then)) = (self.period_ps, before.period_ps) else { return false };
        let differ = (now - then).abs() as f64 / now.max(then) as f64;
        !self.has_few_steps() && !before.has_few_steps() && !self.is_compiling() && differ <= STEADY_WITHIN
    }
}

/// Programs that take less than this of the time of all are not looked at.
const PROGRAM_SHARE: f64 = 0.002;
/// So many programs, of which none has this share of the time, and not all of which run in each step, are ops.
const FEWEST_OPS: usize = 6;
const MOST_OF_ONE: f64 = 0.7;

/// Whether launches are those of single ops: many programs take part, none has most of the time, and what is taken for a step
/// holds only some of them.
fn is_op_by_op(profile: &Profile, selection: &Selection<'_>, steps: usize) -> bool {
    let mut time_of: BTreeMap<String, (i64, usize)> = BTreeMap::new();
    for launch in selection.devices.iter().flat_map(|device| launches::of(profile, device)) {
        let of = time_of.entry(launch.module).or_default();
        *of = (of.0.saturating_add(launch.end_ps - launch.start_ps), of.1 + 1);
    }
    let total = time_of.values().map(|(ps, _)| *ps as f64).sum::<f64>();
    let counted: Vec<(f64, usize)> = time_of
        .values()
        .map(|(ps, launches)| (*ps as f64, *launches))
        .filter(|(ps, _)| *ps >= PROGRAM_SHARE * total)
        .collect();
    let most = counted.iter().map(|(ps, _)| *ps).fold(0.0, f64::max);
    let launches =
        counted.iter().map(|(_, launches)| launches).sum::<usize>() / selection.devices.len().max(1);
    counted.len() >= FEWEST_OPS && most < MOST_OF_ONE * total && launches < counted.len() * steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(steps: usize, period_ps: i64, compile_ps: i64) -> Pace {
        Pace {
            steps,
            step_ps: Some(period_ps),
            period_ps: Some(period_ps),
            is_inferred: false,
            is_op_by_op: false,
            has_work: true,
            compile_ps,
            span_ps: 1_000_000,
        }
    }

    #[test]
    fn two_looks_at_the_same_pace_are_steady() {
        let one = pace(10, 1000, 0);
        assert!(pace(10, 1080, 0).is_steady_after(&one));
        assert!(!pace(10, 1200, 0).is_steady_after(&one), "another pace");
        assert!(!pace(10, 1000, 50_000).is_steady_after(&one), "it compiles");
        assert!(!pace(2, 1000, 0).is_steady_after(&one), "too few steps");
        assert!(!Pace { period_ps: None, ..pace(0, 0, 0) }.is_steady_after(&one));
        assert!(!one.is_steady_after(&pace(1, 1000, 0)));
    }
}
