//! An axis of the mesh that is slow, and what else goes over slow links.
//!
//! Kinds of collectives reach unlike parts of what links carry: an axis is held against another by how many times as long as they
//! should its collectives take, those that go the same way first.

use std::collections::{BTreeMap, BTreeSet};

use super::all::{WELL, rate_of, slower};
use super::known::{Known, USUAL_ALL};
use super::{Large, Members, Op, Peers, SLOW_ALL, SlowLinks, median, quick_alike};

/// An axis is slow if its collectives take so many times as long as those of another do, each held against what it should take. Where groups
/// of as many members do the same along both that is enough; else they also take longer than along a line of chips, which has half of
/// what a ring has by design ([`SLOW_ALL`]).
const SLOW_AXIS: f64 = 1.8;
/// So many times where more may be by design: two members have one link between them and no ring, which makes two; hops and exchanges
/// use links in other ways than rings do; nobody knows what links carry.
const SLOW_AXIS_UNLIKE: f64 = 2.5;
/// Axes that take less than this share of the time say little,
const AXIS_SHARE: f64 = 0.005;
/// and so do collectives of one way with less than this part of their axis's time.
const WAY_SHARE: f64 = 0.05;

/// An axis of the mesh that carries less than another.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowAxis {
    /// The axis in words.
    pub name: String,
    /// The bus bandwidth of the collectives along it by which it is slow, bytes a second.
    pub rate: f64,
    /// The axis that they are held against, and how much is carried there.
    pub best: (String, f64),
    /// How many times as long as along that axis they take, each held against what its kind can have of the links.
    pub times: f64,
    /// What runs along the slow one,
    pub kinds: Vec<String>,
    /// and along the other.
    pub best_kinds: Vec<String>,
    /// All members of its groups were captured.
    pub is_captured: bool,
}

/// How a message goes over links: kinds of one way reach the same part of what these carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// Around a ring, or along a line.
    Ring,
    /// From each to each.
    Exchange,
    /// From one to another.
    Hop,
}

impl Way {
    fn of(kind: &str) -> Self {
        match kind {
            "collective-permute" | "send" | "recv" => Self::Hop,
            kind if kind.contains("all-to-all") => Self::Exchange,
            _ => Self::Ring,
        }
    }
}

/// Large synchronous collectives that go one way along an axis.
struct Along<'k> {
    axis: &'k str,
    way: Way,
    large: Vec<Large<'k>>,
    /// One member of each group was captured, so that waits for the others are in what they take.
    is_alone: bool,
}

impl Along<'_> {
    fn slower(&self) -> f64 {
        slower(&self.large)
    }

    fn time_ps(&self) -> f64 {
        rate_of(&self.large).1
    }

    /// The most members that a group has.
    fn members(&self) -> u64 {
        self.large.iter().map(|one| one.known.members).max().unwrap_or(0)
    }

    fn kinds(&self) -> BTreeSet<&str> {
        self.large.iter().map(|one| one.known.kind.as_str()).collect()
    }

    /// How many times as long as those of the other these take, where that is more than differs by design.
    fn slower_than(&self, other: &Along<'_>, is_known: bool) -> Option<f64> {
        let is_same_way = self.way == other.way;
        let is_alike = is_same_way
            && !self.is_alone
            && self.members() > 2
            && self.members() == other.members()
            && !self.kinds().is_disjoint(&other.kinds());
        let (from, least) = if is_alike {
            (SLOW_AXIS, 0.0)
        } else if is_same_way && is_known && self.members() > 2 {
            (SLOW_AXIS, SLOW_ALL)
        } else {
            (SLOW_AXIS_UNLIKE, 0.0)
        };
        let times = self.slower() / other.usual(is_alike);
        (times >= from && self.slower() > least).then_some(times)
    }

    /// How many times as long as they should these take, as others may be expected to: those that seem to send more than links carry go over
    /// other links as well, and say it only of collectives alike.
    fn usual(&self, of_alike: bool) -> f64 {
        if of_alike { self.slower() } else { self.slower().max(USUAL_ALL) }
    }
}

impl Peers<'_> {
    /// Finds an axis over which collectives carry far less than over another. `could` is what the two links of an axis can carry, bytes a
    /// second, where that is known.
    pub(super) fn find_axis(
        &self,
        known: &BTreeMap<Op, Known>,
        all_ps: f64,
        could: Option<f64>,
        links: &mut SlowLinks,
    ) {
        let ways = self.ways(known, could, links);
        let time_of =
            |axis: &str| ways.iter().filter(|one| one.axis == axis).map(Along::time_ps).sum::<f64>();
        let counts = |one: &&Along<'_>| {
            let time_ps = time_of(one.axis);
            time_ps >= AXIS_SHARE * all_ps && one.time_ps() >= WAY_SHARE * time_ps
        };
        let ways: Vec<&Along<'_>> = ways.iter().filter(counts).collect();
        let on =
            |axis: &str| -> Vec<&Along<'_>> { ways.iter().copied().filter(|one| one.axis == axis).collect() };
        let axes: BTreeSet<&str> = ways.iter().map(|one| one.axis).collect();
        let mut found: Option<(f64, &Along<'_>, &Along<'_>)> = None;
        for axis in &axes {
            let own = on(axis);
            let Some(slow) = own.iter().copied().max_by(|a, b| a.time_ps().total_cmp(&b.time_ps())) else {
                continue;
            };
            // Links that carry well what goes another way are not slow.
            if own.iter().any(|one| one.way != slow.way && one.slower() <= WELL) {
                continue;
            }
            for other in axes.iter().filter(|other| *other != axis) {
                let those = on(other);
                let same = those.iter().copied().find(|one| one.way == slow.way);
                let best =
                    same.or_else(|| those.iter().copied().min_by(|a, b| a.slower().total_cmp(&b.slower())));
                let Some(best) = best else { continue };
                if let Some(times) = slow.slower_than(best, could.is_some())
                    && found.is_none_or(|(most, ..)| times > most)
                {
                    found = Some((times, slow, best));
                }
            }
        }
        let Some((times, slow, best)) = found else { return };
        self.slow_axis(known, (times, slow, best), all_ps, could, links);
    }

    /// The large synchronous collectives along single axes, by axis and way. Slow groups are told of already.
    fn ways<'k>(
        &self,
        known: &'k BTreeMap<Op, Known>,
        could: Option<f64>,
        links: &SlowLinks,
    ) -> Vec<Along<'k>> {
        // What goes on beside other ops shares the links with them: how fast they are it does not tell.
        let synchronous = known.iter().filter(|(op, _)| !self.asynchronous.contains(*op));
        let plain = synchronous.filter(|(_, one)| !one.axis.contains('+') && one.members >= 2);
        let measured = plain.filter_map(|(op, one)| {
            let slow = links.factors.get(op);
            let groups = self.lengths.get(op)?;
            let counts = |group: &Members| slow.is_none_or(|slow| !slow.contains_key(group));
            let usual = groups.iter().filter(|(m, own)| !own.is_empty() && counts(m));
            let (several, single): (Vec<_>, Vec<_>) = usual.partition(|(members, _)| members.len() > 1);
            let is_alone = several.is_empty();
            let lengths: Vec<f64> = if is_alone {
                quick_alike(single.iter().map(|(_, own)| own.as_slice()))?
            } else {
                several.iter().flat_map(|(_, own)| own.iter().copied()).collect()
            };
            let time_ps = median(&lengths);
            let own = if is_alone { &single } else { &several };
            let runs = own.iter().map(|(_, own)| own.len()).sum::<usize>() as f64 / own.len().max(1) as f64;
            let is_told = !lengths.is_empty() && time_ps > 0.0 && one.is_large(time_ps, could);
            is_told.then_some((op, one, one.moved()?, time_ps, runs, is_alone))
        });
        let measured: Vec<_> = measured.collect();
        // Where nobody knows what links carry, they are held against what carries most.
        let most = || {
            let rates = measured.iter().map(|(_, one, moved, ps, ..)| moved / one.reachable() / (ps / 1e12));
            rates.fold(0.0, f64::max) / USUAL_ALL
        };
        let could = could.unwrap_or_else(most);
        let mut ways: BTreeMap<(&str, Way, bool), Vec<Large<'k>>> = BTreeMap::new();
        for (op, known, moved, time_ps, runs, is_alone) in measured {
            let Some(expected_ps) = known.expected_ps(could) else { continue };
            let (moved, sum_ps, expected_ps) = (moved * runs, time_ps * runs, expected_ps * runs);
            let large = Large { op, known, moved, time_ps, sum_ps, expected_ps };
            ways.entry((&known.axis, Way::of(&known.kind), is_alone)).or_default().push(large);
        }
        let along = |((axis, way, is_alone), mut large): ((&'k str, Way, bool), Vec<Large<'k>>)| {
            // What computes as well takes as long as that.
            if large.iter().any(|one| !one.known.is_fused) {
                large.retain(|one| !one.known.is_fused);
            }
            Along { axis, way, large, is_alone }
        };
        ways.into_iter().map(along).collect()
    }

    /// Says that an axis is slow, so many times as another.
    fn slow_axis(
        &self,
        known: &BTreeMap<Op, Known>,
        (times, slow, best): (f64, &Along<'_>, &Along<'_>),
        all_ps: f64,
        could: Option<f64>,
        links: &mut SlowLinks,
    ) {
        let by_all = 1.0 / times;
        links.excess_share = links.excess_share.max(slow.time_ps() * (1.0 - by_all) / all_ps.max(1.0));
        let mut partial = false;
        for (op, one) in known.iter().filter(|(_, one)| one.axis == slow.axis && one.members >= 2) {
            let along = slow.large.iter().find(|large| large.op == op);
            // What it should take here, as those that are not slow do; of a small message the way from chip to chip stays.
            let could_ps =
                could.and_then(|could| one.expected_ps(could)).map(|ps| ps * slow.slower() / times);
            let by_rate_ps = || Some(one.moved()? / rate_of(&slow.large).0 * 1e12 / times + one.latency_ps());
            let Some(could_ps) = could_ps.or_else(by_rate_ps) else { continue };
            for (members, own) in self.lengths.get(op).into_iter().flatten() {
                let time_ps = median(own).max(1.0);
                partial |= along.is_some() && !one.has_all(members);
                // Not all groups of the axis, nor all of their collectives, need be slow: each is as quick as those of the other axis then.
                // What goes on beside other ops waits for them on its way: no more is known of it than how slow the axis is.
                let by = if self.asynchronous.contains(op) {
                    by_all
                } else if one.is_large(time_ps, could) {
                    (could_ps / time_ps).min(1.0)
                } else {
                    (could_ps / time_ps).clamp(by_all, 1.0)
                };
                links.factors.entry(op.clone()).or_default().entry(members.clone()).or_insert(by);
            }
        }
        let kinds = |of: &Along<'_>| of.kinds().into_iter().map(str::to_owned).collect();
        links.axis = Some(SlowAxis {
            name: slow.axis.to_owned(),
            rate: rate_of(&slow.large).0,
            best: (best.axis.to_owned(), rate_of(&best.large).0),
            times,
            kinds: kinds(slow),
            best_kinds: kinds(best),
            is_captured: !partial,
        });
    }

    /// Other collectives may cross the slow links as well, by the way that the network takes, and have no peers to tell it: what those take
    /// that are far longer than they should be, up to as many times as the slow ones are, goes with the links. `could` is what the two
    /// links of an axis can carry, bytes a second.
    pub(super) fn find_elsewhere(&self, known: &BTreeMap<Op, Known>, could: f64, links: &mut SlowLinks) {
        let of_axis = links.axis.as_ref().map(|axis| axis.times);
        let of_groups = links.groups.iter().map(|group| group.ratio);
        let least = 1.0 / of_groups.chain(of_axis).fold(1.0, f64::max);
        for (op, groups) in self.lengths.iter().filter(|(op, _)| !self.asynchronous.contains(*op)) {
            let Some(one) = known.get(op).filter(|one| !one.is_fused) else { continue };
            let Some(expected_ps) = one.expected_ps(could) else { continue };
            for (members, own) in groups.iter().filter(|(members, _)| members.len() > 1) {
                let time_ps = median(own);
                // What is neither large nor small takes its way besides, which is known; in a group that was captured nobody else holds it up.
                let is_told =
                    one.is_large(time_ps, Some(could)) || (one.has_all(members) && !one.is_small(could));
                if is_told && time_ps > SLOW_ALL * expected_ps {
                    let by = (expected_ps / time_ps).max(least);
                    links.factors.entry(op.clone()).or_default().entry(members.clone()).or_insert(by);
                }
            }
        }
    }
}
