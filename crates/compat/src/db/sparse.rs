//! Ops that a TensorCore has its SparseCores run: they stand below the op that began them.

use std::collections::BTreeMap;

use haloscope_profile::{Device, Event, Line, MetaIdx, Plane, PlaneKind, Profile};
use haloscope_time::nesting::walk_nested;
use haloscope_time::op_meta::{MetaIds, OpMeta};
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::op_sums::{Measured, Sums};
use rustc_hash::FxHashMap;

use super::row::CoreType;
use super::{Db, Row, tpu_row};

/// What a TensorCore's op and the SparseCore's program that it began have in common: core and number of the offload.
type Offload = (u64, u64);

/// A program's run on a SparseCore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Launch {
    start_ps: i64,
    end_ps: i64,
    offload: Offload,
}

/// The ops that SparseCores ran for each of a device's ops, by its position: those that its first event began.
pub(super) fn offloaded<'p>(
    profile: &'p Profile,
    device: &Device,
    ops: &DeviceOps<'p>,
) -> BTreeMap<usize, Db<'p>> {
    let mut of_op = BTreeMap::new();
    let plane = profile.plane(device.plane);
    let Some(ids) = offload_ids(plane) else { return of_op };
    let mut offloads = BTreeMap::new();
    for plane in profile.planes_of(device.host).filter(|p| p.kind == PlaneKind::SparseCore) {
        of_plane(profile, plane, &mut offloads);
    }
    let mut seen = vec![false; ops.ops.len()];
    for (line, rows) in ops.lines(profile) {
        for (index, meta) in profile.events(line).metas().iter().enumerate() {
            let row = rows.at(index, *meta);
            let Some(seen) = seen.get_mut(row as usize).filter(|seen| !**seen) else { continue };
            *seen = true;
            if let Some(inner) = offload(profile, plane, line, index, ids).and_then(|key| offloads.get(&key))
            {
                of_op.insert(row as usize, inner.clone());
            }
        }
    }
    of_op
}

fn offload_ids(plane: &Plane) -> Option<[i64; 2]> {
    Some([plane.stat_id("offload_core_id")?, plane.stat_id("tc_offload_start_id")?])
}

fn offload(profile: &Profile, plane: &Plane, line: &Line, index: usize, ids: [i64; 2]) -> Option<Offload> {
    let (events, source) = (profile.events(line), profile.source_of(plane));
    let number = |id| events.stat(source, index, Some(id))?.as_u64_bits();
    Some((number(ids[0])?, number(ids[1])?))
}

fn of_plane<'p>(profile: &'p Profile, plane: &'p Plane, all: &mut BTreeMap<Offload, Db<'p>>) {
    let Some(ids) = offload_ids(plane) else { return };
    let lines = |name: &'static str| profile.lines_of(plane.id).filter(move |l| l.name == name);
    let mut launches: Vec<Launch> = Vec::new();
    for line in lines("Sparse Core Modules") {
        let events = profile.events(line);
        launches.extend((0..events.len()).filter_map(|i| {
            let event = events.on_device_clock(i);
            let offload = offload(profile, plane, line, i, ids)?;
            Some(Launch { start_ps: event.start_ps, end_ps: event.end_ps, offload })
        }));
    }
    launches.sort_unstable();
    launches.dedup_by_key(|launch| (launch.start_ps, launch.end_ps));
    let mut events_of: BTreeMap<Offload, Vec<Event>> = BTreeMap::new();
    for line in lines("Sparse Core Ops") {
        let events = profile.events(line);
        let mut at = 0;
        for event in (0..events.len()).map(|i| events.on_device_clock(i)) {
            while launches.get(at).is_some_and(|launch| launch.end_ps < event.start_ps) {
                at += 1;
            }
            let Some(launch) = launches.get(at) else { break };
            if launch.start_ps <= event.start_ps && event.end_ps <= launch.end_ps {
                events_of.entry(launch.offload).or_default().push(event);
            }
        }
    }
    let mut total_of: BTreeMap<Offload, i64> = BTreeMap::new();
    for launch in &launches {
        let total_ps = total_of.entry(launch.offload).or_default();
        *total_ps = total_ps.saturating_add(launch.end_ps - launch.start_ps);
    }
    let source = profile.source_of(plane);
    let meta_ids = MetaIds::of(plane);
    for (offload, events) in events_of {
        let mut sums: FxHashMap<MetaIdx, Sums> = FxHashMap::default();
        walk_nested(events.into_iter(), None, |event, self_ps| {
            sums.entry(event.meta).or_default().add(&event, self_ps, None);
        });
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_unstable_by_key(|(meta, _)| *meta);
        let rows = sums.into_iter().filter_map(|(meta, sum)| {
            let op = OpMeta::read(plane, source, meta, &meta_ids);
            let row = tpu_row::row(op, &sum, &Measured::default())?;
            Some(Row { core_type: CoreType::Sparse, ..row })
        });
        let total_ps = total_of.get(&offload).copied().unwrap_or(0);
        all.insert(offload, Db::of_device(rows.collect(), total_ps.max(0) as u64));
    }
}
