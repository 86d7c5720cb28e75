//! What a host does for input, by stage: calls, time, waiting, and how many batches it could give.
//!
//! A stage's **self time** is the time on a thread in which no other stage runs inside it. Of that it **waits** while a stage
//! that it calls works on another thread; the rest is **work**. Its **wall time** is when at least one thread works in it.
//! Stages that share threads take turns, so that their wall times count together: the group with the longest limits the
//! pipeline.

pub mod analysis;
mod class;
mod collect;
mod work;

pub use class::feeds;
use class::is_worker;
pub use class::{StageClass, StageSource};
pub use work::input_work;

use super::intervals::Intervals;
use haloscope_profile::{HostId, Profile};
use haloscope_report::units;

/// A stage of a host's input pipeline.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Its name: as stated (`_ipl_stage_name`), else the event's.
    pub name: String,
    /// The event's name, as the timeline shows it.
    pub event: String,
    /// What it does.
    pub class: StageClass,
    /// Who says so.
    pub source: StageSource,
    /// Calls that have a part in the time looked at.
    pub calls: u64,
    /// Time in all its calls, picoseconds.
    pub total_ps: i64,
    /// Of that without stages inside it on the same thread.
    pub self_ps: i64,
    /// Of the self time: while a stage that it calls worked on another thread.
    pub waiting_ps: i64,
    /// When at least one thread worked in it.
    pub work: Intervals,
    /// Threads on which it ran.
    pub threads: usize,
    /// The stage that calls it: a position in [`Pipeline::stages`].
    pub called_by: Option<usize>,
    /// Bytes that it moved (`bytes_transferred`), where it says.
    pub bytes: Option<i64>,
    /// Its group in [`Pipeline::groups`].
    pub group: usize,
}

/// The stages of one host.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// The host.
    pub host: HostId,
    /// True if any thread of the host has an event: without, nobody knows what it did.
    pub has_events: bool,
    /// The stages, by most work.
    pub stages: Vec<Stage>,
    /// For each group of stages that share threads, when at least one thread worked in it.
    pub groups: Vec<Intervals>,
}

impl Stage {
    /// Self time that is not waiting, picoseconds, summed over threads.
    #[must_use]
    pub fn work_ps(&self) -> i64 {
        self.self_ps.saturating_sub(self.waiting_ps).max(0)
    }

    /// How many threads worked in it at once, in the mean over its wall time.
    #[must_use]
    pub fn parallelism(&self) -> Option<f64> {
        let wall = self.work.length();
        (wall > 0).then(|| self.work_ps() as f64 / wall as f64)
    }
}

impl Pipeline {
    /// The pipeline of a host in the given time; `None` means all.
    #[must_use]
    pub fn of(profile: &Profile, host: HostId, cut: Option<&Intervals>) -> Self {
        collect::pipeline(profile, host, cut)
    }

    /// The stage that limits the pipeline: of the group with the longest wall time, the one with most work.
    #[must_use]
    pub fn slowest(&self) -> Option<&Stage> {
        let (longest, wall) =
            self.groups.iter().enumerate().max_by_key(|(i, set)| (set.length(), std::cmp::Reverse(*i)))?;
        let own = self.stages.iter().filter(|s| s.group == longest && wall.length() > 0);
        own.max_by_key(|s| (s.work_ps(), std::cmp::Reverse(&s.name)))
    }

    /// How many batches a second a stage gives with its threads as parallel as they were, if it never waits: batches over
    /// the wall time of the stages that share its threads.
    #[must_use]
    pub fn supply(&self, stage: &Stage, batches: f64) -> Option<f64> {
        let wall = self.groups.get(stage.group)?.length();
        (wall > 0 && batches > 0.0).then(|| batches / (wall as f64 / units::PS_PER_S))
    }

    /// When a stage of a class worked.
    #[must_use]
    pub fn work_of(&self, class: StageClass) -> Intervals {
        let own = self.stages.iter().filter(|s| s.class == class);
        Intervals::union_of(own.flat_map(|s| s.work.as_slice().iter().copied()).collect())
    }

    /// When any stage worked.
    #[must_use]
    pub fn work(&self) -> Intervals {
        Intervals::union_of(self.groups.iter().flat_map(|g| g.as_slice().iter().copied()).collect())
    }
}
