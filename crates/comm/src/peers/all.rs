//! Links that are all slow, or collectives of one kind: held against what the chip's links can carry, where there are no others to hold
//! them against.

use std::collections::{BTreeMap, BTreeSet};

use super::uncaptured::{Uncaptured, contradiction};
use super::{BANDWIDTH_PS, Known, Large, Op, Peers, SlowLinks, median};

/// All links are slow where large collectives along single axes carry less than this share of what the two links of an axis can...
const SLOW_ALL: f64 = 0.40;
/// ... unless those of one kind carry this share: then the others are slow, and no link is...
const WELL: f64 = 0.6;
/// ... and this is what they should carry: large messages reach 80 to 95% (JAX's scaling book measures 95% from 10 MB on).
const USUAL_ALL: f64 = 0.85;
/// So many different ops have to be as slow, in this share of the time.
const FEWEST_SLOW: usize = 2;
const ALL_SHARE: f64 = 0.02;

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
        let groups_of = |op: &Op| self.lengths.get(op).into_iter().flatten().filter(|(m, _)| m.len() > 1);
        let mut large: Vec<Large<'_>> = Vec::new();
        for op in self.lengths.keys().filter(|op| !self.asynchronous.contains(op)) {
            let Some((op, one)) = known.get_key_value(op) else { continue };
            let Some(moved) = one.moved() else { continue };
            let lengths: Vec<f64> = groups_of(op).flat_map(|(_, own)| own.iter().copied()).collect();
            let time_ps = median(&lengths);
            if one.axis.contains('+') || one.members < 2 || time_ps < BANDWIDTH_PS {
                continue;
            }
            let runs = lengths.len() as f64 / groups_of(op).count().max(1) as f64;
            large.push(Large { op, known: one, moved: moved * runs, time_ps, sum_ps: time_ps * runs });
        }
        let (rate, time_all) = rate_of(&large);
        // One kind of several may be slow alone. What computes as well takes as long as that.
        let plain = || large.iter().copied().filter(|one| !one.known.is_fused);
        let kinds: BTreeSet<&str> = plain().map(|one| one.known.kind.as_str()).collect();
        let of = |kind: &str| -> (Vec<Large<'_>>, Vec<Large<'_>>, f64) {
            let (own, others): (Vec<_>, Vec<_>) = plain().partition(|one| one.known.kind == kind);
            let reached = own.iter().map(|one| reachable(one.known)).fold(1.0, f64::min);
            (own, others, could * reached)
        };
        let is_well = |kind: &&str| {
            let (own, _, could) = of(kind);
            own.len() >= FEWEST_SLOW && rate_of(&own).0 >= WELL * could
        };
        if !is_slow(&large, could, all_ps) || kinds.iter().any(is_well) {
            for kind in kinds.iter().filter(|_| kinds.len() > 1) {
                let (own, others, could) = of(kind);
                if is_slow(&own, could, all_ps) {
                    self.slow_all(&own, could, all_ps, Some(rate_of(&others).0), links);
                    return;
                }
            }
            return;
        }
        let captured = self.captured(&large);
        if (captured.0 as u64) < captured.1
            && let Some((slow, quick)) = contradiction(&large, time_all)
        {
            let excess_share = time_all * (1.0 - rate / (USUAL_ALL * could)) / all_ps.max(1.0);
            links.uncaptured = Some(Uncaptured { captured, excess_share, slow, quick });
            return;
        }
        self.slow_all(&large, could, all_ps, None, links);
    }

    /// How many members of the groups of these were captured, of how many.
    fn captured(&self, large: &[Large<'_>]) -> (usize, u64) {
        let of = |one: &Large<'_>| {
            self.lengths.get(one.op).into_iter().flatten().map(|(members, _)| members.len()).max()
        };
        let members = large.iter().map(|one| one.known.members).max().unwrap_or(0);
        (large.iter().filter_map(of).max().unwrap_or(0), members)
    }

    /// Says that these are slow: `could` is what they can carry, `beside` what collectives of other kinds do, bytes a second.
    fn slow_all(
        &self,
        large: &[Large<'_>],
        could: f64,
        all_ps: f64,
        beside: Option<f64>,
        links: &mut SlowLinks,
    ) {
        let (rate, time_all) = rate_of(large);
        links.excess_share = time_all * (1.0 - rate / (USUAL_ALL * could)) / all_ps.max(1.0);
        let kinds: BTreeSet<String> = large.iter().map(|one| one.known.kind.clone()).collect();
        let (ops, kinds) = (large.len(), kinds.into_iter().collect());
        links.all = Some(SlowAll { rate, could, ops, kinds, beside, captured: self.captured(large) });
        for one in large {
            let by = (one.moved / (USUAL_ALL * could) * 1e12 / one.sum_ps).min(1.0);
            let groups = self.lengths.get(one.op).into_iter().flatten().filter(|(m, _)| m.len() > 1);
            let members = groups.map(|(members, _)| (members.clone(), by)).collect();
            links.factors.insert(one.op.clone(), members);
        }
    }
}

/// The bus bandwidth over all of these, bytes a second, and their time, picoseconds.
fn rate_of(large: &[Large<'_>]) -> (f64, f64) {
    let time_ps: f64 = large.iter().map(|one| one.sum_ps).sum();
    (large.iter().map(|one| one.moved).sum::<f64>() / (time_ps.max(1.0) / 1e12), time_ps)
}

/// Whether these carry far less than they could, bytes a second, and have enough of the time, picoseconds.
fn is_slow(large: &[Large<'_>], could: f64, all_ps: f64) -> bool {
    let (rate, time_ps) = rate_of(large);
    large.len() >= FEWEST_SLOW && time_ps >= ALL_SHARE * all_ps && rate < SLOW_ALL * could
}

/// The part of what links carry that a collective can have of it. In an exchange of all with all messages go on from device to
/// device, in a ring of n on n/4 links each on average.
fn reachable(known: &Known) -> f64 {
    if known.kind.contains("all-to-all") { (4.0 / known.members.max(1) as f64).min(1.0) } else { 1.0 }
}
