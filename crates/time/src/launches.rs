//! Program executions: when each HLO module ran on a device.

use rustc_hash::FxHashMap;

use super::cpu_work;
use haloscope_profile::{Device, DeviceKind, LineKind, Mark, Profile};

/// One execution of a program on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Program id, where the profile states it.
    pub program_id: Option<u64>,
    /// The module's name, without the program id.
    pub module: String,
    /// Start on the run's clock, picoseconds.
    pub start_ps: i64,
    /// End, picoseconds.
    pub end_ps: i64,
}

/// All program executions of a device by start. TPU: the `XLA Modules` line. GPU and CPU: put together from
/// ops; those with one `run_id` are one execution, and without `run_id` an execution goes on until another module's op
/// starts or the op that began it starts again: on a GPU in the order in which the host launched them, where correlation ids
/// say it, for streams overlap. The kernels of one launch of a CUDA graph are of one execution.
#[must_use]
pub fn of(profile: &Profile, device: &Device) -> Vec<Launch> {
    match device.kind {
        DeviceKind::Tpu => from_modules_line(profile, device),
        DeviceKind::Gpu | DeviceKind::Cpu => from_ops(profile, device),
    }
}

fn from_modules_line(profile: &Profile, device: &Device) -> Vec<Launch> {
    let Some(line) = profile.line_of_kind(device.plane, LineKind::XlaModules) else { return Vec::new() };
    let plane = profile.plane(device.plane);
    let source = profile.source_of(plane);
    let events = profile.events(line);
    let launch = |event: haloscope_profile::Event| {
        let label = plane.meta_label(source, event.meta);
        let (name, program_id) = haloscope_profile::split_label(&label);
        Launch { program_id, module: name.to_owned(), start_ps: event.start_ps, end_ps: event.end_ps }
    };
    events.iter().map(launch).collect()
}

fn from_ops(profile: &Profile, device: &Device) -> Vec<Launch> {
    let plane = profile.plane(device.plane);
    let source = profile.source_of(plane);
    let names = ["hlo_op", "hlo_module", "program_id", "run_id", "correlation_id", "cuda_graph_id"];
    let [Some(op_id), module_id, program_id, run_id, launch_id, graph_id] =
        names.map(|name| plane.stat_id(name))
    else {
        return Vec::new();
    };
    // Numbers that no launch of the host has are in no order that means anything.
    let is_launched = || {
        let mut hosts = profile.planes_of(device.host).filter(|p| !p.kind.is_device());
        hosts.any(|p| p.stat_id("correlation_id").is_some())
    };
    let launch_id = launch_id.filter(|_| device.kind == DeviceKind::Gpu && is_launched());
    let mut ops = Vec::new();
    let mut are_ordered = launch_id.is_some();
    for line in profile.lines_of(device.plane) {
        if !matches!(line.kind, LineKind::Stream | LineKind::Thread) {
            continue;
        }
        let (events, ends) = (profile.events(line), cpu_work::ends(profile, line));
        for event in events.iter().filter(|e| events.has(e.index, Mark::HloOp)).map(|e| ends.of(e)) {
            let (mut op, mut module, mut program, mut run, mut order, mut graph) =
                (None, None, None, None, None, None);
            for stat in events.stats(source, event.index) {
                let id = Some(stat.metadata_id);
                if id == Some(op_id) {
                    op = stat.value;
                } else if id == module_id {
                    module = stat.value;
                } else if id == program_id {
                    program = stat.value.and_then(|v| v.as_u64_bits());
                } else if id == run_id {
                    run = stat.value.and_then(|v| v.as_u64_bits());
                } else if id == launch_id {
                    order = stat.value.and_then(|v| v.as_u64_bits());
                } else if id == graph_id {
                    graph = stat.value.and_then(|v| v.as_u64_bits());
                }
            }
            let Some(op) = op.and_then(|v| plane.text(source, v)) else { continue };
            let module = module.and_then(|v| plane.text(source, v)).unwrap_or_default();
            are_ordered &= order.is_some();
            // All kernels of a graph have the number of its one launch.
            let graph = graph.zip(order);
            ops.push((event.start_ps, event.end_ps, program, module, run, op, order, graph));
        }
    }
    ops.sort_by_key(|op| (op.6.filter(|_| are_ordered), op.0, op.1));
    let mut launches: Vec<Launch> = Vec::new();
    let mut by_run = FxHashMap::default();
    let mut open: Option<(usize, std::borrow::Cow<'_, str>)> = None;
    // The graph to which the op before belongs, and its program's execution.
    let mut of_graph: Option<(usize, (u64, u64))> = None;
    for (start_ps, end_ps, program_id, module, run, op, _, graph) in ops {
        let same_graph = of_graph.filter(|(_, own)| Some(*own) == graph);
        let row = match (run, &open) {
            (Some(run), _) => *by_run.entry((program_id, run)).or_insert(launches.len()),
            (None, _) if same_graph.is_some() => same_graph.map_or(launches.len(), |(row, _)| row),
            (None, Some((row, first))) if *first != op && launches[*row].program_id == program_id => *row,
            (None, _) => launches.len(),
        };
        if row == launches.len() {
            launches.push(Launch { program_id, module: module.into_owned(), start_ps, end_ps });
            open = Some((row, op));
        }
        of_graph = graph.map(|graph| (row, graph));
        launches[row].start_ps = launches[row].start_ps.min(start_ps);
        launches[row].end_ps = launches[row].end_ps.max(end_ps);
    }
    launches.sort_by_key(|launch| launch.start_ps);
    launches
}
