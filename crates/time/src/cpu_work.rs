//! When the ops of XLA on CPU worked.
//!
//! XLA on CPU hands an op to a pool of threads and goes on: the op's event ends when it was handed over. When it was done
//! says an event of its own, `end: <op>`, on whichever thread came last; the two carry the same number. What a thread of
//! the pool did meanwhile stands between a `StartRegion` and a `StopRegion`, and the region carries the number of the
//! `Record` that asked for it: one that lies in an op's event, or in a region that worked for an op, works for this op.
//! The names are those of XLA's `ThunkExecutor` and of TSL's `threadpool_listener.cc`.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::intervals::Intervals;
use super::sweep::Join;
use haloscope_profile::{Device, DeviceKind, Event, Events, Line, LineId, LineKind, Mark, Plane, Profile};

/// An op that was done on its own thread has ended when its event does: the marker stands this little before, picoseconds.
const TAIL_PS: i64 = 5_000_000;
/// No processor runs more ops at one time; of damaged files not more are looked at.
const MOST_AT_ONCE: usize = 1 << 10;

/// What the ops of a CPU did.
#[derive(Debug, Default)]
pub struct CpuWork {
    /// Every execution of an op, by line and row.
    pub runs: Vec<Run>,
    /// Of executions that did not end when their event does: the end by row.
    ends: FxHashMap<LineId, FxHashMap<usize, i64>>,
    /// When threads worked for an op.
    stretches: Vec<Stretch>,
}

/// One execution of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The line that its event stands on.
    pub line: LineId,
    /// The event's row.
    pub index: usize,
    /// Start on the run's clock, picoseconds.
    pub start_ps: i64,
    /// When its work was done.
    pub end_ps: i64,
}

/// A stretch of time in which one thread worked for an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    from: i64,
    to: i64,
    run: u32,
}

/// When the events of a line ended.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a>(Option<&'a FxHashMap<usize, i64>>);

impl Ends<'_> {
    /// The event as long as its work took.
    #[inline]
    #[must_use]
    pub fn of(&self, event: Event) -> Event {
        match self.0.and_then(|ends| ends.get(&event.index)) {
            Some(&end_ps) => Event { end_ps, ..event },
            None => event,
        }
    }
}

/// What the ops of a device did, if it is a CPU. It is found once a run.
#[must_use]
pub fn of<'p>(profile: &'p Profile, device: &Device) -> Option<&'p CpuWork> {
    if device.kind != DeviceKind::Cpu {
        return None;
    }
    let all = profile.once(|profile| {
        let works = |d: &Device| (d.kind == DeviceKind::Cpu).then(|| CpuWork::find(profile, d));
        profile.devices.iter().map(works).collect::<Vec<Option<CpuWork>>>()
    })?;
    all.get(device.id.index())?.as_ref()
}

/// When the events of a line ended: of a CPU's ops when their work did.
#[must_use]
pub fn ends<'p>(profile: &'p Profile, line: &Line) -> Ends<'p> {
    if line.kind != LineKind::Thread {
        return Ends(None);
    }
    let device = profile.devices.iter().find(|d| d.plane == line.plane);
    Ends(device.and_then(|device| of(profile, device)).and_then(|work| work.ends.get(&line.id)))
}

/// What ties an event to the one that it caused: a kind of number, and a number.
type Key = (u64, u64);

/// What an event says of the pool's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Nothing,
    /// `end: <op>`.
    End,
    /// Work is given to the pool.
    Record,
    /// A thread of the pool begins it.
    Begin,
    /// And is done with it.
    Stop,
    /// Both in one event, as XProf's own conversion writes them.
    Region,
    /// The executor looks for the next ops: no op's work.
    Executor,
}

impl Says {
    fn of(label: &str) -> Self {
        match label {
            "ThreadpoolListener::Record" => Self::Record,
            "ThreadpoolListener::StartRegion" => Self::Begin,
            "ThreadpoolListener::StopRegion" => Self::Stop,
            "ThreadpoolListener::Region" => Self::Region,
            "ThunkExecutor::Execute" => Self::Executor,
            _ if label.starts_with("end: ") => Self::End,
            _ => Self::Nothing,
        }
    }
}

/// What happened on a thread.
#[derive(Debug, Clone, Copy)]
enum What {
    Op(u32),
    Executor { end_ps: i64 },
    Region { key: Key, end_ps: i64 },
    Stop,
    Record(Key),
}

#[derive(Debug, Clone, Copy)]
struct Item {
    at_ps: i64,
    thread: usize,
    what: What,
}

/// Where an op ended, as a marker says.
struct Marker<'p> {
    key: Option<Key>,
    line: LineId,
    at_ps: i64,
    name: std::borrow::Cow<'p, str>,
}

/// What the lines of a plane have.
#[derive(Default)]
struct Found<'p> {
    runs: Vec<Run>,
    names: Vec<std::borrow::Cow<'p, str>>,
    keys: FxHashMap<Key, u32>,
    markers: Vec<Marker<'p>>,
    items: Vec<Item>,
}

impl CpuWork {
    fn find(profile: &Profile, device: &Device) -> Self {
        let plane = profile.plane(device.plane);
        let mut found = Found::read(profile, plane);
        let done = found.done();
        found.items.sort_by_key(|item| item.at_ps);
        let (stretches, last) = worked(&found, &done);
        let mut work = Self { runs: found.runs, ends: FxHashMap::default(), stretches };
        for (at, run) in work.runs.iter_mut().enumerate() {
            // Where no marker says it, the op has ended when the last thread was done with it.
            let end_ps = done[at].unwrap_or_else(|| run.end_ps.max(last[at]));
            if end_ps != run.end_ps {
                run.end_ps = end_ps;
                work.ends.entry(run.line).or_default().insert(run.index, end_ps);
            }
        }
        work
    }

    /// Calls `each` with the stretches in which any op was at work, by time.
    pub fn busy(&self, mut each: impl FnMut(i64, i64)) {
        let mut runs: Vec<(i64, i64)> = self.runs.iter().map(|run| (run.start_ps, run.end_ps)).collect();
        runs.sort_unstable();
        let mut join = Join::default();
        for (from, to) in runs.into_iter().filter_map(|(from, to)| join.push(from, to)) {
            each(from, to);
        }
        if let Some((from, to)) = join.finish() {
            each(from, to);
        }
    }
}

impl<'p> Found<'p> {
    fn read(profile: &'p Profile, plane: &'p Plane) -> Self {
        let source = profile.source_of(plane);
        let mut found = Self::default();
        let labels = (0..plane.metas.len() as u32).map(|meta| plane.meta_label(source, meta));
        let says: Vec<Says> = labels.map(|label| Says::of(&label)).collect();
        let ids = ["_pt", "_p", "_ct", "_c"].map(|name| plane.stat_id(name));
        let threads = profile.lines_of(plane.id).filter(|line| line.kind == LineKind::Thread);
        for (thread, line) in threads.enumerate() {
            let events = profile.events(line);
            for event in events.iter() {
                let is_op = events.has(event.index, Mark::HloOp);
                let says = says.get(event.meta as usize).copied().unwrap_or(Says::Nothing);
                if !is_op && says == Says::Nothing {
                    continue;
                }
                let mut stats = [None; 4];
                if says != Says::Stop && says != Says::Executor {
                    for stat in events.stats(source, event.index) {
                        if let Some(at) = ids.iter().position(|id| *id == Some(stat.metadata_id)) {
                            stats[at] = stat.value.and_then(|value| value.as_u64_bits());
                        }
                    }
                }
                let [kind, number, from_kind, from] = stats;
                let gives = number.map(|number| (kind.unwrap_or(0), number));
                let takes = from.map(|number| (from_kind.unwrap_or(0), number));
                let mut add = |what| found.items.push(Item { at_ps: event.start_ps, thread, what });
                match says {
                    _ if is_op => {
                        let run = found.runs.len() as u32;
                        add(What::Op(run));
                        found.keys.extend(gives.map(|key| (key, run)));
                        found.names.push(plane.meta_label(source, event.meta));
                        let Event { index, start_ps, end_ps, .. } = event;
                        found.runs.push(Run { line: line.id, index, start_ps, end_ps });
                    }
                    Says::Nothing => {}
                    Says::End => found.markers.push(Marker {
                        key: takes,
                        line: line.id,
                        at_ps: event.start_ps,
                        name: plane.meta_label(source, event.meta),
                    }),
                    Says::Record => gives.into_iter().for_each(|key| add(What::Record(key))),
                    Says::Begin => {
                        let key = takes.unwrap_or((u64::MAX, u64::MAX));
                        add(What::Region { key, end_ps: i64::MAX });
                    }
                    Says::Region => {
                        let key = takes.unwrap_or((u64::MAX, u64::MAX));
                        add(What::Region { key, end_ps: event.end_ps });
                    }
                    Says::Stop => add(What::Stop),
                    Says::Executor => add(What::Executor { end_ps: event.end_ps }),
                }
            }
        }
        found
    }

    /// When each execution was done, as its marker says: the one with its number; where markers have none, the next of its
    /// name.
    fn done(&mut self) -> Vec<Option<i64>> {
        let mut done = vec![None; self.runs.len()];
        let mut by_name: FxHashMap<&str, std::collections::VecDeque<u32>> = FxHashMap::default();
        if self.markers.iter().any(|marker| marker.key.is_none()) {
            let mut order: Vec<u32> = (0..self.runs.len() as u32).collect();
            order.sort_by_key(|run| self.runs[*run as usize].start_ps);
            for run in order {
                by_name.entry(&self.names[run as usize]).or_default().push_back(run);
            }
        }
        self.markers.sort_by_key(|marker| marker.at_ps);
        for marker in &self.markers {
            let name = marker.name.strip_prefix("end: ").unwrap_or_default();
            let begun = |run: &u32| self.runs[*run as usize].start_ps <= marker.at_ps;
            let run = match marker.key {
                Some(key) => self.keys.get(&key).copied().filter(|run| self.names[*run as usize] == name),
                None => by_name
                    .get_mut(name)
                    .filter(|runs| runs.front().is_some_and(begun))
                    .and_then(std::collections::VecDeque::pop_front),
            };
            let Some(run) = run.filter(begun) else { continue };
            let of = &self.runs[run as usize];
            let on_its_thread = marker.line == of.line && marker.at_ps <= of.end_ps;
            let is_tail = on_its_thread && of.end_ps.saturating_sub(marker.at_ps) <= TAIL_PS;
            done[run as usize] = Some(if is_tail { of.end_ps } else { marker.at_ps });
        }
        done
    }
}

/// What a thread is in: an op's event, the executor, a region of the pool.
#[derive(Debug, Clone, Copy)]
struct Frame {
    end_ps: i64,
    run: Option<u32>,
    is_region: bool,
}

/// One thread, while its items are walked by time.
#[derive(Debug)]
struct Thread {
    frames: Vec<Frame>,
    now: i64,
}

/// When threads worked for each op, and when the last of them did, by execution. `done` bounds it.
fn worked(found: &Found<'_>, done: &[Option<i64>]) -> (Vec<Stretch>, Vec<i64>) {
    let threads = found.items.iter().map(|item| item.thread + 1).max().unwrap_or(0);
    let mut threads: Vec<Thread> =
        (0..threads).map(|_| Thread { frames: Vec::new(), now: i64::MIN }).collect();
    let mut asked: FxHashMap<Key, u32> = FxHashMap::default();
    let (mut stretches, mut last) = (Vec::new(), vec![i64::MIN; done.len()]);
    let mut add = |from: i64, to: i64, run: u32| {
        let to = done[run as usize].map_or(to, |done| to.min(done));
        if from < to {
            stretches.push(Stretch { from, to, run });
            last[run as usize] = last[run as usize].max(to);
        }
    };
    let is_open = |run: u32, at_ps: i64| done[run as usize].is_none_or(|done| at_ps <= done);
    for item in &found.items {
        let thread = &mut threads[item.thread];
        thread.advance(item.at_ps, &mut add);
        let frame = |end_ps, run, is_region| Frame { end_ps, run, is_region };
        match item.what {
            What::Op(run) => {
                thread.frames.push(frame(found.runs[run as usize].end_ps, Some(run), false));
            }
            What::Executor { end_ps } => thread.frames.push(frame(end_ps, None, false)),
            What::Region { key, end_ps } => {
                let run = asked.remove(&key).filter(|run| is_open(*run, item.at_ps));
                thread.frames.push(frame(end_ps, run, true));
            }
            What::Stop => {
                if let Some(at) = thread.frames.iter().rposition(|frame| frame.is_region) {
                    thread.frames.truncate(at);
                }
            }
            What::Record(key) => {
                let run = thread.frames.last().and_then(|frame| frame.run);
                asked.extend(run.filter(|run| is_open(*run, item.at_ps)).map(|run| (key, run)));
            }
        }
    }
    // A region without an end was cut by the end of the capture.
    let ends = found.items.iter().map(|item| match item.what {
        What::Op(run) => found.runs[run as usize].end_ps,
        _ => item.at_ps,
    });
    let end_ps = ends.chain(done.iter().copied().flatten()).max().unwrap_or(0);
    threads.iter_mut().for_each(|thread| thread.advance(end_ps, &mut add));
    (stretches, last)
}

impl Thread {
    /// Goes on to a time. `add` gets the stretches before it that were an op's.
    fn advance(&mut self, to_ps: i64, mut add: impl FnMut(i64, i64, u32)) {
        while let Some(frame) = self.frames.last().copied() {
            let until = frame.end_ps.min(to_ps);
            if let Some(run) = frame.run
                && self.now < until
            {
                add(self.now, until, run);
            }
            self.now = self.now.max(until);
            if frame.end_ps > to_ps {
                break;
            }
            self.frames.pop();
        }
        self.now = self.now.max(to_ps);
    }
}

/// Whose work each instant of a CPU's time was, so that ops that ran at one time are not counted twice.
#[derive(Debug, Default)]
pub struct Shares {
    pieces: Vec<Piece>,
    /// Executions, and how many threads worked for each.
    owners: Vec<(u32, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    from: i64,
    to: i64,
    /// Where its owners begin in the list of all; they end where those of the next begin.
    first: usize,
}

/// How an op's claim to an instant stands to that of others at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// It holds others: its time is what these leave.
    Holds,
    /// It waits for others.
    Waits,
    /// It works.
    Works,
}

impl Claim {
    const COUNT: usize = 3;
}

/// The ops that are at work at one time.
#[derive(Default)]
struct AtWork {
    /// By claim: executions by start that have begun and are not done.
    begun: [BTreeSet<(i64, u32)>; Claim::COUNT],
    /// By claim: threads by execution.
    threads: [BTreeMap<u32, u32>; Claim::COUNT],
}

impl AtWork {
    fn owners(&self, into: &mut Vec<(u32, u32)>) {
        for claim in (0..Claim::COUNT).rev() {
            let (threads, begun) = (&self.threads[claim], &self.begun[claim]);
            if !threads.is_empty() {
                into.extend(threads.iter().take(MOST_AT_ONCE).map(|(run, count)| (*run, *count)));
            } else if claim == Claim::Holds as usize {
                into.extend(begun.last().map(|(_, run)| (*run, 1)));
            } else {
                into.extend(begun.iter().take(MOST_AT_ONCE).map(|(_, run)| (*run, 1)));
            }
            if !into.is_empty() {
                return;
            }
        }
    }
}

impl Shares {
    /// Splits each instant between the executions that threads worked for, by the number of their threads; where none did,
    /// between those that were not done. Those with the highest claim take all. `claim` is asked by position among the
    /// executions.
    #[must_use]
    pub fn of(work: &CpuWork, claim: impl Fn(usize) -> Claim) -> Self {
        let claims: Vec<usize> = (0..work.runs.len()).map(|run| claim(run) as usize).collect();
        // Time, whether it begins, whether it is a thread's work, execution.
        let mut edges: Vec<(i64, bool, bool, u32)> = Vec::new();
        for (run, of) in work.runs.iter().enumerate().filter(|(_, of)| of.start_ps < of.end_ps) {
            edges.push((of.start_ps, true, false, run as u32));
            edges.push((of.end_ps, false, false, run as u32));
        }
        for stretch in &work.stretches {
            edges.push((stretch.from, true, true, stretch.run));
            edges.push((stretch.to, false, true, stretch.run));
        }
        edges.sort_unstable();
        let (mut shares, mut at_work) = (Self::default(), AtWork::default());
        let (mut now, mut owners) = (i64::MIN, Vec::new());
        for (time, begins, is_thread, run) in edges {
            if now < time {
                owners.clear();
                at_work.owners(&mut owners);
                shares.push(now, time, &owners);
                now = time;
            }
            let claim = claims[run as usize];
            let key = (work.runs[run as usize].start_ps, run);
            match (is_thread, begins) {
                (false, true) => _ = at_work.begun[claim].insert(key),
                (false, false) => _ = at_work.begun[claim].remove(&key),
                (true, true) => *at_work.threads[claim].entry(run).or_default() += 1,
                (true, false) => {
                    let threads = &mut at_work.threads[claim];
                    match threads.get_mut(&run) {
                        Some(count) if *count > 1 => *count -= 1,
                        _ => _ = threads.remove(&run),
                    }
                }
            }
        }
        shares
    }

    fn push(&mut self, from: i64, to: i64, owners: &[(u32, u32)]) {
        if owners.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some(last) if last.to == from && self.owners[last.first..] == *owners => last.to = to,
            _ => {
                self.pieces.push(Piece { from, to, first: self.owners.len() });
                self.owners.extend_from_slice(owners);
            }
        }
    }

    /// The stretches of time that have owners, by time, with executions and the threads that worked for each.
    pub fn pieces(&self) -> impl Iterator<Item = (i64, i64, &[(u32, u32)])> {
        self.pieces.iter().enumerate().map(|(at, piece)| {
            let end = self.pieces.get(at + 1).map_or(self.owners.len(), |next| next.first);
            (piece.from, piece.to, &self.owners[piece.first..end])
        })
    }

    /// The time of each of so many executions in the part of the time that counts: together the time in which any was at
    /// work.
    #[must_use]
    pub fn own(&self, runs: usize, cut: Option<&Intervals>) -> Vec<i64> {
        let mut own = vec![0_i64; runs];
        for (from, to, owners) in self.pieces() {
            let length = cut.map_or(to - from, |cut| cut.overlap(from, to));
            if length <= 0 {
                continue;
            }
            let all: i128 = owners.iter().map(|(_, threads)| i128::from(*threads)).sum();
            let mut left = length;
            for (run, threads) in &owners[1..] {
                let part = (i128::from(length) * i128::from(*threads) / all.max(1)) as i64;
                own[*run as usize] = own[*run as usize].saturating_add(part);
                left -= part;
            }
            let first = owners[0].0 as usize;
            own[first] = own[first].saturating_add(left);
        }
        own
    }
}

/// Every execution of an op on a line, with its row among all: as [`Events`] has them, but as long as the work took.
pub fn events<'p>(profile: &'p Profile, line: &'p Line) -> impl Iterator<Item = Event> + 'p {
    let (events, ends): (&Events, Ends<'p>) = (profile.events(line), ends(profile, line));
    events.iter().map(move |event| ends.of(event))
}

#[cfg(test)]
mod tests;
