//! Steps of GPUs and of programs that run on the host alone: markers and events by group, each event of one class.
//!
//! On a GPU a step is from the first to the last event of its group on the device. On a CPU it is its marker on the
//! host, such as a `StepTraceAnnotation`.

use std::collections::BTreeMap;

use haloscope_event_groups::framework_op::{Framework, FrameworkOp};
use haloscope_event_groups::{Context, Lane, REGION};
use haloscope_profile::{Events, HostId, Plane, PlaneKind, Profile, Source, StatId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::sweep::{Span, inside, sweep};
use super::{Breakdown, Class, CoreStep, GENERIC_CORE, HostSteps, StepRow};

/// With more steps than these the first and the last are taken to be cut.
const EDGE_FROM: usize = 6;

/// What is known of a step before it is summed up.
#[derive(Debug, Default)]
struct Details {
    /// The longest marker on the host, as (start, end).
    host: Option<(i64, i64)>,
    /// The longest on a device.
    device: Option<(i64, i64)>,
    name: String,
    events: Vec<Span>,
}

/// The steps of a host by group.
type ByGroup = BTreeMap<i64, Details>;

/// The steps of a host with GPUs, or without any device.
pub(super) fn steps(profile: &Profile, host: HostId, context: &Context) -> HostSteps {
    let gpus: Vec<&Plane> = profile.planes_of(host).filter(|p| p.name.starts_with("/device:GPU:")).collect();
    let groups = if gpus.is_empty() {
        host_events(profile, host, context)
    } else {
        let mut groups = ByGroup::new();
        gpus.iter().for_each(|plane| add_gpu(profile, plane, context, &mut groups));
        groups
    };
    let mut all = HostSteps::default();
    for (group, details) in groups {
        let stretches = sweep(&details.events);
        for (class, start, end) in &stretches {
            match class {
                Class::Compute16 => all.precision_ps.0 += end - start,
                Class::Compute32 => all.precision_ps.1 += end - start,
                _ => {}
            }
        }
        let (start, end) = details.time();
        let times = inside(&stretches, (start, end));
        let has = |class| times.contains_key(&class);
        let complete = if gpus.is_empty() {
            has(Class::HostCompute)
        } else {
            has(Class::Compute16) || has(Class::Compute32)
        };
        if !complete || start >= end {
            continue;
        }
        let step = CoreStep {
            name: details.name,
            begin_ps: start,
            duration_ps: end - start,
            breakdown: Breakdown::Generic(times),
        };
        let cores = [(GENERIC_CORE, step)].into();
        all.rows.push(StepRow { number: group, cores, ..StepRow::default() });
    }
    if all.rows.len() >= EDGE_FROM {
        all.rows.remove(0);
        all.rows.pop();
    }
    all
}

impl Details {
    /// When the step was: its marker on the device, unless that of the host is around it.
    fn time(&self) -> (i64, i64) {
        match (self.host, self.device) {
            (Some(host), Some(device)) if host.0 <= device.0 && device.1 <= host.1 => host,
            (_, Some(device)) => device,
            (host, None) => host.unwrap_or_default(),
        }
    }
}

fn keep_longer(marker: &mut Option<(i64, i64)>, new: (i64, i64)) {
    if marker.is_none_or(|old| new.1 - new.0 > old.1 - old.0) {
        *marker = Some(new);
    }
}

/// The time that a host's threads waited for input or sent it to the device, by group, each event counted by itself.
pub(super) fn input_times(profile: &Profile, host: HostId, context: &Context) -> FxHashMap<i64, i64> {
    let is_input = |class| matches!(class, Class::HostWaitInput | Class::HostToDevice);
    let length = |(group, details): (i64, Details)| {
        let input = details.events.iter().filter(|e| is_input(e.0)).map(|e| e.2 - e.1);
        (group, haloscope_report::units::sum(input))
    };
    host_events(profile, host, context).into_iter().map(length).collect()
}

/// Markers and events of the host's threads.
fn host_events(profile: &Profile, host: HostId, context: &Context) -> ByGroup {
    let mut groups = ByGroup::new();
    let Some(plane) = profile.planes_of(host).find(|p| p.kind == PlaneKind::Host) else { return groups };
    let ids = Ids::new(plane);
    let mut threads =
        Threads { plane, source: profile.source_of(plane), produced: FxHashSet::default(), ids };
    threads.find_producers(profile);
    let kinds: Vec<Kind> = (0..plane.metas.len() as u32).map(|m| threads.kind(m)).collect();
    for line in profile.lines_of(plane.id) {
        let Some(lane) = context.lane(line.id) else { continue };
        if !lane.groups().is_empty() {
            threads.add_line(profile, lane, context, &kinds, &mut groups);
        }
    }
    groups
}

/// Stats that are looked for on events of threads.
#[derive(Debug, Clone, Copy)]
struct Ids {
    producer: [Option<StatId>; 2],
    consumer: [Option<StatId>; 2],
    stage: Option<StatId>,
    step_name: Option<StatId>,
}

impl Ids {
    fn new(plane: &Plane) -> Self {
        Self {
            producer: ["_pt", "_p"].map(|n| plane.stat_id(n)),
            consumer: ["_ct", "_c"].map(|n| plane.stat_id(n)),
            stage: plane.stat_id("_ipl_stage_name"),
            step_name: plane.stat_id("step_name"),
        }
    }
}

/// What the name of a host's event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The user marked a step.
    Marker,
    /// It only contains others.
    Wrapper,
    /// Work of this class, if it is no stage of an input pipeline.
    Work(Class),
}

struct Threads<'p> {
    plane: &'p Plane,
    source: &'p Source,
    /// Contexts that some event of the host produces.
    produced: FxHashSet<(i64, i64)>,
    ids: Ids,
}

impl Threads<'_> {
    fn kind(&self, meta: u32) -> Kind {
        self.kind_of(&self.source.text(self.plane.metas[meta as usize].name))
    }

    fn kind_of(&self, name: &str) -> Kind {
        const WRAPPERS: [&str; 4] =
            ["EagerExecute", "EagerLocalExecute", "EagerKernelExecute", "FunctionRun"];
        if ["train", "test", "TraceContext"].iter().any(|p| name.starts_with(p)) && !name.contains('/') {
            return Kind::Marker;
        }
        if WRAPPERS.iter().any(|w| name.starts_with(w)) {
            return Kind::Wrapper;
        }
        let op = FrameworkOp::parse(name);
        Kind::Work(match (op.framework, op.kind) {
            (Framework::Copy, "MemcpyHToD") => Class::HostToDevice,
            (Framework::Copy, "MemcpyHToH") => Class::HostToHost,
            (Framework::TensorFlow, kind) if kind.starts_with("InfeedEnqueue") => Class::HostToDevice,
            _ if starts_with(name, "IteratorGetNext") => Class::HostWaitInput,
            _ => Class::HostCompute,
        })
    }

    fn find_producers(&mut self, profile: &Profile) {
        // Only stages of input pipelines ask.
        if self.ids.stage.is_none() || self.ids.producer.contains(&None) {
            return;
        }
        for line in profile.lines_of(self.plane.id) {
            let events = profile.events(line);
            for index in 0..events.len() {
                self.produced.extend(self.context(events, index, self.ids.producer));
            }
        }
    }

    /// A context's kind and id.
    fn context(&self, events: &Events, index: usize, ids: [Option<StatId>; 2]) -> Option<(i64, i64)> {
        let [kind, id] = ids.map(|id| events.stat(self.source, index, id).and_then(|v| v.as_u64_bits()));
        Some((kind? as i64, id? as i64))
    }

    fn text(&self, events: &Events, index: usize, id: Option<StatId>) -> Option<String> {
        let value = events.stat(self.source, index, id)?;
        self.plane.text(self.source, value).map(|t| t.into_owned()).filter(|t| !t.is_empty())
    }

    fn add_line(
        &self,
        profile: &Profile,
        lane: &Lane,
        context: &Context,
        kinds: &[Kind],
        groups: &mut ByGroup,
    ) {
        let events = profile.events(profile.line(lane.line));
        let (starts, durations) = (lane.starts_ps(profile), lane.durations_ps(profile));
        let metas = lane.metas(profile);
        let region = self.kind_of(REGION);
        let mut named = lane.named.iter().copied().peekable();
        // What the stages of an input pipeline contain: end, and whether a stage is it or is around it.
        let mut open: Vec<(i64, bool)> = Vec::new();
        for (position, group) in lane.groups().iter().enumerate() {
            let span = (starts[position], starts[position] + durations.at(position));
            let row = lane.row(position);
            let mut is_output_stage = false;
            if self.ids.stage.is_some() {
                let is_stage = row.is_some_and(|row| self.text(events, row, self.ids.stage).is_some());
                let fed = row.and_then(|row| self.context(events, row, self.ids.consumer));
                while open.last().is_some_and(|(end, _)| *end < span.1) {
                    open.pop();
                }
                let below = open.last().is_some_and(|(_, stage)| *stage)
                    || fed.is_some_and(|context| self.produced.contains(&context));
                is_output_stage = is_stage && !below;
                open.push((span.1, is_stage || below));
            }
            let name = named.next_if(|(at, _)| *at as usize == position).map(|(_, group)| group);
            if lane.group(position).is_none() {
                continue;
            }
            let group = i64::from(*group);
            let step_name = name
                .and_then(|g| context.groups.get(g as usize).map(|g| g.name.clone()))
                .or_else(|| self.text(events, row?, self.ids.step_name));
            let details = groups.entry(group).or_default();
            match if row.is_some() { kinds[metas[position] as usize] } else { region } {
                Kind::Marker => keep_longer(&mut details.host, span),
                _ if step_name.is_some() => keep_longer(&mut details.host, span),
                Kind::Work(class) => {
                    let class = match class {
                        Class::HostToDevice | Class::HostToHost => class,
                        _ if is_output_stage => Class::HostWaitInput,
                        _ => class,
                    };
                    details.events.push((class, span.0, span.1));
                }
                Kind::Wrapper => {}
            }
            if let Some(name) = step_name {
                details.name = name;
            }
        }
    }
}

fn starts_with(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Adds the steps of a GPU: groups with a marker and with kernels.
fn add_gpu(profile: &Profile, plane: &Plane, context: &Context, all: &mut ByGroup) {
    let source = profile.source_of(plane);
    let ids = GpuIds { correlation: plane.stat_id("correlation_id"), shapes: plane.stat_id("shape") };
    let classes: Vec<Class> =
        plane.metas.iter().map(|meta| class_of_kernel(&source.text(meta.name))).collect();
    let mut groups = ByGroup::new();
    for (lane, position, group) in in_order(profile, plane, context, &mut groups) {
        let (Some(row), Some(id)) = (lane.row(position), ids.correlation) else { continue };
        let events = profile.events(profile.line(lane.line));
        if events.stat(source, row, Some(id)).is_none() {
            continue;
        }
        let mut class = classes[events.metas()[row] as usize];
        if let Some(value) = events.stat(source, row, ids.shapes).filter(|_| class >= Class::Compute32)
            && let Some(shapes) = plane.text(source, value).filter(|t| !t.is_empty())
        {
            class = if shapes.contains("half") { Class::Compute16 } else { Class::Compute32 };
        }
        let start = lane.starts_ps(profile)[position];
        let span = (class, start, start + lane.durations_ps(profile).at(position));
        groups.entry(i64::from(group)).or_default().events.push(span);
    }
    groups.retain(|_, details| details.device.is_some() && !details.events.is_empty());
    for (group, mut details) in groups {
        let into = all.entry(group).or_default();
        into.events.append(&mut details.events);
        if let Some(marker) = details.device {
            keep_longer(&mut into.device, marker);
        }
    }
}

struct GpuIds {
    correlation: Option<StatId>,
    shapes: Option<StatId>,
}

/// The events of a GPU with their groups, and its markers. The profiler's `Steps` line marks steps; where there is none
/// yet, each run of events of one group does, and an event without a group belongs to that before it.
fn in_order<'c>(
    profile: &Profile,
    plane: &Plane,
    context: &'c Context,
    groups: &mut ByGroup,
) -> Vec<(&'c Lane, usize, u32)> {
    let mut mark = |group: u32, marker| {
        keep_longer(&mut groups.entry(i64::from(group)).or_default().device, marker);
    };
    let mut order: Vec<(i64, i64, &'c Lane, usize)> = Vec::new();
    for lane in profile.lines_of(plane.id).filter_map(|line| context.lane(line.id)) {
        let (starts, durations) = (lane.starts_ps(profile), lane.durations_ps(profile));
        let line = profile.line(lane.line).wire_id;
        let spans = || starts.iter().zip(durations.iter()).enumerate();
        if line == FIRST_DERIVED {
            for (position, (start, duration)) in spans() {
                if let Some(group) = lane.group(position) {
                    mark(group, (*start, start + duration));
                }
            }
        } else if !(FIRST_DERIVED..FIRST_DERIVED + DERIVED).contains(&line) {
            order.extend(spans().map(|(i, (start, duration))| (*start, -duration, lane, i)));
        }
    }
    if context.by_profiler {
        let grouped = order.into_iter().filter_map(|(.., lane, i)| Some((lane, i, lane.group(i)?)));
        return grouped.collect();
    }
    order.sort_by_key(|(start, length, ..)| (*start, *length));
    let mut run: Option<(u32, i64, i64)> = None;
    let mut out = Vec::with_capacity(order.len());
    for (start, length, lane, position) in order {
        let Some(group) = lane.group(position).or(run.map(|(group, ..)| group)) else { continue };
        match &mut run {
            Some((last, _, end)) if *last == group => *end = (*end).max(start - length),
            _ => {
                run.into_iter().for_each(|(group, start, end)| mark(group, (start, end)));
                run = Some((group, start, start - length));
            }
        }
        out.push((lane, position, group));
    }
    run.into_iter().for_each(|(group, start, end)| mark(group, (start, end)));
    out
}

/// The id of the `Steps` line that the profiler derives for a GPU; those of other derived lines follow.
const FIRST_DERIVED: i64 = crate::xprof_lines::FIRST_ID;
const DERIVED: i64 = 290;

fn class_of_kernel(name: &str) -> Class {
    let op = FrameworkOp::parse(name);
    match (op.framework, op.kind) {
        (Framework::Copy, "MemcpyHToD") => Class::HostToDevice,
        (Framework::Copy, "MemcpyDToH") => Class::DeviceToHost,
        (Framework::Copy, "MemcpyDToD") => Class::DeviceToDevice,
        _ if starts_with(name, "nccl") => Class::Collectives,
        _ if name.contains("half") || name.contains("fp16") => Class::Compute16,
        _ => Class::Compute32,
    }
}
