//! TPU cores: their steps or module executions stand for all that runs inside them.

use super::lane::Columns;
use super::{Group, Lane, is_tpu};
use haloscope_profile::{HostId, LineKind, PlaneId, PlaneKind, Profile};
use haloscope_report::stop;
use rayon::prelude::*;

/// Lines whose events are steps.
const STEP_LINES: [&str; 2] = ["Steps", "Sparse Core Steps"];
/// Lines whose events are executions of programs.
const MODULE_LINES: [&str; 2] = ["XLA Modules", "Sparse Core Modules"];

/// True for lines whose events stand for what runs inside them.
pub(super) fn is_grouping_line(name: &str) -> bool {
    STEP_LINES.contains(&name) || MODULE_LINES.contains(&name)
}

/// The line of each core by which its events are grouped.
#[derive(Debug, Default)]
pub(super) struct Cores {
    cores: Vec<Core>,
}

#[derive(Debug)]
struct Core {
    plane: PlaneId,
    lane: usize,
    is_tensor_core: bool,
}

/// The lane of a plane by which it is grouped: that of its steps, else that of its modules.
fn grouping_lane(profile: &Profile, lanes: &[Lane], plane: PlaneId) -> Option<usize> {
    let last = |names: &[&str]| {
        lanes.iter().rposition(|lane| {
            let line = profile.line(lane.line);
            line.plane == plane && names.contains(&line.name.as_str())
        })
    };
    last(&STEP_LINES).or_else(|| last(&MODULE_LINES))
}

impl Cores {
    pub(super) fn of(profile: &Profile, host: HostId, lanes: &[Lane]) -> Self {
        let planes = profile.planes_of(host).filter(|p| is_tpu(p));
        let planes = planes.filter(|p| matches!(p.kind, PlaneKind::Tpu | PlaneKind::SparseCore));
        let core = |plane: &haloscope_profile::Plane| {
            let lane = grouping_lane(profile, lanes, plane.id)?;
            Some(Core { plane: plane.id, lane, is_tensor_core: plane.kind == PlaneKind::Tpu })
        };
        Self { cores: planes.filter_map(core).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cores.is_empty()
    }

    pub(super) fn is_grouping_lane(&self, lane: usize) -> bool {
        self.cores.iter().any(|core| core.lane == lane)
    }

    pub(super) fn tensor_cores(&self) -> impl Iterator<Item = usize> {
        self.cores.iter().filter(|core| core.is_tensor_core).map(|core| core.lane)
    }

    /// For an event of a core: the step around it, as lane and position.
    pub(super) fn step_of(
        &self,
        profile: &Profile,
        lanes: &[Lane],
        (lane, position): (u32, u32),
    ) -> Option<(u32, u32)> {
        let plane = profile.line(lanes[lane as usize].line).plane;
        let core = self.cores.iter().find(|core| core.plane == plane)?;
        if core.lane == lane as usize {
            return Some((lane, position));
        }
        let steps = &lanes[core.lane];
        let event = &lanes[lane as usize];
        let start = event.starts_ps(profile)[position as usize];
        let end = start + event.durations_ps(profile).at(position as usize);
        let (starts, durations) = (steps.starts_ps(profile), steps.durations_ps(profile));
        let after = starts.partition_point(|s| *s <= start);
        // The first step that has not ended; steps do not overlap.
        let at = (0..after).rev().take_while(|i| starts[*i] + durations.at(*i) > start).last()?;
        (end <= starts[at] + durations.at(at)).then_some((core.lane as u32, at as u32))
    }
}

/// Merges steps of several modules and, if `inside_of_steps`, gives every other event of a device the group of the step that it
/// overlaps.
pub(super) fn finish(
    profile: &Profile,
    host: HostId,
    lanes: &mut [Lane],
    groups: &[Group],
    inside_of_steps: bool,
) {
    if !profile.planes_of(host).any(is_tpu) {
        return;
    }
    for plane in profile.planes_of(host).filter(|p| super::is_device_name(&p.name)) {
        let Some(grouping) = grouping_lane(profile, lanes, plane.id) else { continue };
        let line = profile.line(lanes[grouping].line);
        if STEP_LINES.contains(&line.name.as_str()) {
            merge_steps(profile, &mut lanes[grouping]);
            let steps = &mut lanes[grouping];
            let known = |group: &u32| (*group as usize) < groups.len();
            let named = steps.groups.iter().copied().enumerate().filter(|(_, g)| known(g));
            steps.named = named.map(|(i, g)| (i as u32, g)).collect();
        }
        if !inside_of_steps {
            continue;
        }
        let steps = &lanes[grouping];
        let spans = steps.starts_ps(profile).iter().zip(steps.durations_ps(profile).iter()).enumerate();
        let spans: Vec<Span> = spans
            .map(|(i, (start, d))| Span { start: *start, end: start + d, group: steps.group(i) })
            .collect();
        let group = |(number, lane): (usize, &mut Lane)| {
            let line = profile.line(lane.line);
            let is_grouping = STEP_LINES.contains(&line.name.as_str()) && number == grouping;
            // Samples of counters are in no step, as XProf has it.
            if line.plane == plane.id && !is_grouping && line.kind != LineKind::Counters {
                group_lane(profile, lane, &spans);
            }
        };
        lanes.par_iter_mut().enumerate().for_each(stop::carried(group));
    }
}

struct Span {
    start: i64,
    end: i64,
    group: Option<u32>,
}

/// Neighbours of one group become one step; steps without a group go, unless all are without.
fn merge_steps(profile: &Profile, lane: &mut Lane) {
    let len = lane.len(profile);
    let mut merged = Columns::default();
    let mut groups: Vec<u32> = Vec::new();
    let (starts, durations, metas) =
        (lane.starts_ps(profile), lane.durations_ps(profile), lane.metas(profile));
    let mut open = None;
    let mut kept = Vec::new();
    let mut parts = Vec::new();
    for i in 0..len {
        let group = lane.group(i);
        match (group, open) {
            (None, _) => {}
            (Some(group), Some(last)) if last == group => {
                let end = starts[i] + durations.at(i);
                if let (Some(start), Some(duration)) = (merged.start_ps.last(), merged.duration_ps.last_mut())
                {
                    *duration = end - start;
                }
                parts.extend(lane.row(i).map(|row| (groups.len() as u32 - 1, row as u32)));
            }
            (Some(group), _) => {
                merged.start_ps.push(starts[i]);
                merged.duration_ps.push(durations.at(i));
                merged.meta.push(metas[i]);
                merged.row.push(lane.row(i).map_or(super::MADE, |row| row as u32));
                groups.push(group);
                kept.push(i as u32);
            }
        }
        open = group;
    }
    if groups.is_empty() || groups.len() == len {
        return;
    }
    let links = lane.links.iter().filter_map(|(at, link)| Some((kept.binary_search(at).ok()? as u32, *link)));
    lane.links = links.collect();
    lane.own = Some(merged);
    lane.merged = parts;
    lane.groups = groups;
}

/// Gives each event the group of the first step that it overlaps, touching included, as XProf does.
fn group_lane(profile: &Profile, lane: &mut Lane, spans: &[Span]) {
    let len = lane.len(profile);
    let mut groups = std::mem::take(&mut lane.groups);
    let (starts, durations) = (lane.starts_ps(profile), lane.durations_ps(profile));
    let (mut current, mut held): (Option<usize>, Option<usize>) = (None, None);
    for (i, (start, duration)) in starts.iter().zip(durations.iter()).enumerate() {
        let (start, end) = (*start, start + duration);
        let overlaps = |at: usize| spans[at].start <= end && start <= spans[at].end;
        if !held.is_some_and(overlaps) {
            held = None;
            if current.is_some_and(overlaps) {
                held = current;
            } else {
                let from = current.map_or(0, |at| at + 1);
                for (at, span) in spans.iter().enumerate().skip(from) {
                    if span.start > end {
                        break;
                    }
                    if span.end < start {
                        continue;
                    }
                    (current, held) = (Some(at), Some(at));
                    break;
                }
            }
        }
        if let Some(group) = held.and_then(|at| spans[at].group) {
            if groups.is_empty() {
                groups = vec![super::NO_GROUP; len];
            }
            groups[i] = group;
        }
    }
    lane.groups = groups;
}
