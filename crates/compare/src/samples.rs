//! What one run gives to be compared: its steps, and what every op, and every way of doing nothing, took in each.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};

use super::device_samples::{DeviceSamples, Rest, Windows};
use haloscope_profile::{Device, Peaks, Profile};
use haloscope_report::Error;
use haloscope_report::stop;
use haloscope_report::{Notes, Severity};
use haloscope_time::account::{self, Account, Class};
use haloscope_time::op_meta::{OpMeta, is_async_collective, is_asynchronous, is_collective, is_container};
use haloscope_time::roofline::Work;
use haloscope_time::select::{Scoped, Selection};
use haloscope_time::stats::{self, Summary};
use haloscope_time::steps::{Step, StepClass, StepInstance, StepSource, Steps};
use haloscope_time::{busy, fix, quality};

/// The samples of one run. Of every step the times of [`RunSamples::ops`] and of [`RunSamples::remainders`] add up to
/// [`StepTime::time_ps`].
#[derive(Debug, Clone)]
pub struct RunSamples<'p> {
    /// The run.
    pub profile: &'p Profile,
    /// The part of it that counts.
    pub selection: Selection<'p>,
    /// The peak rates that its devices share.
    pub peaks: Peaks,
    /// How steps were found. Without any, the active window stands for one.
    pub source: StepSource,
    /// The steps that statistics are taken over (all but those at the edge of the capture), by start.
    pub steps: Vec<StepTime>,
    /// The ops that ran in them, largest time first.
    pub ops: Vec<SampledOp<'p>>,
    /// What is left of the steps without ops.
    pub remainders: Vec<Remainder>,
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    /// Its number.
    pub number: i64,
    /// What kind of step it is.
    pub class: StepClass,
    /// Its time as `overview` counts it, that of the slowest device, picoseconds.
    pub time_ps: f64,
    /// The mean over the devices, on the run's clock, picoseconds.
    pub mean_ps: f64,
    /// Steps of one kind run the same program for most of their time; kinds of two runs that are equal are the same.
    pub kind: u64,
    /// A program runs in it for most of its time that no step before it ran: it was compiled or loaded then.
    pub is_new_program: bool,
}

/// An op of a run with what it took in each step.
#[derive(Debug, Clone)]
pub struct SampledOp<'p> {
    /// What the profile says of it. FLOPs and bytes are those of one execution.
    pub meta: OpMeta<'p>,
    /// The name of its program; empty where it is not known.
    pub module: Cow<'p, str>,
    /// What its time counts as.
    pub class: Class,
    /// For each step the time in which it was the innermost op, mean over the devices, picoseconds.
    pub step_ps: Vec<f64>,
    /// Executions in a step on a device, mean. One that is partly in a step counts by its share of time.
    pub executions: f64,
    /// The least time of one execution by the roofline of the run's devices, picoseconds; `None` where its work or the peaks
    /// are not known, and for ops whose time has nothing to do with the roofline.
    pub least_ps: Option<f64>,
}

/// Time of the steps that is no op's.
#[derive(Debug, Clone, PartialEq)]
pub struct Remainder {
    /// What it is.
    pub what: Rest,
    /// For each step its time, mean over the devices, picoseconds; may be negative for [`Rest::Clocks`].
    pub step_ps: Vec<f64>,
}

impl<'p> RunSamples<'p> {
    /// Takes the samples of a run.
    ///
    /// # Errors
    /// [`Error::Usage`] for a scope that names what the run does not have, [`Error::Nothing`] where no op ran in the scope,
    /// or no step of it counts.
    pub fn of(asked: &Scoped<'p>, notes: &mut Notes) -> Result<Self, Error> {
        let (profile, scope) = (asked.profile, &asked.scope);
        let selection = asked.selection()?.clone();
        let mut steps = Steps::find(profile, &selection.devices);
        quality::steps(profile, &steps, notes);
        if steps.rows.is_empty() {
            notes.add(
                "active_window_is_the_step",
                Severity::Info,
                "the run has no steps: its time from the first op to the last counts as one",
                "there is only one sample of each time, so a difference cannot be told from noise",
                fix::MARK_STEPS.for_run(profile),
            );
            steps.rows.extend(active_window(profile, &selection));
            if steps.rows.is_empty() {
                return Err(quality::no_ops(profile, &selection));
            }
        } else {
            steps.rows.retain(|step| step.is_in(scope) && step.class != StepClass::Edge);
            if steps.rows.is_empty() {
                return Err(Error::Nothing(
                    "no step in the scope counts; widen the steps or the window".into(),
                ));
            }
        }
        let accounts = account::of_selection(profile, &selection);
        let of_device = |(device, account): (&&'p Device, &Option<Account>)| {
            let windows = Windows::of(&steps.rows, device.id);
            DeviceSamples::of(profile, device, account.as_ref(), &windows, |name| {
                selection.takes_module(name)
            })
        };
        let parts: Vec<DeviceSamples<'p>> =
            selection.devices.par_iter().zip(&accounts).map(stop::carried(of_device)).collect();
        if parts.iter().all(|part| part.ops.is_empty()) {
            return Err(quality::no_ops(profile, &selection));
        }
        let peaks = selection.peaks();
        let mut times: Vec<StepTime> = steps.rows.iter().map(step_time).collect();
        let counts: Vec<usize> = steps.rows.iter().map(|step| step.instances.len()).collect();
        let mut remainders = remainders(&parts, &counts);
        remainders.extend(beyond_the_mean(&steps.rows));
        remainders.retain(|rest| rest.step_ps.iter().any(|ps| *ps != 0.0));
        let ops = together(parts, &counts, &peaks);
        for (at, step) in times.iter_mut().enumerate() {
            step.kind = kind(&ops, at);
        }
        for at in first_of_programs(&ops, times.len()) {
            times[at].is_new_program = true;
        }
        Ok(Self { profile, selection, peaks, source: steps.source, steps: times, ops, remainders })
    }

    /// The times of the steps, as `overview` counts them, picoseconds.
    #[must_use]
    pub fn step_times(&self) -> Vec<f64> {
        self.steps.iter().map(|step| step.time_ps).collect()
    }

    /// The mean step time: the `step_time_mean_ps` of `overview`; of a run without steps, its active window.
    #[must_use]
    pub fn mean_ps(&self) -> f64 {
        Summary::of(&self.step_times()).map_or(0.0, |summary| summary.mean)
    }

    /// Whether the run has steps, marked or inferred.
    #[must_use]
    pub fn has_steps(&self) -> bool {
        self.source != StepSource::None
    }

    /// The time of a step that is no op's, mean over the steps, picoseconds; 0 for a kind that the run has none of.
    #[must_use]
    pub fn rest_ps(&self, what: Rest) -> f64 {
        self.remainders.iter().find(|rest| rest.what == what).map_or(0.0, |rest| mean(&rest.step_ps))
    }
}

impl SampledOp<'_> {
    /// Its time in a step, mean, picoseconds.
    #[must_use]
    pub fn mean_ps(&self) -> f64 {
        mean(&self.step_ps)
    }
}

/// The least time of one execution of an op on devices with these peaks, picoseconds. `None` for what the roofline says nothing
/// about: loops, whose work is that of the ops inside, asynchronous ops, collectives; and where a number is missing.
#[must_use]
pub fn least_ps(meta: &OpMeta<'_>, peaks: &Peaks) -> Option<f64> {
    let outside = is_container(&meta.category)
        || is_asynchronous(&meta.category)
        || is_async_collective(&meta.name)
        || is_collective(&meta.category, &meta.name);
    let work = Work { time_ps: 0.0, flops: meta.flops, hbm_bytes: meta.hbm_bytes };
    let limits = work.against(peaks);
    limits.compute_ps.zip(limits.memory_ps).map(|(c, m)| c.max(m)).filter(|least| !outside && *least > 0.0)
}

/// The mean over steps; 0 of none, as an op that a run does not have takes no time there.
#[must_use]
pub fn mean(samples: &[f64]) -> f64 {
    stats::mean(samples).unwrap_or(0.0)
}

/// One step from the first op to the last; none where no op ran.
fn active_window(profile: &Profile, selection: &Selection<'_>) -> Option<Step> {
    let instance = |(position, device): (usize, &&Device)| {
        let busy = busy::intervals(profile, device);
        let busy = selection.window(position).map_or_else(|| busy.clone(), |cut| busy.intersect(cut));
        let (start_ps, end_ps) = busy.hull()?;
        Some(StepInstance { device: device.id, start_ps, end_ps, duration_ps: end_ps - start_ps })
    };
    let instances: Vec<StepInstance> = selection.devices.iter().enumerate().filter_map(instance).collect();
    let step = Step { number: 0, name: String::new(), class: StepClass::Steady, instances };
    (!step.instances.is_empty()).then_some(step)
}

/// A program that has more than this of a step's op time says of what kind the step is.
const MOST_OF_A_STEP: f64 = 0.6;

/// The kind of the step at this place: the program that has most of its op time, by name, as a new compilation has another id;
/// 0 where none has.
fn kind(ops: &[SampledOp<'_>], at: usize) -> u64 {
    let mut programs: Vec<(&str, f64)> = Vec::new();
    for op in ops {
        let (name, ps) = (name_of(&op.module), op.step_ps.get(at).copied().unwrap_or(0.0));
        match programs.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += ps,
            None => programs.push((name, ps)),
        }
    }
    let all: f64 = programs.iter().map(|(_, ps)| ps).sum();
    let most = programs.iter().find(|(_, ps)| *ps > MOST_OF_A_STEP * all);
    most.map_or(0, |(name, _)| {
        let mut hasher = FxHasher::default();
        name.hash(&mut hasher);
        hasher.finish()
    })
}

/// The steps, but for the first, in which a program has most of the op time that no step before ran. By id: a new compilation
/// has another one.
fn first_of_programs(ops: &[SampledOp<'_>], steps: usize) -> Vec<usize> {
    let mut programs: Vec<(u64, Vec<f64>)> = Vec::new();
    for op in ops {
        let Some(id) = op.meta.program_id else { continue };
        let row = programs.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            programs.push((id, vec![0.0; steps]));
            programs.len() - 1
        });
        for (sum, ps) in programs[row].1.iter_mut().zip(&op.step_ps) {
            *sum += ps;
        }
    }
    let all = |at: usize| ops.iter().filter_map(|op| op.step_ps.get(at)).sum::<f64>();
    let mut found: Vec<usize> = programs
        .iter()
        .filter_map(|(_, times)| times.iter().position(|ps| *ps > 0.0).map(|at| (at, times[at])))
        .filter(|(at, ps)| *at > 0 && *ps > MOST_OF_A_STEP * all(*at))
        .map(|(at, _)| at)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A program's name without its id.
fn name_of(module: &str) -> &str {
    module.split('(').next().unwrap_or_default()
}

fn placed_ps(instance: &StepInstance) -> i64 {
    instance.end_ps - instance.start_ps
}

fn step_time(step: &Step) -> StepTime {
    let lengths: Vec<f64> = step.instances.iter().map(|i| placed_ps(i) as f64).collect();
    StepTime {
        number: step.number,
        class: step.class,
        time_ps: step.duration_ps() as f64,
        mean_ps: mean(&lengths),
        kind: 0,
        is_new_program: false,
    }
}

/// How far the step's time is from the mean over the devices on the run's clock, in two parts.
fn beyond_the_mean(steps: &[Step]) -> [Remainder; 2] {
    let slowest = |step: &Step| {
        let slowest = step.instances.iter().max_by_key(|i| (i.duration_ps, std::cmp::Reverse(i.device)));
        slowest.map_or(0, placed_ps) as f64
    };
    let devices = |step: &Step| slowest(step) - step_time(step).mean_ps;
    let clocks = |step: &Step| step.duration_ps() as f64 - slowest(step);
    [
        Remainder { what: Rest::Devices, step_ps: steps.iter().map(devices).collect() },
        Remainder { what: Rest::Clocks, step_ps: steps.iter().map(clocks).collect() },
    ]
}

fn remainders(parts: &[DeviceSamples<'_>], counts: &[usize]) -> Vec<Remainder> {
    let mut sums: Vec<(Rest, Vec<i64>)> = Vec::new();
    for (what, times) in parts.iter().flat_map(|part| &part.rest) {
        let row = sums.iter().position(|(known, _)| known == what).unwrap_or_else(|| {
            sums.push((*what, vec![0; counts.len()]));
            sums.len() - 1
        });
        add(&mut sums[row].1, times);
    }
    sums.into_iter().map(|(what, sums)| Remainder { what, step_ps: means(&sums, counts) }).collect()
}

/// Puts the ops of all devices together.
fn together<'p>(parts: Vec<DeviceSamples<'p>>, counts: &[usize], peaks: &Peaks) -> Vec<SampledOp<'p>> {
    let mut ops: Vec<(SampledOp<'p>, Vec<i64>)> = Vec::new();
    let mut row_of: FxHashMap<(Option<u64>, Cow<'p, str>), usize> = FxHashMap::default();
    for op in parts.into_iter().flat_map(|part| part.ops) {
        // A device in a step counts as much as the others in it, and each step as much as the others.
        let shares = op.executions.iter().zip(counts).map(|(n, devices)| n / (*devices).max(1) as f64);
        let executions = shares.sum::<f64>() / counts.len().max(1) as f64;
        let row = *row_of.entry((op.meta.program_id, op.meta.name.clone())).or_insert(ops.len());
        if let Some((known, sums)) = ops.get_mut(row) {
            known.executions += executions;
            add(sums, &op.step_ps);
        } else {
            let least_ps = least_ps(&op.meta, peaks);
            let class = op.class;
            let sampled = SampledOp {
                meta: op.meta,
                module: op.module,
                class,
                step_ps: Vec::new(),
                executions,
                least_ps,
            };
            ops.push((sampled, op.step_ps));
        }
    }
    let finish = |(op, sums): (SampledOp<'p>, Vec<i64>)| SampledOp {
        step_ps: means(&sums, counts),
        // Sums of shares carry the rounding of floating point; what is left is a count.
        executions: (op.executions * 1e9).round() / 1e9,
        ..op
    };
    let mut ops: Vec<(SampledOp<'p>, f64)> =
        ops.into_iter().map(finish).map(|op| (op.mean_ps(), op)).map(|(ps, op)| (op, ps)).collect();
    ops.sort_by(|(a, a_ps), (b, b_ps)| {
        let key = |op: &SampledOp<'p>| (op.meta.name.clone(), op.meta.program_id);
        b_ps.total_cmp(a_ps).then_with(|| key(a).cmp(&key(b)))
    });
    ops.into_iter().map(|(op, _)| op).collect()
}

fn add(into: &mut [i64], more: &[i64]) {
    for (sum, ps) in into.iter_mut().zip(more) {
        *sum = sum.saturating_add(*ps);
    }
}

fn means(sums: &[i64], counts: &[usize]) -> Vec<f64> {
    sums.iter().zip(counts).map(|(sum, count)| *sum as f64 / (*count).max(1) as f64).collect()
}
