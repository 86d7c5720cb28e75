//! Program executions: when each HLO module ran on a device.

use std::borrow::Cow;

use haloscope_hlo::Turn;
use rustc_hash::FxHashMap;

use super::cpu_work;
use super::hlo_costs::Costs;
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
/// ops; those with one `run_id` are one execution, or those in one call of XLA's CPU runtime where TensorFlow's runtime leaves the
/// number out (-1); without either an execution goes on until another module's op
/// starts or the op that began it starts again: on a GPU in the order in which the host launched them, where correlation ids
/// say it, for streams overlap. The kernels of one launch of a CUDA graph are of one execution. Where the program says that
/// the op that began it is of a loop, which the host drives, an execution goes on until an op starts that comes before in the
/// program's schedule.
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

/// An op as it ran: what says of which execution it is.
#[derive(Debug)]
struct Ran<'p> {
    start_ps: i64,
    end_ps: i64,
    program_id: Option<u64>,
    module: Cow<'p, str>,
    op: Cow<'p, str>,
    /// The execution's number, where the profiler gives one.
    run: Option<u64>,
    /// Its launch's number: the order in which the host launched.
    order: Option<u64>,
    /// The launch of the CUDA graph that it is of.
    graph: Option<(u64, u64)>,
}

fn from_ops(profile: &Profile, device: &Device) -> Vec<Launch> {
    let ops = ops_that_ran(profile, device);
    let launches = grouped(&ops, |_, _| None);
    if device.kind != DeviceKind::Gpu || !are_unequal(&launches) {
        return launches.into_iter().map(|(launch, _)| launch).collect();
    }
    // The op that began it may be one of a loop, which starts again in each round: the program says so.
    let costs = Costs::new(profile, device);
    let mut turns = FxHashMap::default();
    let grouped = grouped(&ops, |program_id, op| {
        let turns =
            turns.entry(program_id?).or_insert_with_key(|id| costs.program(*id).map(haloscope_hlo::turns));
        turns.as_ref()?.get(op).copied()
    });
    let is_told_apart = grouped.len() > 1 || launches.len() <= 1;
    let found = if is_told_apart { grouped } else { launches };
    found.into_iter().map(|(launch, _)| launch).collect()
}

/// Whether executions of one program, but the first and the last, which the capture may have cut, are of unequal numbers of ops.
fn are_unequal(launches: &[(Launch, usize)]) -> bool {
    let mut counts: FxHashMap<(Option<u64>, &str), Vec<usize>> = FxHashMap::default();
    for (launch, ops) in launches {
        counts.entry((launch.program_id, launch.module.as_str())).or_default().push(*ops);
    }
    counts.values().any(|counts| {
        let whole = counts.get(1..counts.len().saturating_sub(1)).unwrap_or_default();
        whole.iter().any(|count| Some(count) != whole.first())
    })
}

/// Executions, each with the number of its ops, by start. `turn` says when an op of a program has its turn, where that is known.
fn grouped(ops: &[Ran<'_>], mut turn: impl FnMut(Option<u64>, &str) -> Option<Turn>) -> Vec<(Launch, usize)> {
    let mut launches: Vec<(Launch, usize)> = Vec::new();
    let mut by_run = FxHashMap::default();
    // The execution that goes on: its row, the op that began it, whether that is of a loop, and the turn of its last op.
    let mut open: Option<(usize, &str, bool, Option<Turn>)> = None;
    // The graph to which the op before belongs, and its program's execution.
    let mut of_graph: Option<(usize, (u64, u64))> = None;
    for ran in ops {
        let same_graph = of_graph.filter(|(_, own)| Some(*own) == ran.graph);
        let now = turn(ran.program_id, &ran.op);
        let goes_on = |(row, first, is_looped, last): &(usize, &str, bool, Option<Turn>)| {
            launches[*row].0.program_id == ran.program_id
                && match (is_looped, last, now) {
                    // A loop's op may start again; what comes before the op before it is of another execution.
                    (true, Some(last), Some(now)) => last.place <= now.place,
                    _ => *first != ran.op,
                }
        };
        let row = match (ran.run, &open) {
            (Some(run), _) => *by_run.entry((ran.program_id, run)).or_insert(launches.len()),
            (None, _) if same_graph.is_some() => same_graph.map_or(launches.len(), |(row, _)| row),
            (None, Some(own)) if goes_on(own) => own.0,
            (None, _) => launches.len(),
        };
        if row == launches.len() {
            let (program_id, module) = (ran.program_id, ran.module.clone().into_owned());
            launches.push((Launch { program_id, module, start_ps: ran.start_ps, end_ps: ran.end_ps }, 0));
            open = Some((row, &ran.op, now.is_some_and(|now| now.is_looped), now));
        }
        if let Some((own, .., last)) = &mut open
            && *own == row
        {
            *last = now.or(*last);
        }
        of_graph = ran.graph.map(|graph| (row, graph));
        let (launch, count) = &mut launches[row];
        launch.start_ps = launch.start_ps.min(ran.start_ps);
        launch.end_ps = launch.end_ps.max(ran.end_ps);
        *count += 1;
    }
    launches.sort_by_key(|(launch, _)| launch.start_ps);
    launches
}

fn ops_that_ran<'p>(profile: &'p Profile, device: &Device) -> Vec<Ran<'p>> {
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
            let (start_ps, end_ps) = (event.start_ps, event.end_ps);
            ops.push(Ran { start_ps, end_ps, program_id: program, module, op, run, order, graph });
        }
    }
    ops.sort_by_key(|ran| (ran.order.filter(|_| are_ordered), ran.start_ps, ran.end_ps));
    if ops.iter().any(|ran| ran.run == Some(NO_RUN)) {
        number_runs(&mut ops, &executions(profile, device));
    }
    ops
}

/// What TensorFlow's runtime writes as the `run_id` of ops: -1.
const NO_RUN: u64 = u64::MAX;
/// The event of a host's thread that executes a program of XLA's CPU backend.
const EXECUTES: &str = "CpuExecutable::ExecuteAsyncOnStream";

/// When programs of XLA's CPU backend were executed, by start.
fn executions(profile: &Profile, device: &Device) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    for plane in profile.planes_of(device.host).filter(|plane| !plane.kind.is_device()) {
        let source = profile.source_of(plane);
        let is_one = |meta: usize| plane.meta_label(source, u32::try_from(meta).unwrap_or(0)) == EXECUTES;
        let executes: Vec<bool> = (0..plane.metas.len()).map(is_one).collect();
        if !executes.contains(&true) {
            continue;
        }
        for line in profile.lines_of(plane.id) {
            let events = profile.events(line);
            let own = events.iter().filter(|event| executes.get(event.meta as usize) == Some(&true));
            found.extend(own.map(|event| (event.start_ps, event.end_ps)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Gives ops without a number that of the execution that was the last to begin before them, and is not over; none where there is none.
fn number_runs(ops: &mut [Ran<'_>], executions: &[(i64, i64)]) {
    for ran in ops.iter_mut().filter(|ran| ran.run == Some(NO_RUN)) {
        let begun = executions.partition_point(|(start_ps, _)| *start_ps <= ran.start_ps);
        let last = begun.checked_sub(1).filter(|last| executions[*last].1 >= ran.start_ps);
        ran.run = last.map(|last| last as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ops that ran one after another, a letter each; upper case is of a loop, digits come before and after it.
    fn ran(words: &str) -> Vec<Ran<'static>> {
        let ops = words.chars().filter(|c| *c != ' ').enumerate();
        let op = |(at, op): (usize, char)| Ran {
            start_ps: at as i64,
            end_ps: at as i64 + 1,
            program_id: Some(7),
            module: "jit_step".into(),
            op: op.to_string().into(),
            run: None,
            order: Some(at as u64),
            graph: None,
        };
        ops.map(op).collect()
    }

    fn turn(_: Option<u64>, op: &str) -> Option<Turn> {
        let letter = op.chars().next()?;
        match letter {
            '0'..='4' => Some(Turn { place: letter as usize - '0' as usize, is_looped: false }),
            'A'..='Z' => Some(Turn { place: 5, is_looped: true }),
            '5'..='9' => Some(Turn { place: letter as usize - '0' as usize + 1, is_looped: false }),
            _ => None,
        }
    }

    fn counts(launches: &[(Launch, usize)]) -> Vec<usize> {
        launches.iter().map(|(_, count)| *count).collect()
    }

    #[test]
    fn ops_without_a_number_are_of_the_execution_around_them() {
        let mut ops = ran("0AAB 0AAB 0A");
        ops.iter_mut().for_each(|ran| ran.run = Some(NO_RUN));
        number_runs(&mut ops, &[(0, 4), (4, 8)]);
        let runs: Vec<Option<u64>> = ops.iter().map(|ran| ran.run).collect();
        assert_eq!(runs[..8], [Some(0), Some(0), Some(0), Some(0), Some(1), Some(1), Some(1), Some(1)]);
        // The second is over when the last op begins, which is none's.
        assert_eq!(runs[9], None);
        assert_eq!(counts(&grouped(&ops[..8], |_, _| None)), [4, 4]);
    }

    #[test]
    fn the_op_that_began_it_begins_the_next() {
        let ops = ran("0AB5 0AB5 0AB5");
        assert_eq!(counts(&grouped(&ops, |_, _| None)), [4, 4, 4]);
        assert_eq!(counts(&grouped(&ops, turn)), [4, 4, 4]);
        assert!(!are_unequal(&grouped(&ops, |_, _| None)));
    }

    #[test]
    fn a_loop_that_comes_first_is_one_execution_with_what_follows() {
        let ops = ran("ABABAB56 ABABAB56 ABABAB56");
        let plain = grouped(&ops, |_, _| None);
        assert_eq!(counts(&plain), [2, 2, 4, 2, 2, 4, 2, 2, 4]);
        assert!(are_unequal(&plain));
        assert_eq!(counts(&grouped(&ops, turn)), [8, 8, 8]);
    }

    #[test]
    fn a_capture_that_begins_inside_of_the_loop_cuts_the_first_only() {
        assert_eq!(counts(&grouped(&ran("BAB56 ABABAB56 ABABAB56"), turn)), [5, 8, 8]);
    }

    #[test]
    fn an_op_that_the_program_does_not_have_is_of_the_execution_around_it() {
        assert_eq!(counts(&grouped(&ran("ABxAB56 ABxAB56"), turn)), [7, 7]);
    }

    #[test]
    fn a_branch_that_is_not_always_taken_is_no_loop() {
        let ops = ran("012 012 0162 012 012");
        assert!(are_unequal(&grouped(&ops, |_, _| None)));
        assert_eq!(counts(&grouped(&ops, |_, _| None)), [3, 3, 4, 3, 3]);
    }
}
