//! An axis of the mesh that is slow, and what else goes over slow links.

use std::collections::{BTreeMap, BTreeSet};

use super::{Known, Op, Peers, SLOW_ALL, SlowLinks, median};

/// An axis is slow if another carries this many times as much...
const SLOW_AXIS: f64 = 1.8;
/// ... and this many where that may be by design: two members have one link between them and no ring, which makes two, and other kinds
/// of collectives use links in other ways.
const SLOW_AXIS_UNLIKE: f64 = 2.5;
/// Axes that take less than this share of the time say little.
const AXIS_SHARE: f64 = 0.005;

/// An axis of the mesh that carries less than another.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowAxis {
    /// The axis in words.
    pub name: String,
    /// Its bus bandwidth over all large collectives along it, bytes a second.
    pub rate: f64,
    /// The axis that carries most, and how much.
    pub best: (String, f64),
    /// What runs along the slow one.
    pub kinds: Vec<String>,
    /// All members of its groups were captured.
    pub is_captured: bool,
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
        #[derive(Default)]
        struct Sums {
            moved: f64,
            time_ps: f64,
            groups: f64,
            members: u64,
            partial: usize,
            kinds: BTreeSet<String>,
            ops: Vec<Op>,
        }
        let mut sums: BTreeMap<&str, Sums> = BTreeMap::new();
        for (op, groups) in &self.lengths {
            let Some((one, moved)) = known.get(op).and_then(|k| Some((k, k.moved()?))) else { continue };
            // Slow groups are told of already.
            let slow = links.factors.get(op);
            let usual =
                groups.iter().filter(|(m, _)| m.len() > 1 && slow.is_none_or(|s| !s.contains_key(*m)));
            let lengths: Vec<f64> = usual.flat_map(|(_, l)| l.iter().copied()).collect();
            let time_ps = median(&lengths);
            if lengths.is_empty() || one.axis.contains('+') || one.members < 2 {
                continue;
            }
            let own = sums.entry(&one.axis).or_default();
            own.ops.push(op.clone());
            // What goes on beside other ops shares the links with them: how fast they are it does not tell.
            if self.asynchronous.contains(op) || !one.is_large(time_ps, could) {
                continue;
            }
            own.moved += moved * lengths.len() as f64;
            own.time_ps += time_ps * lengths.len() as f64;
            own.groups = own.groups.max(groups.len() as f64);
            own.members = own.members.max(one.members);
            own.partial += groups.keys().filter(|members| !one.has_all(members)).count();
            own.kinds.insert(one.kind.clone());
        }
        let rate = |s: &Sums| if s.time_ps > 0.0 { s.moved / (s.time_ps / 1e12) } else { 0.0 };
        let counts = |s: &&Sums| s.time_ps / s.groups.max(1.0) >= AXIS_SHARE * all_ps;
        let rated: Vec<(&str, f64, &Sums)> =
            sums.iter().filter(|(_, s)| counts(s)).map(|(axis, s)| (*axis, rate(s), s)).collect();
        let best = rated.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let slow = rated.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let is_slow = |best: &Sums, slow: &Sums| {
            let is_alike = slow.members > 2 && !slow.kinds.is_disjoint(&best.kinds);
            rate(best) >= rate(slow) * if is_alike { SLOW_AXIS } else { SLOW_AXIS_UNLIKE }
        };
        let Some((best, slow)) = best.zip(slow).filter(|(b, s)| s.1 > 0.0 && is_slow(b.2, s.2)) else {
            return;
        };
        let beyond = slow.2.time_ps * (1.0 - slow.1 / best.1) / slow.2.groups.max(1.0);
        links.excess_share = links.excess_share.max(beyond / all_ps.max(1.0));
        let by_all = slow.1 / best.1;
        for op in &slow.2.ops {
            let Some((one, moved)) = known.get(op).and_then(|one| Some((one, one.moved()?))) else {
                continue;
            };
            // Of a small message the way from chip to chip stays, however fast the links are.
            let could_ps = moved / best.1 * 1e12 + one.latency_ps();
            for (members, own) in self.lengths.get(op).into_iter().flatten() {
                let time_ps = median(own).max(1.0);
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
        links.axis = Some(SlowAxis {
            name: slow.0.to_owned(),
            rate: slow.1,
            best: (best.0.to_owned(), best.1),
            kinds: slow.2.kinds.iter().cloned().collect(),
            is_captured: slow.2.partial == 0,
        });
    }

    /// Other collectives may cross the slow links as well, by the way that the network takes, and have no peers to tell it: what those take
    /// that are far longer than they should be, up to as many times as the slow ones are, goes with the links. `could` is what the two
    /// links of an axis can carry, bytes a second.
    pub(super) fn find_elsewhere(&self, known: &BTreeMap<Op, Known>, could: f64, links: &mut SlowLinks) {
        let of_axis = links.axis.as_ref().map(|axis| axis.best.1 / axis.rate.max(1.0));
        let of_groups = links.groups.iter().map(|group| group.ratio);
        let least = 1.0 / of_groups.chain(of_axis).fold(1.0, f64::max);
        for (op, groups) in self.lengths.iter().filter(|(op, _)| !self.asynchronous.contains(*op)) {
            let Some(one) = known.get(op).filter(|one| !one.is_fused) else { continue };
            let Some(expected_ps) = one.expected_ps(could) else { continue };
            for (members, own) in groups.iter().filter(|(members, _)| members.len() > 1) {
                let time_ps = median(own);
                if one.is_large(time_ps, Some(could)) && time_ps > SLOW_ALL * expected_ps {
                    let by = (expected_ps / time_ps).max(least);
                    links.factors.entry(op.clone()).or_default().entry(members.clone()).or_insert(by);
                }
            }
        }
    }
}
