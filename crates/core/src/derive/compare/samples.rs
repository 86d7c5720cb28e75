//! What one run gives to be compared: its steps, and what every op, and every way of doing nothing, took in each.

use std::borrow::Cow;

use crate::derive::account::Class;
use crate::derive::op_meta::OpMeta;
use crate::derive::select::Selection;
use crate::derive::steps::{StepClass, StepSource};
use crate::profile::Profile;

/// The samples of one run. Of every step the times of [`RunSamples::ops`] and of [`RunSamples::remainders`] add up to
/// [`StepTime::time_ps`].
#[derive(Debug, Clone)]
pub struct RunSamples<'p> {
    /// The run.
    pub profile: &'p Profile,
    /// The part of it that counts.
    pub selection: Selection<'p>,
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
    /// The mean over the devices, picoseconds.
    pub mean_ps: f64,
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
    /// Executions in a step on a device, mean.
    pub executions: f64,
    /// The least time of one execution by the roofline of the run's devices, picoseconds; `None` where its work or the peaks
    /// are not known.
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

/// Kinds of time that is no op's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// A class without op: waiting for input, between programs, inside of them, a program's own overhead.
    Class(Class),
    /// The slowest device less the mean.
    Devices,
    /// The step by the device's own clock less the step by the run's.
    Clocks,
}
