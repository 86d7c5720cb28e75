//! How much of the time devices were busy, over the capture and over the time in which the program ran, and where the
//! idle time lies.

use rayon::prelude::*;

use super::busy::{self, DutyCycle};
use super::intervals::Intervals;
use super::launches;
use super::select::Selection;
use super::steps::Steps;
use crate::profile::{Device, DeviceId, Profile};
use crate::units;

/// Busy and idle time of the selected devices.
#[derive(Debug, Clone)]
pub struct Usage {
    /// One entry a device, in the order of the selection.
    pub devices: Vec<DeviceUsage>,
    /// True where the profiler recorded when the capture started and stopped; else the span of all events stands for it.
    pub capture_is_recorded: bool,
    steps_are_marked: bool,
}

/// Busy and idle time of one device, picoseconds.
#[derive(Debug, Clone)]
pub struct DeviceUsage {
    /// The device.
    pub id: DeviceId,
    /// Time in which at least one op ran.
    pub busy_ps: i64,
    /// From the first op to the last.
    pub active_ps: i64,
    /// The part of the capture that the scope selects.
    pub capture_ps: i64,
    /// XProf's duty cycle.
    pub duty: Option<DutyCycle>,
    /// Idle time inside the active window.
    pub gaps: Intervals,
    /// Idle time outside of steps (programs, where no steps are marked) but inside the active window.
    pub between_ps: i64,
}

impl Usage {
    /// Measures the selected devices.
    #[must_use]
    pub fn measure(profile: &Profile, selection: &Selection<'_>, steps: &Steps) -> Self {
        let capture_is_recorded = selection.devices.iter().all(|d| profile.host(d.host).capture_ps.is_some());
        let steps_are_marked = !steps.rows.is_empty() && !steps.source.is_inferred();
        let one = |(position, device): (usize, &&Device)| {
            let cut = selection.window(position);
            let busy = busy::intervals(profile, device);
            let busy = cut.map_or_else(|| busy.clone(), |c| busy.intersect(c));
            let hull = busy.hull().map_or_else(Intervals::default, |(from, to)| Intervals::one(from, to));
            let active = cut.map_or_else(|| hull.clone(), |c| hull.intersect(c));
            let (from, to) = match hull.hull() {
                Some(hull) => capture_span(profile, device, hull),
                None => capture(profile, device),
            };
            let occupied = if steps_are_marked {
                steps.rows.iter().filter_map(|s| s.on(device.id)).map(|i| (i.start_ps, i.end_ps)).collect()
            } else {
                launches::of(profile, device).iter().map(|l| (l.start_ps, l.end_ps)).collect()
            };
            let gaps = active.minus(&busy);
            DeviceUsage {
                id: device.id,
                busy_ps: busy.length(),
                active_ps: active.length(),
                capture_ps: cut.map_or(to - from, |c| c.overlap(from, to)),
                duty: busy::duty_cycle(profile, device, cut),
                between_ps: gaps.minus(&Intervals::union_of(occupied)).length(),
                gaps,
            }
        };
        let devices = selection.devices.par_iter().enumerate().map(one).collect();
        Self { devices, capture_is_recorded, steps_are_marked }
    }

    fn mean(&self, of: impl Fn(&DeviceUsage) -> i64) -> f64 {
        units::sum(self.devices.iter().map(of)) as f64 / self.devices.len().max(1) as f64
    }

    /// Busy time, mean over devices, picoseconds.
    #[must_use]
    pub fn busy_ps(&self) -> f64 {
        self.mean(|d| d.busy_ps)
    }

    /// Active window, mean over devices, picoseconds.
    #[must_use]
    pub fn active_ps(&self) -> f64 {
        self.mean(|d| d.active_ps)
    }

    /// Capture, mean over devices, picoseconds.
    #[must_use]
    pub fn capture_ps(&self) -> Option<f64> {
        Some(self.mean(|d| d.capture_ps)).filter(|ps| *ps > 0.0)
    }

    /// 1 - busy / capture.
    #[must_use]
    pub fn idle_share_of_capture(&self) -> Option<f64> {
        self.capture_ps().map(|capture| 1.0 - self.busy_ps() / capture)
    }

    /// 1 - busy / active window.
    #[must_use]
    pub fn idle_share_of_active(&self) -> Option<f64> {
        Some(self.active_ps()).filter(|ps| *ps > 0.0).map(|active| 1.0 - self.busy_ps() / active)
    }

    /// XProf's duty cycle over all devices: busy over span, both summed.
    #[must_use]
    pub fn duty_cycle(&self) -> Option<f64> {
        let (busy, span) = self.devices.iter().try_fold((0, 0), |(busy, span), d| {
            d.duty.map(|duty| (busy + duty.busy_ps, span + duty.span_ps))
        })?;
        (span > 0).then(|| busy as f64 / span as f64)
    }

    /// Where devices idle, mean time over devices in picoseconds, and whether that is inside the active window.
    #[must_use]
    pub fn idle_places(&self) -> Vec<(&'static str, f64, bool)> {
        let (between, inside) = if self.steps_are_marked {
            ("between steps", "inside a step, between ops")
        } else {
            ("between programs", "inside a program, between ops")
        };
        vec![
            ("before the first op and after the last", self.mean(|d| d.capture_ps - d.active_ps), false),
            (between, self.mean(|d| d.between_ps), true),
            (inside, self.mean(|d| d.gaps.length() - d.between_ps), true),
        ]
    }
}

impl DeviceUsage {
    /// 1 - busy / active window.
    #[must_use]
    pub fn idle_share_of_active(&self) -> Option<f64> {
        (self.active_ps > 0).then(|| 1.0 - self.busy_ps as f64 / self.active_ps as f64)
    }

    /// 1 - busy / capture.
    #[must_use]
    pub fn idle_share_of_capture(&self) -> Option<f64> {
        (self.capture_ps > 0).then(|| 1.0 - self.busy_ps as f64 / self.capture_ps as f64)
    }
}

/// From the start of a device's capture to its stop, and at least from its first op to its last (`active`): the profiler's
/// stop time can precede the end of the last op.
#[must_use]
pub fn capture_span(profile: &Profile, device: &Device, active: (i64, i64)) -> (i64, i64) {
    let (from, to) = capture(profile, device);
    (from.min(active.0), to.max(active.1))
}

fn capture(profile: &Profile, device: &Device) -> (i64, i64) {
    profile.host(device.host).capture_ps.unwrap_or_else(|| span(profile, device))
}

/// From the first to the last event of a device's host.
fn span(profile: &Profile, device: &Device) -> (i64, i64) {
    let lines = profile.planes_of(device.host).flat_map(|p| profile.lines_of(p.id));
    let spans: Vec<_> = lines.filter_map(|l| profile.events(l).span_ps()).collect();
    let first = spans.iter().map(|s| s.0).min().unwrap_or(0);
    (first, spans.iter().map(|s| s.1).max().unwrap_or(first))
}
