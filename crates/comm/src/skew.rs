//! Who comes last to a collective, and how long the others wait.
//!
//! All members leave a collective when the last of them has come and the data has moved, so of one execution the member
//! that spends least time in it came last, and what the others spend longer is waiting. No clock is needed for that. Clocks say whether
//! the premise holds: ends that are far apart, once the offset between the devices' clocks is taken out, are not those of one
//! execution, and then nothing is said. A member of an asynchronous collective waits in its done for as long as another has not
//! started; that is told by clocks alone.
//!
//! Only members that were captured are seen: a device that looks last may itself wait for one that was not.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::blame::{self, Met};
use super::group_lists::Groups;
use super::{Collective, Communication, Execution, Form};
use haloscope_profile::{DeviceId, Profile};
use haloscope_time::launches;
use haloscope_time::steps::Steps;
pub use haloscope_timeline::{NumberedExecution, clock_offset, numbered_runs};

/// What collectives tell of late members.
#[derive(Debug, Clone, Default)]
pub struct Skew {
    /// By device, in the order of [`Communication::devices`].
    pub devices: Vec<DeviceSkew>,
    /// For each collective and each of its executions, the part of its exposed time that was spent waiting for a later member;
    /// `None` where nobody can tell.
    pub waits: Vec<Vec<Option<i64>>>,
    /// For each collective, the time of its fastest member, a mean over the executions that several members were seen in:
    /// waiting left out. `None` where there are none.
    pub transfer_ps: Vec<Option<f64>>,
    /// Executions of which several members were seen.
    pub seen: usize,
    /// Those among them whose ends are too far apart to be of one execution, or whose clocks nothing ties.
    pub disagreeing: usize,
}

/// A device's part in it. Sums over the counted time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceSkew {
    /// The device.
    pub device: DeviceId,
    /// How far its events stand behind those of the first device that ended at the same moment, picoseconds; `None` where
    /// nothing ties the two.
    pub offset_ps: Option<i64>,
    /// How far that may be off; waits below it are not held against anybody.
    pub uncertainty_ps: Option<i64>,
    /// Executions that it was seen in with others.
    pub shared: usize,
    /// Those in which it came last, and made others wait by more than the uncertainty.
    pub last: usize,
    /// For how long the others waited for it, each execution by the mean over the others, picoseconds. What it had waited for
    /// another before counts as the other's.
    pub caused_ps: i64,
    /// The same summed over the others, picoseconds.
    pub blamed_ps: f64,
    /// How long it waited for others, picoseconds of exposed time.
    pub waited_ps: i64,
    /// Exposed time of which is known how much was waiting.
    pub known_exposed_ps: i64,
    /// Exposed time.
    pub exposed_ps: i64,
}

/// How exposed time divides, a mean over devices and steps, picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Parts {
    /// Waiting for a later member.
    pub waiting_ps: Option<f64>,
    /// The rest of what is known.
    pub transfer_ps: Option<f64>,
    /// Exposed time of executions of which only one member was seen, or whose ends disagree.
    pub unknown_ps: f64,
}

/// Ends further apart than this many times the uncertainty of the clocks say something.
const DOUBT: i64 = 6;

/// Finds who waits for whom. `groups` are those of the collectives, in their order; `logical` is the logical id of a device in a
/// collective's program.
#[must_use]
pub fn find(
    profile: &Profile,
    communication: &Communication<'_>,
    steps: &Steps,
    groups: &[Option<Groups>],
    logical: impl Fn(&Collective<'_>, DeviceId) -> Option<i64>,
) -> Skew {
    find_in(communication, &Numbering::of(profile, communication, steps), groups, logical)
}

fn find_in(
    communication: &Communication<'_>,
    order: &Numbering,
    groups: &[Option<Groups>],
    logical: impl Fn(&Collective<'_>, DeviceId) -> Option<i64>,
) -> Skew {
    let meetings: Vec<Vec<Meeting>> = communication
        .collectives
        .iter()
        .enumerate()
        .map(|(at, one)| match groups.get(at).and_then(Option::as_ref) {
            Some(groups) => order.meetings(one, groups, |device| logical(one, device)),
            None => Vec::new(),
        })
        .collect();
    let clocks = Clocks::of(communication, &meetings);
    let mut skew = Skew::start(communication, &clocks);
    let mut met: Vec<Met> = Vec::new();
    for ((at, one), own) in communication.collectives.iter().enumerate().zip(&meetings) {
        let mut fastest: Vec<f64> = Vec::new();
        for meeting in own {
            skew.seen += 1;
            match meeting.waits(one, &clocks) {
                Some(waits) => {
                    fastest.extend(meeting.fastest(one));
                    met.push(skew.add(one, at, meeting, &waits, &clocks));
                }
                None => skew.disagreeing += 1,
            }
        }
        let mean = fastest.iter().sum::<f64>() / fastest.len().max(1) as f64;
        skew.transfer_ps[at] = (!fastest.is_empty()).then_some(mean);
    }
    let blame = blame::of(met);
    for own in &mut skew.devices {
        let all = blame.get(&own.device).copied().unwrap_or_default();
        (own.caused_ps, own.blamed_ps) = (all.mean_ps.round() as i64, all.sum_ps);
    }
    skew
}

impl Skew {
    fn start(communication: &Communication<'_>, clocks: &Clocks) -> Self {
        let mut exposed: FxHashMap<DeviceId, i64> = FxHashMap::default();
        for execution in communication.collectives.iter().flat_map(|c| &c.executions) {
            let sum = exposed.entry(execution.device).or_default();
            *sum = sum.saturating_add(execution.exposed_ps);
        }
        let device = |device: DeviceId| DeviceSkew {
            device,
            offset_ps: clocks.of.get(&device).map(|c| c.0),
            uncertainty_ps: clocks.of.get(&device).map(|c| c.1),
            shared: 0,
            last: 0,
            caused_ps: 0,
            blamed_ps: 0.0,
            waited_ps: 0,
            known_exposed_ps: 0,
            exposed_ps: exposed.get(&device).copied().unwrap_or(0),
        };
        Self {
            devices: communication.devices.iter().map(|d| device(d.device)).collect(),
            waits: communication.collectives.iter().map(|c| vec![None; c.executions.len()]).collect(),
            transfer_ps: vec![None; communication.collectives.len()],
            ..Self::default()
        }
    }

    /// Counts one meeting. `waits` are those of its members.
    fn add(
        &mut self,
        one: &Collective<'_>,
        at: usize,
        meeting: &Meeting,
        waits: &[i64],
        clocks: &Clocks,
    ) -> Met {
        let uncertainty = clocks.uncertainty(one, meeting);
        let longest = waits.iter().copied().max().unwrap_or(0);
        let last =
            (longest > uncertainty).then(|| waits.iter().enumerate().min_by_key(|(_, w)| **w)).flatten();
        for (position, (member, wait)) in meeting.members.iter().zip(waits).enumerate() {
            let execution = &one.executions[*member];
            let own = (*wait).min(execution.exposed_ps).max(0);
            self.waits[at][*member] = Some(own);
            let Some(device) = self.devices.iter_mut().find(|d| d.device == execution.device) else {
                continue;
            };
            device.shared += 1;
            device.waited_ps = device.waited_ps.saturating_add(own);
            device.known_exposed_ps = device.known_exposed_ps.saturating_add(execution.exposed_ps);
            if last.is_some_and(|(latest, _)| latest == position) {
                device.last += 1;
            }
        }
        let device = |member: &usize| one.executions[*member].device;
        let ends = meeting.members.iter().map(|member| {
            let execution = &one.executions[*member];
            let own = clocks.of.get(&execution.device).map_or(0, |clock| clock.0);
            execution.end_ps.saturating_sub(own)
        });
        Met {
            end_ps: ends.min().unwrap_or(0),
            waits: meeting.members.iter().map(device).zip(waits.iter().copied()).collect(),
            last: last.and_then(|(latest, _)| meeting.members.get(latest)).map(device),
        }
    }

    /// How the exposed time of a step divides.
    #[must_use]
    pub fn parts(&self, communication: &Communication<'_>) -> Parts {
        let mut sums = [0.0; 3];
        let mut devices = 0.0;
        for (own, all) in self.devices.iter().zip(&communication.devices) {
            let steps = all.steps.max(1) as f64;
            sums[0] += own.waited_ps as f64 / steps;
            sums[1] += (own.known_exposed_ps - own.waited_ps) as f64 / steps;
            sums[2] += (own.exposed_ps - own.known_exposed_ps) as f64 / steps;
            devices += 1.0;
        }
        let is_known = self.devices.iter().any(|d| d.shared > 0) && self.seen > self.disagreeing;
        let [waiting, transfer, unknown] = sums.map(|sum| if devices > 0.0 { sum / devices } else { 0.0 });
        Parts {
            waiting_ps: is_known.then_some(waiting),
            transfer_ps: is_known.then_some(transfer),
            unknown_ps: unknown,
        }
    }
}

/// One execution of a collective by several devices of one group: rows of the collective's executions.
struct Meeting {
    members: Vec<usize>,
}

impl Meeting {
    /// How long each member waited for the last of those seen; `None` where their ends are too far apart.
    fn waits(&self, one: &Collective<'_>, clocks: &Clocks) -> Option<Vec<i64>> {
        let executions = || self.members.iter().map(|m| &one.executions[*m]);
        if one.is_asynchronous() {
            let own = |e: &Execution| clocks.of.get(&e.device).map_or(0, |clock| clock.0);
            let tied = executions().all(|e| clocks.of.contains_key(&e.device));
            let latest = executions().map(|e| e.start_ps.saturating_sub(own(e))).max().filter(|_| tied)?;
            let wait = |e: &Execution| {
                // It stands in its done from here on.
                let from = e.end_ps.saturating_sub(e.done_ps).saturating_sub(own(e));
                latest.saturating_sub(from).clamp(0, e.done_ps.max(0))
            };
            return Some(executions().map(wait).collect());
        }
        let shortest = executions().map(Execution::length).min()?;
        let waits: Vec<i64> = executions().map(|e| e.length() - shortest).collect();
        let longest = waits.iter().copied().max().unwrap_or(0);
        // Neither what is waited nor, where nobody waits, the transfer may be lost in how far the ends are apart.
        let doubt = clocks.uncertainty(one, self).saturating_mul(DOUBT).min(shortest / 2);
        let agreed = doubt.max(longest / 2).max(shortest / 10);
        (clocks.apart(one, self)? <= agreed).then_some(waits)
    }

    /// The shortest time that a member took for it.
    fn fastest(&self, one: &Collective<'_>) -> Option<f64> {
        self.members.iter().map(|m| one.executions[*m].flight()).min().map(|ps| ps as f64)
    }
}

impl Execution {
    fn length(&self) -> i64 {
        self.end_ps.saturating_sub(self.start_ps)
    }

    /// From its start to the end of its transfer.
    #[must_use]
    pub fn flight(&self) -> i64 {
        self.transfer_end_ps.unwrap_or(self.end_ps).saturating_sub(self.start_ps).max(0)
    }
}

impl Collective<'_> {
    /// Whether other ops run between its start and its done.
    #[must_use]
    pub fn is_asynchronous(&self) -> bool {
        matches!(self.form, Form::Asynchronous | Form::SparseCore)
    }
}

/// Which program run or step each moment of a device belongs to, so that the executions of several devices can be matched.
struct Numbering {
    /// By device.
    of: FxHashMap<DeviceId, Runs>,
}

/// Starts, ends and keys, by start.
type Runs = Vec<(i64, i64, Key)>;

/// A program run or a step, the same on all devices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    /// Module and `run_id`.
    Run(String, u64),
    /// Step number.
    Step(i64),
    /// Module and how many runs of it came before.
    Nth(String, usize),
}

impl Numbering {
    /// By the number of the run, where the devices share some; else by step number; else by counting.
    fn of(profile: &Profile, communication: &Communication<'_>, steps: &Steps) -> Self {
        let ids: Vec<DeviceId> = communication.devices.iter().map(|d| d.device).collect();
        let by_run = |id: DeviceId| -> Runs {
            let runs = numbered_runs(profile, profile.device(id));
            let key = |run: NumberedExecution| match run {
                NumberedExecution::Run(module, id) => Key::Run(module, id),
                NumberedExecution::Step(number) => Key::Step(number),
            };
            runs.into_iter().map(|(start, end, run)| (start, end, key(run))).collect()
        };
        let by_step = |id: DeviceId| -> Runs {
            let own = steps.rows.iter().filter_map(|s| Some((s.number, s.on(id)?)));
            let mut own: Vec<_> = own.map(|(n, i)| (i.start_ps, i.end_ps, Key::Step(n))).collect();
            own.sort();
            own
        };
        let by_count = |id: DeviceId| -> Runs {
            let mut count: FxHashMap<String, usize> = FxHashMap::default();
            let mut nth = |module: String| {
                let slot = count.entry(module.clone()).or_default();
                *slot += 1;
                Key::Nth(module, *slot)
            };
            launches::of(profile, profile.device(id))
                .into_iter()
                .map(|l| (l.start_ps, l.end_ps, nth(l.module)))
                .collect()
        };
        let ways: [&dyn Fn(DeviceId) -> Runs; 3] = [&by_run, &by_step, &by_count];
        for (way, find) in ways.into_iter().enumerate() {
            if way == 1 && steps.source.is_inferred() {
                continue;
            }
            let of: FxHashMap<DeviceId, _> = ids.iter().map(|id| (*id, find(*id))).collect();
            let mut seen: BTreeMap<&Key, usize> = BTreeMap::new();
            for (_, _, key) in ids.iter().filter_map(|id| of.get(id)).flatten() {
                *seen.entry(key).or_default() += 1;
            }
            if way == 2 || seen.values().any(|count| *count > 1) {
                return Self { of };
            }
        }
        Self { of: FxHashMap::default() }
    }

    /// The executions that several members of one group took part in.
    fn meetings(
        &self,
        one: &Collective<'_>,
        groups: &Groups,
        logical: impl Fn(DeviceId) -> Option<i64>,
    ) -> Vec<Meeting> {
        let mut group_of: FxHashMap<DeviceId, Option<usize>> = FxHashMap::default();
        let mut nth: BTreeMap<(u32, Key), Vec<usize>> = BTreeMap::new();
        for (row, execution) in one.executions.iter().enumerate().filter(|(_, e)| e.unpaired.is_none()) {
            let Some(own) = self.of.get(&execution.device) else { continue };
            let after = own.partition_point(|part| part.0 <= execution.start_ps);
            let Some((_, end, key)) = after.checked_sub(1).map(|at| &own[at]) else { continue };
            if execution.start_ps < *end {
                nth.entry((execution.device.0, key.clone())).or_default().push(row);
            }
        }
        // Members that ran it another number of times in the run are not matched.
        let mut met: BTreeMap<(usize, Key, usize, usize), Vec<usize>> = BTreeMap::new();
        for ((device, key), mut rows) in nth {
            let device = DeviceId(device);
            let group = group_of.entry(device).or_insert_with(|| groups.group_of(logical(device)?));
            let Some(group) = *group else { continue };
            rows.sort_by_key(|row| one.executions[*row].start_ps);
            for (position, row) in rows.iter().enumerate() {
                met.entry((group, key.clone(), rows.len(), position)).or_default().push(*row);
            }
        }
        let meeting = |mut members: Vec<usize>| {
            members.sort_unstable_by_key(|row| one.executions[*row].device.0);
            Meeting { members }
        };
        met.into_values().filter(|members| members.len() > 1).map(meeting).collect()
    }
}

/// Offsets of the devices' clocks and their uncertainty, by the first device that each is tied to.
#[derive(Default)]
struct Clocks {
    of: FxHashMap<DeviceId, (i64, i64)>,
}

impl Clocks {
    /// From the ends of synchronous collectives: devices are tied to the first one over as few others as need be.
    fn of(communication: &Communication<'_>, meetings: &[Vec<Meeting>]) -> Self {
        let mut samples: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
        for (one, own) in communication.collectives.iter().zip(meetings).filter(|(c, _)| !c.is_asynchronous())
        {
            for meeting in own {
                let Some((first, rest)) = meeting.members.split_first() else { continue };
                let first = &one.executions[*first];
                for other in rest.iter().map(|m| &one.executions[*m]) {
                    let ends = other.end_ps.saturating_sub(first.end_ps) as f64;
                    samples.entry((first.device.0, other.device.0)).or_default().push(ends);
                }
            }
        }
        let ties: Vec<((u32, u32), (i64, i64))> =
            samples.into_iter().filter_map(|(pair, ends)| Some((pair, clock_offset(ends)?))).collect();
        let mut clocks = Self::default();
        for start in communication.devices.iter().map(|d| d.device) {
            if clocks.of.contains_key(&start)
                || !ties.iter().any(|((a, b), _)| *a == start.0 || *b == start.0)
            {
                continue;
            }
            clocks.of.insert(start, (0, 0));
            let mut grew = true;
            while grew {
                grew = false;
                for ((a, b), (offset, spread)) in &ties {
                    let (a, b) = (DeviceId(*a), DeviceId(*b));
                    let tie = match (clocks.of.get(&a), clocks.of.get(&b)) {
                        (Some(known), None) => (b, known.0.saturating_add(*offset), known.1.max(*spread)),
                        (None, Some(known)) => (a, known.0.saturating_sub(*offset), known.1.max(*spread)),
                        _ => continue,
                    };
                    clocks.of.insert(tie.0, (tie.1, tie.2));
                    grew = true;
                }
            }
        }
        clocks
    }

    /// The largest uncertainty among the members.
    fn uncertainty(&self, one: &Collective<'_>, meeting: &Meeting) -> i64 {
        let own = meeting.members.iter().filter_map(|m| self.of.get(&one.executions[*m].device));
        own.map(|clock| clock.1).max().unwrap_or(0)
    }

    /// How far the members' ends are apart with the offsets taken out; `None` where a clock is not known.
    fn apart(&self, one: &Collective<'_>, meeting: &Meeting) -> Option<i64> {
        let end = |m: &usize| {
            let execution = &one.executions[*m];
            Some(execution.end_ps.saturating_sub(self.of.get(&execution.device)?.0))
        };
        let ends: Option<Vec<i64>> = meeting.members.iter().map(end).collect();
        let ends = ends?;
        Some(ends.iter().max()?.saturating_sub(*ends.iter().min()?))
    }
}

#[cfg(test)]
mod tests;
