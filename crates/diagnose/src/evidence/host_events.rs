//! What the host's events are, by their names.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::host_clock;
use haloscope_profile::{HostId, LineId, LineKind, Mark, Profile};
use haloscope_time::compilations::is_compilation;
use haloscope_time::input::input_work;
use haloscope_time::intervals::Intervals;

/// Host events of one name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Named {
    pub name: String,
    pub host: HostId,
    /// Their time in the stretches, once for each host.
    pub ps: i64,
    /// How many reach into them.
    pub count: u64,
    /// The time of all of these, the parts outside of the stretches too.
    pub total_ps: i64,
}

/// What a host does. Of several at once the first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doing {
    /// Compiles a program.
    Compile,
    /// Runs a callback of a program: a debug print, `io_callback`.
    Callback,
    /// Looks at all results of a program for values that are no numbers (`jax_debug_nans`).
    Check,
    /// Waits for a result of the device.
    Read,
    /// Moves data to or from the device.
    Transfer,
    /// Launches programs or kernels.
    Launch,
    /// Reads or prepares input.
    Input,
    /// Something else, or nothing that it recorded.
    Other,
}

/// Parts of the names of callbacks from the device: JAX's (`xla_python_cpu_callback`, `debug_callback`, `io_callback`,
/// `pure_callback`), XProf's word for prints, TensorFlow's outside compilation.
pub(crate) const CALLBACKS: [&str; 8] = [
    "python_cpu_callback",
    "python_gpu_callback",
    "debug_callback",
    "debug_print",
    "io_callback",
    "pure_callback",
    "HostCallback",
    "XlaHostCompute",
];

/// Functions of JAX that look at each result of a program for NaN or infinity, in which they also read it.
const CHECKS: [&str; 3] = ["_nan_check_posthook", "_check_special", "check_special"];

/// Functions that return when a result is there, whatever thread they are seen on.
const READS: [&str; 9] = [
    "block_until_ready",
    "try_to_block",
    "_value",
    "__array__",
    "asarray",
    "item",
    "tolist",
    "device_get",
    "effects_barrier",
];

/// The same, only on the thread that launches: on others they hold nobody up.
const READS_OF_LAUNCHER: [&str; 14] = [
    "TransferFromDevice",
    "ToLiteral",
    "ToLiteralSync",
    "BlockHostUntilReady",
    "BlockHostUntilDone",
    "BlockUntilReady",
    "Await",
    "cuStreamSynchronize",
    "cuCtxSynchronize",
    "cuEventSynchronize",
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "hipStreamSynchronize",
    "hipDeviceSynchronize",
];

/// Calls that put an array on the device. They may return before it is there: another thread moves it.
const PUTS: [&str; 3] = ["BatchedDevicePut", "DevicePut", "DevicePutWithSharding"];

/// Transfers that somebody waits for; copies of GPUs are ops of the device.
const TRANSFERS: [&str; 5] =
    ["TransferToDevice", "TransferFromDevice", "H2D Dispatch", "D2H Dispatch", "MapDmaBuffer"];

const LAUNCHES: [&str; 19] = [
    "PJRT_LoadedExecutable_Execute",
    "ExecuteLaunch",
    "ExecuteHelper",
    "ExecuteHelperOnSingleDevice",
    "ExecutePrepare",
    "ExecuteThunks",
    "EnqueueExecution",
    "EnqueueProgram",
    "EnqueueContinuationProgram",
    "DoEnqueueProgram",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuGraphLaunch",
    "cudaLaunchKernel",
    "cudaGraphLaunch",
    "hipLaunchKernel",
    "hipModuleLaunchKernel",
    "hipExtModuleLaunchKernel",
    "hipGraphLaunch",
];

/// What an event of this name is, and whether that holds only on the thread that launches.
pub(crate) fn doing(name: &str) -> Option<(Doing, bool)> {
    let whole = name;
    let name = name.split_once('#').map_or(name, |(name, _)| name);
    // Of a Python frame, `$file:line function`, the file says nothing.
    let called = if name.starts_with('$') { name.rsplit_once(' ').map_or(name, |(_, f)| f) } else { name };
    if CALLBACKS.iter().any(|part| called.contains(part)) {
        return Some((Doing::Callback, false));
    }
    if is_compilation(whole) {
        return Some((Doing::Compile, false));
    }
    if CHECKS.contains(&called) {
        return Some((Doing::Check, false));
    }
    if name.starts_with("PjitFunction(") {
        return Some((Doing::Launch, false));
    }
    let bare = name.split_once(" (").map_or(name, |(name, _)| name);
    let bare = bare.split_once('(').map_or(bare, |(name, _)| name).trim();
    // Python's tracer writes `$file:line function`.
    let bare = if bare.starts_with('$') { bare.rsplit_once(' ').map_or(bare, |(_, f)| f) } else { bare };
    let last = bare.rsplit_once("::").map_or(bare, |(_, function)| function);
    let function = last.rsplit_once('.').map_or(last, |(_, function)| function);
    let is = |list: &[&str]| list.contains(&function) || list.contains(&last);
    // `=>` joins the parts of what goes on elsewhere: `Execute=>Done`.
    if is(&READS) {
        // `jnp.asarray` goes to the device; NumPy's and JAX's own annotation come from it.
        (function != "asarray" || !name.starts_with('$')).then_some((Doing::Read, false))
    } else if is(&PUTS) || is(&TRANSFERS) {
        Some((Doing::Transfer, false))
    } else if is(&READS_OF_LAUNCHER) {
        Some((Doing::Read, true))
    } else if is(&LAUNCHES) || (last == "Execute" && bare.contains("Executable")) {
        Some((Doing::Launch, false))
    } else if bare.starts_with("TransferToDevice") {
        Some((Doing::Transfer, false))
    } else {
        None
    }
}

/// What an event has to do with the way of an array to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A call puts it on its way.
    Put,
    /// It is moved.
    ToDevice,
    /// Neither.
    Other,
}

impl Way {
    /// By the event's name.
    fn of(name: &str) -> Self {
        let name = name.split_once(['#', '(']).map_or(name, |(name, _)| name).trim();
        let last = name.rsplit_once("::").map_or(name, |(_, function)| function);
        if PUTS.contains(&last) {
            Self::Put
        } else if last.starts_with("TransferToDevice") || last == "H2D Dispatch" {
            Self::ToDevice
        } else {
            Self::Other
        }
    }
}

/// Calls of a compiled function that put arguments of theirs on the device each time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Puts {
    /// The call, such as `PjitFunction(step)`.
    pub call: String,
    /// How often it was called, and how often it put arguments on the device.
    pub calls: (u64, u64),
    /// Arguments that such a call puts there, on average.
    pub arguments: f64,
}

/// Events around launches deeper than this are no program's.
const DEEPEST: usize = 256;

/// An event of the launching thread that launches lie in: the loop, or what it calls once a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoopFrame {
    /// Such as `$train.py:31 step`.
    pub name: String,
    /// How often it was there, with launches in it; one inside of another of its name is the same.
    pub rounds: u64,
    /// Launches in it, those inside of a launch left out.
    pub launches: u64,
}

/// The events of one host that rules look at, on the clock of its devices.
#[derive(Debug, Default)]
pub(super) struct HostEvents {
    pub has_events: bool,
    /// By how much its devices' clock is behind its own, picoseconds: taken off all times here.
    pub behind_ps: i64,
    /// The events around launches, by metadata, and launches of the thread that launches.
    pub frames: Vec<LoopFrame>,
    pub launches: u64,
    /// Whether Python's tracer recorded the launching thread.
    pub is_traced: bool,
    /// The thread that launches programs: the one with step markers, else with most launches.
    pub main: Option<LineId>,
    /// Whether the launching thread itself fetches input.
    fetches: bool,
    spans: BTreeMap<Doing, Intervals>,
    kept: Vec<Kept>,
    nothing: Intervals,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    doing: Doing,
    only_launcher: bool,
    way: Way,
    line: LineId,
    meta: u32,
    start_ps: i64,
    end_ps: i64,
}

impl HostEvents {
    pub(super) fn of(profile: &Profile, host: HostId) -> Self {
        let behind_ps = host_clock::behind_ps(profile, host);
        let mut all = Self { behind_ps, ..Self::default() };
        let mut best = (0, 0);
        for plane in profile.planes_of(host).filter(|p| !p.kind.is_device()) {
            let source = profile.source_of(plane);
            let label = |meta: u32| plane.meta_label(source, meta);
            let kinds: Vec<_> = (0..plane.metas.len() as u32).map(|meta| doing(&label(meta))).collect();
            let ways: Vec<Way> = (0..plane.metas.len() as u32).map(|meta| Way::of(&label(meta))).collect();
            let iterators: Vec<bool> = (0..plane.metas.len() as u32)
                .map(|meta| {
                    label(meta).starts_with("Iterator::") || label(meta).starts_with("IteratorGetNext")
                })
                .collect();
            for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread) {
                let events = profile.events(line);
                all.has_events |= !events.is_empty();
                let (mut steps, mut launches) = (0, 0);
                for event in events.iter() {
                    let (start_ps, end_ps) =
                        (event.start_ps.saturating_sub(behind_ps), event.end_ps.saturating_sub(behind_ps));
                    steps += u64::from(events.has(event.index, Mark::Step));
                    let input = events.has(event.index, Mark::InputStage) || iterators[event.meta as usize];
                    let kind = if input { Some((Doing::Input, false)) } else { kinds[event.meta as usize] };
                    let Some((doing, only_launcher)) = kind else { continue };
                    launches += u64::from(doing == Doing::Launch);
                    all.kept.push(Kept {
                        doing,
                        only_launcher,
                        way: ways[event.meta as usize],
                        line: line.id,
                        meta: event.meta,
                        start_ps,
                        end_ps,
                    });
                }
                if (steps, launches) > best {
                    (best, all.main) = ((steps, launches), Some(line.id));
                }
            }
        }
        let main = all.main;
        all.find_frames(profile);
        all.fetches = all.kept.iter().any(|k| k.doing == Doing::Input && Some(k.line) == main);
        let fetches = all.fetches;
        all.kept.retain(|k| {
            let on_main = Some(k.line) == main;
            (!k.only_launcher || on_main) && (k.doing != Doing::Input || on_main || !fetches)
        });
        let mut spans: BTreeMap<Doing, Vec<(i64, i64)>> = BTreeMap::new();
        for kept in &all.kept {
            spans.entry(kept.doing).or_default().push((kept.start_ps, kept.end_ps));
        }
        all.spans = spans.into_iter().map(|(doing, spans)| (doing, Intervals::union_of(spans))).collect();
        if let Some(transfer) = all.spans.get(&Doing::Transfer) {
            let queued = Intervals::union_of(all.queued());
            all.spans.insert(Doing::Transfer, transfer.union(&queued));
        }
        if let Some(compile) = all.spans.get(&Doing::Compile) {
            let calls = Intervals::union_of(compiling_calls(profile, host)).earlier(behind_ps);
            all.spans.insert(Doing::Compile, compile.union(&calls));
        }
        if !all.fetches {
            all.spans.insert(Doing::Input, input_work(profile, host).earlier(behind_ps));
        }
        all
    }

    /// Which events of the launching thread launches lie in.
    fn find_frames(&mut self, profile: &Profile) {
        let Some(line) = self.main.map(|line| profile.line(line)) else { return };
        let plane = profile.plane(line.plane);
        let label = |meta: u32| plane.meta_label(profile.source_of(plane), meta);
        let mut kinds: FxHashMap<u32, Option<Doing>> = FxHashMap::default();
        let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        // The events that are open: end, metadata, whether a launch was in it.
        let mut open: Vec<(i64, u32, bool)> = Vec::new();
        let (mut launched_ps, mut seen) = (i64::MIN, FxHashSet::default());
        for event in profile.events(line).iter() {
            while open.last().is_some_and(|one| one.0 <= event.start_ps) {
                open.pop();
            }
            let kind = *kinds.entry(event.meta).or_insert_with(|| {
                self.is_traced |= label(event.meta).starts_with('$');
                doing(&label(event.meta)).map(|one| one.0)
            });
            if kind == Some(Doing::Launch) && event.start_ps >= launched_ps {
                launched_ps = event.end_ps;
                self.launches += 1;
                seen.clear();
                for (_, meta, has_launched) in &mut open {
                    if seen.insert(*meta) {
                        let sum = sums.entry(*meta).or_default();
                        *sum = (sum.0 + u64::from(!*has_launched), sum.1 + 1);
                        *has_launched = true;
                    }
                }
            } else if kind.is_none() && event.start_ps >= launched_ps && open.len() < DEEPEST {
                open.push((event.end_ps, event.meta, false));
            }
        }
        let frame =
            |(meta, (rounds, launches))| LoopFrame { name: label(meta).into_owned(), rounds, launches };
        self.frames = sums.into_iter().map(frame).collect();
    }

    /// When arrays that were put on the device waited for the thread that moves them: from the end of the call that put the last
    /// one there to the start of the next transfer on another thread.
    fn queued(&self) -> Vec<(i64, i64)> {
        let mut all: Vec<&Kept> = self.kept.iter().filter(|kept| kept.doing == Doing::Transfer).collect();
        all.sort_by_key(|kept| kept.start_ps);
        let mut found = Vec::new();
        let mut put: Option<&Kept> = None;
        for kept in all {
            match kept.way {
                Way::Put => put = Some(kept),
                Way::ToDevice => {
                    let last = put.take().filter(|put| put.line != kept.line && put.end_ps < kept.start_ps);
                    found.extend(last.map(|put| (put.end_ps, kept.start_ps)));
                }
                Way::Other => {}
            }
        }
        found
    }

    /// Of compiled functions that are called from Python the one whose calls put most arguments on the device.
    pub(super) fn puts(&self, profile: &Profile) -> Option<Puts> {
        let mut lines: BTreeMap<LineId, Vec<&Kept>> = BTreeMap::new();
        for kept in self.kept.iter().filter(|kept| kept.way == Way::Put || kept.doing == Doing::Launch) {
            lines.entry(kept.line).or_default().push(kept);
        }
        let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
        for (line, mut events) in lines {
            events.sort_by_key(|kept| (kept.start_ps, -kept.end_ps));
            let plane = profile.plane(profile.line(line).plane);
            // The outermost call that is open, and how many arguments it has put on the device.
            let mut open: Option<(i64, String, u64)> = None;
            let mut close = |open: Option<(i64, String, u64)>| {
                let Some((_, name, puts)) = open else { return };
                let sum = sums.entry(name).or_default();
                *sum = (sum.0 + 1, sum.1 + u64::from(puts > 0), sum.2 + puts);
            };
            for kept in events {
                if open.as_ref().is_some_and(|open| open.0 <= kept.start_ps) {
                    close(open.take());
                }
                match &mut open {
                    Some((_, _, puts)) => *puts += u64::from(kept.way == Way::Put),
                    None if kept.doing == Doing::Launch => {
                        let name = plane.meta_label(profile.source_of(plane), kept.meta);
                        if name.starts_with("PjitFunction(") {
                            open = Some((kept.end_ps, name.into_owned(), 0));
                        }
                    }
                    None => {}
                }
            }
            close(open);
        }
        let (call, (calls, with, puts)) = sums.into_iter().max_by_key(|(_, sum)| sum.2)?;
        Some(Puts { call, calls: (calls, with), arguments: puts as f64 / with.max(1) as f64 })
    }

    /// When compiled functions were called from Python, by the name of their program (`jit_step`), in order: calls inside of a call are
    /// traced into its program.
    pub(super) fn calls(&self, profile: &Profile) -> BTreeMap<String, Vec<i64>> {
        let mut calls: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        let mut open: FxHashMap<LineId, i64> = FxHashMap::default();
        let mut modules: FxHashMap<(LineId, u32), Option<String>> = FxHashMap::default();
        for kept in self.kept.iter().filter(|kept| kept.doing == Doing::Launch) {
            let module = modules.entry((kept.line, kept.meta)).or_insert_with(|| {
                let plane = profile.plane(profile.line(kept.line).plane);
                module_of(&plane.meta_label(profile.source_of(plane), kept.meta))
            });
            let (Some(module), end_ps) = (module, open.entry(kept.line).or_insert(i64::MIN)) else {
                continue;
            };
            if kept.start_ps >= *end_ps {
                *end_ps = kept.end_ps;
                calls.entry(module.clone()).or_default().push(kept.start_ps);
            }
        }
        calls.values_mut().for_each(|starts| starts.sort_unstable());
        calls
    }

    /// Whether the thread that launches fetches input itself, so that it is known when it waits for some.
    pub(super) fn waits_for_input(&self) -> bool {
        self.fetches
    }

    /// When some thread did this.
    pub(super) fn spans(&self, doing: Doing) -> &Intervals {
        self.spans.get(&doing).unwrap_or(&self.nothing)
    }

    /// The events of a kind that reach into this time, by name. Those inside of one of the same name are the same call.
    pub(super) fn named(&self, profile: &Profile, host: HostId, set: &Intervals, doing: Doing) -> Vec<Named> {
        let mut sums: BTreeMap<(u32, u32), Named> = BTreeMap::new();
        let mut open: FxHashMap<(LineId, u32), i64> = FxHashMap::default();
        for kept in self.kept.iter().filter(|kept| kept.doing == doing) {
            // One call may be recorded twice, one event inside of the other: `PjitFunction` is by JAX.
            let end_ps = open.entry((kept.line, kept.meta)).or_insert(i64::MIN);
            if kept.end_ps <= *end_ps {
                continue;
            }
            *end_ps = kept.end_ps;
            let inside = set.overlap(kept.start_ps, kept.end_ps);
            if inside == 0 {
                continue;
            }
            let plane = profile.plane(profile.line(kept.line).plane);
            let name = || plane.meta_label(profile.source_of(plane), kept.meta).into_owned();
            let sum = sums.entry((plane.id.0, kept.meta)).or_insert_with(|| Named {
                name: name(),
                host,
                ps: 0,
                count: 0,
                total_ps: 0,
            });
            sum.ps = sum.ps.saturating_add(inside);
            sum.count += 1;
            sum.total_ps = sum.total_ps.saturating_add(kept.end_ps - kept.start_ps);
        }
        sums.into_values().collect()
    }
}

/// The name of the program that a call such as `PjitFunction(<lambda>)` runs: `jit__lambda_`.
fn module_of(call: &str) -> Option<String> {
    let function = call.strip_prefix("PjitFunction(")?.strip_suffix(')')?;
    let word = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c } else { '_' };
    Some(format!("jit_{}", function.chars().map(word).collect::<String>()))
}

/// Calls from which a compilation comes: of these the outermost around it, with tracing, lowering and the launch.
fn is_compiling_call(name: &str) -> bool {
    const CALLS: [&str; 9] = [
        "cache_miss",
        "_python_pjit_helper",
        "_pjit_call_impl",
        "_pjit_call_impl_python",
        "_resolve_and_lower",
        "_cached_compilation",
        "lower_sharding_computation",
        "apply_primitive",
        "xla_primitive_callable",
    ];
    let bare = if name.starts_with('$') { name.rsplit_once(' ').map_or(name, |(_, f)| f) } else { name };
    name.starts_with("PjitFunction(") || CALLS.contains(&bare)
}

/// When a host was in calls that compile, from tracing to launch.
fn compiling_calls(profile: &Profile, host: HostId) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    for plane in profile.planes_of(host).filter(|p| !p.kind.is_device()) {
        let source = profile.source_of(plane);
        let metas = 0..plane.metas.len() as u32;
        let kinds: Vec<(bool, bool)> = metas
            .map(|meta| plane.meta_label(source, meta))
            .map(|name| (is_compilation(&name), is_compiling_call(&name)))
            .collect();
        if !kinds.iter().any(|kind| kind.0) {
            continue;
        }
        for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread) {
            // The outermost call that is open: events come by start, those around before those inside.
            let mut open: Option<(i64, i64)> = None;
            for event in profile.events(line).iter() {
                let (compiles, calls) = kinds[event.meta as usize];
                if open.is_some_and(|open| open.1 <= event.start_ps) {
                    open = None;
                }
                if compiles {
                    found.extend(open.filter(|open| event.end_ps <= open.1));
                } else if calls && open.is_none() {
                    open = Some((event.start_ps, event.end_ps));
                }
            }
        }
    }
    found
}

/// The shortest event on any thread of a host that covers half of a stretch of time or more.
pub(super) fn covering(profile: &Profile, host: HostId, start_ps: i64, end_ps: i64) -> Option<Named> {
    let mut best: Option<(i64, Named)> = None;
    for plane in profile.planes_of(host).filter(|p| !p.kind.is_device()) {
        let source = profile.source_of(plane);
        for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread) {
            let events = profile.events(line);
            for event in (0..events.rows_before(end_ps)).map(|row| events.get(row)) {
                let inside = event.end_ps.min(end_ps) - event.start_ps.max(start_ps);
                let length = event.end_ps - event.start_ps;
                let covers = inside.saturating_mul(2) >= end_ps - start_ps && inside > 0;
                if covers && best.as_ref().is_none_or(|(shortest, _)| length < *shortest) {
                    let name = plane.meta_label(source, event.meta).into_owned();
                    best = Some((length, Named { name, host, ps: inside, count: 1, total_ps: length }));
                }
            }
        }
    }
    best.map(|(_, named)| named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compilation_takes_the_whole_call_that_it_is_in() {
        use crate::tests::{Made, US, profile_of};
        let mut host = Made::named("/host:CPU");
        host.line("python");
        host.event("PjitFunction(step)", 100 * US, 500 * US, &[]);
        host.event("$pjit.py:300 cache_miss", 110 * US, 450 * US, &[]);
        host.event("backend_compile", 300 * US, 100 * US, &[]);
        // A call that finds its program compiled, and a compilation that nothing is around.
        host.event("PjitFunction(step)", 700 * US, 50 * US, &[]);
        host.event("backend_compile", 900 * US, 30 * US, &[]);
        let profile = profile_of(vec![Made::tpu(0), host]);
        let events = HostEvents::of(&profile, profile.devices[0].host);
        let spans = events.spans(Doing::Compile).as_slice();
        assert_eq!(spans, [(100 * US, 600 * US), (900 * US, 930 * US)]);
    }

    #[test]
    fn an_array_in_the_queue_of_another_thread_is_on_its_way() {
        use crate::tests::{Made, US, profile_of};
        let mut host = Made::named("/host:CPU");
        host.line("python");
        host.event("PjitFunction(step)", 100 * US, 80 * US, &[]);
        host.event("DevicePut", 110 * US, 10 * US, &[]);
        host.event("DevicePut", 130 * US, 10 * US, &[]);
        host.event("PjitFunction(step)", 700 * US, 50 * US, &[]);
        host.line("transfers");
        host.event("H2D Dispatch", 300 * US, 200 * US, &[]);
        // Nobody put this one on its way.
        host.event("H2D Dispatch", 600 * US, 20 * US, &[]);
        let profile = profile_of(vec![Made::tpu(0), host]);
        let events = HostEvents::of(&profile, profile.devices[0].host);
        let spans = events.spans(Doing::Transfer).as_slice();
        assert_eq!(spans, [(110 * US, 120 * US), (130 * US, 500 * US), (600 * US, 620 * US)]);
        let puts = Puts { call: "PjitFunction(step)".into(), calls: (2, 1), arguments: 2.0 };
        assert_eq!(events.puts(&profile), Some(puts));
    }

    #[test]
    fn events_are_told_by_whole_words() {
        let kind = |name| doing(name).map(|(doing, _)| doing);
        for name in ["backend_compile", "$compiler.py:305 backend_compile", "TfrtTpuCompiler::Compile"] {
            assert_eq!(kind(name), Some(Doing::Compile), "{name}");
        }
        for name in [
            "$api.py:2551 block_until_ready",
            "ArrayImpl._value",
            "np.asarray(jax.Array)",
            "block_until_ready",
        ] {
            assert_eq!(kind(name), Some(Doing::Read), "{name}");
        }
        for name in [
            "PjitFunction(train_step)",
            "PjRtCApiLoadedExecutable::Execute",
            "cuLaunchKernel",
            "DoEnqueueProgram",
        ] {
            assert_eq!(kind(name), Some(Doing::Launch), "{name}");
        }
        for name in ["BatchedDevicePut", "TransferToDevice H2D", "tpu::System::TransferToDevice"] {
            assert_eq!(kind(name), Some(Doing::Transfer), "{name}");
        }
        for name in ["xla_ffi_python_cpu_callback", "$debugging.py:80 debug_callback", "debug_print#id=3#"] {
            assert_eq!(kind(name), Some(Doing::Callback), "{name}");
        }
        let others = [
            "tpu::System::Execute=>Done",
            "BufferSequencingEvent::Execute",
            "train",
            "copy_to_host_async",
            "$pure_callback.py:11 step",
            "items",
            "",
        ];
        for name in others {
            assert_eq!(kind(name), None, "{name}");
        }
    }
}
