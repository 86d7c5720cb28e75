//! What a run would take if slow devices, late hosts and slow links did as their peers do.
//!
//! Steps in a row are one graph ([`crate::critical_path`]); parts of it are given the lengths that their peers have, and it
//! runs again: what nobody waits for any more goes, what others would have waited for anyway stays. The length of a
//! collective by itself is counted from the arrival of its last member, so that groups of one collective can be held against
//! each other although their members come at different times.

mod all;
mod axis;
mod even;
mod groups;
mod known;
mod uncaptured;
mod unexplained;

pub use all::SlowAll;
pub use axis::SlowAxis;
pub use groups::{SlowGroup, Worst};
pub use uncaptured::{Quick, Told, Uncaptured, of_one};

use std::collections::{BTreeMap, BTreeSet};

use super::critical_path::{self, Graph, Lengths, NONE, Role, Schedule};
use super::links::Links;
use even::{begun_together, even_links, even_starts, even_work};
use haloscope_profile::{Device, DeviceId, DeviceKind, Profile};
use haloscope_time::account::Class;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::stats::quantile;
use haloscope_time::steps::{Step, StepClass, Steps};
use known::{Known, USUAL_ALL, facts};
use unexplained::{unexplained, unexplained_by};

/// Steps are put into one graph up to so many nodes.
const NODES: usize = 300_000;
/// Of long runs so many stretches of steps are looked at, evenly spread.
const STRETCHES: usize = 4;
/// A stretch is no longer than this many steps.
const STEPS: usize = 32;
/// Measured times may contradict that members waited for each other in one of so many executions.
const CONTRADICTED: usize = 50;
/// All links are slow where large collectives along single axes take so many times as long as they should: as if the links carried
/// 40% of what they can, which a line of chips that is no ring does not fall below.
const SLOW_ALL: f64 = USUAL_ALL / 0.40;
/// Where slow links explain so many times what members that were not captured do, links are slow.
const LINKS_OVER_LATE: f64 = 1.5;
/// Of groups of which one member each was captured nobody knows when the last one comes: the quickest tenth of the executions wait least, and
/// groups have to take as long as each other within this factor, for a late member holds up its own group only.
const QUICK: f64 = 0.1;
const GROUPS_ALIKE: f64 = 1.3;
/// Differences up to here are latency, picoseconds.
const LATENCY_PS: i64 = 20_000_000;

/// An op: its program and name.
type Op = (Option<u64>, String);
/// Devices of a group, by row.
type Members = Vec<u32>;

/// Stretches of steps as graphs.
pub struct Peers<'p> {
    stretches: Vec<Stretch<'p>>,
    /// Own lengths of collectives: by op and group, picoseconds.
    lengths: BTreeMap<Op, BTreeMap<Members, Vec<f64>>>,
    /// Those that go on beside other ops, and share the links with others.
    asynchronous: BTreeSet<Op>,
    /// Measured times bear out that members waited for each other, so that steps may be run again.
    pub is_sound: bool,
}

struct Stretch<'p> {
    graph: Graph<'p>,
    length_ps: i64,
    exposed_ps: f64,
    /// What the device with most of it stands in collectives although the groups say that it waits for nobody.
    unexplained_ps: i64,
    /// It begins with the first step of the run, before which nobody knows what devices did.
    is_first: bool,
}

/// A change towards what peers do.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// These devices take as long for each execution of an op as the others do.
    Work(&'a [DeviceId]),
    /// No device idles or waits for its host longer than the others do at the same place.
    Starts,
    /// Collectives take as long in slow groups, and on slow axes, as in their peers.
    Links(&'a SlowLinks),
    /// All devices take as long for each execution of an op, and none starts later.
    Even,
}

/// What a change gives.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gain {
    /// The share of the steps' time that would go, 0 to 1.
    pub saved_share: f64,
    /// The exposed communication that would go, a share of the steps' time, mean over devices.
    pub communication_share: f64,
}

impl Gain {
    /// The gain of making some devices (`members` of them, a share of all) as quick as the others, where they are behind by `excess_share`
    /// of the steps' time. The others may wait for them where the program's groups do not say so, for members that were not profiled
    /// or in ways that the network takes: then running the steps again does not take that wait away, and up to `unexplained_share` of
    /// it may go all the same. Also says whether any did.
    #[must_use]
    pub fn with_unexplained(self, unexplained_share: f64, excess_share: f64, members: f64) -> (Self, bool) {
        let more = (excess_share - self.saved_share).min(unexplained_share).max(0.0);
        let gain = Self {
            saved_share: self.saved_share + more,
            communication_share: self.communication_share + more * (1.0 - members).clamp(0.0, 1.0),
        };
        (gain, more > 0.0)
    }
}

/// Groups and axes over which collectives are slower than over their peers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SlowLinks {
    /// Groups of devices, slowest first.
    pub groups: Vec<SlowGroup>,
    /// The two devices of a slow group between which the hops of permutes are slow too, where hops tell one pair.
    pub pair: Option<(DeviceId, DeviceId)>,
    /// An axis of the mesh.
    pub axis: Option<SlowAxis>,
    /// All links, where there are no others to hold them against: by what the chip's links can carry.
    pub all: Option<SlowAll>,
    /// Instead of that: collectives that take long whatever they carry.
    pub uncaptured: Option<Uncaptured>,
    /// What the synchronous collectives of the slowest group, or along the slow axis, take beyond their peers': a share of the
    /// steps' time.
    pub excess_share: f64,
    /// By which factor the length of each op in each group is to be multiplied.
    factors: BTreeMap<Op, BTreeMap<Members, f64>>,
}

/// A synchronous collective along one axis that takes long enough for its bandwidth to be told.
#[derive(Clone, Copy)]
struct Large<'k> {
    op: &'k Op,
    known: &'k Known,
    moved: f64,
    /// Median over executions.
    time_ps: f64,
    /// All executions of one group,
    sum_ps: f64,
    /// and what they should take ([`Known::expected_ps`]).
    expected_ps: f64,
}

impl<'k> Large<'k> {
    /// An op of which one execution takes so long, picoseconds, and a group has so many; `None` for one whose bytes are not known.
    fn of(op: &'k Op, known: &'k Known, could: f64, (time_ps, runs): (f64, f64)) -> Option<Self> {
        let (moved, expected_ps) = (known.moved()? * runs, known.expected_ps(could)? * runs);
        Some(Self { op, known, moved, time_ps, sum_ps: time_ps * runs, expected_ps })
    }

    /// Of a sum over all executions what one has.
    fn each(&self, sum: f64) -> f64 {
        sum * self.time_ps / self.sum_ps.max(1.0)
    }

    /// Its name, the time and the bytes of one execution.
    fn told(&self) -> Told {
        (self.op.1.clone(), self.time_ps, self.each(self.moved))
    }
}

impl<'p> Peers<'p> {
    /// The steps of these devices. `executions` is how many ops the devices ran in them, all together. `None` where the run
    /// has no steps that all devices ran, or nothing says who waits for whom.
    #[must_use]
    pub fn of(profile: &'p Profile, devices: &[&'p Device], steps: &Steps, executions: u64) -> Option<Self> {
        let counts = |s: &&Step| s.class != StepClass::Edge && devices.iter().all(|d| s.on(d.id).is_some());
        let rows: Vec<&Step> = steps.rows.iter().filter(counts).collect();
        if devices.len() < 2 || rows.is_empty() {
            return None;
        }
        let nodes = 2 * usize::try_from(executions).ok()? / steps.rows.len().max(1);
        let size = (NODES / nodes.max(1)).clamp(1, STEPS);
        let mut chunks: Vec<&[&Step]> = rows.chunks(size).collect();
        if chunks.len() > STRETCHES {
            let all = chunks.len();
            chunks = (0..STRETCHES).map(|i| chunks[(2 * i + 1) * all / (2 * STRETCHES)]).collect();
        }
        let (mut stretches, mut is_sound) = (Vec::new(), true);
        for chunk in chunks {
            let span = |device: &&'p Device| {
                let (first, last) = (chunk.first()?.on(device.id)?, chunk.last()?.on(device.id)?);
                (first.start_ps < last.end_ps).then_some((*device, (first.start_ps, last.end_ps)))
            };
            let spans: Vec<(&Device, (i64, i64))> = devices.iter().filter_map(span).collect();
            let (graph, facts) = critical_path::build(profile, &spans).ok()?;
            let is_known = facts.joined > 0 && facts.guessed == 0 && !facts.several_lanes;
            is_sound &= facts.contradicted.saturating_mul(CONTRADICTED) <= facts.joined;
            if !is_known {
                return None;
            }
            let schedule = graph.run(&graph.lengths);
            let length_ps = graph.length(&schedule);
            let exposed_ps = exposed(&graph, &schedule);
            let unexplained_ps = unexplained(&graph);
            let first = |s: &&&Step| rows.first().is_some_and(|r| r.number == s.number);
            let is_first = chunk.first().filter(first).is_some();
            stretches.push(Stretch { graph, length_ps, exposed_ps, unexplained_ps, is_first });
        }
        let (mut lengths, mut asynchronous) = (BTreeMap::new(), BTreeSet::new());
        for Stretch { graph, .. } in &stretches {
            collect(graph, &mut lengths);
            let issuers = graph.transfers.iter().map(|t| graph.nodes[t.issued_by as usize].op);
            asynchronous.extend(issuers.filter(|op| *op != NONE).map(|op| key(&graph.ops[op as usize].meta)));
        }
        Some(Self { stretches, lengths, asynchronous, is_sound })
    }

    /// What these changes give together.
    #[must_use]
    pub fn gain(&self, changes: &[Change<'_>]) -> Gain {
        let (mut before, mut after, mut exposed_ps) = (0.0, 0.0, 0.0);
        for one in &self.stretches {
            let mut lengths = one.graph.lengths.clone();
            for change in changes {
                match change {
                    Change::Work(slow) => even_work(&one.graph, &mut lengths, Some(slow)),
                    Change::Starts => even_starts(&one.graph, &mut lengths),
                    Change::Links(links) => even_links(&one.graph, &mut lengths, links),
                    Change::Even => {
                        even_work(&one.graph, &mut lengths, None);
                        even_starts(&one.graph, &mut lengths);
                    }
                }
            }
            let is_start = |change: &Change<'_>| matches!(change, Change::Starts | Change::Even);
            let together = (one.is_first && changes.iter().any(is_start)).then(|| begun_together(&one.graph));
            let graph = together.as_ref().unwrap_or(&one.graph);
            let schedule = graph.run(&lengths);
            before += one.length_ps as f64;
            after += graph.length(&schedule) as f64;
            exposed_ps += one.exposed_ps - exposed(graph, &schedule);
        }
        if before <= 0.0 {
            return Gain::default();
        }
        Gain {
            saved_share: ((before - after) / before).clamp(0.0, 1.0),
            communication_share: (exposed_ps / before).clamp(0.0, 1.0),
        }
    }

    /// The share of the steps' time, 0 to 1, that a device stands in collectives in which others do not, although by the program's
    /// groups it waits for nobody: of each stretch the device with most of it.
    #[must_use]
    pub fn unexplained_share(&self) -> f64 {
        let all: f64 = self.stretches.iter().map(|s| s.length_ps as f64).sum();
        let of: f64 = self.stretches.iter().map(|s| s.unexplained_ps as f64).sum();
        if all > 0.0 { (of / all).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The share of the steps' time, 0 to 1, that the others stand longer in the same collectives than these devices do, beyond what the
    /// program's groups explain: single waits may be short, and are always for these.
    #[must_use]
    pub fn unexplained_by(&self, some: &[DeviceId]) -> f64 {
        let all: f64 = self.stretches.iter().map(|s| s.length_ps as f64).sum();
        let of: f64 = self.stretches.iter().map(|s| unexplained_by(&s.graph, some)).sum();
        if all > 0.0 { (of / all).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The groups and axes that are slower than their peers.
    #[must_use]
    pub fn slow_links(&self, profile: &Profile) -> SlowLinks {
        let known = self.known(profile);
        let all_ps: f64 = self.stretches.iter().map(|s| s.length_ps as f64).sum();
        let is_tpu = profile.devices.iter().filter(|d| d.active).all(|d| d.kind == DeviceKind::Tpu);
        let could = profile.devices.iter().find(|d| d.active).and_then(|d| Links::of(profile, d)?.along(1));
        let uncaptured = self.unlike(&known, all_ps, could.filter(|_| is_tpu));
        let mut links = SlowLinks::default();
        let late = self.find_groups(&known, all_ps, &mut links);
        let uncaptured = self.with_group(uncaptured, late, all_ps);
        if let Some(could) = could.filter(|_| is_tpu) {
            self.find_around(&known, could, &mut links);
        }
        if is_tpu {
            self.find_axis(&known, all_ps, could, &mut links);
        }
        if let Some(could) = could.filter(|_| is_tpu) {
            if links.is_empty() {
                self.find_all(&known, all_ps, could, &mut links);
            } else {
                self.find_elsewhere(&known, could, &mut links);
            }
        }
        let Some((found, is_by_due)) = uncaptured else { return links };
        if links.uncaptured.as_ref().is_some_and(|one| one.excess_share > found.excess_share) {
            return links;
        }
        // Links that are slow hold up collectives of all groups. Where some of the same message take longer than others, they wait for
        // somebody, unless all of those were captured between which links are slow.
        let may_be_links = links.is_captured() || (is_by_due && !links.is_empty());
        let of_links = if may_be_links { self.gain(&[Change::Links(&links)]).saved_share } else { 0.0 };
        if of_links > LINKS_OVER_LATE * found.excess_share {
            return links;
        }
        SlowLinks { uncaptured: Some(found), ..SlowLinks::default() }
    }

    /// What is known of the collectives that were measured.
    fn known(&self, profile: &Profile) -> BTreeMap<Op, Known> {
        let of_stretch = |stretch: &Stretch<'p>| {
            let device = stretch.graph.devices.first().map(|device| device.id);
            let measured = |op: &&critical_path::GraphOp<'p>| {
                op.class == Class::Communication && self.lengths.contains_key(&key(&op.meta))
            };
            let ops = stretch.graph.ops.iter().filter(measured).map(|op| op.meta.clone());
            device.map(|device| (device, ops.collect::<Vec<_>>()))
        };
        facts(profile, self.stretches.iter().filter_map(of_stretch))
    }
}

impl SlowLinks {
    /// Whether none is slow.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.axis.is_none() && self.all.is_none()
    }

    /// Whether groups or an axis are slow of which all members were captured: nobody else can hold them up.
    fn is_captured(&self) -> bool {
        self.groups.iter().any(|group| group.is_captured)
            || self.axis.as_ref().is_some_and(|axis| axis.is_captured)
    }

    /// What the slow groups have in common: the two devices whose hops are slow, two where a group of two is slow, one that is in
    /// all of several slow groups, else all members of the slowest.
    #[must_use]
    pub fn common(&self) -> Vec<DeviceId> {
        if let Some((a, b)) = self.pair {
            return vec![a, b];
        }
        if let Some(pair) = self.groups.iter().find(|g| g.devices.len() == 2) {
            return pair.devices.clone();
        }
        let Some(first) = self.groups.first() else { return Vec::new() };
        let in_all: Vec<DeviceId> = first
            .devices
            .iter()
            .copied()
            .filter(|d| self.groups.iter().all(|g| g.devices.contains(d)))
            .collect();
        if in_all.is_empty() { first.devices.clone() } else { in_all }
    }
}

fn key(meta: &OpMeta<'_>) -> Op {
    (meta.program_id, meta.name.to_string())
}

fn median(samples: &[f64]) -> f64 {
    at(samples, 0.5)
}

/// What the quickest executions take; 0 of none.
fn quick(samples: &[f64]) -> f64 {
    at(samples, QUICK)
}

/// A quantile of samples in any order; 0 of none.
fn at(samples: &[f64], share: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() { 0.0 } else { quantile(&sorted, share) }
}

/// What the quickest executions take in each of these groups, picoseconds, where there are several groups and these agree.
fn quick_alike<'l>(groups: impl Iterator<Item = &'l [f64]>) -> Option<Vec<f64>> {
    let all: Vec<f64> = groups.map(quick).collect();
    let (least, most) =
        (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(0.0, f64::max));
    (all.len() > 1 && most <= GROUPS_ALIKE * least).then_some(all)
}

/// Time that devices stand in collectives, mean over devices, picoseconds.
fn exposed(graph: &Graph<'_>, schedule: &Schedule) -> f64 {
    let mut sum = 0.0;
    for (at, node) in (0_u32..).zip(&graph.nodes) {
        if node.op != NONE && node.class == Class::Communication {
            sum += (schedule.node[at as usize] - graph.arrival(schedule, at)).max(0) as f64;
        }
    }
    sum / graph.devices.len().max(1) as f64
}

/// The own lengths of the collectives of a stretch, by op and group.
fn collect(graph: &Graph<'_>, all: &mut BTreeMap<Op, BTreeMap<Members, Vec<f64>>>) {
    for ((op, members), lengths) in by_group(graph, &graph.lengths) {
        let own = lengths.into_iter().map(|ps| ps as f64).filter(|ps| *ps > 0.0);
        all.entry(key(&graph.ops[op as usize].meta)).or_default().entry(members).or_default().extend(own);
    }
}

/// Own lengths by op (a row of the graph's) and group.
fn by_group(graph: &Graph<'_>, lengths: &Lengths) -> BTreeMap<(u32, Members), Vec<i64>> {
    let mut joins: BTreeMap<u32, (u32, i64)> = BTreeMap::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        if let Role::Join { barrier } = node.role {
            let known = joins.entry(barrier).or_insert((node.op, i64::MAX));
            known.1 = known.1.min(lengths.node[at]);
        }
    }
    let mut found: BTreeMap<(u32, Members), Vec<i64>> = BTreeMap::new();
    for (barrier, (op, length)) in joins {
        found.entry((op, members(graph, barrier))).or_default().push(length);
    }
    let mut moves: BTreeMap<u32, (u32, Vec<i64>)> = BTreeMap::new();
    for (row, transfer) in graph.transfers.iter().enumerate().filter(|(_, t)| !t.is_hidden) {
        let issuer = &graph.nodes[transfer.issued_by as usize];
        if issuer.class == Class::Communication {
            moves.entry(transfer.barrier).or_insert((issuer.op, Vec::new())).1.push(lengths.transfer[row]);
        }
    }
    for (barrier, (op, mut own)) in moves {
        own.sort_unstable();
        found.entry((op, members(graph, barrier))).or_default().push(own[own.len() / 2]);
    }
    found
}

/// The devices of a barrier.
fn members(graph: &Graph<'_>, barrier: u32) -> Members {
    let device = |node: &u32| graph.devices[graph.device_of(*node) as usize].id.0;
    let mut members: Members = graph.barriers[barrier as usize].members.iter().map(device).collect();
    members.sort_unstable();
    members
}

#[cfg(test)]
pub(crate) mod tests;
