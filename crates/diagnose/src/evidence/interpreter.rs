//! Another Python thread that holds the interpreter: who wants it asks for it after an interval, gets it, and loses it again in the next
//! call that lets it go. So calls that have nothing in common take that interval each, where nothing runs in them.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_profile::{HostId, LineKind, Profile};
use haloscope_time::intervals::Intervals;
use haloscope_time::nesting::walk_innermost;

use super::host_events::{Doing, HostEvents};

/// After so long Python asks a thread for the interpreter: the default of `sys.setswitchinterval`, picoseconds.
pub(crate) const SWITCH_PS: i64 = 5_000_000_000;
/// A thread has it so much later at most, picoseconds: it must be woken up.
const LATE_PS: i64 = 600_000_000;
/// A stretch of this part of the interval is long enough to be held against it.
const LONG: f64 = 0.5;
/// So many of the long stretches must take the interval, or a multiple; an eighth of any would.
const MOST: f64 = 0.6;
/// Fewer are chance.
const FEWEST: usize = 10;
/// So many different events must have such stretches, several times each: one that sleeps for as long is none of this.
const NAMES: usize = 3;
const SEVERAL: usize = 2;
/// A function of the other thread is named where it has this part of the time.
const NAMED: f64 = 0.3;

/// What another thread holds up.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Held {
    /// Time in which devices have no program meanwhile, by what the launching thread is in; picoseconds, summed over devices.
    pub by_doing: BTreeMap<Doing, i64>,
    /// Stretches that take the interval or a multiple of it, and all long ones.
    pub stretches: (usize, usize),
    /// The events of the launching thread that they are of, the one with most first.
    pub names: Vec<String>,
    /// What another Python thread is in meanwhile, where that was recorded.
    pub holder: Option<String>,
}

impl Held {
    /// The sum over doings, picoseconds.
    pub(crate) fn ps(&self) -> i64 {
        self.by_doing.values().sum()
    }

    /// The same with what is held up on another host; names are those of the first.
    pub(super) fn with(mut self, other: Self) -> Self {
        for (doing, ps) in other.by_doing {
            *self.by_doing.entry(doing).or_default() += ps;
        }
        self.stretches = (self.stretches.0 + other.stretches.0, self.stretches.1 + other.stretches.1);
        self
    }
}

/// When a device had no program to run, by what its host did.
pub(super) type Gaps = [(Doing, Intervals)];

/// The time that another thread of this host holds up; `None` where nothing shows it. `devices` are those of the host.
pub(super) fn held(profile: &Profile, id: HostId, host: &HostEvents, devices: &[&Gaps]) -> Option<Held> {
    let first = devices.first()?;
    let main = profile.line(host.main?);
    let plane = profile.plane(main.plane);
    let label = |meta: u32| plane.meta_label(profile.source_of(plane), meta);
    let idle = Intervals::union_of(of_loop(first).flat_map(|(_, set)| set.as_slice()).copied().collect());
    let (mut long, mut whole, mut by_meta) = (0, Vec::new(), BTreeMap::<u32, usize>::new());
    walk_innermost(profile.events(main).iter(), |event, from, to| {
        let (from, to) = (from.saturating_sub(host.behind_ps), to.saturating_sub(host.behind_ps));
        let length = to - from;
        if (length as f64) < LONG * SWITCH_PS as f64 {
            return;
        }
        if length >= SWITCH_PS {
            whole.push((from, to));
        }
        // Of what passes while a program runs nobody knows which part was waiting for it.
        if idle.overlap(from, to) < length - LATE_PS {
            return;
        }
        long += 1;
        if length >= SWITCH_PS && length % SWITCH_PS <= LATE_PS {
            *by_meta.entry(event.meta).or_default() += 1;
        }
    });
    let at_interval: usize = by_meta.values().sum();
    let mut names: Vec<(usize, String)> = by_meta
        .into_iter()
        .filter(|(_, count)| *count >= SEVERAL)
        .map(|(meta, count)| (count, label(meta).into_owned()))
        .collect();
    names.sort_by(|a, b| b.cmp(a));
    let different: BTreeSet<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
    if at_interval < FEWEST || different.len() < NAMES || (at_interval as f64) < MOST * long as f64 {
        return None;
    }
    let whole = Intervals::union_of(whole);
    let mut by_doing = BTreeMap::new();
    for (doing, set) in devices.iter().flat_map(|device| of_loop(device)) {
        *by_doing.entry(doing).or_insert(0) += set.intersect(&whole).length();
    }
    let holder = holder(profile, id, host, &whole.intersect(&idle));
    let names = names.into_iter().map(|(_, name)| name).collect();
    Some(Held { by_doing, stretches: (at_interval, long), names, holder })
}

/// When a device had no program for what the loop does itself: compilations and callbacks have reasons of their own.
fn of_loop(device: &Gaps) -> impl Iterator<Item = (Doing, &Intervals)> {
    let is_of_loop =
        |doing: Doing| matches!(doing, Doing::Read | Doing::Transfer | Doing::Launch | Doing::Other);
    device.iter().filter(move |(doing, _)| is_of_loop(*doing)).map(|(doing, set)| (*doing, set))
}

/// The function that another Python thread is in for most of this time.
fn holder(profile: &Profile, id: HostId, host: &HostEvents, set: &Intervals) -> Option<String> {
    let mut best: Option<(i64, String)> = None;
    for plane in profile.planes_of(id).filter(|plane| !plane.kind.is_device()) {
        let source = profile.source_of(plane);
        let others = profile.lines_of(plane.id).filter(|line| line.kind == LineKind::Thread);
        for line in others.filter(|line| Some(line.id) != host.main) {
            let mut sums: BTreeMap<u32, i64> = BTreeMap::new();
            walk_innermost(profile.events(line).iter(), |event, from, to| {
                let at = |ps: i64| ps.saturating_sub(host.behind_ps);
                *sums.entry(event.meta).or_default() += set.overlap(at(from), at(to));
            });
            for (meta, ps) in sums {
                let name = plane.meta_label(source, meta);
                let is_python = name.starts_with('$') && !is_wait(&name);
                if is_python && best.as_ref().is_none_or(|best| (ps, name.as_ref()) > (best.0, &best.1)) {
                    best = Some((ps, name.into_owned()));
                }
            }
        }
    }
    best.filter(|(ps, _)| *ps as f64 >= NAMED * set.length() as f64).map(|(_, name)| name)
}

/// Whether a function waits, and has let the interpreter go.
fn is_wait(name: &str) -> bool {
    let function = name.rsplit_once(' ').map_or(name, |(_, function)| function);
    ["sleep", "wait", "acquire", "select", "poll", "recv", "accept", "get"].contains(&function)
}
