//! What rules look at.

use haloscope_hlo::Module;

use crate::allocator;
use crate::attribution::{Attributed, Attribution, Phase, Totals, op_name};
use crate::capacity;
use crate::program_memory::Group;
use haloscope_profile::{HostId, Profile};
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_time::fix::{Fix, WrittenIn};

/// Memory of the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Capacity {
    pub(super) bytes: i64,
    /// Who says so.
    pub(super) source: String,
}

/// What the rules look at.
pub(super) struct Context<'a, 'm> {
    pub(super) attribution: &'a Attribution<'a, 'm>,
    pub(super) totals: Totals,
    pub(super) capacity: Option<Capacity>,
    /// The largest share of free memory in pieces that an allocator reported, with its name.
    pub(super) runtime_fragmentation: Option<(String, f64)>,
    /// For each heap event the pass of the instruction whose buffer it is about.
    pub(super) phases: Vec<Option<Phase>>,
    /// The framework, whose words cures are said in.
    pub(super) written_in: WrittenIn,
}

impl<'a, 'm> Context<'a, 'm> {
    pub(super) fn new(
        attribution: &'a Attribution<'a, 'm>,
        totals: Totals,
        capacity: Option<Capacity>,
        runtime_fragmentation: Option<(String, f64)>,
        written_in: WrittenIn,
    ) -> Self {
        let phases = Vec::new();
        let mut this = Self { attribution, totals, capacity, runtime_fragmentation, phases, written_in };
        if this.is_training() == Some(true) {
            this.phases = this.phases_of_events();
        }
        this
    }

    /// What to try, in the words of the framework.
    pub(super) fn fix(&self, fix: &Fix) -> String {
        fix.for_framework(self.written_in).to_owned()
    }

    pub(super) fn module(&self) -> &'m Module {
        self.attribution.memory.module()
    }

    /// Whether the program computes gradients; `None` where no instruction has a name.
    pub(super) fn is_training(&self) -> Option<bool> {
        self.totals.gradient_markers.map(|count| count > 0)
    }

    /// Heap events of the schedule.
    pub(super) fn event_count(&self) -> usize {
        self.attribution.memory.trace.map_or(0, |trace| trace.events.len())
    }

    /// Temporary buffers that are alive at the peak.
    pub(super) fn temporaries(&self) -> impl Iterator<Item = &Attributed<'a, 'm>> {
        self.attribution.buffers.iter().filter(|buffer| buffer.alive.group == Group::Temporary)
    }

    /// Share of the schedule during which a buffer holds memory.
    pub(super) fn life_share(&self, buffer: &Attributed<'_, '_>) -> Option<f64> {
        let (from, until) = buffer.alive.span?;
        let events = self.event_count();
        (events > 0).then(|| until.saturating_sub(from) as f64 / events as f64)
    }

    /// Bytes as a share of the peak.
    pub(super) fn of_peak(&self, bytes: i64) -> f64 {
        bytes as f64 / self.totals.peak_bytes.max(1) as f64
    }

    /// The first event of the backward pass.
    pub(super) fn first_backward(&self) -> Option<usize> {
        self.phases.iter().position(|phase| *phase == Some(Phase::Backward))
    }

    fn phases_of_events(&self) -> Vec<Option<Phase>> {
        let memory = self.attribution.memory;
        let Some(trace) = memory.trace else { return Vec::new() };
        let mut of_row: Vec<Option<Option<Phase>>> = vec![None; memory.buffers.len()];
        let phase = |id: i64| {
            let row = memory.buffers.row(id)?;
            let known = of_row.get_mut(row)?;
            *known.get_or_insert_with(|| {
                let buffer = memory.buffers.get(row)?;
                let (name, kind) = op_name(self.module(), buffer.instruction, &buffer.logical.shape_index);
                Phase::of(name, kind)
            })
        };
        trace.events.iter().map(|event| event.buffer_id).map(phase).collect()
    }
}

/// The largest buffers in words: name, shape and size of at most three.
pub(super) fn largest(buffers: &[&Attributed<'_, '_>]) -> String {
    let mut buffers = buffers.to_vec();
    buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.alive.bytes));
    let word = |buffer: &&Attributed<'_, '_>| {
        let name = &buffer.alive.instruction().name;
        let size = units::bytes(buffer.alive.bytes as f64);
        let op = if buffer.op_name.is_empty() { String::new() } else { format!(" of {}", buffer.op_name) };
        format!("{name} {} ({size}){op}", buffer.shape)
    };
    let words: Vec<String> = buffers.iter().take(3).map(word).collect();
    let more = buffers.len().saturating_sub(3);
    let rest = if more > 0 { format!("; {more} more") } else { String::new() };
    format!("{}{rest}", words.join("; "))
}

/// Bytes and percent of the peak, in words.
pub(super) fn size(context: &Context<'_, '_>, bytes: i64) -> String {
    format!("{} ({} of the peak)", units::bytes(bytes as f64), units::share(context.of_peak(bytes)))
}

/// Memory of the devices of the program's host: as asked, else as [`capacity::of_host`] finds it; only the main memory.
pub(super) fn capacity(
    profile: &Profile,
    scope: &Scope,
    host: HostId,
    space: i64,
    asked: Option<f64>,
) -> Option<Capacity> {
    if let Some(bytes) = asked {
        return Some(Capacity { bytes: bytes as i64, source: "as --capacity says".to_owned() });
    }
    let found = capacity::of_host(profile, scope, host).filter(|_| space == 0)?;
    let source = match found.source {
        capacity::Source::Allocator => "as the allocator accounts for it",
        capacity::Source::Trace => "as the profile says",
        capacity::Source::Table => "as the table of chips says",
    };
    Some(Capacity { bytes: found.bytes, source: source.to_owned() })
}

/// The share of free memory in pieces at the moment of most use, of the allocator where it is largest.
pub(super) fn runtime_fragmentation(profile: &Profile, host: HostId) -> Option<(String, f64)> {
    let mut worst: Option<(String, f64)> = None;
    for allocator in allocator::allocators(profile, host) {
        let fullest = allocator.events.iter().max_by_key(|event| event.in_use_bytes());
        let Some(share) = fullest.and_then(|event| event.fragmentation) else { continue };
        if worst.as_ref().is_none_or(|(_, largest)| share > *largest) {
            worst = Some((allocator.name, share));
        }
    }
    worst
}
