//! How much of the time devices were busy, over the capture and over the time in which the program ran, and where the
//! idle time lies.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::busy::{self, DutyCycle};
use super::intervals::Intervals;
use super::launches;
use super::select::Selection;
use super::steps::Steps;
use super::sweep::Idle;
use crate::window_index::{WindowIndex, span};
use haloscope_profile::{Device, DeviceId, HostId, LineKind, Profile};
use haloscope_report::stop;
use haloscope_report::units;

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
    pub gaps_ps: i64,
    /// Idle time outside of steps (programs, where no steps are marked) but inside the active window.
    pub between_ps: i64,
    gaps: Gaps,
}

/// Where a device idled inside the active window.
#[derive(Debug, Clone)]
enum Gaps {
    /// All of it.
    All(Intervals),
    /// There are too many to keep: they are found anew where they are asked for, in this cut.
    Many(Option<Intervals>),
    /// All time in which it was not busy between two moments, as what is kept of the run says.
    WindowIndex(i64, i64),
}

/// As many gaps are kept of all devices together: 16 MiB.
const MOST_GAPS: usize = 1 << 20;

impl Usage {
    /// Measures the selected devices.
    #[must_use]
    pub fn measure(profile: &Profile, selection: &Selection<'_>, steps: &Steps) -> Self {
        let plan = Plan::new(profile, selection, steps);
        let devices =
            (0..selection.devices.len()).into_par_iter().map(stop::carried(|at| plan.device(at))).collect();
        plan.finish(devices)
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
            (inside, self.mean(|d| d.gaps_ps - d.between_ps), true),
        ]
    }
}

impl DeviceUsage {
    /// Idle time inside the active window while the host read or prepared input, picoseconds. `input` is when the device's
    /// host did: [`super::input::input_work`].
    #[must_use]
    pub fn waits_for_input_ps(&self, profile: &Profile, input: &Intervals) -> i64 {
        let device = profile.device(self.id);
        match (&self.gaps, WindowIndex::of(profile)) {
            (Gaps::WindowIndex(from, to), Some(kept)) => {
                kept.waits_for_input(profile, device).overlap(*from, *to)
            }
            _ if input.is_empty() => 0,
            (Gaps::WindowIndex(from, to), None) => {
                busy::intervals(profile, device).gaps(*from, *to).intersect(input).length()
            }
            (Gaps::All(gaps), _) => gaps.intersect(input).length(),
            (Gaps::Many(Some(cut)), _) => {
                active_and_gaps(&busy::intervals(profile, device), cut).1.intersect(input).length()
            }
            (Gaps::Many(None), _) => {
                let mut idle = Idle::new(input.as_slice(), 0);
                busy::stretches(profile, device, |from, to| idle.push(from, to));
                idle.gaps_ps - idle.free_ps
            }
        }
    }

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

/// What the measurements of all devices share.
pub(super) struct Plan<'a> {
    profile: &'a Profile,
    selection: &'a Selection<'a>,
    steps: &'a Steps,
    steps_are_marked: bool,
    /// The capture of each device's host, by position in the selection.
    captures: Vec<(i64, i64)>,
    most_gaps: usize,
}

impl<'a> Plan<'a> {
    pub(super) fn new(profile: &'a Profile, selection: &'a Selection<'a>, steps: &'a Steps) -> Self {
        let steps_are_marked = !steps.rows.is_empty() && !steps.source.is_inferred();
        // Where no capture was recorded, all events of a host are looked at: once, not for each of its devices.
        let mut of_hosts: FxHashMap<HostId, (i64, i64)> = FxHashMap::default();
        let mut capture = |d: &Device| *of_hosts.entry(d.host).or_insert_with(|| capture(profile, d));
        let captures = selection.devices.iter().map(|d| capture(d)).collect();
        // They are asked for where a host prepares input: without threads it does not.
        let has_threads = |d: &&Device| {
            let planes = profile.planes_of(d.host).filter(|p| !p.kind.is_device());
            planes.flat_map(|p| profile.lines_of(p.id)).any(|l| l.kind == LineKind::Thread)
        };
        let most_gaps =
            if selection.devices.iter().any(has_threads) { MOST_GAPS / selection.devices.len() } else { 0 };
        Self { profile, selection, steps, steps_are_marked, captures, most_gaps }
    }

    /// When the device at a position of the selection was in a step; in a program, where no steps are marked.
    pub(super) fn occupied(&self, position: usize) -> Intervals {
        let device = self.selection.devices[position];
        Intervals::union_of(if self.steps_are_marked {
            let steps = self.steps.rows.iter().filter_map(|s| s.on(device.id));
            steps.map(|i| (i.start_ps, i.end_ps)).collect()
        } else {
            launches::of(self.profile, device).iter().map(|l| (l.start_ps, l.end_ps)).collect()
        })
    }

    /// What measures the idle time of a device of which all time counts.
    pub(super) fn idle<'o>(&self, occupied: &'o Intervals) -> Idle<'o> {
        Idle::new(occupied.as_slice(), self.most_gaps)
    }

    /// Measures the device at a position of the selection.
    pub(super) fn device(&self, position: usize) -> DeviceUsage {
        let device = self.selection.devices[position];
        let cut = self.selection.window(position);
        match (WindowIndex::of(self.profile), cut.map(Intervals::as_slice)) {
            (Some(kept), None) => return self.kept(kept, position, None),
            (Some(kept), Some(&[window])) => return self.kept(kept, position, Some(window)),
            _ => {}
        }
        let occupied = self.occupied(position);
        let duty = busy::duty_cycle(self.profile, device, cut);
        let Some(cut) = cut else {
            let mut idle = self.idle(&occupied);
            busy::stretches(self.profile, device, |from, to| idle.push(from, to));
            return self.uncut(position, idle, duty);
        };
        let all = busy::intervals(self.profile, device);
        let busy = all.intersect(cut);
        let (active, gaps) = active_and_gaps(&all, cut);
        let (from, to) = self.capture(position, busy.hull());
        DeviceUsage {
            id: device.id,
            busy_ps: busy.length(),
            active_ps: active.length(),
            capture_ps: cut.overlap(from, to),
            duty,
            gaps_ps: gaps.length(),
            between_ps: gaps.minus(&occupied).length(),
            gaps: if gaps.as_slice().len() > self.most_gaps {
                Gaps::Many(Some(cut.clone()))
            } else {
                Gaps::All(gaps)
            },
        }
    }

    /// The usage of a device of which all time counts.
    pub(super) fn uncut(&self, position: usize, idle: Idle<'_>, duty: Option<DutyCycle>) -> DeviceUsage {
        let (from, to) = self.capture(position, idle.hull);
        DeviceUsage {
            id: self.selection.devices[position].id,
            busy_ps: idle.busy_ps,
            active_ps: idle.hull.map_or(0, |(from, to)| to - from),
            capture_ps: to - from,
            duty,
            gaps_ps: idle.gaps_ps,
            between_ps: idle.free_ps,
            gaps: idle.gaps.map_or(Gaps::Many(None), |gaps| Gaps::All(Intervals::of_disjoint(gaps))),
        }
    }

    /// The usage in a window, or over all time, by what is kept of the run.
    fn kept(&self, kept: &WindowIndex, position: usize, window: Option<(i64, i64)>) -> DeviceUsage {
        let (profile, device) = (self.profile, self.selection.devices[position]);
        let (from, to) = window.unwrap_or((i64::MIN, i64::MAX));
        let busy = kept.busy(profile, device);
        let (begun, ended) = self.capture(position, busy.hull(from, to));
        let active = busy.hull(i64::MIN, i64::MAX).map(|(first, last)| (first.max(from), last.min(to)));
        let (first, last) = active.filter(|(first, last)| first < last).unwrap_or((0, 0));
        let idle_ps = |from: i64, to: i64| to - from - busy.overlap(from, to);
        let between_ps = if self.steps_are_marked {
            let outside = self.occupied(position).gaps(first, last);
            units::sum(outside.as_slice().iter().map(|(from, to)| idle_ps(*from, *to)))
        } else {
            kept.between(profile, device).overlap(first, last)
        };
        DeviceUsage {
            id: device.id,
            busy_ps: busy.overlap(from, to),
            active_ps: last - first,
            capture_ps: window.map_or(ended - begun, |w| Intervals::one(w.0, w.1).overlap(begun, ended)),
            duty: kept.duty(profile, device, window),
            between_ps,
            gaps_ps: idle_ps(first, last),
            gaps: Gaps::WindowIndex(first, last),
        }
    }

    fn capture(&self, position: usize, active: Option<(i64, i64)>) -> (i64, i64) {
        let (from, to) = self.captures[position];
        active.map_or((from, to), |active| (from.min(active.0), to.max(active.1)))
    }

    /// Puts the devices together, in the order of the selection.
    pub(super) fn finish(self, devices: Vec<DeviceUsage>) -> Usage {
        let mut hosts = self.selection.devices.iter().map(|d| self.profile.host(d.host));
        let capture_is_recorded = hosts.all(|host| host.capture_ps.is_some());
        Usage { devices, capture_is_recorded, steps_are_marked: self.steps_are_marked }
    }
}

/// The part of the active window of a device that was busy like this which lies in the cut, and the gaps in it. The first and the last
/// op are those of the run, as everywhere: so the parts of a scope add up to the whole.
fn active_and_gaps(busy: &Intervals, cut: &Intervals) -> (Intervals, Intervals) {
    let hull = busy.hull().map_or_else(Intervals::default, |(from, to)| Intervals::one(from, to));
    let active = hull.intersect(cut);
    let gaps = active.minus(busy);
    (active, gaps)
}

/// From the start of a device's capture to its stop, and at least from its first op to its last (`active`): the profiler's
/// stop time can precede the end of the last op.
#[must_use]
pub fn capture_span(profile: &Profile, device: &Device, active: (i64, i64)) -> (i64, i64) {
    let (from, to) = capture(profile, device);
    (from.min(active.0), to.max(active.1))
}

fn capture(profile: &Profile, device: &Device) -> (i64, i64) {
    let host = device.host;
    let all =
        || WindowIndex::of(profile).map_or_else(|| span(profile, host), |kept| kept.span(profile, host));
    profile.host(host).capture_ps.unwrap_or_else(all)
}
