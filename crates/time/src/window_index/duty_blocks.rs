//! How long the ops of a TPU were on duty in any window.

use super::ends::Ends;
use crate::busy::{Duties, Duty, DutyCycle};
use crate::ops::walk_innermost;
use haloscope_profile::{Device, DeviceKind, Event, Line, LineId, LineKind, Profile};

/// Events to a block.
const STEP: usize = 1024;

/// What [`crate::busy::duty_cycle`] sums, before every block of events.
#[derive(Debug)]
pub(super) struct DutyBlocks {
    duties: Duties,
    /// From the first start to the last end of ops and program executions.
    span: (i64, i64),
    lines: Vec<LineDuty>,
}

/// Time on duty, and the same without custom calls of which nobody knows, picoseconds.
type OnDuty = [i64; 2];

#[derive(Debug)]
struct LineDuty {
    line: LineId,
    /// Events to a block.
    step: usize,
    /// Before the start of each block's first event.
    before: Vec<OnDuty>,
    ends: Ends,
}

impl DutyBlocks {
    /// Of a TPU; `None` of other devices and where it ran nothing.
    pub(super) fn of(profile: &Profile, device: &Device) -> Option<Self> {
        Self::with_step(profile, device, STEP)
    }

    /// With blocks of so many events.
    pub(super) fn with_step(profile: &Profile, device: &Device, step: usize) -> Option<Self> {
        if device.kind != DeviceKind::Tpu {
            return None;
        }
        let duties = Duties::of(profile, profile.plane(device.plane));
        let lines = || profile.lines_of(device.plane);
        let both = lines().filter(|l| matches!(l.kind, LineKind::XlaOps | LineKind::XlaModules));
        let spans: Vec<_> = both.filter_map(|line| profile.events(line).span_ps()).collect();
        let span = (spans.iter().map(|s| s.0).min()?, spans.iter().map(|s| s.1).max()?);
        let ops = lines().filter(|line| line.kind == LineKind::XlaOps);
        let lines = ops.map(|line| LineDuty::of(profile, line, &duties, step)).collect();
        Some(Self { duties, span, lines })
    }

    /// The duty cycle in a window; `None` where it has no part of the span.
    pub(super) fn cycle(&self, profile: &Profile, window: Option<(i64, i64)>) -> Option<DutyCycle> {
        let (from, to) = window.map_or(self.span, |w| (w.0.max(self.span.0), w.1.min(self.span.1)));
        let mut cycle = DutyCycle { busy_ps: 0, certain_ps: 0, span_ps: to.saturating_sub(from) };
        if from >= to {
            return None;
        }
        for line in &self.lines {
            let [[busy, certain], [less, less_certain]] =
                [to, from].map(|time| line.until(profile, &self.duties, time));
            cycle.busy_ps = cycle.busy_ps.saturating_add(busy - less);
            cycle.certain_ps = cycle.certain_ps.saturating_add(certain - less_certain);
        }
        Some(cycle)
    }
}

impl LineDuty {
    fn of(profile: &Profile, line: &Line, duties: &Duties, step: usize) -> Self {
        let events = profile.events(line);
        let starts = events.starts_ps();
        let (mut before, mut sum) = (Vec::with_capacity(events.len().div_ceil(step)), [0; 2]);
        walk_innermost(events.iter(), |event, from, to| {
            let on = counts(profile, line, duties, event);
            while let Some(&start) = starts.get(before.len() * step).filter(|start| **start <= to) {
                before.push(grown(sum, on, start - from));
            }
            sum = grown(sum, on, to - from);
        });
        before.resize(events.len().div_ceil(step), sum);
        let ends = Ends::of(events.len(), |at| events.get(at).end_ps);
        Self { line: line.id, step, before, ends }
    }

    /// The time on duty before a moment.
    fn until(&self, profile: &Profile, duties: &Duties, time_ps: i64) -> OnDuty {
        let line = profile.line(self.line);
        let events = profile.events(line);
        let last = events.rows_before(time_ps);
        let Some(block) = last.checked_sub(1).map(|last| last / self.step) else { return [0; 2] };
        let first = block * self.step;
        let start_ps = events.starts_ps()[first];
        let begun = self.ends.after(first, start_ps, |at| events.get(at).end_ps);
        let mut sum = self.before[block];
        walk_innermost(begun.into_iter().chain(first..last).map(|at| events.get(at)), |event, from, to| {
            let length = to.min(time_ps) - from.max(start_ps);
            if length > 0 {
                sum = grown(sum, counts(profile, line, duties, event), length);
            }
        });
        sum
    }
}

/// Whether an event is on duty, and whether it is for certain.
fn counts(profile: &Profile, line: &Line, duties: &Duties, event: &Event) -> [bool; 2] {
    let duty = duties.of_event(profile, line, event);
    [duty != Duty::Off, duty == Duty::On]
}

fn grown(sum: OnDuty, on: [bool; 2], length_ps: i64) -> OnDuty {
    let more = |on: bool| if on { length_ps.max(0) } else { 0 };
    [sum[0] + more(on[0]), sum[1] + more(on[1])]
}
