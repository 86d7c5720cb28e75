//! Members that were not captured and come late: those that were stand in collectives together, for as long as the others work longer,
//! and not for as long as messages take.

use std::collections::BTreeMap;

use haloscope_profile::{DeviceId, Profile};
use haloscope_time::account::Class;
use haloscope_time::ops::Op as TimedOp;

use super::groups::{LateGroup, Worst};
use super::known::{Known, Message, USUAL_ALL, facts};
use super::{Change, Large, Links, Members, Op, Peers, SLOW_ALL, SlowLinks, at, key, median};
use haloscope_time::stats::mean;

/// Collectives in which all members that were captured stand for far longer than the message takes, and not the longer the more
/// they carry: they wait for a member that was not captured.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncaptured {
    /// How many members of their groups were captured, of how many.
    pub captured: (usize, u64),
    /// What they take beyond what their messages would at the usual rate: a share of the steps' time.
    pub excess_share: f64,
    /// The op that takes longest for what it carries.
    pub slow: Told,
    /// What takes less all the same.
    pub quick: Quick,
}

/// What says that collectives are not slow for what they send.
#[derive(Debug, Clone, PartialEq)]
pub enum Quick {
    /// A collective that carries as much or more.
    Other(Told),
    /// The same one in the other groups: there it takes so long, picoseconds.
    Groups(f64),
    /// The same one in its other executions: these take so long, picoseconds.
    Executions(f64),
    /// None: small ones take far longer than on any slow link.
    Links,
}

/// Two collectives of the same group contradict slow links where one takes so many times as long as the other...
const LONGER: f64 = 1.3;
/// ... and carries this part of it at most.
const FEWER_BYTES: f64 = 0.5;
/// That must be so of ops with this share of their time.
const CONTRADICT: f64 = 0.2;

/// Collectives of one message take unlike times where one takes so many times as long as the quickest...
const UNLIKE: f64 = 1.5;
/// ... and by more than latency differs, picoseconds.
const UNLIKE_PS: f64 = 10e6;
/// What they take beyond the quickest is this share of the steps' time at least.
const UNLIKE_SHARE: f64 = 0.02;
/// Large messages wait by less than [`UNLIKE`] of what they take: where this share of the time is beyond doubt, and ...
const SURE_SHARE: f64 = 0.005;
/// ... so much, of those that take so many times as long as the quickest, is waited in all, that is enough too.
const DIFFERS: f64 = 1.1;
const DIFFERS_SHARE: f64 = 0.03;

/// Collectives that send unlike messages are held against what each should take. One that takes no more than so many times that is seen
/// to be sent as fast as links can...
const CARRIES: f64 = USUAL_ALL / 0.6;
/// ... and others that send no more than twice as much wait, if they take [`UNLIKE`] times as long for what they send. Where none is seen to
/// be, one waits that takes so many times as long for what it sends as a large one.
const SEVERAL: f64 = 4.0;
/// Where the large one is of another kind, which may be slow for itself, so many times: more than a kind is slower than another.
const SEVERAL_OF_KINDS: f64 = 16.0;
/// What these take beyond it is this share of the steps' time at least.
const DUE_SHARE: f64 = 0.025;
/// What it takes beyond that is more than the way from chip to chip differs by, picoseconds.
const BEYOND_PS: f64 = 50e6;

/// Executions as quick as the quickest so large a part of them wait for nobody, where the others take far longer.
const QUICK_RUNS: f64 = 0.25;

/// What an op of a message takes in one group, picoseconds an execution, and how many there are.
#[derive(Clone, Copy)]
struct Taken<'k> {
    op: &'k Op,
    /// The members that were captured.
    group: &'k [u32],
    /// The usual time of an execution; the mean, where executions are far from alike.
    time_ps: f64,
    /// What an execution takes in which nobody is late: the usual time; that of the quick ones, where executions are far from alike.
    quick_ps: f64,
    runs: f64,
    is_asynchronous: bool,
    /// What it should take by what it sends ([`Known::expected_ps`]), picoseconds.
    expected_ps: Option<f64>,
    /// Whether its bytes tell how long it takes ([`Known::is_large`]).
    is_large: bool,
}

/// An op against what it should take for what it sends, picoseconds, whatever others send: bytes over the links of a device.
#[derive(Clone, Copy)]
struct Due<'m, 'k> {
    taken: &'m Taken<'k>,
    due_ps: f64,
    moved: u64,
}

/// What executions take: the usual time twice, or the mean and that of the quick ones, where they are far from alike.
fn taken_ps(lengths: &[f64]) -> (f64, f64) {
    let (usual, quick) = (median(lengths), at(lengths, QUICK_RUNS));
    let mean = mean(lengths).unwrap_or(0.0);
    if mean >= UNLIKE * quick && mean - quick >= UNLIKE_PS { (mean, quick) } else { (usual, usual) }
}

impl Due<'_, '_> {
    /// How many times as long as it should it takes.
    fn ratio(&self) -> f64 {
        self.taken.time_ps / self.due_ps
    }

    /// What it takes beyond so many times what it should, picoseconds.
    fn beyond_ps(&self, usual: f64) -> f64 {
        self.taken.time_ps - usual * self.due_ps
    }

    /// Whether it takes so many times as long as what is usual, and by more than the way differs by.
    fn is_beyond(&self, usual: f64, times: f64) -> bool {
        self.ratio() >= times * usual && self.beyond_ps(usual) >= BEYOND_PS
    }

    fn told(&self) -> Told {
        (self.taken.op.1.clone(), self.taken.time_ps, self.moved as f64)
    }
}

/// Collectives of groups that were not wholly captured.
#[derive(Default)]
struct Messages<'k> {
    /// Ops that send the same, by the group too, which may be slow for its links. Hops of permutes are held against each other.
    same: BTreeMap<(Message<'k>, &'k [u32]), Vec<Taken<'k>>>,
    captured: (usize, u64),
}

/// Ops that send the same and take unlike times.
struct Unlike<'m, 'k> {
    /// What those of one group take beyond the quickest that sends the same, picoseconds: of the group with most.
    excess_ps: f64,
    /// The same of those that differ by more than [`DIFFERS`]; where messages are held against what they should take, of all of them.
    differs_ps: f64,
    /// What they and all others take beyond the quickest or what they should take, whichever is less: the same.
    beyond_ps: f64,
    /// How many times as long as they should the quickest of each message take, where that is known.
    quickest: Option<f64>,
    /// The op that costs most, and the quickest that sends the same.
    worst: Option<(Told, Told)>,
    /// Every op that takes longer than the quickest, and by which factor that one is quicker.
    slower: Vec<(&'m Taken<'k>, f64)>,
}

impl<'k> Messages<'k> {
    /// An op of whose groups so many members were captured at most.
    fn push(&mut self, taken: Taken<'k>, one: &'k Known, captured: usize) {
        let Some(message) = one.message().filter(|_| !one.is_fused) else { return };
        let is_hop = one.kind == "collective-permute";
        if !is_hop {
            self.captured = self.captured.max((captured, one.members));
        }
        let group = if is_hop { &[] } else { taken.group };
        self.same.entry((message, group)).or_default().push(taken);
    }

    /// Which take unlike times.
    fn unlike(&self) -> Unlike<'_, 'k> {
        let (mut excess, mut slower) = (BTreeMap::<&[u32], f64>::new(), Vec::new());
        let (mut beyond, mut differs) = (BTreeMap::<&[u32], f64>::new(), BTreeMap::<&[u32], f64>::new());
        let (mut quick_ps, mut expected_ps) = (0.0, 0.0);
        let mut worst: Option<(f64, Told, Told)> = None;
        for (&((kind, .., moved), _), all) in &self.same {
            let Some(least) = all.iter().min_by(|a, b| a.quick_ps.total_cmp(&b.quick_ps)) else { continue };
            let is_hop = kind == "collective-permute";
            let told = |one: &Taken<'_>, time_ps: f64| (one.op.1.clone(), time_ps, moved as f64);
            let is_compared = all.len() > 1 || least.quick_ps < least.time_ps;
            if let Some(expected) = least.expected_ps.filter(|_| is_compared && !is_hop) {
                quick_ps += least.quick_ps * least.runs;
                expected_ps += expected * least.runs;
            }
            for one in all {
                // The quickest may have waited as well.
                let best_ps =
                    one.expected_ps.filter(|_| !is_hop).map_or(least.quick_ps, |ps| ps.min(least.quick_ps));
                if one.time_ps > best_ps {
                    slower.push((one, best_ps / one.time_ps));
                }
                // Those that go on beside others share the links with them, and hops are unlike by design: that they take longer
                // tells nothing by itself.
                if one.is_asynchronous || is_hop {
                    continue;
                }
                *beyond.entry(one.group).or_default() += (one.time_ps - best_ps).max(0.0) * one.runs;
                let more_ps = one.time_ps - least.quick_ps;
                if one.time_ps >= DIFFERS * least.quick_ps {
                    *differs.entry(one.group).or_default() += more_ps * one.runs;
                }
                if one.time_ps < UNLIKE * least.quick_ps || more_ps < UNLIKE_PS {
                    continue;
                }
                *excess.entry(one.group).or_default() += more_ps * one.runs;
                if worst.as_ref().is_none_or(|(most, ..)| more_ps * one.runs > *most) {
                    worst = Some((more_ps * one.runs, told(one, one.time_ps), told(least, least.quick_ps)));
                }
            }
        }
        // Groups wait side by side.
        let most = |of: BTreeMap<&[u32], f64>| of.into_values().fold(0.0, f64::max);
        let (excess_ps, differs_ps, beyond_ps) = (most(excess), most(differs), most(beyond));
        let worst = worst.map(|(_, slow, quick)| (slow, quick));
        let quickest = (expected_ps > 0.0).then(|| quick_ps / expected_ps);
        Unlike { excess_ps, differs_ps, beyond_ps: beyond_ps.max(excess_ps), quickest, worst, slower }
    }

    /// Which take unlike times for what they send, whether or not another sends the same: of synchronous ones of one kind, axis and group
    /// one takes what it should, and others, which send no more than twice as much, take far longer; or one takes several times as long
    /// for what it sends as the large one that is nearest to what it should take, or many times as long as one of another kind.
    fn unlike_for_their_bytes(&self) -> Unlike<'_, 'k> {
        let mut kinds: BTreeMap<(&str, &str, u64, &[u32]), Vec<Due<'_, 'k>>> = BTreeMap::new();
        for (&((kind, axis, members, moved), group), all) in &self.same {
            let plain = all.iter().filter(|one| !one.is_asynchronous && kind != "collective-permute");
            let due = plain.filter_map(|taken| {
                let due_ps = taken.expected_ps.filter(|ps| *ps > 0.0)?;
                Some(Due { taken, due_ps, moved })
            });
            kinds.entry((kind, axis, members, group)).or_default().extend(due);
        }
        let ratio_of = |a: &&Due<'_, 'k>, b: &&Due<'_, 'k>| a.ratio().total_cmp(&b.ratio());
        let mut large_of_axes: BTreeMap<(&str, u64, &[u32]), Due<'_, 'k>> = BTreeMap::new();
        for (&(_, axis, members, group), all) in &kinds {
            let own = all.iter().filter(|one| one.taken.is_large).min_by(ratio_of);
            let known = large_of_axes.get(&(axis, members, group));
            if let Some(least) = own.into_iter().chain(known).min_by(ratio_of).copied() {
                large_of_axes.insert((axis, members, group), least);
            }
        }
        let mut excess = BTreeMap::<&[u32], f64>::new();
        let mut beyond = BTreeMap::<&[u32], f64>::new();
        let mut slower = Vec::new();
        let mut worst: Option<(f64, Told, Told)> = None;
        for (&(_, axis, members, group), all) in &kinds {
            let least = |takes: &dyn Fn(&Due<'_, 'k>) -> bool| {
                let those = all.iter().filter(|one| takes(one));
                those.min_by(ratio_of).copied()
            };
            let large = least(&|one| one.taken.is_large);
            let of_another = large_of_axes.get(&(axis, members, group)).copied();
            let against = |one: &Due<'_, 'k>| {
                let carries = least(&|other| 2 * other.moved >= one.moved && other.ratio() <= CARRIES)
                    .filter(|quick| one.is_beyond(quick.ratio().max(1.0), UNLIKE));
                let several = |large: &Due<'_, 'k>, times: f64| one.is_beyond(large.ratio().max(1.0), times);
                carries
                    .or_else(|| large.filter(|large| several(large, SEVERAL)))
                    .or_else(|| of_another.filter(|large| several(large, SEVERAL_OF_KINDS)))
            };
            let found: Vec<(&Due<'_, 'k>, Due<'_, 'k>)> =
                all.iter().filter_map(|one| Some((one, against(one)?))).collect();
            // What carries what it should says how long that is.
            let well = found.iter().map(|(_, quick)| quick.ratio()).filter(|ratio| *ratio <= CARRIES);
            let usual = well.fold(1.0, f64::max);
            for (one, quick) in &found {
                let more_ps = one.beyond_ps(usual) * one.taken.runs;
                *excess.entry(group).or_default() += more_ps;
                if worst.as_ref().is_none_or(|(most, ..)| more_ps > *most) {
                    worst = Some((more_ps, one.told(), quick.told()));
                }
            }
            for one in all.iter().filter(|_| !found.is_empty()) {
                let more_ps = one.beyond_ps(usual);
                if more_ps > 0.0 {
                    slower.push((one.taken, 1.0 - more_ps / one.taken.time_ps));
                    *beyond.entry(group).or_default() += more_ps * one.taken.runs;
                }
            }
        }
        let most = |of: BTreeMap<&[u32], f64>| of.into_values().fold(0.0, f64::max);
        let worst = worst.map(|(_, slow, quick)| (slow, quick));
        let (excess_ps, beyond_ps) = (most(excess), most(beyond));
        Unlike { excess_ps, differs_ps: beyond_ps, beyond_ps, quickest: None, worst, slower }
    }

    /// The first of the two that says that captured members wait for others, in a time of so many picoseconds; whether it is the one that
    /// goes by what should be taken.
    fn waits(&self, all_ps: f64) -> Option<(Unlike<'_, 'k>, Told, Told, bool)> {
        let both = [(self.unlike(), UNLIKE_SHARE), (self.unlike_for_their_bytes(), DUE_SHARE)];
        both.into_iter().zip([false, true]).find_map(|((mut one, least), is_by_due)| {
            let is_wide = one.differs_ps >= DIFFERS_SHARE * all_ps;
            let is_much =
                one.excess_ps >= least * all_ps || (is_wide && one.excess_ps >= SURE_SHARE * all_ps);
            let is_late = is_much && one.quickest.is_none_or(|by| by <= SLOW_ALL);
            let (slow, quick) = one.worst.take().filter(|_| is_late)?;
            Some((one, slow, quick, is_by_due))
        })
    }
}

/// Collectives of one device, the only one of their groups that was captured, that send the same along the same axis and take unlike
/// times, with what they take beyond the quickest, picoseconds; `window_ps` is the time in which they ran.
#[must_use]
pub fn of_one<'p>(
    profile: &'p Profile,
    device: DeviceId,
    ops: &[TimedOp<'p>],
    window_ps: f64,
) -> Option<Uncaptured> {
    // What only begins or ends there goes on beside other ops.
    let is_synchronous = |op: &&TimedOp<'p>| {
        let name = op.meta.name.as_ref();
        Class::of(&op.meta) == Class::Communication && !name.contains("-start") && !name.contains("-done")
    };
    let ops: Vec<&TimedOp<'p>> = ops.iter().filter(|op| op.occurrences > 0).filter(is_synchronous).collect();
    let known = facts(profile, std::iter::once((device, ops.iter().map(|op| op.meta.clone()).collect())));
    let could = Links::of(profile, profile.device(device)).and_then(|links| links.along(1));
    let mut messages = Messages::default();
    for op in ops {
        let Some((own, one)) = known.get_key_value(&key(&op.meta)).filter(|(_, one)| one.members > 1) else {
            continue;
        };
        let runs = op.occurrences as f64;
        let time_ps = op.total_ps as f64 / runs;
        let expected_ps = could.and_then(|could| one.expected_ps(could));
        let is_large = one.is_large(time_ps, could);
        let quick_ps = time_ps;
        let taken = Taken {
            op: own,
            group: &[],
            time_ps,
            quick_ps,
            runs,
            is_asynchronous: false,
            expected_ps,
            is_large,
        };
        messages.push(taken, one, 1);
    }
    let (found, slow, quick, _) = messages.waits(window_ps)?;
    Some(Uncaptured {
        captured: messages.captured,
        excess_share: found.beyond_ps / window_ps.max(1.0),
        quick: quick_of(&slow, quick),
        slow,
    })
}

/// What is quick beside something slow: another op, or its own executions.
fn quick_of(slow: &Told, quick: Told) -> Quick {
    if slow.0 == quick.0 { Quick::Executions(quick.1) } else { Quick::Other(quick) }
}

impl Peers<'_> {
    /// Collectives that send the same along the same axis and take unlike times, of groups that were not wholly captured: `all_ps` is
    /// the time of the steps, picoseconds. A slow link makes all of them slow alike; what comes before them makes one wait for a
    /// late member and not another.
    /// Where the quickest of each message take as long as on slow links, links are slow; `could` is what the two links of an axis can
    /// carry, bytes a second. Also says whether it goes by what each should take, and not by others that send the same.
    pub(super) fn unlike(
        &self,
        known: &BTreeMap<Op, Known>,
        all_ps: f64,
        could: Option<f64>,
    ) -> Option<(Uncaptured, SlowLinks, bool)> {
        let mut messages = Messages::default();
        for (op, one) in known {
            for (group, lengths) in self.parts_of(op, one) {
                let (time_ps, quick_ps) = taken_ps(lengths);
                let taken = Taken {
                    op,
                    group,
                    time_ps,
                    quick_ps,
                    runs: lengths.len() as f64,
                    is_asynchronous: self.asynchronous.contains(op),
                    expected_ps: could.and_then(|could| one.expected_ps(could)),
                    is_large: one.is_large(median(lengths), could),
                };
                messages.push(taken, one, group.len());
            }
        }
        let (found, slow, quick, is_by_due) = messages.waits(all_ps)?;
        let mut links = SlowLinks::default();
        for (taken, by) in found.slower {
            links.factors.entry(taken.op.clone()).or_default().insert(taken.group.to_vec(), by);
        }
        let excess_share = self.excess_share(&links, found.beyond_ps, all_ps);
        let quick = quick_of(&slow, quick);
        Some((Uncaptured { captured: messages.captured, excess_share, slow, quick }, links, is_by_due))
    }

    /// The waits that one group tells by itself and those of a group that the others tell, whichever there are: what both cost together, and
    /// whether only what collectives should take tells them.
    pub(super) fn with_group(
        &self,
        unlike: Option<(Uncaptured, SlowLinks, bool)>,
        late: Option<LateGroup>,
        all_ps: f64,
    ) -> Option<(Uncaptured, bool)> {
        // An op of unknown bytes cannot be told with its message.
        let late = late.and_then(|late| Some((late.worst.rate? * late.worst.own_ps / 1e12, late)));
        let Some((bytes, late)) = late else {
            return unlike.map(|(found, _, is_by_due)| (found, is_by_due));
        };
        let (found, mut waits) =
            unlike.map_or((None, SlowLinks::default()), |(found, waits, _)| (Some(found), waits));
        for (op, groups) in late.factors {
            let all = waits.factors.entry(op).or_default();
            for (members, by) in groups {
                let least = all.entry(members).or_insert(by);
                *least = least.min(by);
            }
        }
        let excess_share = self.excess_share(&waits, late.beyond_ps, all_ps);
        let Worst { op, own_ps, peers_ps, .. } = late.worst;
        let own = Uncaptured {
            captured: (1, late.members),
            excess_share,
            slow: (op, own_ps, bytes),
            quick: Quick::Groups(peers_ps),
        };
        Some((
            found.map_or(own, |found| Uncaptured {
                excess_share: found.excess_share.max(excess_share),
                ..found
            }),
            false,
        ))
    }

    /// What goes of the time of the steps where these collectives are as quick as they should be: that of the steps run again, or the sum
    /// of what they take beyond that where this is more.
    pub(super) fn excess_share(&self, waits: &SlowLinks, beyond_ps: f64, all_ps: f64) -> f64 {
        (beyond_ps / all_ps.max(1.0)).max(self.gain(&[Change::Links(waits)]).saved_share)
    }

    /// The groups of an op of which some members were not captured, with the lengths of its executions in them, picoseconds.
    fn parts_of<'s>(&'s self, op: &Op, known: &Known) -> impl Iterator<Item = (&'s Members, &'s Vec<f64>)> {
        let members = known.members;
        self.lengths.get(op).into_iter().flatten().filter(move |(own, _)| (own.len() as u64) < members)
    }
}

/// An op with its time in picoseconds and its bytes over the links of a device, in one execution.
pub type Told = (String, f64, f64);

/// Of collectives over the same axis one that takes longer than another although it carries far less, where these have enough of
/// the time: what takes long is not the way then. Ops that compute as well say nothing.
pub(super) fn contradiction(all: &[Large<'_>], time_all: f64) -> Option<(Told, Told)> {
    let bytes = |one: &Large<'_>| one.each(one.moved);
    let due_ps = |one: &Large<'_>| one.each(one.expected_ps);
    // Kinds have unlike parts of what links carry: what one should take says more than its bytes.
    let is_against = |small: &Large<'_>, large: &Large<'_>| {
        small.known.axis == large.known.axis
            && small.time_ps >= LONGER * large.time_ps
            && bytes(small) <= FEWER_BYTES * bytes(large)
            && due_ps(small) <= FEWER_BYTES * due_ps(large)
    };
    let plain: Vec<&Large<'_>> = all.iter().filter(|one| !one.known.is_fused).collect();
    let pair = |small: &&Large<'_>| plain.iter().copied().find(|large| is_against(small, large));
    let against: Vec<&Large<'_>> = plain.iter().copied().filter(|one| pair(one).is_some()).collect();
    if against.iter().map(|one| one.sum_ps).sum::<f64>() < CONTRADICT * time_all {
        return None;
    }
    let small = against.into_iter().max_by(|a, b| a.sum_ps.total_cmp(&b.sum_ps))?;
    Some((small.told(), pair(&small)?.told()))
}
