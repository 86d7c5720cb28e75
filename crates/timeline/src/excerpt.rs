//! The stretch of a run that stands for it where there is room for a few steps only.

use haloscope_profile::{Device, Profile};

use haloscope_time::steps::{StepClass, Steps};

/// Steps that are shown at most.
const STEPS: usize = 3;

/// A stretch of time, and why this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Start on the run's clock, picoseconds.
    pub start_ps: i64,
    /// End, picoseconds; after the start.
    pub end_ps: i64,
    /// What it is, in words.
    pub what: String,
}

/// The first steady steps that follow each other, three at most, over all devices; `None` if the run has no steady step.
#[must_use]
pub fn steady(profile: &Profile, devices: &[&Device]) -> Option<Excerpt> {
    let steps = Steps::find(profile, devices);
    let is_steady = |row: usize| steps.rows.get(row).is_some_and(|s| s.class == StepClass::Steady);
    let length = |from: usize| (from..from + STEPS).take_while(|&row| is_steady(row)).count();
    // The longest run of them, the first among equals.
    let best = (0..steps.rows.len()).rev().max_by_key(|&from| length(from))?;
    let rows = &steps.rows[best..best + length(best)];
    let (first, last) = (rows.first()?, rows.last()?);
    let start_ps = rows.iter().map(haloscope_time::steps::Step::start_ps).min()?;
    let end_ps = rows.iter().flat_map(|s| &s.instances).map(|i| i.end_ps).max()?;
    let count = steps.rows.iter().filter(|s| s.class == StepClass::Steady).count();
    let named = if first.number == last.number {
        format!("step {}", first.number)
    } else {
        format!("steps {} to {}", first.number, last.number)
    };
    let what =
        format!("{named}, of {count} steady steps among {}; {}", steps.rows.len(), steps.source.explain());
    (start_ps < end_ps).then_some(Excerpt { start_ps, end_ps, what })
}
