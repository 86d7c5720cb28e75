//! GPU: what kernels say of the HLO op and the framework op that they execute, stream by stream; steps from groups; how
//! much the host launched in each step.

use haloscope_xspace::StatValue;
use rustc_hash::FxHashMap;

use super::builder::{Builders, Piece};
use super::{
    Derived, DerivedEvent, DerivedEvents, DerivedLine, Detail, LAUNCHES, Labels, OpLabels, STEPS,
    is_derived_id, ties,
};
use haloscope_event_groups::Context;
use haloscope_profile::{HostId, Line, LineId, LineKind, Plane, PlaneId, PlaneKind, Profile, Source, Stat};

const OPS: usize = 0;
const SCOPES: usize = 1;
const HLO_OPS: usize = 2;
const MODULES: usize = 3;
const SOURCE: usize = 4;
const BUFFERS: usize = 5;
/// From one stream to the next in the order of display: the stream and its derived lines.
const PLACES_A_STREAM: i64 = 7;
/// As many streams are given derived lines.
const MOST_STREAMS: usize = 16;
/// No chain of scopes is longer.
const DEEPEST_SCOPE: usize = 200;

pub(super) fn lines(profile: &Profile, plane: &Plane, context: &Context) -> Derived {
    let mut derived = Derived::default();
    let steps = steps(profile, plane, context, &mut derived.labels);
    derived.lines.push(steps);
    let mut streams: Vec<&Line> = profile.lines_of(plane.id).filter(|l| !is_derived_id(l.wire_id)).collect();
    ties::sort(&mut streams, |l| (!l.name.contains("Compute"), std::cmp::Reverse(l.event_count)));
    let scopes = scope_tree(profile, plane.host);
    let mut symbols = Symbols { profile, host: plane.host, known: FxHashMap::default() };
    for (number, line) in streams.into_iter().take(MOST_STREAMS).enumerate() {
        let place = number as i64 * PLACES_A_STREAM + 1;
        derived.places.push((line.id, place));
        let found = of_stream(profile, plane, line, context, &scopes, &mut symbols, &mut derived);
        derived.lines.extend(found.into_iter().flatten().zip(1..).map(
            |((name, events, details), offset)| {
                let name = format!("{name} - from #{}", line.wire_id);
                DerivedLine { details, ..DerivedLine::new(place + offset, name, events) }
            },
        ));
    }
    derived
}

/// One event a group that runs on the device.
fn steps(profile: &Profile, plane: &Plane, context: &Context, labels: &mut Labels) -> DerivedLine {
    let mut order = Vec::new();
    for line in profile.lines_of(plane.id).filter(|l| !is_derived_id(l.wire_id)) {
        let Some(lane) = context.lane(line.id) else { continue };
        let times = lane.starts_ps(profile).iter().zip(lane.durations_ps(profile).iter()).enumerate();
        order.extend(times.map(|(at, (s, d))| (*s, d, lane.group(at))));
    }
    ties::sort(&mut order, |(start, duration, _)| (*start, *duration));
    let mut lines = Builders::new([&[]], true);
    for (start, duration, group) in order {
        let Some(group) = group else { continue };
        let label = labels.intern(&group.to_string());
        let piece = Piece { start_ps: start, end_ps: start + duration, group: Some(group) };
        lines.add(0, label, piece, None);
    }
    let [events] = lines.lines.map(|line| line.events);
    let details = events.iter().map(|event| {
        let group = event.group.and_then(|g| context.groups.get(g as usize));
        group.map(|g| Detail::Text("step_name", g.name.clone())).into_iter().collect()
    });
    let details = details.collect();
    DerivedLine { details, ..DerivedLine::new(STEPS, "Steps", events) }
}

/// What a kernel says of itself.
#[derive(Default)]
struct Kernel<'p> {
    is_kernel: bool,
    op: std::borrow::Cow<'p, str>,
    hlo_op: std::borrow::Cow<'p, str>,
    module: std::borrow::Cow<'p, str>,
    program_id: Option<u64>,
    scope: Option<i64>,
    /// The CUDA graph that the kernel is part of.
    graph: Option<u64>,
    correlation_id: Option<u64>,
}

struct Keys([Option<i64>; 9]);

impl Keys {
    fn new(plane: &Plane) -> Self {
        let names = [
            "kernel_details",
            "tf_op",
            "hlo_op",
            "hlo_module",
            "program_id",
            "scope_range_id",
            "cuda_graph_exec_id",
            "cuda_graph_id",
            "correlation_id",
        ];
        Self(names.map(|name| plane.stat_id(name)))
    }

    fn read<'p>(&self, profile: &'p Profile, plane: &'p Plane, line: &'p Line, row: usize) -> Kernel<'p> {
        let source = profile.source_of(plane);
        let mut kernel = Kernel::default();
        for stat in profile.events(line).stats(source, row) {
            let Some(value) = stat.value else { continue };
            let text = || plane.text(source, value).unwrap_or_default();
            match self.0.iter().position(|id| *id == Some(stat.metadata_id)) {
                Some(0) => kernel.is_kernel |= !text().is_empty(),
                Some(1) => kernel.op = text(),
                Some(2) => kernel.hlo_op = text(),
                Some(3) => kernel.module = text(),
                Some(4) => kernel.program_id = value.as_u64_bits(),
                Some(5) => kernel.scope = value.as_u64_bits().map(|v| v as i64),
                Some(6) => kernel.is_kernel = true,
                // Profilers write it unsigned; XProf takes nothing else for it.
                Some(7) => {
                    kernel.graph =
                        if let StatValue::Uint(id) = value { (id != 0).then_some(id) } else { None };
                }
                Some(8) => kernel.correlation_id = value.as_u64_bits(),
                _ => {}
            }
        }
        kernel
    }
}

impl Kernel<'_> {
    /// Says of a derived event which graph it is part of and what launched it.
    fn note_graph(&self, details: &mut Vec<Vec<Detail>>, at: usize) {
        if details.len() <= at {
            details.resize(at + 1, Vec::new());
        }
        let numbers = [("cuda_graph_id", self.graph), ("correlation_id", self.correlation_id)];
        for (name, value) in numbers.into_iter().filter_map(|(name, value)| Some((name, value? as i64))) {
            details[at].retain(|known| !matches!(known, Detail::Count(n, _) if *n == name));
            details[at].push(Detail::Count(name, value));
        }
    }
}

type Named = (&'static str, DerivedEvents, Vec<Vec<Detail>>);

fn of_stream(
    profile: &Profile,
    plane: &Plane,
    line: &Line,
    context: &Context,
    scopes: &FxHashMap<i64, i64>,
    symbols: &mut Symbols<'_>,
    derived: &mut Derived,
) -> Option<[Named; 6]> {
    let lane = context.lane(line.id)?;
    let labels = &mut derived.labels;
    let (starts, durations) = (lane.starts_ps(profile), lane.durations_ps(profile));
    let mut order: Vec<usize> = (0..starts.len()).collect();
    ties::sort(&mut order, |at| (starts[*at], durations.at(*at)));
    let keys = Keys::new(plane);
    let mut lines = Builders::new([&[], &[OPS], &[], &[SCOPES, HLO_OPS], &[], &[]], true);
    let mut parsed: FxHashMap<String, OpLabels> = FxHashMap::default();
    let (mut hlo_details, mut buffer_details) = (Vec::new(), Vec::new());
    for at in order {
        let Some(row) = lane.row(at) else { continue };
        let kernel = keys.read(profile, plane, line, row);
        if !kernel.is_kernel {
            continue;
        }
        let piece =
            Piece { start_ps: starts[at], end_ps: starts[at] + durations.at(at), group: lane.group(at) };
        // Innermost first, the program's own scope last.
        let mut chain: Vec<i64> = Vec::new();
        let mut scope = kernel.scope;
        while let Some(id) = scope.filter(|id| !chain.contains(id) && chain.len() < DEEPEST_SCOPE) {
            chain.push(id);
            scope = scopes.get(&id).copied();
        }
        if !kernel.module.is_empty() {
            let name = match kernel.program_id {
                Some(id) => format!("{}({id})", kernel.module),
                None => kernel.module.to_string(),
            };
            let label = labels.intern(&name);
            lines.add(MODULES, label, piece, chain.last().copied());
        }
        let mut framework_op = (!kernel.op.is_empty()).then(|| kernel.op.to_string());
        if !kernel.hlo_op.is_empty() {
            let prefix = kernel.program_id.map_or_else(|| kernel.module.to_string(), |id| id.to_string());
            let nested =
                kernel.hlo_op.split("::").map(|op| labels.intern_shown(&format!("{prefix}/{op}"), op));
            let nested: Vec<u32> = nested.collect();
            chain.reverse();
            let chain = if chain.len() == nested.len() { chain.as_slice() } else { &[] };
            lines.add_nested(HLO_OPS, &nested, piece, chain);
            if kernel.graph.is_some()
                && let Some(at) = lines.open_at(HLO_OPS, nested.len() - 1)
            {
                kernel.note_graph(&mut hlo_details, at);
            }
            let symbol =
                symbols.find(kernel.program_id, kernel.hlo_op.rsplit("::").next().unwrap_or_default());
            framework_op = symbol.map(|s| s.op.clone());
            add_op(&mut lines, framework_op.as_deref(), piece, &mut parsed, labels);
            if let Some(position) = symbol.and_then(|s| s.source.as_deref()) {
                let label = labels.intern(position);
                lines.add(SOURCE, label, piece, None);
            }
        } else {
            add_op(&mut lines, framework_op.as_deref(), piece, &mut parsed, labels);
        }
        if let Some(graph) = kernel.graph {
            let label = labels.intern(&format!("Command Buffer {graph}"));
            lines.add(BUFFERS, label, piece, kernel.correlation_id.map(|id| id as i64));
            if let Some(at) = lines.open_at(BUFFERS, 0) {
                kernel.note_graph(&mut buffer_details, at);
            }
        }
    }
    let [ops, scopes, hlo_ops, modules, positions, buffers] = lines.lines.map(|line| line.events);
    let none = Vec::new;
    Some([
        ("Framework Name Scope", scopes, none()),
        ("Framework Ops", ops, none()),
        ("XLA Modules", modules, none()),
        ("XLA Ops", hlo_ops, hlo_details),
        ("Source code", positions, none()),
        ("Command Buffers", buffers, buffer_details),
    ])
}

fn add_op(
    lines: &mut Builders<6>,
    full_name: Option<&str>,
    piece: Piece,
    parsed: &mut FxHashMap<String, OpLabels>,
    labels: &mut Labels,
) {
    let Some(name) = full_name.filter(|name| !name.is_empty()) else { return };
    if !parsed.contains_key(name) {
        parsed.insert(name.to_owned(), OpLabels::new(name, labels));
    }
    if let Some(op) = parsed.get(name) {
        lines.add_nested(SCOPES, &op.scopes, piece, &[]);
        lines.add(OPS, op.op, piece, None);
    }
}

/// The scope around each scope.
fn scope_tree(profile: &Profile, host: HostId) -> FxHashMap<i64, i64> {
    let Some(plane) = profile.planes_of(host).find(|p| p.name == "/host:__ScopeRangeCallStack__") else {
        return FxHashMap::default();
    };
    // A scope's own id is the key of the stat, which the plane's facts are listed by name for.
    let parents = plane.stats.iter().filter_map(|(name, stat)| match stat {
        Stat::Int(parent) => Some((plane.stat_id(name)?, *parent)),
        _ => None,
    });
    parents.collect()
}

/// Where an HLO op comes from.
struct Symbol {
    op: String,
    source: Option<String>,
}

/// HLO ops looked up so far.
struct Symbols<'p> {
    profile: &'p Profile,
    host: HostId,
    known: FxHashMap<(u64, String), Option<Symbol>>,
}

impl Symbols<'_> {
    fn find(&mut self, program_id: Option<u64>, hlo_op: &str) -> Option<&Symbol> {
        let key = (program_id?, hlo_op.to_owned());
        if !self.known.contains_key(&key) {
            let symbol = self.look_up(key.0, hlo_op);
            self.known.insert(key.clone(), symbol);
        }
        self.known.get(&key)?.as_ref()
    }

    fn look_up(&self, program_id: u64, hlo_op: &str) -> Option<Symbol> {
        let modules = self.profile.modules.iter();
        let module = modules.clone().find(|m| m.host == self.host && m.program_id == Some(program_id))?;
        let decoded = module.decode(self.profile).ok()?;
        let instruction = decoded.module.instruction_by_name(hlo_op)?;
        let metadata = decoded.module.instruction(instruction).metadata.as_deref();
        let text = |field: fn(&haloscope_hlo::Metadata) -> Option<&String>| {
            metadata.and_then(field).map(String::as_str).unwrap_or_default()
        };
        let op = format!("{}:{}", text(|m| m.op_name.as_ref()), text(|m| m.op_type.as_ref()));
        let file = text(|m| m.source_file.as_ref());
        let line = metadata.and_then(|m| m.source_line).unwrap_or(0);
        let name = file.rsplit('/').next().unwrap_or_default();
        Some(Symbol { op, source: (!file.is_empty()).then(|| format!("{name}:{line}")) })
    }
}

/// How much of a group's work the host launched on a device, and when.
#[derive(Debug, Clone, Copy)]
struct Launched {
    start_ps: i64,
    end_ps: i64,
    count: u64,
    longest_ps: i64,
    total_ps: i64,
}

/// Adds to each GPU a line that says how much of every group the host launched there.
pub(super) fn add_launches(
    profile: &Profile,
    host: HostId,
    context: &Context,
    derived: &mut [(PlaneId, Derived)],
) {
    let is_gpu = |plane: &PlaneId| profile.plane(*plane).kind == PlaneKind::Gpu;
    let gpus: Vec<usize> = (0..derived.len()).filter(|i| is_gpu(&derived[*i].0)).collect();
    let Some(plane) =
        profile.planes_of(host).find(|p| p.kind == PlaneKind::Host).filter(|_| !gpus.is_empty())
    else {
        return;
    };
    let source = profile.source_of(plane);
    let (Some(device), Some(correlation)) = (plane.stat_id("device_id"), plane.stat_id("correlation_id"))
    else {
        return;
    };
    let mut launched = std::collections::BTreeMap::<(usize, u32), Launched>::new();
    for line in profile.lines_of(plane.id).filter(|l| l.kind != LineKind::Derived) {
        note_launches(
            profile,
            plane,
            source,
            line.id,
            context,
            (device, correlation),
            gpus.len(),
            &mut launched,
        );
    }
    for ((gpu, group), launched) in launched {
        let Some(known) = context.groups.get(group as usize) else { continue };
        let derived = &mut derived[gpus[gpu]].1;
        let label = derived.labels.intern(&format!("Launch Stats for {}", known.name));
        if derived.lines.last().is_none_or(|line| line.id != LAUNCHES) {
            derived.lines.push(DerivedLine::new(LAUNCHES, "Launch Stats", DerivedEvents::default()));
        }
        let Some(line) = derived.lines.last_mut() else { continue };
        line.events.push(DerivedEvent {
            start_ps: launched.start_ps,
            duration_ps: launched.end_ps - launched.start_ps,
            label,
            group: Some(group),
        });
        line.details.push(vec![
            Detail::Count("num_launches", launched.count as i64),
            Detail::Number("max_launch_time_us", launched.longest_ps as f64 / 1e6),
            Detail::Number("avg_launch_time_us", launched.total_ps as f64 / launched.count as f64 / 1e6),
        ]);
    }
}

#[expect(clippy::too_many_arguments, reason = "one loop of the function above")]
fn note_launches(
    profile: &Profile,
    plane: &Plane,
    source: &Source,
    line: LineId,
    context: &Context,
    (device, correlation): (i64, i64),
    gpus: usize,
    launched: &mut std::collections::BTreeMap<(usize, u32), Launched>,
) {
    let Some(lane) = context.lane(line).filter(|lane| !lane.groups().is_empty()) else { return };
    let events = profile.events(profile.line(line));
    for (at, meta) in lane.metas(profile).iter().enumerate() {
        let (Some(group), Some(row)) = (lane.group(at), lane.row(at)) else { continue };
        // Calls of the driver's are left out, as they are beside those of the runtime.
        if source.slice(plane.metas[*meta as usize].name).starts_with(b"cu") {
            continue;
        }
        let on = events.stat(source, row, Some(device)).and_then(|v| v.as_u64_bits());
        let Some(on) = on.and_then(|on| usize::try_from(on).ok()).filter(|on| *on < gpus) else { continue };
        if events.stat(source, row, Some(correlation)).is_none() {
            continue;
        }
        let (start_ps, duration) = (lane.starts_ps(profile)[at], lane.durations_ps(profile).at(at));
        let end_ps = start_ps + duration;
        let empty = Launched { start_ps, end_ps, count: 0, longest_ps: 0, total_ps: 0 };
        let sum = launched.entry((on, group)).or_insert(empty);
        sum.start_ps = sum.start_ps.min(start_ps);
        sum.end_ps = sum.end_ps.max(end_ps);
        sum.count += 1;
        sum.longest_ps = sum.longest_ps.max(duration);
        sum.total_ps = sum.total_ps.saturating_add(duration);
    }
}
