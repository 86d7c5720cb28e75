//! Steps: where they come from, how long each took on each device, and which of them are usual.

pub mod analysis;

use rustc_hash::FxHashMap;

use super::launches::{self, Launch};
use super::stats::{quantile, robust_deviation};
use crate::window_index::Kept;
use haloscope_profile::{Device, DeviceId, DeviceKind, LineKind, Mark, Profile};
use haloscope_report::scope::Scope;

/// The steps of a run.
#[derive(Debug, Clone)]
pub struct Steps {
    /// How they were found.
    pub source: StepSource,
    /// By start.
    pub rows: Vec<Step>,
}

/// How steps were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepSource {
    /// The devices' `Steps` line.
    DeviceLine,
    /// Host markers (`jax.profiler.StepTraceAnnotation`, TensorFlow's train function): events with stat `step_num`.
    HostMarkers,
    /// No marker: each launch of this module, the one that took most time, begins a step.
    Launches(String),
    /// Neither markers nor repeated launches.
    None,
}

/// What kind of step it is. Statistics leave out [`StepClass::Edge`]; the steady state leaves out all but
/// [`StepClass::Steady`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepClass {
    /// Usual.
    Steady,
    /// At the start, and slower than the usual ones: compilation, caches, first allocation.
    WarmUp,
    /// At the edge of the capture: it may have been cut.
    Edge,
    /// Much slower or faster than the usual ones.
    Outlier,
}

/// One step of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its number: the marker's, else counted from 0.
    pub number: i64,
    /// The marker's name, such as `train`; empty where steps were inferred.
    pub name: String,
    /// What kind of step it is.
    pub class: StepClass,
    /// When it ran on each device.
    pub instances: Vec<StepInstance>,
}

/// A step on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepInstance {
    /// The device.
    pub device: DeviceId,
    /// Start on the run's clock, picoseconds.
    pub start_ps: i64,
    /// End, picoseconds.
    pub end_ps: i64,
    /// How long it took, picoseconds: by the device's own clock where it recorded one.
    pub duration_ps: i64,
}

/// Fewer markers than this are all kept; with as many, the first and the last may have been cut (XProf's rule).
const EDGE_FROM: usize = 6;
/// A step this much off the median, and by as many robust deviations, is not usual.
const OUTLIER_SHARE: f64 = 0.05;
const OUTLIER_DEVIATIONS: f64 = 4.0;
/// At most this many steps at the start are warm-up.
const WARM_UP: usize = 3;

impl StepSource {
    /// How steps were found or why there are none, in words.
    #[must_use]
    pub fn explain(&self) -> String {
        match self {
            Self::DeviceLine => "step markers on the devices' Steps lines".into(),
            Self::HostMarkers => "step markers on the host (events with step_num)".into(),
            Self::Launches(module) => {
                format!("inferred: every launch of {module} begins a step, which lasts until the next")
            }
            Self::None => "no step markers, and no program was launched twice".into(),
        }
    }

    /// True if steps are inferred rather than marked.
    #[must_use]
    pub fn is_inferred(&self) -> bool {
        matches!(self, Self::Launches(_))
    }
}

impl StepClass {
    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::WarmUp => "warm-up",
            Self::Edge => "edge",
            Self::Outlier => "outlier",
        }
    }
}

impl Step {
    /// The step on a device.
    #[must_use]
    pub fn on(&self, device: DeviceId) -> Option<&StepInstance> {
        self.instances.iter().find(|i| i.device == device)
    }

    /// The step's time: that of the slowest device, as XProf counts it, in picoseconds.
    #[must_use]
    pub fn duration_ps(&self) -> i64 {
        self.instances.iter().map(|i| i.duration_ps).max().unwrap_or(0)
    }

    /// Whether a scope takes it: by its number, its class, and any part of it in the window.
    #[must_use]
    pub fn is_in(&self, scope: &Scope) -> bool {
        let in_window = scope
            .window_ps
            .is_none_or(|(from, to)| self.instances.iter().any(|i| i.start_ps < to && i.end_ps > from));
        in_window
            && scope.steps.as_ref().is_none_or(|range| range.contains(self.number))
            && (!scope.steady || self.class == StepClass::Steady)
    }

    /// The earliest start, picoseconds.
    #[must_use]
    pub fn start_ps(&self) -> i64 {
        self.instances.iter().map(|i| i.start_ps).min().unwrap_or(0)
    }
}

impl Steps {
    /// Finds the steps of the given devices: device markers, else host markers, else launches.
    #[must_use]
    pub fn find(profile: &Profile, devices: &[&Device]) -> Self {
        let all =
            || profile.devices.iter().filter(|d| d.active).map(|d| d.id).eq(devices.iter().map(|d| d.id));
        match Kept::of(profile).filter(|_| all()) {
            Some(kept) => kept.steps(profile).clone(),
            None => Self::find_anew(profile, devices),
        }
    }

    pub(super) fn find_anew(profile: &Profile, devices: &[&Device]) -> Self {
        let mut steps = Self::from_device_lines(profile, devices)
            .or_else(|| Self::from_host_markers(profile, devices))
            .or_else(|| Self::from_launches(profile, devices))
            .unwrap_or(Self { source: StepSource::None, rows: Vec::new() });
        steps.classify();
        steps
    }

    /// Times of the steps that statistics are taken over, in picoseconds.
    #[must_use]
    pub fn durations(&self) -> Vec<f64> {
        let counted = self.rows.iter().filter(|s| s.class != StepClass::Edge);
        counted.map(|s| s.duration_ps() as f64).collect()
    }

    fn from_device_lines(profile: &Profile, devices: &[&Device]) -> Option<Self> {
        let mut found = Vec::new();
        for device in devices {
            if device.kind == DeviceKind::Cpu {
                continue;
            }
            let Some(line) = profile.line_of_kind(device.plane, LineKind::Steps) else { continue };
            let plane = profile.plane(device.plane);
            let source = profile.source_of(plane);
            let events = profile.events(line);
            for event in events.iter() {
                let name = plane.meta_label(source, event.meta);
                let number = name.trim().parse().unwrap_or(event.index as i64);
                let measured = events.on_device_clock(event.index);
                found.push((
                    number,
                    String::new(),
                    StepInstance {
                        device: device.id,
                        start_ps: event.start_ps,
                        end_ps: event.end_ps,
                        duration_ps: measured.end_ps - measured.start_ps,
                    },
                ));
            }
        }
        Self::grouped(StepSource::DeviceLine, found)
    }

    fn from_host_markers(profile: &Profile, devices: &[&Device]) -> Option<Self> {
        let mut found = Vec::new();
        for device in devices.iter().filter(|d| d.kind != DeviceKind::Tpu) {
            for plane in profile.planes_of(device.host).filter(|p| !p.kind.is_device()) {
                let Some(step_id) = plane.stat_id("step_num") else { continue };
                let source = profile.source_of(plane);
                for line in profile.lines_of(plane.id) {
                    let events = profile.events(line);
                    for event in events.iter().filter(|e| events.has(e.index, Mark::Step)) {
                        let stat = events.stat(source, event.index, Some(step_id));
                        let Some(number) = stat.and_then(|v| v.as_i64()) else { continue };
                        let instance = StepInstance {
                            device: device.id,
                            start_ps: event.start_ps,
                            end_ps: event.end_ps,
                            duration_ps: event.end_ps - event.start_ps,
                        };
                        found.push((number, plane.meta_label(source, event.meta).into_owned(), instance));
                    }
                }
            }
        }
        Self::grouped(StepSource::HostMarkers, found)
    }

    fn from_launches(profile: &Profile, devices: &[&Device]) -> Option<Self> {
        let all: Vec<(&Device, Vec<Launch>)> =
            devices.iter().map(|d| (*d, launches::of(profile, d))).collect();
        let mut time_by_module: FxHashMap<&str, (i64, usize)> = FxHashMap::default();
        for launch in all.iter().flat_map(|(_, launches)| launches) {
            let entry = time_by_module.entry(&launch.module).or_default();
            entry.0 = entry.0.saturating_add(launch.end_ps - launch.start_ps);
            entry.1 += 1;
        }
        let mut modules: Vec<_> =
            time_by_module.into_iter().filter(|(_, (_, n))| *n >= 2 * all.len()).collect();
        modules.sort_unstable_by_key(|(name, (time, _))| (-time, *name));
        let main = modules.first()?.0.to_owned();
        let mut found = Vec::new();
        for (device, launches) in &all {
            let main: Vec<_> = launches.iter().filter(|l| l.module == main).collect();
            for (i, launch) in main.iter().enumerate() {
                // The last one lasts as long as its program: it counts, because dropping it would lose a step of few.
                let end_ps = main.get(i + 1).map_or(launch.end_ps, |next| next.start_ps.max(launch.start_ps));
                let instance = StepInstance {
                    device: device.id,
                    start_ps: launch.start_ps,
                    end_ps,
                    duration_ps: end_ps - launch.start_ps,
                };
                found.push((i as i64, String::new(), instance));
            }
        }
        Self::grouped(StepSource::Launches(main), found)
    }

    /// Puts the instances of one step on several devices together.
    fn grouped(source: StepSource, found: Vec<(i64, String, StepInstance)>) -> Option<Self> {
        if found.is_empty() {
            return None;
        }
        let mut rows: Vec<Step> = Vec::new();
        let mut row_of: FxHashMap<(i64, String), usize> = FxHashMap::default();
        for (number, name, instance) in found {
            let row = *row_of.entry((number, name.clone())).or_insert_with(|| {
                rows.push(Step { number, name, class: StepClass::Steady, instances: Vec::new() });
                rows.len() - 1
            });
            let instances = &mut rows[row].instances;
            match instances.iter_mut().find(|i| i.device == instance.device) {
                // The profiler may split a step in parts: they are one, from the first start to the last end.
                Some(part) => {
                    part.end_ps = part.end_ps.max(instance.end_ps);
                    part.start_ps = part.start_ps.min(instance.start_ps);
                    part.duration_ps = part.end_ps - part.start_ps;
                }
                None => instances.push(instance),
            }
        }
        rows.sort_by_key(|step| (step.start_ps(), step.number));
        Some(Self { source, rows })
    }

    fn classify(&mut self) {
        let count = self.rows.len();
        if self.source == StepSource::HostMarkers && count >= EDGE_FROM {
            self.rows[0].class = StepClass::Edge;
            self.rows[count - 1].class = StepClass::Edge;
        }
        let samples = self.durations();
        if samples.len() < 3 {
            return;
        }
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let median = quantile(&sorted, 0.5);
        let limit = (OUTLIER_SHARE * median).max(OUTLIER_DEVIATIONS * robust_deviation(&samples, median));
        let mut warming = true;
        for (position, step) in self.rows.iter_mut().filter(|s| s.class != StepClass::Edge).enumerate() {
            let off = step.duration_ps() as f64 - median;
            warming &= position < WARM_UP && off > limit;
            if warming {
                step.class = StepClass::WarmUp;
            } else if off.abs() > limit {
                step.class = StepClass::Outlier;
            }
        }
    }
}
