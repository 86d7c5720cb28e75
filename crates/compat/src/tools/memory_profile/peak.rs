//! What was allocated at the peak, in the step that has it.

use std::cmp::Reverse;

use haloscope_program::allocator_peak;
use haloscope_program::data_type;

use super::shape::{Active, Activity, Kind, Snapshot, Summary};
use crate::proto_json::Int64;

/// The allocations that are alive at the peak, equal ones as one, and those that stand for memory without an event. Of the
/// snapshots only those are left that an allocation points at.
pub(super) fn active(snapshots: &mut Vec<Snapshot>, summary: &Summary) -> (Vec<Active>, Vec<Activity>) {
    let step = step_of_peak(snapshots, summary);
    let until_peak =
        snapshots.iter().enumerate().take_while(|(_, s)| s.time_offset_ps <= summary.peak_stats_time_ps);
    let in_step = until_peak.filter(|(_, snapshot)| snapshot.activity_metadata.step_id == step);
    let alive = allocator_peak::replay(in_step.map(|(at, s)| (at, (&s.activity_metadata).into())));
    let unmapped = summary.peak_stats.heap_allocated_bytes.0.saturating_sub(alive.bytes);
    let special = special(unmapped, step, summary);

    // A place is a snapshot's, or a special allocation's, counted down from -1.
    let mut rows: Vec<(i64, &Activity)> =
        alive.by_address.values().map(|at| (*at as i64, &snapshots[*at].activity_metadata)).collect();
    rows.extend(special.iter().enumerate().map(|(at, activity)| (-1 - at as i64, activity)));
    rows.sort_by(|a, b| order(a.1).cmp(&order(b.1)).then(a.0.cmp(&b.0)));
    let mut active: Vec<Active> = Vec::new();
    let mut last: Option<&Activity> = None;
    for (place, activity) in rows {
        match (last, active.last_mut()) {
            (Some(last), Some(row)) if order(last) == order(activity) => row.num_occurrences.0 += 1,
            _ => active.push(Active {
                snapshot_index: Int64(place),
                special_index: Int64(if place < 0 { -1 - place } else { -1 }),
                num_occurrences: Int64(1),
            }),
        }
        last = Some(activity);
    }

    let mut kept = Vec::new();
    for row in active.iter_mut().filter(|row| row.snapshot_index.0 >= 0) {
        if let Some(snapshot) = usize::try_from(row.snapshot_index.0).ok().and_then(|at| snapshots.get(at)) {
            row.snapshot_index = Int64(kept.len() as i64);
            kept.push(snapshot.clone());
        }
    }
    *snapshots = kept;
    (active, special)
}

impl From<&Activity> for allocator_peak::Activity {
    fn from(activity: &Activity) -> Self {
        Self {
            is_release: activity.memory_activity == Kind::Deallocation,
            address: activity.address.0,
            bytes: activity.allocation_bytes.0,
        }
    }
}

/// The step of the last snapshot that is at the peak.
fn step_of_peak(snapshots: &[Snapshot], summary: &Summary) -> Int64 {
    let peak = summary.peak_stats.peak_bytes_in_use.0;
    let at_peak = snapshots.iter().rev().find(|snapshot| snapshot.in_use_bytes() == peak);
    at_peak.map_or(Int64(0), |snapshot| snapshot.activity_metadata.step_id)
}

/// Largest first, then by name.
fn order(activity: &Activity) -> impl Ord + '_ {
    (
        Reverse((activity.allocation_bytes, activity.requested_bytes)),
        &activity.tf_op_name,
        &activity.region_type,
        &activity.data_type,
        &activity.tensor_shape,
    )
}

/// Memory that is in use without an event that says why: allocated before, and the stack.
fn special(unmapped_bytes: i64, step: Int64, summary: &Summary) -> Vec<Activity> {
    let one = |bytes: i64, name: &str, region: &str| Activity {
        requested_bytes: Int64(bytes),
        allocation_bytes: Int64(bytes),
        tf_op_name: name.to_owned(),
        step_id: step,
        region_type: region.to_owned(),
        data_type: data_type::name(0),
        tensor_shape: "unknown".to_owned(),
        ..Activity::default()
    };
    let stack_bytes = summary.peak_stats.stack_reserved_bytes.0;
    [
        (unmapped_bytes, "unused preallocated device memory", "persist/dynamic"),
        (stack_bytes, "stack", "stack"),
    ]
    .into_iter()
    .filter(|(bytes, _, _)| *bytes > 0)
    .map(|(bytes, name, region)| one(bytes, name, region))
    .collect()
}
