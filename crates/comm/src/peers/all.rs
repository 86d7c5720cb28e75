//! Links that are all slow, or collectives of one kind: held against what the chip's links can carry, where there are no others to hold
//! them against.

use std::collections::{BTreeMap, BTreeSet};

use super::known::{BANDWIDTH_OF_BYTES_PS, BANDWIDTH_PS, HOP, Known, Message, USUAL_ALL};
use super::uncaptured::{Quick, Told, Uncaptured, contradiction};
use super::{Large, Op, Peers, SLOW_ALL, SlowLinks, median, quick_alike};

/// Links are not [all slow](SLOW_ALL) where collectives of one kind take no more than so many times as long as they should: then the
/// others are slow, and no link is. These need not be as slow then, for the links are seen to carry what they can.
pub(super) const WELL: f64 = USUAL_ALL / 0.6;
const SLOW_KIND: f64 = USUAL_ALL / 0.50;
/// So are they where all chips of a slice of four and more take part, which are a ring if an even number of them are a rectangle, and
/// messages take so long by their bytes, picoseconds.
const SLOW_WHOLE: f64 = USUAL_ALL / 0.55;
const WHOLE_PS: f64 = 50e6;
/// So many different ops have to be as slow, in this share of the time.
const FEWEST_SLOW: usize = 2;
const ALL_SHARE: f64 = 0.02;
/// One alone says it where it has this share of the steps' time, takes this many times as long as it should at most, and all chips of
/// the slice take part.
const ALONE_SHARE: f64 = 0.05;
const ALONE_MOST: f64 = 5.0;
/// Small messages are known by their way only, a rule of thumb: links are slow where they take so many times as long as that and their bytes
/// together, ...
const SLOW_SMALL: f64 = 3.0;
/// ... and so many different ones, with this part of their time, take this many times as long each: a late member makes wait what comes
/// first behind its work, and not all.
const FEWEST_SMALL: usize = 4;
const MOST_SMALL: f64 = 0.8;
const EACH_SMALL: f64 = 2.0;
/// From so many times on they wait for somebody: links that are so slow are as good as down. Ten times is what a link at a tenth of its rate makes
/// of them.
const WAITED_SMALL: f64 = 20.0;
/// A message is of next to no bytes where these take so much of the time of its way.
const TINY: f64 = 0.1;
/// Such messages wait for somebody where they are so many times as slow as large ones, and by more than what they take differs, picoseconds.
/// Simulated links that are slow made them 0.5 to 2.3 times as slow as large ones, members that were not captured 3 to 48 times.
const WAITED_TINY: f64 = 2.6;
const WAITED_TINY_PS: f64 = 10e6;
/// Those of all chips say it for all where they have this part of the time.
const MOST: f64 = 0.5;

/// Links that carry far less than the chip's links can, wherever collectives are large.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowAll {
    /// The bus bandwidth over all of these collectives, bytes a second.
    pub rate: f64,
    /// What the two links of one axis can carry, bytes a second.
    pub could: f64,
    /// How many ops that is of.
    pub ops: usize,
    /// Their kinds.
    pub kinds: Vec<String>,
    /// Where collectives of other kinds are not slow: what these carry, bytes a second.
    pub beside: Option<f64>,
    /// How many members of their groups were captured, of how many.
    pub captured: (usize, u64),
    /// Where they are small: what an execution takes and should take, means over them, picoseconds.
    pub small: Option<(f64, f64)>,
}

impl Peers<'_> {
    /// Whether all links are slow: `could` is what the two links of an axis can carry, bytes a second.
    pub(super) fn find_all(
        &self,
        known: &BTreeMap<Op, Known>,
        all_ps: f64,
        could: f64,
        links: &mut SlowLinks,
    ) {
        let is_plain = |one: &Known| !one.axis.contains('+') && one.members >= 2;
        let mut large: Vec<Large<'_>> = Vec::new();
        for op in self.lengths.keys().filter(|op| !self.asynchronous.contains(op)) {
            let Some((op, one)) = known.get_key_value(op).filter(|(_, one)| is_plain(one)) else { continue };
            // A small message that takes long does so for the links, or for who comes late.
            let is_long = |time_ps| time_ps >= BANDWIDTH_PS || one.is_large(time_ps, Some(could));
            large.extend(self.measured(op, one, could).filter(|measured| is_long(measured.time_ps)));
        }
        self.find_slow(&large, known, all_ps, could, links);
        if links.is_empty() && links.uncaptured.is_none() {
            self.find_hops(&large, known, all_ps, could, links);
        }
        if links.is_empty() && links.uncaptured.is_none() {
            self.find_alone(&large, known, all_ps, could, links);
        }
        if links.is_empty() && links.uncaptured.is_none() && (large.is_empty() || slower(&large) > WELL) {
            self.find_small(known, all_ps, could, links);
        }
    }

    /// Whether links are slow by collectives whose messages are small, as a decoder has them: by the way that these go, all alike.
    fn find_small(&self, known: &BTreeMap<Op, Known>, all_ps: f64, could: f64, links: &mut SlowLinks) {
        let is_meant =
            |one: &Known| one.members >= 2 && !one.is_fused && one.kind != HOP && one.is_small(could);
        let mut small: Vec<Large<'_>> = Vec::new();
        for op in self.lengths.keys().filter(|op| !self.asynchronous.contains(op)) {
            let Some((op, one)) = known.get_key_value(op).filter(|(_, one)| is_meant(one)) else { continue };
            small.extend(self.measured(op, one, could).filter(|measured| measured.sum_ps > 0.0));
        }
        let is_long = |one: &Large<'_>| one.sum_ps >= EACH_SMALL * one.expected_ps;
        let long: Vec<Large<'_>> = small.iter().copied().filter(is_long).collect();
        let (_, time_ps) = rate_of(&small);
        if long.len() >= FEWEST_SMALL
            && rate_of(&long).1 >= MOST_SMALL * time_ps
            && time_ps >= ALONE_SHARE * all_ps
            && slower(&small) >= SLOW_SMALL
        {
            self.slow_all(&small, (known, could), all_ps, None, links);
        }
    }

    /// Small collectives that wait for members that were not captured: all that they take beyond what they should goes with these.
    fn waited_for(&self, small: &[Large<'_>], captured: (usize, u64), all_ps: f64) -> Option<Uncaptured> {
        let beyond_ps = |one: &Large<'_>| one.sum_ps - one.expected_ps;
        let worst = small.iter().max_by(|a, b| beyond_ps(a).total_cmp(&beyond_ps(b)))?;
        let mut waits = SlowLinks::default();
        for one in small.iter().filter(|one| beyond_ps(one) > 0.0) {
            let by = one.expected_ps / one.sum_ps;
            let groups =
                self.lengths.get(one.op).into_iter().flatten().map(|(members, _)| (members.clone(), by));
            waits.factors.entry(one.op.clone()).or_default().extend(groups);
        }
        let beyond_ps = small.iter().map(|one| beyond_ps(one).max(0.0)).sum();
        let excess_share = self.excess_share(&waits, beyond_ps, all_ps);
        Some(Uncaptured { captured, excess_share, slow: worst.told(), quick: Quick::Links })
    }

    /// The slowest message of next to no bytes, where these are slower by far than large ones: links that carry less make them longer by as much
    /// at most, so that devices wait in them for a member that was not captured.
    fn waits_tiny(&self, large: &[Large<'_>], known: &BTreeMap<Op, Known>, could: f64) -> Option<Told> {
        let tiny = self.tiny(known, could);
        let links = slower(large).max(1.0);
        let beyond_ps = |one: &Large<'_>| one.time_ps - links * one.each(one.expected_ps);
        let worst = tiny.iter().max_by(|a, b| beyond_ps(a).total_cmp(&beyond_ps(b)))?;
        (slower(&tiny) >= WAITED_TINY * links && beyond_ps(worst) >= WAITED_TINY_PS).then(|| worst.told())
    }

    /// Messages of next to no bytes, such as the sum of a loss, that devices stand in, of groups of which some members were not captured.
    fn tiny<'k>(&self, known: &'k BTreeMap<Op, Known>, could: f64) -> Vec<Large<'k>> {
        let is_meant = |one: &Known| {
            one.members >= 2
                && !one.is_fused
                && one.kind != HOP
                && one.bytes_ps(could).is_some_and(|ps| ps < TINY * one.latency_ps())
        };
        let ops = self.lengths.iter().filter(|(op, _)| !self.asynchronous.contains(*op));
        ops.filter_map(|(op, groups)| {
            let (op, one) = known.get_key_value(op).filter(|(_, one)| is_meant(one))?;
            let is_part = groups.keys().all(|members| (members.len() as u64) < one.members);
            self.measured(op, one, could).filter(|measured| is_part && measured.sum_ps > 0.0)
        })
        .collect()
    }

    /// What an op takes over the groups in which it was measured, against what it should; `None` for one whose bytes are not known.
    fn measured<'k>(&self, op: &'k Op, known: &'k Known, could: f64) -> Option<Large<'k>> {
        let groups =
            || self.lengths.get(op).into_iter().flatten().filter(|(m, own)| m.len() > 1 && !own.is_empty());
        let lengths: Vec<f64> = groups().flat_map(|(_, own)| own.iter().copied()).collect();
        let runs = lengths.len() as f64 / groups().count().max(1) as f64;
        Large::of(op, known, could, (median(&lengths), runs))
    }

    /// What a hop takes that goes on beside other ops. Where one end of each was captured, the other may come late: the quickest of each are
    /// looked at, if they agree.
    fn hop<'k>(&self, op: &'k Op, known: &'k Known, could: f64) -> Option<Large<'k>> {
        let whole = self.measured(op, known, could).filter(|measured| measured.sum_ps > 0.0);
        whole.or_else(|| {
            let ends = || self.lengths.get(op).into_iter().flatten().filter(|(_, own)| !own.is_empty());
            let time_ps = median(&quick_alike(ends().map(|(_, own)| own.as_slice()))?);
            let runs = ends().map(|(_, own)| own.len()).sum::<usize>() as f64 / ends().count().max(1) as f64;
            Large::of(op, known, could, (time_ps, runs))
        })
    }

    /// Whether the only large collective of a program is slow, as a data-parallel one has it: none says otherwise then. One that takes
    /// longer still waits for somebody sooner than for links that are as good as down.
    fn find_alone(
        &self,
        large: &[Large<'_>],
        known: &BTreeMap<Op, Known>,
        all_ps: f64,
        could: f64,
        links: &mut SlowLinks,
    ) {
        let carries = |one: &Known| one.bytes_ps(could).is_some_and(|ps| ps >= BANDWIDTH_OF_BYTES_PS);
        let is_alone = known.values().filter(|one| carries(one)).count() == 1;
        let times = slower(large);
        if let [one] = large
            && is_alone
            && !one.known.is_fused
            && one.known.is_whole
            && one.sum_ps >= ALONE_SHARE * all_ps
            && (SLOW_ALL..ALONE_MOST).contains(&times)
        {
            self.slow_all(large, (known, could), all_ps, None, links);
        }
    }

    /// Whether all of these are slow, or those of one kind.
    fn find_slow(
        &self,
        large: &[Large<'_>],
        known: &BTreeMap<Op, Known>,
        all_ps: f64,
        could: f64,
        links: &mut SlowLinks,
    ) {
        let (_, time_all) = rate_of(large);
        // One kind of several may be slow alone. What computes as well takes as long as that.
        let plain = || large.iter().copied().filter(|one| !one.known.is_fused);
        let kinds: BTreeSet<&str> = plain().map(|one| one.known.kind.as_str()).collect();
        let of = |kind: &str| -> (Vec<Large<'_>>, Vec<Large<'_>>) {
            plain().partition(|one| one.known.kind == kind)
        };
        let is_well = |kind: &&str| {
            let (own, _) = of(kind);
            own.len() >= FEWEST_SLOW && slower(&own) <= WELL
        };
        let is_one_well = kinds.iter().any(is_well);
        if !is_slow(large, SLOW_ALL, all_ps) || is_one_well {
            let is_whole = |one: &Large<'_>| {
                one.known.is_whole
                    && one.known.members >= 4
                    && one.known.members.is_multiple_of(2)
                    && one.known.bytes_ps(could).is_some_and(|ps| ps >= WHOLE_PS)
            };
            let whole: Vec<Large<'_>> = plain().filter(is_whole).collect();
            let most = whole.iter().map(|one| one.sum_ps).sum::<f64>() >= MOST * time_all;
            if !is_one_well && most && is_slow(&whole, SLOW_WHOLE, all_ps) {
                self.told(large, (known, could), all_ps, links);
                return;
            }
            // Several kinds are where they go over a slow axis, and another over the other axis.
            let from = if is_one_well { SLOW_KIND } else { SLOW_ALL };
            let slow: BTreeSet<&str> =
                kinds.iter().filter(|kind| is_slow(&of(kind).0, from, all_ps)).copied().collect();
            let (own, others): (Vec<Large<'_>>, Vec<Large<'_>>) =
                plain().partition(|one| slow.contains(one.known.kind.as_str()));
            if !slow.is_empty() && !others.is_empty() {
                self.slow_all(&own, (known, could), all_ps, Some(rate_of(&others).0), links);
            }
            return;
        }
        self.told(large, (known, could), all_ps, links);
    }

    /// Whether the hops of permutes that go on beside other ops are slow: each has one link to itself, and a device sends them one after
    /// another, so that what the queue before it takes is no part of its length. `others` are the large collectives that hold devices up.
    fn find_hops(
        &self,
        others: &[Large<'_>],
        known: &BTreeMap<Op, Known>,
        all_ps: f64,
        could: f64,
        links: &mut SlowLinks,
    ) {
        let mut hops: Vec<Large<'_>> = Vec::new();
        for op in &self.asynchronous {
            let Some((op, one)) = known.get_key_value(op).filter(|(_, one)| one.kind == HOP) else {
                continue;
            };
            let is_large = |hop: &Large<'_>| one.is_large(hop.time_ps, Some(could));
            hops.extend(self.hop(op, one, could).filter(is_large));
        }
        let is_well = others.len() >= FEWEST_SLOW && slower(others) <= WELL;
        if is_slow(&hops, if is_well { SLOW_KIND } else { SLOW_ALL }, all_ps) {
            let beside = (!others.is_empty()).then(|| rate_of(others).0);
            self.slow_all(&hops, (known, could), all_ps, beside, links);
        }
    }

    /// Says that these are slow, or, where they are not the longer the more they carry, that they wait for members that were not captured.
    fn told(
        &self,
        large: &[Large<'_>],
        (known, could): (&BTreeMap<Op, Known>, f64),
        all_ps: f64,
        links: &mut SlowLinks,
    ) {
        let (_, time_all) = rate_of(large);
        let captured = self.captured(large);
        if (captured.0 as u64) < captured.1
            && let Some((slow, quick)) = contradiction(large, time_all)
        {
            let excess_share = time_all * (1.0 - 1.0 / slower(large)) / all_ps.max(1.0);
            links.uncaptured = Some(Uncaptured { captured, excess_share, slow, quick: Quick::Other(quick) });
            return;
        }
        self.slow_all(large, (known, could), all_ps, None, links);
    }

    /// What the quickest of the collectives take that go on beside other ops, by what they send: picoseconds.
    fn quickest_beside<'k>(&self, known: &'k BTreeMap<Op, Known>) -> BTreeMap<Message<'k>, f64> {
        let mut found = BTreeMap::new();
        for op in &self.asynchronous {
            let Some(message) = known.get(op).and_then(Known::message) else { continue };
            let lengths: Vec<f64> =
                self.lengths.get(op).into_iter().flatten().flat_map(|(_, own)| own.iter().copied()).collect();
            if !lengths.is_empty() {
                let least = found.entry(message).or_insert(f64::INFINITY);
                *least = median(&lengths).min(*least);
            }
        }
        found
    }

    /// How many members of the groups of these were captured, of how many.
    fn captured(&self, large: &[Large<'_>]) -> (usize, u64) {
        let of = |one: &Large<'_>| {
            self.lengths.get(one.op).into_iter().flatten().map(|(members, _)| members.len()).max()
        };
        let members = large.iter().map(|one| one.known.members).max().unwrap_or(0);
        (large.iter().filter_map(of).max().unwrap_or(0), members)
    }

    /// Says that these are slow: `could` is what the two links of an axis can carry, `beside` what collectives of other kinds do, bytes
    /// a second. What is small, or goes on beside other ops, does not tell that links are slow, and is held up by them all the same. Small
    /// ones that take [far longer](WAITED_SMALL) wait for members that were not captured; so do messages of next to no bytes that are
    /// [slower](WAITED_TINY) than these.
    fn slow_all(
        &self,
        large: &[Large<'_>],
        (known, could): (&BTreeMap<Op, Known>, f64),
        all_ps: f64,
        beside: Option<f64>,
        links: &mut SlowLinks,
    ) {
        let captured = self.captured(large);
        let is_small = large.iter().all(|one| one.known.is_small(could));
        if is_small && slower(large) >= WAITED_SMALL && (captured.0 as u64) < captured.1 {
            links.uncaptured = self.waited_for(large, captured, all_ps);
            return;
        }
        let (rate, time_all) = rate_of(large);
        let by_all = 1.0 / slower(large).max(1.0);
        links.excess_share = time_all * (1.0 - by_all) / all_ps.max(1.0);
        let kinds: BTreeSet<String> = large.iter().map(|one| one.known.kind.clone()).collect();
        let (ops, could_of) = (
            large.len(),
            could * large.iter().map(|one| one.known.reachable()).fold(f64::INFINITY, f64::min).min(1.0),
        );
        let quickest = self.quickest_beside(known);
        for op in self.lengths.keys() {
            let Some((op, one)) = known.get_key_value(op) else { continue };
            let Some(expected_ps) = one.expected_ps(could) else { continue };
            if (beside.is_some() || kinds.iter().all(|kind| kind == HOP)) && !kinds.contains(&one.kind) {
                continue;
            }
            let is_asynchronous = self.asynchronous.contains(op);
            for (members, own) in self.lengths.get(op).into_iter().flatten() {
                let time_ps = median(own).max(1.0);
                // Of one captured member nobody knows when the others come: what slow links add goes, and what it waits stays. A hop
                // between two of which one was captured goes over these links as well.
                if members.len() == 1 && !(is_asynchronous && one.kind == HOP) {
                    if !is_asynchronous && !one.is_fused && !one.is_small(could) {
                        let excess_ps = expected_ps * (1.0 / by_all - 1.0);
                        let least = (expected_ps / time_ps).min(1.0);
                        let by = (1.0 - excess_ps / time_ps).clamp(least, 1.0);
                        links.factors.entry(op.clone()).or_default().insert(members.clone(), by);
                    }
                    continue;
                }
                // What is not far from what it should take shows no slow link: the way of a small message is known roughly.
                if is_small && is_asynchronous && time_ps < EACH_SMALL * expected_ps {
                    continue;
                }
                // What goes on beside others may wait for them on its way: no more is known than how slow the links are, and that others
                // which send the same wait for less.
                let least = if is_asynchronous {
                    let quickest_ps = one.message().and_then(|message| quickest.get(&message));
                    by_all * quickest_ps.map_or(1.0, |ps| (ps / time_ps).min(1.0))
                } else if one.is_fused {
                    by_all
                } else {
                    0.0
                };
                let by = (expected_ps / time_ps).max(least).min(1.0);
                links.factors.entry(op.clone()).or_default().insert(members.clone(), by);
            }
        }
        let kinds = kinds.into_iter().collect();
        let small = is_small.then(|| {
            let runs: f64 = large.iter().map(|one| one.sum_ps / one.time_ps.max(1.0)).sum();
            let expected_ps: f64 = large.iter().map(|one| one.expected_ps).sum();
            (time_all / runs.max(1.0), expected_ps / runs.max(1.0))
        });
        // Where all members of the slow ones were captured, nobody else holds these up.
        if (captured.0 as u64) < captured.1
            && let Some(slow) = self.waits_tiny(large, known, could)
        {
            let excess_share = self.excess_share(links, time_all * (1.0 - by_all), all_ps);
            let uncaptured = Some(Uncaptured { captured, excess_share, slow, quick: Quick::Links });
            *links = SlowLinks { uncaptured, ..SlowLinks::default() };
            return;
        }
        links.all = Some(SlowAll { rate, could: could_of, ops, kinds, beside, captured, small });
    }
}

/// The bus bandwidth over all of these, bytes a second, and their time, picoseconds.
pub(super) fn rate_of(large: &[Large<'_>]) -> (f64, f64) {
    let time_ps: f64 = large.iter().map(|one| one.sum_ps).sum();
    (large.iter().map(|one| one.moved).sum::<f64>() / (time_ps.max(1.0) / 1e12), time_ps)
}

/// How many times as long as they should these take, all together.
pub(super) fn slower(large: &[Large<'_>]) -> f64 {
    let sum = |of: fn(&Large<'_>) -> f64| large.iter().map(of).sum::<f64>();
    sum(|one| one.sum_ps) / sum(|one| one.expected_ps).max(1.0)
}

/// Whether these take more than so many times as long as they should, and have enough of the time, picoseconds.
fn is_slow(large: &[Large<'_>], from: f64, all_ps: f64) -> bool {
    let (_, time_ps) = rate_of(large);
    large.len() >= FEWEST_SLOW && time_ps >= ALL_SHARE * all_ps && slower(large) > from
}
