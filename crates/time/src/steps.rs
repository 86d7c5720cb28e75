//! Steps: where they come from, how long each took on each device, and which of them are usual.

pub mod analysis;
pub mod op_factors;
pub mod series;

use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::busy;
use super::called;
use super::caused::{Causes, Marker};
use super::intervals::Intervals;
use super::launches::{self, Launch};
use super::stats::{quantile, robust_deviation};
use haloscope_profile::{Device, DeviceId, DeviceKind, HostId, LineKind, Mark, Profile, filled};
use haloscope_report::scope::Scope;
use haloscope_report::units;

/// The steps of a run.
#[derive(Debug, Clone)]
pub struct Steps {
    /// How they were found.
    pub source: StepSource,
    /// By start.
    pub rows: Vec<Step>,
}

/// Filled on first use.
#[derive(Debug, Default)]
struct Kept(OnceLock<Steps>);

/// How steps were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepSource {
    /// The devices' `Steps` line.
    DeviceLine,
    /// Host markers (`jax.profiler.StepTraceAnnotation`, TensorFlow's train function): events with stat `step_num`.
    HostMarkers,
    /// The same of hosts that launch asynchronously: on a GPU or CPU a step lasts until the work is done that its marker launched.
    Caused,
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
/// Of as many inferred steps, the first and the last do not count if their programs were cut: if they are shorter than usual.
const INFERRED_EDGE_FROM: usize = 3;
/// Programs that take less than this of the time of all take no part in a step's pattern.
const PROGRAM_SHARE: f64 = 0.002;
/// A pattern of programs is at most so long, and is met at least so often.
const LONGEST_PATTERN: usize = 512;
const FEWEST_PATTERNS: usize = 3;
/// A step this much off the median, and by as many robust deviations, is not usual.
const OUTLIER_SHARE: f64 = 0.05;
const OUTLIER_DEVIATIONS: f64 = 4.0;
/// Markers that hold less of a device's busy time, of which nobody knows what they launched, say nothing of its steps.
const MOST_INSIDE: f64 = 0.5;
/// Where markers hold so much of a CPU's busy time, its steps are as long as they are.
const ALL_INSIDE: f64 = 0.95;
/// At most this many steps at the start are warm-up.
const WARM_UP: usize = 3;

impl StepSource {
    /// How steps were found or why there are none, in words.
    #[must_use]
    pub fn explain(&self) -> String {
        match self {
            Self::DeviceLine => "step markers on the devices' Steps lines".into(),
            Self::HostMarkers => "step markers on the host (events with step_num)".into(),
            Self::Caused => {
                "step markers on the host (events with step_num), each until its work is done".into()
            }
            Self::Launches(module) => {
                format!("inferred: every launch of {module} begins a step, which lasts until the next one")
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
        let kept = if all() { Self::kept(profile) } else { None };
        kept.map_or_else(|| Self::find_anew(profile, devices), Self::clone)
    }

    /// The steps of all devices that have events, kept for the next question; `None` where only one is asked of the run.
    #[must_use]
    pub fn kept(profile: &Profile) -> Option<&Self> {
        let Kept(cell) = profile.memo(|_| Kept::default())?;
        Some(filled(cell, || {
            let devices: Vec<&Device> = profile.devices.iter().filter(|d| d.active).collect();
            Self::find_anew(profile, &devices)
        }))
    }

    fn find_anew(profile: &Profile, devices: &[&Device]) -> Self {
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
        let (mut outlived, mut is_doubtful) = (false, false);
        let marked: Vec<&Device> = devices.iter().copied().filter(|d| d.kind != DeviceKind::Tpu).collect();
        for devices in marked.chunk_by(|a, b| a.host == b.host) {
            let markers = markers(profile, devices[0].host);
            let gpus: Vec<&Device> = devices.iter().copied().filter(|d| d.kind == DeviceKind::Gpu).collect();
            let causes = if gpus.is_empty() { None } else { Causes::of(profile, gpus[0].host, &markers) };
            let known = causes.and_then(|causes| causes.spans(profile, &gpus, &markers));
            for device in devices {
                let own = known.as_ref().zip(gpus.iter().position(|gpu| gpu.id == device.id));
                let own = own.map(|(known, at)| known[at].clone()).or_else(|| {
                    let is_worth_it = device.kind == DeviceKind::Cpu
                        && !markers.is_empty()
                        && covered(profile, device, &markers) < ALL_INSIDE;
                    if is_worth_it { called::steps(profile, device, &markers) } else { None }
                });
                let spans = own.unwrap_or_else(|| {
                    is_doubtful |= !markers.is_empty() && covered(profile, device, &markers) < MOST_INSIDE;
                    markers.iter().map(|m| Some((m.start_ps, m.end_ps))).collect()
                });
                for (marker, span) in markers.iter().zip(spans) {
                    let Some((start_ps, end_ps)) = span else { continue };
                    outlived |= end_ps > marker.end_ps;
                    let duration_ps = end_ps - start_ps;
                    let instance = StepInstance { device: device.id, start_ps, end_ps, duration_ps };
                    found.push((marker.number, marker.name.clone(), instance));
                }
            }
        }
        if is_doubtful && let Some(launched) = Self::from_launches(profile, devices) {
            return Some(launched);
        }
        Self::grouped(if outlived { StepSource::Caused } else { StepSource::HostMarkers }, found)
    }

    /// The steps that launches alone say; `None` where no program was launched twice on a device.
    #[must_use]
    pub fn from_launches(profile: &Profile, devices: &[&Device]) -> Option<Self> {
        let all: Vec<(&Device, Vec<Launch>)> =
            devices.iter().map(|d| (*d, launches::of(profile, d))).collect();
        // Programs of one name are told apart: one that was compiled for another shape is another program.
        let each = || all.iter().flat_map(|(_, launches)| launches);
        let anew = compiled_anew(each(), all.len());
        let mut time_of: FxHashMap<Program<'_>, (i64, usize)> = FxHashMap::default();
        for launch in each() {
            let entry = time_of.entry(program(launch, &anew)).or_default();
            entry.0 = entry.0.saturating_add(launch.end_ps - launch.start_ps);
            entry.1 += 1;
        }
        let mut programs: Vec<_> = time_of.into_iter().filter(|(_, (_, n))| *n >= 2 * all.len()).collect();
        programs.sort_unstable_by_key(|(program, (time, _))| (-time, *program));
        // Programs that take no time to speak of may run whenever they like.
        let total = units::sum(programs.iter().map(|(_, (time, _))| *time)) as f64;
        programs.retain(|(_, (time, _))| *time as f64 >= PROGRAM_SHARE * total);
        let most = programs.iter().map(|(_, (_, count))| *count).max().unwrap_or(0);
        let looks_on = |(program, (_, count)): &(Program<'_>, (i64, usize))| {
            2 * count <= most && program.1.is_some_and(|id| returns_little(profile, id))
        };
        // Programs that only look on now and then, such as a validation, make no step; nor do they begin one.
        if !programs.iter().all(looks_on) {
            programs.retain(|program| !looks_on(program));
        }
        let main = programs.first()?.0;
        let counted: FxHashSet<Program<'_>> = programs.iter().map(|(program, _)| *program).collect();
        let (mut found, mut cut) = (Vec::new(), Vec::new());
        for (device, launches) in &all {
            let counted: Vec<_> = launches.iter().filter(|l| counted.contains(&program(l, &anew))).collect();
            let (begins, round) = beginnings(&counted, main, &anew);
            // From the first launch of a round to the end of its last.
            let last_of = |begin: usize| counted.len().min(begin + round);
            let end_of = |begin: usize| counted[begin..last_of(begin)].iter().map(|l| l.end_ps).max();
            let length =
                |begin: &usize| end_of(*begin).map_or(0, |end| end - counted[*begin].start_ps) as f64;
            let lengths: Vec<f64> = begins.iter().map(length).collect();
            // A program that the capture cut is shorter than all that it did not.
            let whole = lengths.get(1..lengths.len().saturating_sub(1)).unwrap_or_default();
            let shortest = whole.iter().copied().fold(f64::INFINITY, f64::min);
            let may_be_cut = device.kind != DeviceKind::Cpu && begins.len() >= INFERRED_EDGE_FROM;
            for (i, begin) in begins.iter().enumerate() {
                let launch = counted[*begin];
                // A step ends with the next one, or where programs begin that come round with none. The last one lasts as
                // long as its programs.
                let next = begins.get(i + 1).map(|next| *next.min(&(begin + round)));
                let end_ps = next.map_or_else(|| end_of(*begin), |next| Some(counted[next].start_ps));
                let end_ps = end_ps.unwrap_or(launch.end_ps).max(launch.start_ps);
                let is_at_edge = i == 0 || i + 1 == begins.len();
                let is_cut = lengths[i] < (1.0 - OUTLIER_SHARE) * shortest || begin + round > counted.len();
                if may_be_cut && is_at_edge && is_cut {
                    cut.push(i as i64);
                }
                let instance = StepInstance {
                    device: device.id,
                    start_ps: launch.start_ps,
                    end_ps,
                    duration_ps: end_ps - launch.start_ps,
                };
                found.push((i as i64, String::new(), instance));
            }
        }
        let main = main.0.to_owned();
        let mut steps = Self::grouped(StepSource::Launches(main), found)?;
        for step in steps.rows.iter_mut().filter(|s| cut.contains(&s.number)) {
            step.class = StepClass::Edge;
        }
        Some(steps)
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
        if matches!(self.source, StepSource::HostMarkers | StepSource::Caused) && count >= EDGE_FROM {
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

/// The step markers of a host's threads, by thread and start.
fn markers(profile: &Profile, host: HostId) -> Vec<Marker> {
    let mut found = Vec::new();
    for plane in profile.planes_of(host).filter(|p| !p.kind.is_device()) {
        let Some(step_id) = plane.stat_id("step_num") else { continue };
        let source = profile.source_of(plane);
        for line in profile.lines_of(plane.id) {
            let events = profile.events(line);
            for event in events.iter().filter(|e| events.has(e.index, Mark::Step)) {
                let stat = events.stat(source, event.index, Some(step_id));
                let Some(number) = stat.and_then(|v| v.as_i64()) else { continue };
                found.push(Marker {
                    line: line.id,
                    row: event.index,
                    number,
                    name: plane.meta_label(source, event.meta).into_owned(),
                    start_ps: event.start_ps,
                    end_ps: event.end_ps,
                });
            }
        }
    }
    found
}

/// The share of the time in which a device was busy that lies inside of markers; 1 where it was not.
fn covered(profile: &Profile, device: &Device, markers: &[Marker]) -> f64 {
    let busy = busy::intervals(profile, device);
    let marked = Intervals::union_of(markers.iter().map(|m| (m.start_ps, m.end_ps)).collect());
    match busy.length() {
        0 => 1.0,
        all => busy.intersect(&marked).length() as f64 / all as f64,
    }
}

/// A program by its name and id; by its name alone where it is compiled anew all the time.
type Program<'a> = (&'a str, Option<u64>);

fn program<'a>(launch: &'a Launch, anew: &FxHashSet<&str>) -> Program<'a> {
    let id = launch.program_id.filter(|_| !anew.contains(launch.module.as_str()));
    (&launch.module, id)
}

/// A program that returns less than this part of the bytes that it takes changes no state: it computes a loss, a metric.
const LITTLE: f64 = 0.01;

/// Whether a program, where the profile has it, returns next to nothing of what it takes.
fn returns_little(profile: &Profile, program_id: u64) -> bool {
    let entry = profile.modules.iter().find(|module| module.program_id == Some(program_id));
    let Some(decoded) = entry.and_then(|entry| entry.decode(profile).ok()) else { return false };
    let entry = decoded.module.computation(decoded.module.entry());
    let bytes = |index| decoded.module.instruction(index).shape.bytes().map(|bytes| bytes as f64);
    let taken: Option<f64> = entry.parameters().iter().map(|index| bytes(*index)).sum();
    taken.zip(bytes(entry.root)).is_some_and(|(taken, returned)| returned < LITTLE * taken)
}

/// The names of which there are many programs and none that a device launched more than twice: functions that are compiled anew
/// from step to step, for new shapes or because they are made anew. What does the same in each step has another id there.
fn compiled_anew<'a>(launches: impl Iterator<Item = &'a Launch>, devices: usize) -> FxHashSet<&'a str> {
    let mut launched: FxHashMap<&str, FxHashMap<u64, usize>> = FxHashMap::default();
    for launch in launches {
        let Some(id) = launch.program_id else { continue };
        *launched.entry(&launch.module).or_default().entry(id).or_default() += 1;
    }
    let is_anew = |of: &FxHashMap<u64, usize>| {
        of.len() >= FEWEST_PATTERNS && of.values().all(|count| *count < FEWEST_PATTERNS * devices)
    };
    launched.into_iter().filter(|(_, of)| is_anew(of)).map(|(name, _)| name).collect()
}

/// The launches that begin steps, and how many launches a step has at most. Steps begin with those of the main program; where a
/// pattern of several programs comes round in which it is launched several times, as when gradients are accumulated, with the
/// one of each round that comes after another program.
fn beginnings(launches: &[&Launch], main: Program<'_>, anew: &FxHashSet<&str>) -> (Vec<usize>, usize) {
    // Programs as numbers: each launch is compared with many others.
    let mut numbers: FxHashMap<Program<'_>, usize> = FxHashMap::default();
    let mut own = Vec::with_capacity(launches.len());
    for launch in launches {
        let next = numbers.len();
        own.push(*numbers.entry(program(launch, anew)).or_insert(next));
    }
    let main = numbers.get(&main).copied();
    let of = |at: usize| own[at];
    let is_main = |at: &usize| Some(of(*at)) == main;
    // A step has as many launches as there are most often from one of the main program to the next.
    let every = || {
        let begins: Vec<usize> = (0..launches.len()).filter(is_main).collect();
        let mut rounds: Vec<usize> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
        rounds.sort_unstable();
        let usual = rounds.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map_or(1, |same| same[0]);
        (begins, usual)
    };
    // How many of the launches before each are not of the main program.
    let beside = (0..launches.len()).scan(0, |count, at| {
        let before = *count;
        *count += usize::from(!is_main(&at));
        Some(before)
    });
    let beside: Vec<usize> = beside.collect();
    // Nine of ten come round, and of those that are not of the main program too: many of one in a row come round after any number.
    let fits = |period: usize| {
        let pairs = launches.len() - period;
        let differs = |at: &usize| of(*at) != of(at + period);
        let few = |all: usize, others: &mut dyn Iterator<Item = usize>| {
            10 * others.take(all / 10 + 1).count() <= all
        };
        few(pairs, &mut (0..pairs).filter(differs))
            && few(beside[pairs], &mut (0..pairs).filter(|at| !is_main(at) && differs(at)))
    };
    let longest = LONGEST_PATTERN.min(launches.len() / FEWEST_PATTERNS);
    let Some(period) = (1..=longest).find(|period| fits(*period)) else { return every() };
    let in_a_round = (0..period).filter(is_main).count();
    if in_a_round < 2 || in_a_round == period {
        return every();
    }
    // Of the places in the round where the main program follows another, the one with the longest gaps before it.
    let gap = |at: usize| launches[at].start_ps - launches[at - 1].end_ps;
    let rounds = |phase: usize| (phase..launches.len()).step_by(period).filter(|at| *at > 0);
    let begins = |phase: &usize| rounds(*phase).next().is_some_and(|at| is_main(&at) && !is_main(&(at - 1)));
    let gaps = |phase: &usize| units::sum(rounds(*phase).map(gap)) / rounds(*phase).count().max(1) as i64;
    let phase = (0..period).filter(begins).max_by_key(|phase| (gaps(phase), std::cmp::Reverse(*phase)));
    let Some(phase) = phase else { return every() };
    let begins = |at: &usize| {
        let left = launches.len() - at;
        let fits = || (0..period.min(left)).all(|i| of(at + i) == of(phase + i));
        is_main(at) && (*at == 0 || left >= period || !is_main(&(at - 1))) && fits()
    };
    ((0..launches.len()).filter(begins).collect(), period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launches(words: &str) -> Vec<Launch> {
        let one = |(at, name): (i64, char)| Launch {
            program_id: None,
            module: name.to_string(),
            start_ps: 10 * at,
            end_ps: 10 * at + if name == 'a' { 8 } else { 5 },
        };
        (0..).zip(words.chars()).map(one).collect()
    }

    fn begin_at(words: &str) -> (Vec<usize>, usize) {
        let all = launches(words);
        let all: Vec<&Launch> = all.iter().collect();
        beginnings(&all, ("a", None), &FxHashSet::default())
    }

    #[test]
    fn every_launch_of_the_main_program_begins_a_step() {
        assert_eq!(begin_at("aaaa"), (vec![0, 1, 2, 3], 1));
        assert_eq!(begin_at("abababab"), (vec![0, 2, 4, 6], 2));
        assert_eq!(begin_at("aabcaacb").0, [0, 1, 4, 5], "no pattern");
    }

    #[test]
    fn a_program_launched_several_times_a_step() {
        assert_eq!(begin_at("aaabaaabaaab"), (vec![0, 4, 8], 4));
        // The capture begins and ends inside of a step.
        assert_eq!(begin_at("abaaabaaabaaabaa"), (vec![2, 6, 10, 14], 4));
    }

    #[test]
    fn a_program_that_does_not_come_round_ends_a_step() {
        let (begins, round) = begin_at("ababeabab");
        assert_eq!((begins, round), (vec![0, 2, 5, 7], 2), "the step of launch 2 ends where launch 4 begins");
    }

    #[test]
    fn a_function_compiled_anew_in_each_step_is_one_program() {
        // Each round has another shape: `a` and `b` have other ids in each, `b` runs twice.
        let mut all = launches("bbabbabbabba");
        for (at, launch) in all.iter_mut().enumerate() {
            launch.program_id = Some(10 * (at as u64 / 3) + u64::from(launch.module == "a"));
        }
        let anew = compiled_anew(all.iter(), 1);
        let mut names: Vec<&str> = anew.iter().copied().collect();
        names.sort_unstable();
        assert_eq!(names, ["a", "b"]);
        let every: Vec<&Launch> = all.iter().collect();
        assert_eq!(beginnings(&every, ("a", None), &anew), (vec![2, 5, 8, 11], 3));
        // Two variants that are launched again and again are two programs.
        for (at, launch) in all.iter_mut().enumerate() {
            launch.program_id = Some(at as u64 % 2);
        }
        assert!(compiled_anew(all.iter(), 1).is_empty());
    }
}
