//! For whom members of collectives waited in truth.
//!
//! Who comes last to a collective may have waited in another before it, for somebody else: then the others wait for that one. Of what a
//! member waits for the last one, the part is inherited by which the last had waited longer than it since the two last met: that
//! goes to those for whom the last had waited then, and the rest is the last one's own.

use rustc_hash::FxHashMap;

use haloscope_profile::DeviceId;

/// One execution of a collective by several devices.
pub(super) struct Met {
    /// When it ended, picoseconds: meetings are looked at in this order.
    pub(super) end_ps: i64,
    /// Its members by device, with how long each waited, picoseconds.
    pub(super) waits: Vec<(DeviceId, i64)>,
    /// The device that came last; `None` where nobody waited by more than the clocks tell.
    pub(super) last: Option<DeviceId>,
}

/// What members waited for a device.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Blame {
    /// Each execution by the mean over its other members, picoseconds.
    pub(super) mean_ps: f64,
    /// Summed over them, picoseconds.
    pub(super) sum_ps: f64,
}

/// So many meetings of a device are looked back for one with another.
const BACK: usize = 16;

/// A device and what was waited for it, picoseconds.
type Shares = Vec<(DeviceId, f64)>;

/// Shares the waits of all meetings out among those that caused them.
pub(super) fn of(mut meetings: Vec<Met>) -> FxHashMap<DeviceId, Blame> {
    meetings.sort_by_key(|met| met.end_ps);
    let mut found: FxHashMap<DeviceId, Blame> = FxHashMap::default();
    // By device: the meetings it was in. By meeting: for whom each member waited.
    let mut history: FxHashMap<DeviceId, Vec<usize>> = FxHashMap::default();
    let mut waited_for: Vec<Vec<Shares>> = Vec::with_capacity(meetings.len());
    for (at, met) in meetings.iter().enumerate() {
        let mut own: Vec<Shares> = vec![Vec::new(); met.waits.len()];
        if let Some(last) = met.last {
            let others = met.waits.len().saturating_sub(1).max(1) as f64;
            for (slot, (device, wait)) in own.iter_mut().zip(&met.waits) {
                if *device == last || *wait <= 0 {
                    continue;
                }
                *slot = shares(&meetings, &history, &waited_for, (*device, *wait as f64), last);
                for (whom, ps) in slot.iter() {
                    let blame = found.entry(*whom).or_default();
                    blame.mean_ps += ps / others;
                    blame.sum_ps += ps;
                }
            }
        }
        for (device, _) in &met.waits {
            history.entry(*device).or_default().push(at);
        }
        waited_for.push(own);
    }
    found
}

/// For whom a device waited when it waited so long for the last of a meeting.
fn shares(
    meetings: &[Met],
    history: &FxHashMap<DeviceId, Vec<usize>>,
    waited_for: &[Vec<Shares>],
    (device, wait): (DeviceId, f64),
    last: DeviceId,
) -> Shares {
    let member = |at: usize, who: DeviceId| meetings[at].waits.binary_search_by_key(&who, |one| one.0).ok();
    // What one waited since it was in a meeting with the other, and in which.
    let since = |who: DeviceId, other: DeviceId| -> Vec<(usize, usize)> {
        let own = history.get(&who).map_or(&[][..], Vec::as_slice);
        let recent = own.iter().rev().take(BACK).take_while(|at| member(**at, other).is_none());
        recent.filter_map(|at| Some((*at, member(*at, who)?))).collect()
    };
    let waited = |rows: &[(usize, usize)]| -> f64 {
        rows.iter().map(|(at, position)| meetings[*at].waits[*position].1 as f64).sum()
    };
    let of_last = since(last, device);
    let inherited = (waited(&of_last) - waited(&since(device, last))).clamp(0.0, wait);
    let mut found: Shares = Vec::new();
    let mut add = |whom: DeviceId, ps: f64| match found.iter_mut().find(|one| one.0 == whom) {
        Some(known) => known.1 += ps,
        None => found.push((whom, ps)),
    };
    let before = || of_last.iter().flat_map(|(at, position)| &waited_for[*at][*position]);
    let known: f64 = before().map(|(_, ps)| ps).sum();
    if inherited > 0.0 && known > 0.0 {
        for (whom, ps) in before() {
            add(*whom, inherited * ps / known);
        }
        add(last, wait - inherited);
    } else {
        add(last, wait);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(end_ps: i64, waits: &[(u32, i64)], last: Option<u32>) -> Met {
        let waits = waits.iter().map(|(device, ps)| (DeviceId(*device), *ps)).collect();
        Met { end_ps, waits, last: last.map(DeviceId) }
    }

    fn sums(meetings: Vec<Met>) -> Vec<(u32, f64)> {
        let mut all: Vec<(u32, f64)> = of(meetings).into_iter().map(|(d, b)| (d.0, b.sum_ps)).collect();
        all.retain(|(_, ps)| *ps > 0.0);
        all.sort_by_key(|(device, _)| *device);
        all
    }

    #[test]
    fn who_comes_last_without_having_waited_is_to_blame() {
        let found = of(vec![met(10, &[(0, 30), (1, 30), (2, 0)], Some(2))]);
        assert_eq!(found[&DeviceId(2)], Blame { mean_ps: 30.0, sum_ps: 60.0 });
        assert_eq!(found.len(), 1);
        assert!(of(vec![met(10, &[(0, 1), (1, 0)], None)]).is_empty(), "within the uncertainty");
    }

    #[test]
    fn a_wait_that_is_handed_on_is_the_first_ones() {
        // Device 2 makes 1 wait for 40, which therefore comes last to 0 by 35: 1 itself was early by 5.
        let meetings = || vec![met(10, &[(1, 40), (2, 0)], Some(2)), met(20, &[(0, 35), (1, 0)], Some(1))];
        assert_eq!(sums(meetings()), [(2, 75.0)]);
        // In another order of the list, too.
        assert_eq!(sums(meetings().into_iter().rev().collect()), [(2, 75.0)]);
        // Where 1 is late by more than it had waited, the rest is its own.
        let more = vec![met(10, &[(1, 40), (2, 0)], Some(2)), met(20, &[(0, 60), (1, 0)], Some(1))];
        assert_eq!(sums(more), [(1, 20.0), (2, 80.0)]);
    }

    #[test]
    fn those_who_left_a_meeting_together_inherit_nothing_of_it() {
        // Both met with 2; after that 1 is late by itself.
        let meetings =
            vec![met(10, &[(0, 5), (1, 40), (2, 0)], Some(2)), met(20, &[(0, 30), (1, 0)], Some(1))];
        assert_eq!(sums(meetings), [(1, 30.0), (2, 45.0)]);
        // Both waited for somebody, as long: neither is late because of it.
        let alike = vec![
            met(10, &[(1, 40), (2, 0)], Some(2)),
            met(11, &[(0, 40), (3, 0)], Some(3)),
            met(20, &[(0, 30), (1, 0)], Some(1)),
        ];
        assert_eq!(sums(alike), [(1, 30.0), (2, 40.0), (3, 40.0)]);
    }
}
