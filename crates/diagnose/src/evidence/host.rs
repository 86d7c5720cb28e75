//! What hosts do while devices have no program to run: that time in disjoint parts, each of which one rule claims.
//!
//! The time is [`Class::Between`], and that part of [`Class::Input`] in which the thread that launches programs does not wait
//! for input: loaders that work ahead on threads of their own hold nobody up. What comes first takes its time first.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Evidence;
use super::host_events::{Doing, HostEvents, LoopFrame, Named, Puts};
use super::host_gaps::{Dark, dark, launched_at, own_of_loop, reads};
use super::interpreter::{self, Held};
use crate::thresholds::{Grade, INTERRUPTIONS};
use haloscope_profile::{Device, DeviceId, DeviceKind, Event, Events, HostId, LineId, Profile};
use haloscope_report::units;
use haloscope_time::account::{Account, Class};
use haloscope_time::input::{Pipeline, Stage};
use haloscope_time::intervals::Intervals;
use haloscope_time::launches::Launch;
use haloscope_time::nesting::walk_innermost;

/// The time between programs in which hosts did one thing, summed over devices, picoseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    pub ps: i64,
    /// Stretches of time.
    pub count: usize,
    /// The longest stretch.
    pub longest: Option<Stretch>,
    /// What the host's events are called, with their time in these stretches, longest first.
    pub names: Vec<Named>,
}

/// Stretches of time by what a host did in them; `None` stands for waits for input.
type Stretches = BTreeMap<(Option<Doing>, HostId), Vec<(i64, i64)>>;

/// A stretch of time on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub device: DeviceId,
    pub start_ps: i64,
    pub end_ps: i64,
}

/// The parts.
#[derive(Debug, Default)]
pub(crate) struct HostTime {
    /// Whether any host thread recorded an event.
    pub has_events: bool,
    /// By how much the clock of a host's devices is behind its own at least, of the host where it is most, picoseconds.
    pub behind_ps: i64,
    parts: BTreeMap<Doing, Part>,
    /// What of [`Doing::Launch`] lies inside programs: gaps between kernels of a GPU.
    pub launch_inside_ps: i64,
    /// What of all doings lies there: launches, and compilations and callbacks, which stand in their parts.
    pub explained_inside_ps: i64,
    /// Time in which the launching thread waits for input, summed over devices.
    pub input: Part,
    /// Of [`Doing::Read`] what lies behind the reads: what the host does with a result before it launches the next program, by the
    /// outermost event inside of the loop, and by the innermost one.
    pub behind_reads: (Vec<Named>, Vec<Named>),
    /// The event of any thread that best tells what goes on in the longest stretch of [`Doing::Other`].
    pub meanwhile: Option<Named>,
    /// What the stages of each host's input pipeline did meanwhile.
    pub pipelines: Vec<Pipeline>,
    /// Compilations after a host's first device began to work and before its last one ended.
    pub compiled: Compiled,
    /// The function whose calls put most arguments on the device, of the host where they are most.
    pub puts: Option<Puts>,
    /// Of gaps that one doing has at least half of, the time of the others that would go with it, summed over devices, picoseconds:
    /// by the one, and then the other.
    pub goes_with: BTreeMap<(Doing, Doing), i64>,
    /// The parts of each device.
    pub devices: Vec<OfDevice>,
    /// The thread of each host that launches programs.
    pub launchers: FxHashMap<HostId, LineId>,
    /// The events of the launching threads that launches lie in.
    frames: Vec<LoopFrame>,
    /// Launches of these threads, of which devices run as many.
    launches: u64,
    /// Whether Python's tracer recorded the launching threads.
    pub is_traced: bool,
    /// The time between two programs of a processor in which its traced loop called nothing, or waited for what was there or had been launched.
    held_up: Vec<Dark>,
    /// What another Python thread holds up.
    pub held: Option<Held>,
}

/// When a device had no program to run, by what its host did.
#[derive(Debug)]
pub(crate) struct OfDevice {
    pub device: DeviceId,
    pub by_doing: Vec<(Doing, Intervals)>,
    /// While the launching thread waited for input.
    pub input: Intervals,
}

/// Compilations beside the devices' work.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    /// Time in which a host compiles, summed over hosts, picoseconds.
    pub ps: i64,
    /// The events, longest first.
    pub events: Vec<Named>,
    /// The calls that compiled, such as `PjitFunction(step)`.
    pub calls: Vec<String>,
}

impl HostTime {
    /// A part; empty where there is none.
    pub(crate) fn part(&self, doing: Doing) -> Cow<'_, Part> {
        self.parts.get(&doing).map_or_else(|| Cow::Owned(Part::default()), Cow::Borrowed)
    }
}

impl HostTime {
    /// Whether an event is of the loop that launches: what is around launches is around the gaps between programs too, and says nothing
    /// of them.
    pub(crate) fn is_loop(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| frame.name == name)
    }

    /// Whether an event is around more than so many launches each time: a loop, and not what is done in each round.
    pub(crate) fn is_around_launches(&self, name: &str, launches: f64) -> bool {
        let is_loop =
            |frame: &LoopFrame| frame.name == name && frame.launches as f64 > launches * frame.rounds as f64;
        self.frames.iter().any(is_loop)
    }

    /// How often the loop went round, by the innermost event around nearly all launches that has `several` of them in it, mean over its
    /// rounds. `None` where no event tells.
    pub(crate) fn rounds(&self, several: f64) -> Option<u64> {
        /// A start and an end are no round.
        const FEWEST: u64 = 3;
        /// Of the launches so many lie in it.
        const NEARLY_ALL: f64 = 0.9;
        let around = self.frames.iter().filter(|frame| {
            frame.rounds >= FEWEST
                && frame.launches as f64 >= several * frame.rounds as f64
                && frame.launches as f64 >= NEARLY_ALL * self.launches as f64
        });
        around.map(|frame| frame.rounds).max()
    }
}

impl HostTime {
    /// The stage that limits input: of the hosts' slowest stages the one that worked longest while devices waited.
    pub(crate) fn slowest_stage(&self) -> Option<&Stage> {
        self.pipelines.iter().filter_map(Pipeline::slowest).max_by_key(|stage| stage.work.length())
    }
}

impl Evidence<'_> {
    /// The share of the active window in which the traced loop of a processor usually calls nothing behind these programs, or waits for
    /// the next of them.
    pub(crate) fn dark_behind(&self, takes: impl Fn(u64) -> bool) -> f64 {
        let of = self.host().held_up.iter().filter(|dark| dark.behind.is_some_and(&takes));
        self.of_active(units::sum(of.map(|dark| dark.usual_ps)) as f64)
    }

    /// The share of the active window in which the traced loop of a processor called nothing, or waited for a result that was there, for
    /// longer than is usual between these programs: other programs and the scheduler hold it up, at any time. Nothing where another thread of
    /// its own does.
    pub(crate) fn interrupted(&self) -> f64 {
        if self.host().held.is_some() {
            return 0.0;
        }
        let unusual = self.host().held_up.iter().map(|dark| dark.ps - dark.usual_ps);
        let share = self.of_active(units::sum(unusual) as f64);
        if INTERRUPTIONS.grade(share) == Grade::Good { 0.0 } else { share }
    }

    /// The time between programs by what hosts did.
    pub(crate) fn host(&self) -> &HostTime {
        self.host.get_or_init(|| self.host_time())
    }

    fn host_time(&self) -> HostTime {
        let mut events: FxHashMap<HostId, HostEvents> = FxHashMap::default();
        let mut calls: FxHashMap<HostId, BTreeMap<String, Vec<i64>>> = FxHashMap::default();
        let mut behind: BTreeMap<HostId, Vec<(i64, i64)>> = BTreeMap::new();
        let mut time = HostTime::default();
        let mut sets: Stretches = BTreeMap::new();
        let mut hulls: BTreeMap<HostId, Vec<(i64, i64)>> = BTreeMap::new();
        for (position, device) in self.selection.devices.iter().enumerate() {
            let Some(Some(account)) = self.accounts().get(position) else { continue };
            let host = events.entry(device.host).or_insert_with(|| HostEvents::of(self.profile, device.host));
            time.has_events |= host.has_events;
            time.behind_ps = time.behind_ps.max(host.behind_ps);
            time.launchers.extend(host.main.map(|line| (device.host, line)));
            let called = calls.entry(device.host).or_insert_with(|| host.calls(self.profile));
            let launched = launched_at(&account.launches, called);
            let parts = parts(device, account, self.selection.window(position), host, &launched);
            for (doing, set) in &parts.by_doing {
                let part = time.parts.entry(*doing).or_default();
                add(part, device, set);
                sets.entry((Some(*doing), device.host)).or_default().extend(set.as_slice());
            }
            time.launch_inside_ps = time.launch_inside_ps.saturating_add(parts.launch_inside_ps);
            time.explained_inside_ps = time.explained_inside_ps.saturating_add(parts.explained_inside_ps);
            goes_with(&parts, &account.launches, &mut time.goes_with);
            add(&mut time.input, device, &parts.input);
            hulls.entry(device.host).or_default().push(active(account));
            sets.entry((None, device.host)).or_default().extend(parts.input.as_slice());
            behind.entry(device.host).or_default().extend(parts.behind_reads.as_slice());
            if host.is_traced && device.kind == DeviceKind::Cpu {
                let of =
                    |doing| parts.by_doing.iter().find(|(own, _)| *own == doing).map(|(_, set)| set.clone());
                let waits = own_of_loop(self.profile, host).union(host.spans(Doing::Read));
                let own = of(Doing::Other).unwrap_or_default().intersect(&waits);
                // A result that is there, and a thread that still waits for it.
                let reads = of(Doing::Read).unwrap_or_default().minus(&parts.behind_reads);
                time.held_up.extend(dark(&account.launches, &own.union(&reads)));
            }
            time.devices.push(OfDevice { device: device.id, by_doing: parts.by_doing, input: parts.input });
        }
        let mut traced: Vec<_> = events.iter().filter(|(_, host)| host.is_traced).collect();
        traced.sort_by_key(|(id, _)| id.0);
        for (id, host) in traced {
            let of_host = |one: &&OfDevice| self.profile.device(one.device).host == *id;
            let devices: Vec<_> = time.devices.iter().filter(of_host).map(|one| &one.by_doing[..]).collect();
            let found = interpreter::held(self.profile, *id, host, &devices);
            time.held = match (time.held.take(), found) {
                (Some(held), Some(found)) => Some(held.with(found)),
                (held, found) => held.or(found),
            };
        }
        for (id, hull) in hulls {
            let Some(host) = events.get(&id) else { continue };
            let from = hull.iter().map(|h| h.0).min().unwrap_or(0);
            let to = hull.iter().map(|h| h.1).max().unwrap_or(0);
            let cut = host.spans(Doing::Compile).intersect(&Intervals::one(from, to));
            time.compiled.ps = time.compiled.ps.saturating_add(cut.length());
            time.compiled.events.extend(host.named(self.profile, id, &cut, Doing::Compile));
            let calls = host.named(self.profile, id, &cut, Doing::Launch).into_iter().map(|call| call.name);
            time.compiled.calls.extend(calls.filter(|name| name.starts_with("PjitFunction(")));
        }
        longest_first(&mut time.compiled.events);
        time.is_traced = !events.is_empty() && events.values().all(|host| host.is_traced);
        // Of several hosts each runs the same loop.
        if let Some(host) = events.iter().min_by_key(|(id, _)| id.0).map(|(_, host)| host) {
            (time.frames, time.launches) = (host.frames.clone(), host.launches);
        }
        let puts = events.values().filter_map(|host| host.puts(self.profile));
        time.puts = puts.max_by(|a, b| (a.calls.1, &a.call).cmp(&(b.calls.1, &b.call)));
        for ((doing, id), set) in sets {
            let (Some(host), set) = (events.get(&id), Intervals::union_of(set)) else { continue };
            let names = match doing {
                Some(Doing::Other) => innermost(self.profile, host, id, &set),
                Some(doing) => host.named(self.profile, id, &set, doing),
                None => host.named(self.profile, id, &set, Doing::Input),
            };
            if doing.is_none() {
                time.pipelines.push(Pipeline::of(self.profile, id, Some(&set)));
            }
            let part = match doing {
                Some(doing) => time.parts.entry(doing).or_default(),
                None => &mut time.input,
            };
            part.names.extend(names);
            longest_first(&mut part.names);
        }
        for (id, set) in behind {
            let (Some(host), set) = (events.get(&id), Intervals::union_of(set)) else { continue };
            time.behind_reads.0.extend(outermost(self.profile, host, id, &set));
            time.behind_reads.1.extend(innermost(self.profile, host, id, &set));
        }
        longest_first(&mut time.behind_reads.0);
        longest_first(&mut time.behind_reads.1);
        let longest = time.parts.get(&Doing::Other).and_then(|part| part.longest);
        time.meanwhile = longest.and_then(|stretch| {
            let host = self.profile.device(stretch.device).host;
            let behind_ps = events.get(&host).map_or(0, |events| events.behind_ps);
            let (from, to) =
                (stretch.start_ps.saturating_add(behind_ps), stretch.end_ps.saturating_add(behind_ps));
            super::host_events::covering(self.profile, host, from, to)
        });
        time
    }
}

fn longest_first(names: &mut [Named]) {
    names.sort_by(|a, b| (b.ps, b.total_ps, &a.name, a.host).cmp(&(a.ps, a.total_ps, &b.name, b.host)));
}

/// From a device's first op to its last.
fn active(account: &Account) -> (i64, i64) {
    let end = |class| account.part(class).hull();
    let (from, to) = account.span;
    (end(Class::Before).map_or(from, |h| h.1), end(Class::After).map_or(to, |h| h.0))
}

fn add(part: &mut Part, device: &Device, set: &Intervals) {
    part.ps = part.ps.saturating_add(set.length());
    part.count += set.as_slice().len();
    for &(start_ps, end_ps) in set.as_slice() {
        if part.longest.is_none_or(|longest| end_ps - start_ps > longest.end_ps - longest.start_ps) {
            part.longest = Some(Stretch { device: device.id, start_ps, end_ps });
        }
    }
}

/// The parts of one device.
struct Parts {
    by_doing: Vec<(Doing, Intervals)>,
    launch_inside_ps: i64,
    explained_inside_ps: i64,
    input: Intervals,
    /// Of the reads what lies behind them.
    behind_reads: Intervals,
}

fn parts(
    device: &Device,
    account: &Account,
    cut: Option<&Intervals>,
    host: &HostEvents,
    launched: &[Option<i64>],
) -> Parts {
    let clip = |set: Intervals| cut.map_or_else(|| set.clone(), |cut| set.intersect(cut));
    let waiting = clip(account.part(Class::Input).clone());
    let input =
        if host.waits_for_input() { waiting.intersect(host.spans(Doing::Input)) } else { waiting.clone() };
    let between = clip(account.part(Class::Between).clone()).union(&waiting.minus(&input));
    let reads = reads(&between, host.spans(Doing::Read), &account.launches, launched);
    let mut free = between;
    // The host of a GPU launches each kernel: a program stands still while the thread that does compiles or runs a callback.
    let inside = if device.kind == DeviceKind::Gpu {
        clip(account.part(Class::Inside).clone())
    } else {
        Intervals::default()
    };
    let mut rest = inside.clone();
    let mut behind_reads = Intervals::default();
    let mut by_doing = Vec::new();
    for doing in [Doing::Compile, Doing::Callback, Doing::Check, Doing::Read, Doing::Transfer, Doing::Launch]
    {
        let spans = if doing == Doing::Read { &reads } else { host.spans(doing) };
        let mut own = free.intersect(spans);
        if doing == Doing::Read {
            behind_reads = own.minus(host.spans(Doing::Read));
        }
        if matches!(doing, Doing::Compile | Doing::Callback) {
            own = own.union(&rest.intersect(spans));
            rest = rest.minus(spans);
        }
        by_doing.push((doing, own));
        free = free.minus(spans);
    }
    by_doing.push((Doing::Other, free));
    let launch_inside_ps = rest.intersect(host.spans(Doing::Launch)).length();
    let explained_inside_ps = inside.length() - rest.length() + launch_inside_ps;
    Parts { by_doing, launch_inside_ps, explained_inside_ps, input, behind_reads }
}

/// The rest of a gap is little where it is no more than this part of it.
const LITTLE_OF_GAP: f64 = 0.05;

/// A device that runs dry has nothing else in its queue, so that all that its host still does before the next launch makes the gap
/// longer. Without what takes most of the gap, the rest would have run beside the program before it, where that is long enough. With
/// compilations, which are no part of a usual step, goes what little they leave of a gap: making a function anew, and throwing
/// away the program before.
fn goes_with(parts: &Parts, launches: &[Launch], sums: &mut BTreeMap<(Doing, Doing), i64>) {
    let sets: Vec<(Doing, &Intervals)> = parts
        .by_doing
        .iter()
        .map(|(doing, set)| (*doing, set))
        .chain(std::iter::once((Doing::Input, &parts.input)))
        .collect();
    let gaps = Intervals::union_of(sets.iter().flat_map(|(_, set)| set.as_slice()).copied().collect());
    for &(start, end) in gaps.as_slice() {
        let lengths = || sets.iter().map(|(doing, set)| (*doing, set.overlap(start, end)));
        let Some((main, most)) = lengths().max_by_key(|(_, ps)| *ps) else { continue };
        let rest = end - start - most;
        let goes = match main {
            Doing::Input | Doing::Launch | Doing::Transfer => {
                let before = launches[..launches.partition_point(|l| l.start_ps < start)].last();
                2 * most >= end - start
                    && before.is_some_and(|program| program.end_ps - program.start_ps >= rest)
            }
            Doing::Compile => rest as f64 <= LITTLE_OF_GAP * (end - start) as f64,
            // Reads have their rest already; callbacks are no part of a usual step.
            _ => false,
        };
        if !goes {
            continue;
        }
        for (other, ps) in lengths().filter(|(doing, ps)| *doing != main && *ps > 0) {
            let sum = sums.entry((main, other)).or_default();
            *sum = sum.saturating_add(ps);
        }
    }
}

/// What the launching thread does in this time, by the innermost event.
pub(super) fn innermost(profile: &Profile, host: &HostEvents, id: HostId, set: &Intervals) -> Vec<Named> {
    let Some(line) = host.main else { return Vec::new() };
    let line = profile.line(line);
    let plane = profile.plane(line.plane);
    let source = profile.source_of(plane);
    let mut sums: BTreeMap<u32, (i64, u64)> = BTreeMap::new();
    let events = profile.events(line);
    let calls = calls(events);
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    walk_innermost(events.iter(), |event, from, to| {
        let inside = set.overlap(from.saturating_sub(host.behind_ps), to.saturating_sub(host.behind_ps));
        if inside > 0 {
            let sum = sums.entry(event.meta).or_default();
            sum.0 = sum.0.saturating_add(inside);
            // The events inside of a call cut it in pieces: it was one call all the same.
            sum.1 += u64::from(seen.insert(calls[event.index]));
        }
    });
    let named = |(meta, (ps, count))| Named {
        name: plane.meta_label(source, meta).into_owned(),
        host: id,
        ps,
        count,
        total_ps: ps,
    };
    sums.into_iter().map(named).collect()
}

/// What the launching thread does in this time, by the outermost event that is not of the loop.
fn outermost(profile: &Profile, host: &HostEvents, id: HostId, set: &Intervals) -> Vec<Named> {
    let Some(line) = host.main.map(|line| profile.line(line)) else { return Vec::new() };
    let plane = profile.plane(line.plane);
    let label = |meta: u32| plane.meta_label(profile.source_of(plane), meta);
    let mut is_loop: FxHashMap<u32, bool> = FxHashMap::default();
    let mut sums: BTreeMap<u32, (i64, u64, i64)> = BTreeMap::new();
    let mut until = i64::MIN;
    for event in profile.events(line).iter() {
        let around = || host.frames.iter().any(|frame| frame.name == label(event.meta));
        if event.start_ps < until || *is_loop.entry(event.meta).or_insert_with(around) {
            continue;
        }
        until = event.end_ps;
        let at = |ps: i64| ps.saturating_sub(host.behind_ps);
        let inside = set.overlap(at(event.start_ps), at(event.end_ps));
        if inside > 0 {
            let sum = sums.entry(event.meta).or_default();
            *sum = (sum.0.saturating_add(inside), sum.1 + 1, sum.2.saturating_add(until - event.start_ps));
        }
    }
    let named = |(meta, (ps, count, total_ps))| Named {
        name: label(meta).into_owned(),
        host: id,
        ps,
        count,
        total_ps,
    };
    sums.into_iter().map(named).collect()
}

/// The call that each event of a line stands for: its own row, or that of the event of the same name around it.
fn calls(events: &Events) -> Vec<u32> {
    let mut open: FxHashMap<u32, (i64, u32)> = FxHashMap::default();
    let call = |event: Event| {
        let own = (event.end_ps, event.index as u32);
        let open = open.entry(event.meta).or_insert(own);
        if event.end_ps > open.0 {
            *open = own;
        }
        open.1
    };
    events.iter().map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_add_up_to_the_time_without_a_program() {
        use crate::tests::{Made, US, with_evidence};
        let mut tpu = Made::tpu(0);
        let starts = || (0..10).map(|i| i * 1000 * US);
        tpu.programs(&starts().map(|at| ("jit_step(7)", at, 400 * US)).collect::<Vec<_>>());
        tpu.ops(&starts().map(|at| ("fusion.1", "loop fusion", at, 400 * US)).collect::<Vec<_>>());
        let mut host = Made::named("/host:CPU");
        host.line("python");
        let events = [
            ("block_until_ready", 350, 100),
            ("Iterator::Map", 460, 50),
            ("backend_compile", 440, 130),
            ("debug_callback", 550, 80),
            ("DevicePut", 840, 55),
            ("PjitFunction(f)", 880, 80),
        ];
        for (name, after, length) in events {
            for at in starts() {
                host.event(name, at + after * US, length * US, &[]);
            }
        }
        with_evidence(vec![tpu, host], |evidence| {
            let host = evidence.host();
            let kinds =
                [Doing::Compile, Doing::Callback, Doing::Read, Doing::Transfer, Doing::Launch, Doing::Other];
            let parts: Vec<i64> = kinds.iter().map(|doing| host.part(*doing).ps).collect();
            let times = evidence.times();
            assert!(parts.iter().all(|ps| *ps > 0), "{parts:?}");
            let all = times.of(Class::Between) + times.of(Class::Input);
            assert_eq!(parts.iter().sum::<i64>() + host.input.ps, all);
        });
    }
}
