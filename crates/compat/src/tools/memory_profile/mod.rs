//! `memory_profile`: what the allocators of a host did, and what filled their memory at the peak.
//!
//! XProf takes times from the start of each thread's line, so that lines with different starts are on different clocks; its
//! numbers are kept. Core's [`haloscope_program::allocator`] has the run's clock.

mod peak;
mod shape;

use std::collections::BTreeMap;

use haloscope_event_groups::Context;
use haloscope_profile::{HostId, LineId, PlaneKind, Profile};
use haloscope_program::allocator::{Allocator, AllocatorEvent, allocators};
use haloscope_program::data_type;

use self::shape::{Activity, HloModule, Kind, MemoryProfile, PerAllocator, Snapshot, Stats, Summary};
use super::Tool;
use crate::{
    Answer, Error, Hosts, Params, introsort,
    proto_json::{Int64, Uint64},
};

pub(crate) const TOOL: Tool = Tool {
    id: "memory_profile",
    doc: "Memory in use over time, and what filled it at the peak",
    hosts: Hosts::One,
    params: &[],
    offered: |_| true,
    answer,
};

/// The page draws no more points than this.
const SAMPLES: usize = 1000;

/// The step of an event that is in none.
const NO_STEP: i64 = -1;

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let host = TOOL.hosts.chosen(profile, params)?.into_iter().next();
    let has_threads = |host: &HostId| profile.planes_of(*host).any(|plane| plane.kind == PlaneKind::Host);
    let host = host.filter(has_threads).ok_or_else(|| Error::Missing {
        tool: TOOL.id,
        missing: "no plane `/host:CPU`".to_owned(),
        remedy: "capture with the host tracer on (`host_tracer_level` of 1 or more)".to_owned(),
    })?;
    let mut result = MemoryProfile { num_hosts: 1, version: 1, ..MemoryProfile::default() };
    let allocators = allocators(profile, host);
    let steps = if allocators.is_empty() { Steps::default() } else { Steps::new(profile, host) };
    for allocator in allocators {
        result.memory_ids.push(allocator.name.clone());
        let report = per_allocator(profile, &steps, &allocator);
        result.memory_profile_per_allocator.insert(allocator.name, report);
    }
    result.hlo_modules = hlo_modules(profile, host);
    Answer::json(&result)
}

/// The groups of the threads' events, which are steps, by the rows of the file.
#[derive(Default)]
struct Steps(BTreeMap<LineId, Vec<Option<u32>>>);

impl Steps {
    fn new(profile: &Profile, host: HostId) -> Self {
        let context = Context::of(profile, host);
        let grouped = context.lanes.iter().filter(|lane| !lane.groups().is_empty());
        let by_row = grouped.map(|lane| {
            let mut groups = vec![None; profile.events(profile.line(lane.line)).len()];
            for position in 0..lane.len(profile) {
                if let Some(slot) = lane.row(position).and_then(|row| groups.get_mut(row)) {
                    *slot = lane.group(position);
                }
            }
            (lane.line, groups)
        });
        Self(by_row.collect())
    }

    fn id(&self, event: &AllocatorEvent<'_>) -> i64 {
        let group = self.0.get(&event.line).and_then(|groups| *groups.get(event.index)?);
        group.map(i64::from).or(event.group_id).unwrap_or(NO_STEP)
    }
}

fn per_allocator(profile: &Profile, steps: &Steps, allocator: &Allocator<'_>) -> PerAllocator {
    let mut snapshots: Vec<Snapshot> =
        allocator.events.iter().map(|event| snapshot(profile, steps, event)).collect();
    let summary = summary(&snapshots);
    introsort::sort(&mut snapshots, |a, b| a.time_offset_ps < b.time_offset_ps);
    number_steps(&mut snapshots);
    name_releases(&mut snapshots);
    let sampled_timeline_snapshots = sample(&snapshots);
    let (active_allocations, special_allocations) = peak::active(&mut snapshots, &summary);
    PerAllocator {
        memory_profile_snapshots: snapshots,
        profile_summary: summary,
        active_allocations,
        special_allocations,
        sampled_timeline_snapshots,
    }
}

fn snapshot(profile: &Profile, steps: &Steps, event: &AllocatorEvent<'_>) -> Snapshot {
    Snapshot {
        time_offset_ps: Int64(event.start_ps.saturating_sub(profile.line(event.line).base_ps)),
        aggregation_stats: Stats {
            stack_reserved_bytes: Int64(event.reserved_bytes.unwrap_or(0)),
            heap_allocated_bytes: Int64(event.allocated_bytes.unwrap_or(0)),
            free_memory_bytes: Int64(event.available_bytes.unwrap_or(0)),
            fragmentation: event.fragmentation.unwrap_or(0.0),
            peak_bytes_in_use: Int64(event.peak_bytes.unwrap_or(0)),
        },
        activity_metadata: Activity {
            memory_activity: if event.is_release { Kind::Deallocation } else { Kind::Allocation },
            requested_bytes: Int64(event.requested_bytes.unwrap_or(0)),
            allocation_bytes: Int64(event.allocation_bytes.unwrap_or(0)),
            address: Uint64(event.address.unwrap_or(0)),
            tf_op_name: event.op.clone().into_owned(),
            step_id: Int64(steps.id(event)),
            region_type: event.region.clone().into_owned(),
            data_type: event.data_type.map(data_type::name).unwrap_or_default(),
            tensor_shape: event.shape.clone().into_owned(),
        },
    }
}

/// The peak, and the allocator's own word for the most that was ever in use. Of several peaks the last counts, in the order of
/// threads.
fn summary(snapshots: &[Snapshot]) -> Summary {
    let mut summary = Summary::default();
    for snapshot in snapshots {
        let stats = &snapshot.aggregation_stats;
        summary.peak_bytes_usage_lifetime = stats.peak_bytes_in_use;
        let in_use = snapshot.in_use_bytes();
        if in_use >= summary.peak_stats.peak_bytes_in_use.0 {
            summary.peak_stats = Stats { peak_bytes_in_use: Int64(in_use), ..stats.clone() };
            summary.peak_stats_time_ps = snapshot.time_offset_ps;
            summary.memory_capacity = Int64(in_use.saturating_add(stats.free_memory_bytes.0));
        }
    }
    summary
}

/// What is in no step belongs to the step after the last one seen.
fn number_steps(snapshots: &mut [Snapshot]) {
    let mut last = NO_STEP;
    for snapshot in snapshots {
        let step = &mut snapshot.activity_metadata.step_id;
        if step.0 == NO_STEP {
            step.0 = last.saturating_add(1);
        } else {
            last = step.0;
        }
    }
}

/// A release is named after the allocation at its address.
fn name_releases(snapshots: &mut [Snapshot]) {
    let mut held: BTreeMap<u64, usize> = BTreeMap::new();
    for at in 0..snapshots.len() {
        let address = snapshots[at].activity_metadata.address.0;
        if snapshots[at].activity_metadata.memory_activity == Kind::Allocation {
            held.entry(address).or_insert(at);
        } else if let Some(allocation) = held.remove(&address) {
            let made = snapshots[allocation].activity_metadata.clone();
            let release = &mut snapshots[at].activity_metadata;
            release.tf_op_name = made.tf_op_name;
            release.region_type = made.region_type;
            release.data_type = made.data_type;
            release.tensor_shape = made.tensor_shape;
        }
    }
}

/// At most [`SAMPLES`] snapshots: the highest of each run of neighbours, runs of one length first and then of one more.
fn sample(snapshots: &[Snapshot]) -> Vec<Snapshot> {
    if snapshots.len() <= SAMPLES {
        return snapshots.to_vec();
    }
    let width = snapshots.len() / SAMPLES;
    let narrow = SAMPLES * (width + 1) - snapshots.len();
    let (first, rest) = snapshots.split_at(narrow * width);
    let runs = first.chunks(width).chain(rest.chunks(width + 1));
    let highest = |run: &[Snapshot]| {
        let mut best = run.first()?;
        for snapshot in run {
            if snapshot.in_use_bytes() > best.in_use_bytes() {
                best = snapshot;
            }
        }
        Some(best.clone())
    };
    runs.filter_map(highest).collect()
}

/// When programs ran on the host's TPUs.
fn hlo_modules(profile: &Profile, host: HostId) -> Vec<HloModule> {
    let mut modules = Vec::new();
    let tpus = profile.planes_of(host).filter(|plane| plane.name.starts_with("/device:TPU:"));
    for plane in tpus {
        let source = profile.source_of(plane);
        for line in profile.lines_of(plane.id).filter(|line| line.name == "XLA Modules") {
            for event in profile.events(line).iter() {
                modules.push(HloModule {
                    name: source.text(plane.metas[event.meta as usize].name).into_owned(),
                    start_time_ps: Int64(event.start_ps.saturating_sub(line.base_ps)),
                    end_time_ps: Int64(event.end_ps.saturating_sub(line.base_ps)),
                    id: Int64(i64::try_from(modules.len()).unwrap_or(i64::MAX)),
                    plane_name: plane.name.trim_start_matches("/device:").to_owned(),
                });
            }
        }
    }
    modules
}
