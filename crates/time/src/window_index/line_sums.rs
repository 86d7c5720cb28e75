//! How long each of several things was true of the innermost op of a line, before any moment.

use super::ends::Ends;
use crate::nesting::walk_innermost;
use haloscope_profile::{Event, Line, LineId, Profile};

/// Events to a block.
pub(super) const STEP: usize = 1024;

/// Sums before every block of events, picoseconds.
#[derive(Debug)]
pub(super) struct LineSums<const N: usize> {
    line: LineId,
    /// Events to a block.
    step: usize,
    /// Before the start of each block's first event.
    before: Vec<[i64; N]>,
    ends: Ends,
}

impl<const N: usize> LineSums<N> {
    /// Of a line; `is` says what is true of an event.
    pub(super) fn of(profile: &Profile, line: &Line, step: usize, is: impl Fn(&Event) -> [bool; N]) -> Self {
        let events = profile.events(line);
        let starts = events.starts_ps();
        let (mut before, mut sum) = (Vec::with_capacity(events.len().div_ceil(step)), [0; N]);
        walk_innermost(events.iter(), |event, from, to| {
            let is = is(event);
            while let Some(&start) = starts.get(before.len() * step).filter(|start| **start <= to) {
                before.push(grown(sum, is, start - from));
            }
            sum = grown(sum, is, to - from);
        });
        before.resize(events.len().div_ceil(step), sum);
        let ends = Ends::of(events.len(), |at| events.get(at).end_ps);
        Self { line: line.id, step, before, ends }
    }

    /// The line.
    pub(super) fn line(&self) -> LineId {
        self.line
    }

    /// The sums before a moment.
    pub(super) fn until(
        &self,
        profile: &Profile,
        time_ps: i64,
        is: impl Fn(&Event) -> [bool; N],
    ) -> [i64; N] {
        let line = profile.line(self.line);
        let events = profile.events(line);
        let last = events.rows_before(time_ps);
        let Some(block) = last.checked_sub(1).map(|last| last / self.step) else { return [0; N] };
        let first = block * self.step;
        let start_ps = events.starts_ps()[first];
        let begun = self.ends.after(first, start_ps, |at| events.get(at).end_ps);
        let mut sum = self.before[block];
        walk_innermost(begun.into_iter().chain(first..last).map(|at| events.get(at)), |event, from, to| {
            let length = to.min(time_ps) - from.max(start_ps);
            if length > 0 {
                sum = grown(sum, is(event), length);
            }
        });
        sum
    }
}

fn grown<const N: usize>(mut sum: [i64; N], is: [bool; N], length_ps: i64) -> [i64; N] {
    for (sum, _) in sum.iter_mut().zip(is).filter(|(_, is)| *is) {
        *sum += length_ps.max(0);
    }
    sum
}
