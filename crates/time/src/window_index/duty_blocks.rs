//! How long the ops of a TPU were on duty in any window.

use super::line_sums::{LineSums, STEP};
use crate::busy::{Duties, Duty, DutyCycle};
use haloscope_profile::{Device, DeviceKind, Event, Line, LineKind, Profile};

/// What [`crate::busy::duty_cycle`] sums, before every block of events.
#[derive(Debug)]
pub(super) struct DutyBlocks {
    duties: Duties,
    /// From the first start to the last end of ops and program executions.
    span: (i64, i64),
    /// Time on duty, and the same without custom calls of which nobody knows.
    lines: Vec<LineSums<2>>,
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
        let lines = ops
            .map(|line| LineSums::of(profile, line, step, |event| counts(profile, line, &duties, event)))
            .collect();
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
            let of = profile.line(line.line());
            let counts = |event: &Event| counts(profile, of, &self.duties, event);
            let [[busy, certain], [less, less_certain]] =
                [to, from].map(|time| line.until(profile, time, counts));
            cycle.busy_ps = cycle.busy_ps.saturating_add(busy - less);
            cycle.certain_ps = cycle.certain_ps.saturating_add(certain - less_certain);
        }
        Some(cycle)
    }
}

/// Whether an event is on duty, and whether it is for certain.
fn counts(profile: &Profile, line: &Line, duties: &Duties, event: &Event) -> [bool; 2] {
    let duty = duties.of_event(profile, line, event);
    [duty != Duty::Off, duty == Duty::On]
}
