//! What a run would take if slow devices, late hosts and slow links did as their peers do.
//!
//! Steps in a row are one graph ([`crate::critical_path`]); parts of it are given the lengths that their peers have, and it
//! runs again: what nobody waits for any more goes, what others would have waited for anyway stays. The length of a
//! collective by itself is counted from the arrival of its last member, so that groups of one collective can be held against
//! each other although their members come at different times.

mod all;
mod axis;
mod uncaptured;

pub use all::SlowAll;
pub use axis::SlowAxis;
pub use uncaptured::{Told, Uncaptured, of_one};

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::critical_path::{self, Graph, Lengths, NONE, Role, Schedule};
use super::group_lists::Groups;
use super::groups::Extent;
use super::links::{Links, factor};
use super::mesh::{Mesh, axes_of};
use super::message;
use haloscope_profile::{Device, DeviceId, DeviceKind, Profile};
use haloscope_time::account::{Class, Group};
use haloscope_time::hlo_costs::Costs;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::stats::{mean, quantile};
use haloscope_time::steps::{Step, StepClass, Steps};

/// Steps are put into one graph up to so many nodes.
const NODES: usize = 300_000;
/// Of long runs so many stretches of steps are looked at, evenly spread.
const STRETCHES: usize = 4;
/// A stretch is no longer than this many steps.
const STEPS: usize = 32;
/// Measured times may contradict that members waited for each other in one of so many executions.
const CONTRADICTED: usize = 50;
/// A group of devices is slow from this many times the time of its peers on.
const SLOW_GROUP: f64 = 1.3;
/// ... in collectives with this share of its time.
const CONSISTENT: f64 = 0.7;
/// A collective counts as slower in a group from here on.
const SLOWER: f64 = 1.15;
/// What takes less is latency rather than bandwidth, picoseconds: where nobody knows what links carry, the time it takes...
const BANDWIDTH_PS: f64 = 50e6;
/// ... else the time that its bytes need.
const BANDWIDTH_OF_BYTES_PS: f64 = 20e6;
/// What large messages reach of what links can carry: 80 to 95% (JAX's scaling book measures 95% from 10 MB on).
const USUAL_ALL: f64 = 0.85;
/// All links are slow where large collectives along single axes take so many times as long as they should: as if the links carried
/// 40% of what they can, which a line of chips that is no ring does not fall below.
const SLOW_ALL: f64 = USUAL_ALL / 0.40;
/// A message goes on from chip to chip, as often as a square of all members is long and wide, picoseconds each time.
const HOP_PS: f64 = 1e6;
/// Where slow links explain so many times what members that were not captured do, links are slow.
const LINKS_OVER_LATE: f64 = 1.5;
/// A slow group's excess is this share of the time at least.
const GROUP_SHARE: f64 = 0.001;
/// What takes a device so many times as long as the quickest one, in one execution of a collective, is no message of its own.
const UNEXPLAINED: i64 = 4;
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

/// A group of devices that is slower than the other groups of the same collectives.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowGroup {
    /// Its members.
    pub devices: Vec<DeviceId>,
    /// Its time in collectives over that of its peers.
    pub ratio: f64,
    /// How many ops that is of.
    pub ops: usize,
    /// How many peers it has, at least.
    pub peers: usize,
    /// All of its members were captured.
    pub is_captured: bool,
    /// The op that it loses most in: name, its time and that of the peers, picoseconds, and their bus bandwidths, bytes a
    /// second.
    pub worst: Worst,
}

/// An op in a slow group against the same op in the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Worst {
    /// The op's name.
    pub op: String,
    /// Its time in the slow group, from the arrival of the last member, picoseconds.
    pub own_ps: f64,
    /// In the other groups: the median.
    pub peers_ps: f64,
    /// Its bus bandwidth in the slow group, bytes a second.
    pub rate: Option<f64>,
    /// In the other groups.
    pub peers_rate: Option<f64>,
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

/// What a collective sends: its kind, axis, members and bytes over the links of a device.
type Message<'k> = (&'k str, &'k str, u64, u64);

/// What is known of a collective.
struct Known {
    axis: String,
    kind: String,
    members: u64,
    bytes: Option<f64>,
    /// It computes as well, in a fusion.
    is_fused: bool,
    /// All devices that the program runs on are members.
    is_whole: bool,
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
        self.find_groups(&known, all_ps, &mut links);
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
        // Links that are slow hold up collectives of all groups. Where some of the same message take longer than others, they wait for
        // somebody, unless all of those were captured between which links are slow.
        let may_be_links = links.is_captured() || (is_by_due && !links.is_empty());
        let of_links = if may_be_links { self.gain(&[Change::Links(&links)]).saved_share } else { 0.0 };
        if of_links > LINKS_OVER_LATE * found.excess_share {
            return links;
        }
        SlowLinks { uncaptured: Some(found), ..SlowLinks::default() }
    }

    fn find_groups(&self, known: &BTreeMap<Op, Known>, all_ps: f64, links: &mut SlowLinks) {
        #[derive(Default)]
        struct Sums {
            own: f64,
            peers: f64,
            synchronous: f64,
            slower: f64,
            ops: usize,
            partial: usize,
            fewest: usize,
            worst: Option<(f64, Worst)>,
            factors: BTreeMap<Op, f64>,
        }
        let mut sums: BTreeMap<&Members, Sums> = BTreeMap::new();
        // Hops of a permute are unlike by design: neighbours, and the way around.
        let is_hop = |op: &Op| known.get(op).is_some_and(|k| k.kind == "collective-permute");
        for (op, groups) in self.lengths.iter().filter(|(op, _)| !is_hop(op)) {
            // Groups are as large as each other, however many members of each were captured.
            let is_sized = known.get(op).is_some_and(|one| one.members > 1);
            let of_size =
                |n: usize| groups.iter().filter(move |(m, _)| m.len() > 1 && (is_sized || m.len() == n));
            for (members, own) in groups.iter().filter(|(members, _)| members.len() > 1) {
                let peers: Vec<f64> =
                    of_size(members.len()).filter(|(m, _)| *m != members).map(|(_, l)| median(l)).collect();
                let (time, peer) = (median(own), median(&peers));
                if peers.is_empty() || peer <= 0.0 {
                    continue;
                }
                let count = own.len() as f64;
                let sum = sums.entry(members).or_default();
                sum.own += time * count;
                sum.peers += peer * count;
                sum.slower += if time > SLOWER * peer { time * count } else { 0.0 };
                sum.ops += 1;
                sum.partial += usize::from(!known.get(op).is_some_and(|one| one.has_all(members)));
                if !self.asynchronous.contains(op) {
                    sum.synchronous += (time - peer) * count;
                }
                sum.fewest = if sum.fewest == 0 { peers.len() } else { sum.fewest.min(peers.len()) };
                if time > peer {
                    sum.factors.insert(op.clone(), peer / time);
                }
                let excess = (time - peer) * count;
                if sum.worst.as_ref().is_none_or(|(most, _)| excess > *most) {
                    let moved = known.get(op).and_then(Known::moved);
                    let rate = |ps: f64| moved.map(|bytes| bytes / (ps / 1e12));
                    let worst = Worst {
                        op: op.1.clone(),
                        own_ps: time,
                        peers_ps: peer,
                        rate: rate(time),
                        peers_rate: rate(peer),
                    };
                    sum.worst = Some((excess, worst));
                }
            }
        }
        for (members, sum) in sums {
            let is_slow = sum.own >= SLOW_GROUP * sum.peers
                && sum.slower >= CONSISTENT * sum.own
                && sum.own - sum.peers >= GROUP_SHARE * all_ps;
            let Some((_, worst)) = sum.worst.filter(|_| is_slow) else { continue };
            links.excess_share = links.excess_share.max(sum.synchronous / all_ps.max(1.0));
            for (op, by) in sum.factors {
                links.factors.entry(op).or_default().insert(members.clone(), by);
            }
            links.groups.push(SlowGroup {
                devices: members.iter().map(|d| DeviceId(*d)).collect(),
                ratio: sum.own / sum.peers.max(1.0),
                ops: sum.ops,
                peers: sum.fewest,
                is_captured: sum.partial == 0,
                worst,
            });
        }
        links.groups.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        links.pair = self.find_pair(known, &links.common());
    }

    /// Larger groups around a slow one cross its links as well, and have no peers to tell it: what their collectives take beyond what they
    /// should, up to as many times as the slow group's do, goes with it. `could` is what the two links of an axis can carry, bytes a second.
    fn find_around(&self, known: &BTreeMap<Op, Known>, could: f64, links: &mut SlowLinks) {
        let Some(slowest) = links.groups.first() else { return };
        let least = 1.0 / slowest.ratio.max(1.0);
        let inside: Vec<u32> = slowest.devices.iter().map(|device| device.0).collect();
        for (op, groups) in &self.lengths {
            let Some(one) = known.get(op).filter(|_| groups.len() == 1) else { continue };
            let Some(expected_ps) = one.expected_ps(could) else { continue };
            for (members, own) in groups.iter().filter(|(members, _)| members.len() > inside.len()) {
                let time_ps = median(own);
                let is_around = inside.iter().all(|device| members.binary_search(device).is_ok());
                let is_large = self.asynchronous.contains(op) || one.is_large(time_ps, Some(could));
                if is_around && is_large && time_ps > SLOWER * expected_ps {
                    let by = (expected_ps / time_ps).max(least);
                    links.factors.entry(op.clone()).or_default().entry(members.clone()).or_insert(by);
                }
            }
        }
    }

    /// Of a slow group the two members between which permutes are slower than between the others, hop against hop of the same op.
    /// The first and the last may be far from each other by design: a line is closed by the way around.
    fn find_pair(&self, known: &BTreeMap<Op, Known>, among: &[DeviceId]) -> Option<(DeviceId, DeviceId)> {
        const HOPS: usize = 3;
        let mut rows: Members = among.iter().map(|device| device.0).collect();
        rows.sort_unstable();
        if rows.len() < HOPS {
            return None;
        }
        let mut sums: BTreeMap<(u32, u32), (f64, f64)> = BTreeMap::new();
        for (op, groups) in &self.lengths {
            if known.get(op).is_none_or(|one| one.kind != "collective-permute") {
                continue;
            }
            let hops: Vec<((u32, u32), f64, f64)> = groups
                .iter()
                .filter_map(|(members, own)| match members[..] {
                    [a, b] if rows.binary_search(&a).is_ok() && rows.binary_search(&b).is_ok() => {
                        Some(((a, b), median(own), own.len() as f64))
                    }
                    _ => None,
                })
                .collect();
            for (hop, time, count) in hops.iter().filter(|_| hops.len() >= HOPS) {
                let others: Vec<f64> = hops.iter().filter(|o| o.0 != *hop).map(|o| o.1).collect();
                let sum = sums.entry(*hop).or_default();
                *sum = (sum.0 + time * count, sum.1 + median(&others) * count);
            }
        }
        let ends = (*rows.first()?, *rows.last()?);
        let is_slow = |(own, others): (f64, f64)| others > 0.0 && own >= SLOW_GROUP * others;
        let mut slow = sums.iter().filter(|(_, sum)| is_slow(**sum)).map(|(hop, _)| *hop);
        let only = slow.next().filter(|hop| *hop != ends)?;
        slow.next().is_none().then_some((DeviceId(only.0), DeviceId(only.1)))
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

/// What is known of collectives, of ops of these devices.
fn facts<'p>(
    profile: &'p Profile,
    ops: impl Iterator<Item = (DeviceId, Vec<OpMeta<'p>>)>,
) -> BTreeMap<Op, Known> {
    let mut found: BTreeMap<Op, (OpMeta<'_>, Groups, Option<Extent>)> = BTreeMap::new();
    let mut bytes: BTreeMap<Op, (String, Option<f64>)> = BTreeMap::new();
    for (device, ops) in ops {
        let costs = Costs::new(profile, profile.device(device));
        for meta in ops {
            let key = key(&meta);
            if found.contains_key(&key) {
                continue;
            }
            let module = meta.program_id.and_then(|id| costs.program(id));
            let Some(groups) = Groups::of(module, &meta, None) else { continue };
            let instruction = module.and_then(|m| Some((m, message::collective(m, &meta.name)?)));
            let size = instruction
                .and_then(|(m, i)| message::bytes(m, i))
                .or_else(|| message::bytes_of_text(&meta.expression));
            let word = message::word(&meta);
            let kind = if word.is_empty() {
                instruction.map(|(_, i)| message::kind(i).into_owned()).unwrap_or_default()
            } else {
                word.to_owned()
            };
            bytes.insert(key.clone(), (kind, size));
            found.insert(key, (meta, groups, module.map(Extent::of)));
        }
    }
    let mesh = Mesh::of_groups(found.values().map(|(_, groups, _)| groups));
    let one = |(key, (meta, groups, extent)): (Op, (OpMeta<'_>, Groups, Option<Extent>))| {
        let (kind, size) = bytes.remove(&key).unwrap_or_default();
        let all = extent.and_then(|extent| extent.partitions?.checked_mul(extent.replicas.unwrap_or(1)));
        let known = Known {
            axis: axes_of(&groups, mesh.as_ref()),
            kind,
            members: groups.size.unwrap_or(0),
            bytes: size,
            is_fused: meta.category.contains("fusion") || meta.name.contains("fusion"),
            is_whole: all.is_some() && all == groups.size,
        };
        (key, known)
    };
    found.into_iter().map(one).collect()
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

impl Known {
    /// The part of what the two links of an axis carry that a collective can have of it. A hop of a permute goes over one. In an exchange
    /// of all with all messages go on from device to device, in a ring of n over n/4 links each on average; of all chips of a slice,
    /// a rectangle, half of the messages cross its middle, over as many links as its shorter side has chips.
    fn reachable(&self) -> f64 {
        let members = self.members.max(1);
        match self.kind.as_str() {
            "collective-permute" => 0.5,
            kind if kind.contains("all-to-all") => {
                let ring = 4.0 / members as f64;
                let side = 1_u64 << u64::from(members.next_power_of_two().ilog2()).div_ceil(2);
                let slice = if self.is_whole { 2.0 / side as f64 } else { 0.0 };
                ring.max(slice).min(1.0)
            }
            _ => 1.0,
        }
    }

    /// How long its bytes take at all of what the two links of an axis carry, bytes a second: picoseconds.
    fn bytes_ps(&self, could: f64) -> Option<f64> {
        Some(self.moved()? / (could * self.reachable()) * 1e12)
    }

    /// How long its message goes from chip to chip, picoseconds.
    fn latency_ps(&self) -> f64 {
        2.0 * HOP_PS * (self.members.max(1) as f64).sqrt()
    }

    /// What an execution should take where the two links of an axis carry so much, bytes a second: picoseconds.
    fn expected_ps(&self, could: f64) -> Option<f64> {
        Some(self.bytes_ps(could)? / USUAL_ALL + self.latency_ps())
    }

    /// Whether bandwidth tells how long it takes, by its bytes where it is known what the two links of an axis could carry, bytes a
    /// second: a slow link makes small messages long as well.
    fn is_large(&self, time_ps: f64, could: Option<f64>) -> bool {
        match could.and_then(|could| self.bytes_ps(could)) {
            // What takes less than its bytes do at all that links carry does not send them.
            Some(bytes_ps) => bytes_ps >= BANDWIDTH_OF_BYTES_PS && time_ps >= bytes_ps.min(BANDWIDTH_PS),
            None => time_ps >= BANDWIDTH_PS,
        }
    }

    /// Whether these are all of its members.
    fn has_all(&self, members: &[u32]) -> bool {
        self.members > 0 && members.len() as u64 == self.members
    }

    /// What it sends, where its bytes are known.
    fn message(&self) -> Option<Message<'_>> {
        Some((&self.kind, &self.axis, self.members, self.moved()? as u64))
    }

    /// Bytes over each device's links, the factor of its kind in it.
    fn moved(&self) -> Option<f64> {
        self.bytes.zip(factor(&self.kind, self.members)).map(|(bytes, by)| bytes * by).filter(|b| *b > 0.0)
    }
}

fn key(meta: &OpMeta<'_>) -> Op {
    (meta.program_id, meta.name.to_string())
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() { 0.0 } else { quantile(&sorted, 0.5) }
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

/// What each device stands in an execution of a collective by itself, without its wait for the members of its group: by op and how many
/// executions of it came before, the device's row and picoseconds.
fn standing_alone(graph: &Graph<'_>) -> BTreeMap<(u32, u32), Vec<(u32, i64)>> {
    let mut before: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut same: BTreeMap<(u32, u32), Vec<(u32, i64)>> = BTreeMap::new();
    for (at, node) in (0_u32..).zip(&graph.nodes) {
        // A collective without its wait for members, a done without what was over before.
        let own = match node.role {
            Role::Join { .. } => Some((node.op, graph.lengths.node[at as usize])),
            Role::Done { transfer } => {
                let issuer = &graph.nodes[graph.transfers[transfer as usize].issued_by as usize];
                let stands = node.end_ps - node.start_ps;
                let begins =
                    graph.transfers[transfer as usize].end_ps - graph.lengths.transfer[transfer as usize];
                let waited = (begins - node.start_ps).clamp(0, stands.max(0));
                (issuer.class == Class::Communication).then_some((issuer.op, stands - waited))
            }
            _ => None,
        };
        let Some((op, length)) = own.filter(|(op, _)| *op != NONE) else { continue };
        let device = graph.device_of(at);
        let nth = before.entry((device, op)).or_default();
        same.entry((op, *nth)).or_default().push((device, length));
        *nth += 1;
    }
    same
}

/// What the device with most of it stands in collectives beyond the quickest of all in the same executions, where that is several
/// times as long: one message is sent everywhere alike, so that the rest is a wait of which the groups know nothing.
fn unexplained(graph: &Graph<'_>) -> i64 {
    let mut of_device = vec![0_i64; graph.devices.len()];
    for lengths in standing_alone(graph).into_values() {
        let least = lengths.iter().map(|(_, length)| *length).min().unwrap_or(0).max(0);
        for (device, length) in lengths {
            if length > UNEXPLAINED.saturating_mul(least) && length - least > LATENCY_PS {
                of_device[device as usize] += length - least;
            }
        }
    }
    of_device.into_iter().max().unwrap_or(0)
}

/// By how much the other devices stand longer in the same executions of collectives than these do, beyond their waits for the members
/// of their groups: a mean over the others, picoseconds.
fn unexplained_by(graph: &Graph<'_>, some: &[DeviceId]) -> f64 {
    let is_one: Vec<bool> = graph.devices.iter().map(|d| some.contains(&d.id)).collect();
    let mut sum = 0.0;
    for lengths in standing_alone(graph).into_values() {
        let of = |own: bool| -> Vec<f64> {
            let those = lengths.iter().filter(|(device, _)| is_one[*device as usize] == own);
            those.map(|(_, length)| *length as f64).collect()
        };
        if let Some((own, others)) = mean(&of(true)).zip(mean(&of(false))) {
            sum += others - own;
        }
    }
    sum.max(0.0)
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

fn times(length: i64, factor: f64) -> i64 {
    (length as f64 * factor).round() as i64
}

/// Executions by op and how many pieces of it came before on the device: the device's row and the node.
fn executions(
    graph: &Graph<'_>,
    takes: impl Fn(&critical_path::Node) -> bool,
) -> BTreeMap<(u32, u32), Vec<(u32, usize)>> {
    let mut before: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut same: BTreeMap<(u32, u32), Vec<(u32, usize)>> = BTreeMap::new();
    for (at, node) in graph.nodes.iter().enumerate().filter(|(_, node)| takes(node)) {
        let device = graph.device_of(at as u32);
        let nth = before.entry((device, node.op)).or_default();
        same.entry((node.op, *nth)).or_default().push((device, at));
        *nth += 1;
    }
    same
}

/// Gives executions on slow devices the mean length that the others' median has; without slow ones each the median of all.
fn even_work(graph: &Graph<'_>, lengths: &mut Lengths, slow: Option<&[DeviceId]>) {
    let is_slow: Vec<bool> =
        graph.devices.iter().map(|d| slow.is_none_or(|slow| slow.contains(&d.id))).collect();
    let works = |node: &critical_path::Node| {
        node.role == Role::Work && node.op != NONE && node.class.group() == Group::Working
    };
    for nodes in executions(graph, works).into_values() {
        let length = |takes: bool| -> Vec<f64> {
            let some =
                nodes.iter().filter(|(device, _)| slow.is_none() || is_slow[*device as usize] == takes);
            some.map(|(_, at)| lengths.node[*at] as f64).collect()
        };
        let (own, others) = (length(true), length(false));
        let (Some(own), false) = (mean(&own), others.is_empty()) else { continue };
        let usual = median(&others);
        for (device, at) in &nodes {
            if slow.is_none() {
                lengths.node[*at] = usual.round() as i64;
            } else if is_slow[*device as usize] && own > 0.0 {
                lengths.node[*at] = times(lengths.node[*at], usual / own);
            }
        }
    }
}

/// The op before which a device waits, and how many executions of it came before.
type Place = (u32, u32);
/// A device, and its nodes without work.
type Waits = (u32, Vec<usize>);

/// Caps what a device idles or waits for its host at one place by the median of what the others do there.
fn even_starts(graph: &Graph<'_>, lengths: &mut Lengths) {
    let mut places: BTreeMap<Place, Vec<Waits>> = BTreeMap::new();
    for lane in &graph.lanes {
        let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
        let mut open: Vec<usize> = Vec::new();
        for at in lane.first..lane.end {
            let node = &graph.nodes[at as usize];
            let waits = matches!(node.class, Class::HostTransfer | Class::Infeed);
            if waits || (node.op == NONE && node.class.group() == Group::Idle) {
                open.push(at as usize);
            }
            if node.op == NONE || waits {
                continue;
            }
            let nth = seen.entry(node.op).or_default();
            if !open.is_empty() {
                places.entry((node.op, *nth)).or_default().push((lane.device, std::mem::take(&mut open)));
            }
            *nth += 1;
        }
    }
    let devices = graph.devices.len();
    for found in places.into_values() {
        let sum = |nodes: &[usize]| nodes.iter().map(|at| lengths.node[*at] as f64).sum::<f64>();
        let sums: Vec<f64> = found.iter().map(|(_, nodes)| sum(nodes)).collect();
        let mut changes: Vec<(usize, f64)> = Vec::new();
        for (position, (_, nodes)) in found.iter().enumerate() {
            let mut others: Vec<f64> =
                sums.iter().enumerate().filter(|(at, _)| *at != position).map(|(_, s)| *s).collect();
            others.resize(devices.saturating_sub(1).max(others.len()), 0.0);
            let (own, usual) = (sums[position], median(&others));
            if usual < own {
                changes.extend(nodes.iter().map(|at| (*at, usual / own)));
            }
        }
        for (at, by) in changes {
            lengths.node[at] = times(lengths.node[at], by);
        }
    }
}

/// The graph with no device that begins later than the median of the others does.
fn begun_together<'p>(graph: &Graph<'p>) -> Graph<'p> {
    let mut together = graph.clone();
    let starts: Vec<f64> = graph.devices.iter().map(|d| d.start_ps as f64).collect();
    for (at, device) in together.devices.iter_mut().enumerate() {
        let others: Vec<f64> =
            starts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, start)| *start).collect();
        if !others.is_empty() {
            device.start_ps = device.start_ps.min(median(&others).round() as i64);
        }
    }
    together
}

/// Gives collectives in slow groups the lengths of their peers.
fn even_links(graph: &Graph<'_>, lengths: &mut Lengths, links: &SlowLinks) {
    let ops: Vec<Option<&BTreeMap<Members, f64>>> =
        graph.ops.iter().map(|op| links.factors.get(&key(&op.meta))).collect();
    let of = |op: u32, barrier: u32| {
        ops.get(op as usize).copied().flatten()?.get(&members(graph, barrier)).copied()
    };
    for (at, node) in graph.nodes.iter().enumerate() {
        if let Role::Join { barrier } = node.role
            && let Some(by) = of(node.op, barrier)
        {
            lengths.node[at] = times(lengths.node[at], by);
        }
    }
    for (row, transfer) in graph.transfers.iter().enumerate() {
        if let Some(by) = of(graph.nodes[transfer.issued_by as usize].op, transfer.barrier) {
            lengths.transfer[row] = times(lengths.transfer[row], by);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
