//! Steps of TPUs: the markers on the `Steps` lines, and self time by HLO category within each.
//!
//! A step counts where every core has it. Within a host all cores get the same time, that of the slowest.

use std::collections::BTreeMap;

use haloscope_event_groups::Context;
use haloscope_profile::{Event, HostId, Line, LineKind, Plane, PlaneKind, Profile};
use haloscope_report::stop;
use haloscope_time::busy::{self, Duties, Duty};
use haloscope_time::nesting::walk_nested;
use haloscope_time::op_meta::{MetaIds, OpMeta};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Breakdown, CoreStep, HostSteps, SPARSE_CORES, StepRow, generic, tpu_step};
use crate::db::IDLE;

/// The time of a step on a core by the device's own clock, as it stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marker {
    begin_ps: i64,
    duration_ps: i64,
}

/// The steps of one TensorCore, by group.
#[derive(Debug, Default)]
struct CoreSteps {
    core: u32,
    markers: BTreeMap<i64, Marker>,
    categories: BTreeMap<i64, BTreeMap<String, i64>>,
    collectives: BTreeMap<i64, Vec<(u64, i64)>>,
    has_infeed: bool,
}

/// The steps of a host's TPUs.
pub(super) fn steps(profile: &Profile, host: HostId, context: &Context) -> HostSteps {
    let planes: Vec<&Plane> = profile.planes_of(host).filter(|p| p.kind == PlaneKind::Tpu).collect();
    let cores: Vec<CoreSteps> =
        planes.par_iter().map(stop::carried(|plane: &&Plane| core_steps(profile, plane, context))).collect();
    let has_infeed = cores.iter().any(|core| core.has_infeed);
    let cores: Vec<CoreSteps> = cores.into_iter().filter(|core| !core.categories.is_empty()).collect();
    let mut rows: Vec<StepRow> = Vec::new();
    let mut windows: Vec<Marker> = Vec::new();
    for group in common(&cores) {
        let mut row = StepRow { number: group, ..StepRow::default() };
        let mut longest = Marker { begin_ps: 0, duration_ps: 0 };
        for marker in cores.iter().filter_map(|core| core.markers.get(&group)) {
            if marker.duration_ps > longest.duration_ps {
                longest = *marker;
            }
        }
        for core in &cores {
            if let Some(categories) = core.categories.get(&group).filter(|_| longest.duration_ps > 0) {
                let categories = with_idle(categories.clone(), longest.duration_ps);
                row.cores.insert(core.core, core_step(longest, Breakdown::TensorCore(categories)));
            }
            if let Some(times) = core.collectives.get(&group) {
                row.collectives.insert(core.core, times.clone());
            }
        }
        rows.push(row);
        windows.push(longest);
    }
    for plane in profile.planes_of(host).filter(|p| p.kind == PlaneKind::SparseCore) {
        add_sparse_core(profile, plane, &windows, &mut rows);
    }
    if !has_infeed && !rows.is_empty() {
        let inputs = generic::input_times(profile, host, context);
        for row in &mut rows {
            if let Some(input_ps) = inputs.get(&row.number).filter(|ps| **ps > 0) {
                tpu_step::attribute_input(row, *input_ps);
            }
        }
    }
    HostSteps { rows, precision_ps: (0, 0) }
}

fn core_step(marker: Marker, breakdown: Breakdown) -> CoreStep {
    let Marker { begin_ps, duration_ps } = marker;
    CoreStep { name: String::new(), begin_ps, duration_ps, breakdown }
}

/// Groups that all cores have. Where nothing is left, the next core begins anew, as in XProf.
fn common(cores: &[CoreSteps]) -> Vec<i64> {
    let mut groups: Vec<i64> = Vec::new();
    for core in cores {
        if groups.is_empty() {
            groups = core.categories.keys().copied().collect();
        } else {
            groups.retain(|group| core.categories.contains_key(group));
        }
    }
    groups
}

/// Adds the time of a step in which no op ran.
fn with_idle(mut categories: BTreeMap<String, i64>, step_ps: i64) -> BTreeMap<String, i64> {
    let ops = haloscope_report::units::sum(categories.values().copied());
    *categories.entry(IDLE.to_owned()).or_default() += (step_ps - ops).max(0);
    categories
}

/// How long each complete step of a TensorCore took by its own marker, picoseconds, by group.
pub(super) fn step_lengths(profile: &Profile, plane: &Plane, context: &Context) -> BTreeMap<i64, i64> {
    let steps = core_steps(profile, plane, context);
    let length = |group: &i64| steps.markers.get(group).map_or(0, |marker| marker.duration_ps);
    steps.categories.keys().map(|group| (*group, length(group))).collect()
}

fn core_steps(profile: &Profile, plane: &Plane, context: &Context) -> CoreSteps {
    let mut steps = CoreSteps { core: plane.wire_id as u32, ..CoreSteps::default() };
    let last = |kind| profile.lines_of(plane.id).filter(|l| l.kind == kind && l.event_count > 0).last();
    if let Some(line) = last(LineKind::Steps) {
        steps.markers = markers(profile, plane, line, context);
    }
    if let Some(line) = last(LineKind::XlaOps) {
        add_ops(profile, plane, line, context, &mut steps);
    }
    steps.categories.retain(|group, _| steps.markers.contains_key(group));
    steps
}

/// The longest marker of each group.
fn markers(profile: &Profile, plane: &Plane, line: &Line, context: &Context) -> BTreeMap<i64, Marker> {
    let mut markers: BTreeMap<i64, Marker> = BTreeMap::new();
    let Some(lane) = context.lane(line.id) else { return markers };
    let events = profile.events(line);
    let source = profile.source_of(plane);
    let clock = ["device_offset_ps", "device_duration_ps"].map(|name| plane.stat_id(name));
    for position in 0..lane.len(profile) {
        let (Some(group), Some(row)) = (lane.group(position), lane.row(position)) else { continue };
        let by_device = clock.iter().all(|id| events.stat(source, row, *id).is_some());
        let end_ps = lane.starts_ps(profile)[position] + lane.durations_ps(profile).at(position);
        let marker = if by_device {
            // A step that was put together from several ends where its last part does.
            let last = (row..events.len())
                .take_while(|i| events.starts_ps()[*i] < end_ps)
                .find(|i| events.get(*i).end_ps == end_ps)
                .unwrap_or(row);
            let (first, last) = (events.on_device_clock(row), events.on_device_clock(last));
            let begin_ps = first.start_ps - line.base_ps;
            Marker { begin_ps, duration_ps: last.end_ps - first.start_ps }
        } else {
            let start_ps = lane.starts_ps(profile)[position];
            Marker { begin_ps: start_ps.wrapping_add(to_wire_ps(line)), duration_ps: end_ps - start_ps }
        };
        let longest = markers.entry(i64::from(group)).or_insert(marker);
        if marker.duration_ps > longest.duration_ps {
            *longest = marker;
        }
    }
    markers
}

/// Sums the self times of a core's ops by group and category.
fn add_ops(profile: &Profile, plane: &Plane, line: &Line, context: &Context, steps: &mut CoreSteps) {
    const UNREAD: u32 = u32::MAX;
    let Some(lane) = context.lane(line.id).filter(|lane| lane.is_plain()) else { return };
    let events = profile.events(line);
    let source = profile.source_of(plane);
    let ids = MetaIds::of(plane);
    // Row 0 stands for ops without a program or symbol, which XProf cannot tell apart: they only take time from others.
    let mut names: Vec<String> = vec![String::new()];
    let mut row_of: FxHashMap<String, u32> = FxHashMap::default();
    let mut category_of: Vec<u32> = vec![UNREAD; plane.metas.len()];
    for meta in events.metas() {
        if category_of[*meta as usize] != UNREAD {
            continue;
        }
        let op = OpMeta::read(plane, source, *meta, &ids);
        category_of[*meta as usize] = if op.program_id.is_some() && op.symbol_id.is_some() {
            *row_of.entry(op.category.into_owned()).or_insert_with_key(|name| {
                names.push(name.clone());
                names.len() as u32 - 1
            })
        } else {
            0
        };
    }
    steps.has_infeed = names.iter().any(|name| matches!(name.as_str(), "infeed" | "sparsecorev0 infeed"));
    let mut sums = ByCategory { categories: names.len(), ..ByCategory::default() };
    let grouped =
        || (0..events.len()).filter(|i| lane.group(*i).is_some()).map(|i| events.on_device_clock(i));
    let mut each = |event: Event, self_ps: i64| {
        if let Some(group) = lane.group(event.index) {
            sums.add(group, category_of[event.meta as usize], self_ps);
        }
    };
    let key = |event: &Event| (event.start_ps, event.start_ps - event.end_ps);
    if grouped().is_sorted_by_key(|event| key(&event)) {
        walk_nested(grouped(), None, &mut each);
    } else {
        let mut ordered: Vec<Event> = grouped().collect();
        ordered.sort_by_key(key);
        walk_nested(ordered.into_iter(), None, &mut each);
    }
    for (group, sums) in sums.finish() {
        let categories = steps.categories.entry(i64::from(group)).or_default();
        let known = names.iter().zip(sums).skip(1);
        categories.extend(known.filter_map(|(name, self_ps)| Some((name.clone(), self_ps?))));
    }
    if let Some(id) = plane.stat_id("all_reduce_unique_id") {
        for event in grouped() {
            let stat = events.stat(source, event.index, Some(id)).and_then(|v| v.as_u64_bits());
            if let (Some(id), Some(group)) = (stat, lane.group(event.index)) {
                let times = steps.collectives.entry(i64::from(group)).or_default();
                times.push((id, event.end_ps - event.start_ps));
            }
        }
    }
}

/// Self times by group and category, picoseconds. As a rule a group's events follow one another: that at hand is not looked up.
#[derive(Debug, Default)]
struct ByCategory {
    /// Number of categories.
    categories: usize,
    at_hand: Option<(u32, Vec<Option<i64>>)>,
    others: BTreeMap<u32, Vec<Option<i64>>>,
}

impl ByCategory {
    fn add(&mut self, group: u32, category: u32, self_ps: i64) {
        if self.at_hand.as_ref().is_none_or(|(at_hand, _)| *at_hand != group) {
            let sums = self.others.remove(&group).unwrap_or_else(|| vec![None; self.categories]);
            self.others.extend(self.at_hand.replace((group, sums)));
        }
        let slot = self.at_hand.as_mut().and_then(|(_, sums)| sums.get_mut(category as usize));
        if let Some(sum) = slot {
            *sum = Some(sum.unwrap_or(0).saturating_add(self_ps));
        }
    }

    /// By group, then by category; `None` where nothing ran.
    fn finish(mut self) -> BTreeMap<u32, Vec<Option<i64>>> {
        self.others.extend(self.at_hand);
        self.others
    }
}

/// What is added to a time on the run's clock to come to that of the file. Picoseconds since 1970 do not fit: as in XProf
/// they wrap, which differences do not notice.
fn to_wire_ps(line: &Line) -> i64 {
    line.timestamp_ns.wrapping_mul(1000).wrapping_sub(line.base_ps)
}

/// Adds what a SparseCore did in each step: the time in ops other than off-duty ones, by the profiler's clock.
fn add_sparse_core(profile: &Profile, plane: &Plane, windows: &[Marker], rows: &mut [StepRow]) {
    let is_ops = |line: &&Line| line.name == "Sparse Core Ops" || line.kind == LineKind::XlaOps;
    let Some(line) = profile.lines_of(plane.id).filter(is_ops).find(|l| l.event_count > 0) else { return };
    let duties = Duties::of(profile, plane);
    let on_duty = busy::on_duty(profile, line, |event| duties.of_op(event.meta) != Duty::Off);
    if on_duty.is_empty() {
        return;
    }
    let core = SPARSE_CORES.saturating_add(plane.wire_id as u32);
    for (row, window) in rows.iter_mut().zip(windows).filter(|(_, w)| w.duration_ps > 0) {
        let from = window.begin_ps.wrapping_sub(to_wire_ps(line));
        let busy_ps = on_duty.overlap(from, from.saturating_add(window.duration_ps));
        row.cores.insert(core, core_step(*window, Breakdown::SparseCore { busy_ps }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_comes_back_goes_on_where_it_was() {
        let mut sums = ByCategory { categories: 3, ..ByCategory::default() };
        for (group, category, self_ps) in [(7, 2, 5), (8, 0, 1), (7, 1, 0), (7, 2, 6), (9, 1, 2)] {
            sums.add(group, category, self_ps);
        }
        let sums = sums.finish();
        assert_eq!(sums[&7], [None, Some(0), Some(11)]);
        assert_eq!(sums[&8], [Some(1), None, None]);
        assert_eq!(sums[&9], [None, Some(2), None]);
    }
}
