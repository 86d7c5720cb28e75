//! Groups of devices that are slower than the other groups of the same collectives, and what else crosses their links.

use std::collections::BTreeMap;

use super::known::Known;
use super::{Members, Op, Peers, SlowLinks, median, quick};
use haloscope_profile::DeviceId;

/// A group of devices is slow from this many times the time of its peers on.
const SLOW_GROUP: f64 = 1.3;
/// ... in collectives with this share of its time.
const CONSISTENT: f64 = 0.7;
/// A collective counts as slower in a group from here on.
const SLOWER: f64 = 1.15;
/// A slow group's excess is this share of the time at least.
const GROUP_SHARE: f64 = 0.001;
/// Of groups of which one member each was captured that one may wait for another. A slow link makes all messages longer by one factor: so many
/// times more or less is the same, ...
const SAME_FACTOR: f64 = 1.33;
/// ... in collectives with this share of its time, of so many different ones.
const SAME: f64 = 0.8;
const FEWEST_SAME: usize = 3;
/// What a member that was not captured costs its group is this share of the time at least.
const LATE_SHARE: f64 = 0.02;

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

/// A group whose captured member stands longer in collectives than those of other groups, some far longer and others not.
pub(super) struct LateGroup {
    /// How many members it has, one of which was captured.
    pub(super) members: u64,
    pub(super) worst: Worst,
    /// What its synchronous collectives take beyond those of the others, picoseconds.
    pub(super) beyond_ps: f64,
    /// By which factor each would be quicker.
    pub(super) factors: BTreeMap<Op, BTreeMap<Members, f64>>,
}

/// A group's collectives against those of its peers, summed over executions, picoseconds.
#[derive(Default)]
struct Sums {
    own: f64,
    peers: f64,
    /// What the synchronous ones take beyond their peers.
    synchronous: f64,
    /// Those that are [`SLOWER`].
    slower: f64,
    ops: usize,
    /// Of how many ops members were not captured.
    partial: usize,
    /// How many peers an op has, at least.
    fewest: usize,
    worst: Option<(f64, Worst)>,
    factors: BTreeMap<Op, f64>,
    /// Of synchronous collectives that do not compute: how many times as long as its peers, and the time.
    ratios: Vec<(f64, f64)>,
    /// How many members the group has, captured or not.
    members: u64,
}

/// Whether collectives are all longer by the same factor.
fn is_one_factor(ratios: &[(f64, f64)]) -> bool {
    let all: f64 = ratios.iter().map(|(_, time)| time).sum();
    let usual = all / ratios.iter().map(|(ratio, time)| time / ratio).sum::<f64>().max(1.0);
    let is_same = |ratio: f64| ratio <= SAME_FACTOR * usual && usual <= SAME_FACTOR * ratio;
    let same: f64 = ratios.iter().filter(|(ratio, _)| is_same(*ratio)).map(|(_, time)| time).sum();
    ratios.len() >= FEWEST_SAME && same >= SAME * all
}

impl Peers<'_> {
    /// Finds the groups whose links are slow. Gives the group that waits for a member of its own that was not captured, where there is one.
    pub(super) fn find_groups(
        &self,
        known: &BTreeMap<Op, Known>,
        all_ps: f64,
        links: &mut SlowLinks,
    ) -> Option<LateGroup> {
        let mut late: Option<LateGroup> = None;
        for (members, sum) in self.sums(known) {
            if members.len() == 1 && !is_one_factor(&sum.ratios) {
                let Some((_, worst)) = sum.worst.filter(|_| sum.synchronous >= LATE_SHARE * all_ps) else {
                    continue;
                };
                if late.as_ref().is_none_or(|late| sum.synchronous > late.beyond_ps) {
                    let alone = |(op, by)| (op, BTreeMap::from([(members.clone(), by)]));
                    let factors = sum.factors.into_iter().map(alone).collect();
                    late =
                        Some(LateGroup { members: sum.members, worst, beyond_ps: sum.synchronous, factors });
                }
                continue;
            }
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
        late
    }

    /// The collectives of each group against those of the other groups of the same ops.
    fn sums(&self, known: &BTreeMap<Op, Known>) -> BTreeMap<&Members, Sums> {
        let mut sums: BTreeMap<&Members, Sums> = BTreeMap::new();
        // Hops of a permute are unlike by design: neighbours, and the way around.
        let is_hop = |op: &Op| known.get(op).is_some_and(|k| k.kind == "collective-permute");
        for (op, groups) in self.lengths.iter().filter(|(op, _)| !is_hop(op)) {
            // Groups are as large as each other, however many members of each were captured.
            let is_sized = known.get(op).is_some_and(|one| one.members > 1);
            // Of one member each: the quickest executions wait least.
            let is_of_one = is_sized && groups.len() > 2 && groups.keys().all(|members| members.len() == 1);
            let least = if is_of_one { 0 } else { 1 };
            let usual = |own: &Vec<f64>| if is_of_one { quick(own) } else { median(own) };
            let of_size =
                |n: usize| groups.iter().filter(move |(m, _)| m.len() > least && (is_sized || m.len() == n));
            for (members, own) in groups.iter().filter(|(members, _)| members.len() > least) {
                let peers: Vec<f64> =
                    of_size(members.len()).filter(|(m, _)| *m != members).map(|(_, l)| usual(l)).collect();
                let (time, peer) = (usual(own), median(&peers));
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
                    if known.get(op).is_some_and(|one| !one.is_fused) {
                        sum.ratios.push((time / peer, time * count));
                    }
                }
                sum.members = sum.members.max(known.get(op).map_or(0, |one| one.members));
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
        sums
    }

    /// Larger groups around a slow one cross its links as well, and have no peers to tell it: what their collectives take beyond what they
    /// should, up to as many times as the slow group's do, goes with it. `could` is what the two links of an axis can carry, bytes a second.
    pub(super) fn find_around(&self, known: &BTreeMap<Op, Known>, could: f64, links: &mut SlowLinks) {
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
}
