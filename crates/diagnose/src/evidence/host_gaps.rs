//! The gaps between programs: which of them blocking reads explain, and in which the loop that launches programs called nothing.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::host_events::HostEvents;
use haloscope_profile::Profile;
use haloscope_time::intervals::Intervals;
use haloscope_time::launches::Launch;
use haloscope_time::nesting::walk_innermost;

/// The clocks of host and device agree to about this much, picoseconds.
pub(crate) const CLOCKS_PS: i64 = 10_000_000;

/// A read that returns sooner had nothing to wait for, picoseconds.
const WAITS_PS: i64 = 5_000_000;

/// The part of the time between two programs in which the loop that launches them called nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dark {
    /// The program before it.
    pub behind: Option<u64>,
    pub ps: i64,
    /// What between these programs is there nearly always: three times in four it is more.
    pub usual_ps: i64,
}

/// The gaps that blocking reads explain. A device that runs dry while its host waits for a result has nothing else in its
/// queue: the gap lasts until the next launch. Without the read, what the host does after it would have run beside the program
/// before the gap: so much of the rest, and no more, is due to the read. A read that outlasts the gap waits for a program that
/// is on its way already, and explains nothing; but where no program begins until it ends, what ends the gap is the copy of the
/// result itself. Nor does a read explain a gap whose next program had been launched before the gap began (`launched`, by launch): the
/// host was ahead.
pub(super) fn reads(
    gaps: &Intervals,
    reads: &Intervals,
    launches: &[Launch],
    launched: &[Option<i64>],
) -> Intervals {
    let mut found = Vec::new();
    let all: Vec<(i64, i64)> = reads.as_slice().iter().copied().filter(|r| r.1 - r.0 >= WAITS_PS).collect();
    for &(start, end) in gaps.as_slice() {
        let next = launches.partition_point(|l| l.start_ps < end);
        let at_ps = launched.get(next).copied().flatten();
        if at_ps.is_some_and(|at_ps| at_ps < start.saturating_sub(CLOCKS_PS)) {
            continue;
        }
        let first = all.partition_point(|read| read.1 < start.saturating_sub(CLOCKS_PS));
        let mut ahead = launches[..launches.partition_point(|l| l.start_ps < start)]
            .last()
            .map_or(0, |l| l.end_ps - l.start_ps);
        for read in all[first..].iter().take_while(|read| read.0 < end).filter(|read| read.1 < end) {
            let from = read.0.max(start);
            let to = read.1.max(start).saturating_add(std::mem::take(&mut ahead)).min(end);
            found.push((from, to));
        }
        let next = launches.get(next).map_or(i64::MAX, |l| l.start_ps);
        let outlasts = |read: &&(i64, i64)| read.1 >= end && read.1 <= next;
        found.extend(
            all[first..]
                .iter()
                .take_while(|read| read.0 < end)
                .filter(outlasts)
                .map(|r| (r.0.max(start), end)),
        );
    }
    Intervals::union_of(found)
}

/// Of the programs of one name so many must have a call in the capture.
const CALLED: f64 = 0.8;

/// No host is so many launches ahead.
const AHEAD: usize = 256;

/// When each program was launched: the n-th call of its name runs the n-th program. The first ones may have been launched before the
/// capture (`i64::MIN`): as many as it takes for no program to begin before its call. `None` where nobody can tell.
pub(super) fn launched_at(launches: &[Launch], calls: &BTreeMap<String, Vec<i64>>) -> Vec<Option<i64>> {
    let mut rows: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, launch) in launches.iter().enumerate() {
        rows.entry(&launch.module).or_default().push(row);
    }
    let mut at = vec![None; launches.len()];
    for (module, rows) in rows {
        let Some(calls) = calls.get(module) else { continue };
        if (calls.len() as f64) < CALLED * rows.len() as f64 {
            continue;
        }
        let begins_in_time = |before: &usize| {
            let own = rows.iter().skip(*before).zip(calls);
            own.into_iter().all(|(row, call)| launches[*row].start_ps.saturating_add(CLOCKS_PS) >= *call)
        };
        let Some(before) = (0..rows.len().min(AHEAD)).find(begins_in_time) else { continue };
        for (place, row) in rows.iter().enumerate() {
            at[*row] = place.checked_sub(before).map_or(Some(i64::MIN), |call| calls.get(call).copied());
        }
    }
    at
}

/// When the innermost event of the launching thread is one that launches lie in.
pub(super) fn own_of_loop(profile: &Profile, host: &HostEvents) -> Intervals {
    let Some(line) = host.main.map(|line| profile.line(line)) else { return Intervals::default() };
    let plane = profile.plane(line.plane);
    let label = |meta: u32| plane.meta_label(profile.source_of(plane), meta);
    let mut is_loop: FxHashMap<u32, bool> = FxHashMap::default();
    let mut found = Vec::new();
    walk_innermost(profile.events(line).iter(), |event, from, to| {
        let around = || host.frames.iter().any(|frame| frame.name == label(event.meta));
        if *is_loop.entry(event.meta).or_insert_with(around) {
            found.push((from.saturating_sub(host.behind_ps), to.saturating_sub(host.behind_ps)));
        }
    });
    Intervals::union_of(found)
}

/// Fewer times between two programs do not tell what is usual there.
const FEWEST_GAPS: usize = 4;

/// The part of each time between programs that is in a set, beside what is usual between these two.
pub(super) fn dark(launches: &[Launch], set: &Intervals) -> Vec<Dark> {
    type Kind<'a> = (&'a str, &'a str);
    let mut kinds: BTreeMap<Kind<'_>, Vec<(Option<u64>, i64)>> = BTreeMap::new();
    for pair in launches.windows(2) {
        let ps = set.overlap(pair[0].end_ps, pair[1].start_ps.max(pair[0].end_ps));
        kinds.entry((&pair[0].module, &pair[1].module)).or_default().push((pair[0].program_id, ps));
    }
    let mut found = Vec::new();
    for gaps in kinds.into_values() {
        let mut lengths: Vec<i64> = gaps.iter().map(|gap| gap.1).collect();
        lengths.sort_unstable();
        // Of few, nothing is said to be unusual.
        let usual = if lengths.len() < FEWEST_GAPS { i64::MAX } else { lengths[lengths.len() / 4] };
        found.extend(gaps.into_iter().map(|(behind, ps)| Dark { behind, ps, usual_ps: usual.min(ps) }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(parts: &[(i64, i64)]) -> Intervals {
        Intervals::union_of(parts.to_vec())
    }

    fn launch(start_ps: i64, end_ps: i64) -> Launch {
        Launch { program_id: None, module: String::new(), start_ps, end_ps }
    }

    #[test]
    fn a_read_explains_as_much_of_a_gap_as_would_have_run_beside_the_program() {
        let us = 1_000_000;
        let launches = [launch(0, 100 * us), launch(400 * us, 500 * us)];
        let gap = set(&[(100 * us, 400 * us)]);
        // The host sees the result 10 us late, and takes 290 us more, of which 100 fit beside the program.
        let found = reads(&gap, &set(&[(20 * us, 110 * us)]), &launches, &[]);
        assert_eq!(found, set(&[(100 * us, 210 * us)]));
        // A read that was over long before the device ran dry explains nothing.
        assert_eq!(reads(&gap, &set(&[(20 * us, 60 * us)]), &launches, &[]), Intervals::default());
        // Nor does one that returns at once.
        assert_eq!(reads(&gap, &set(&[(150 * us, 151 * us)]), &launches, &[]), Intervals::default());
        // Nor does one that waits for the program behind the gap.
        assert_eq!(reads(&gap, &set(&[(90 * us, 510 * us)]), &launches, &[]), Intervals::default());
        // One that ends before a program begins was for what ended the gap: a GPU copies the result first.
        let before_copy = set(&[(100 * us, 200 * us)]);
        assert_eq!(reads(&before_copy, &set(&[(20 * us, 250 * us)]), &launches, &[]), before_copy);
        // One that begins in the gap explains what follows.
        let found = reads(&gap, &set(&[(150 * us, 160 * us)]), &launches, &[]);
        assert_eq!(found, set(&[(150 * us, 260 * us)]));
    }

    #[test]
    fn a_read_explains_no_gap_whose_next_program_was_launched_before() {
        let us = 1_000_000;
        let launches = [launch(0, 100 * us), launch(400 * us, 500 * us)];
        let gap = set(&[(100 * us, 400 * us)]);
        let of = |at_ps: Option<i64>| reads(&gap, &set(&[(20 * us, 390 * us)]), &launches, &[Some(0), at_ps]);
        assert_eq!(of(Some(50 * us)), Intervals::default());
        // Near misses: the host launches it in the gap; nobody knows when.
        assert_eq!(of(Some(391 * us)), gap);
        assert_eq!(of(None), gap);
    }

    #[test]
    fn calls_are_those_of_the_programs_in_order() {
        let us = 1_000_000;
        let launches: Vec<Launch> = [0, 100, 200, 300]
            .map(|at| Launch { module: "jit_f".into(), ..launch(at * us, (at + 90) * us) })
            .into();
        let of = |calls: &[i64]| {
            let calls = calls.iter().map(|at| at * us).collect();
            launched_at(&launches, &BTreeMap::from([("jit_f".to_owned(), calls)]))
        };
        let at = |us: i64| Some(us * 1_000_000);
        assert_eq!(of(&[-5, 95, 195, 295]), [at(-5), at(95), at(195), at(295)]);
        // Two ahead: the first two were launched before the capture, the last two calls have no program in it.
        assert_eq!(of(&[100, 200, 300, 390]), [Some(i64::MIN), at(100), at(200), at(300)]);
        // Fewer calls than programs, and none.
        assert_eq!(of(&[0, 95]), [None; 4]);
        assert_eq!(launched_at(&launches, &BTreeMap::new()), [None; 4]);
    }

    #[test]
    fn what_a_loop_waits_for_now_and_then_is_not_what_it_always_waits_for() {
        let us = 1_000_000;
        let named = |at: i64, module: &str| Launch {
            module: module.into(),
            program_id: Some(7),
            ..launch(at * us, (at + 10) * us)
        };
        // A gap of 90 us behind each of ten programs, dark for 5 us, and of two for all of it.
        let launches: Vec<Launch> = (0..10).map(|n| named(n * 100, "jit_f")).collect();
        let idle = (0..10).map(|n| (n * 100 + 10, n * 100 + if n % 5 == 2 { 100 } else { 15 }));
        let idle = Intervals::union_of(idle.map(|(from, to)| (from * us, to * us)).collect());
        let found = dark(&launches, &idle);
        assert_eq!(found.len(), 9);
        assert_eq!(found.iter().map(|one| one.ps - one.usual_ps).sum::<i64>(), 2 * 85 * us, "{found:?}");
        // Near misses: all are as long; there are too few to tell.
        let all = Intervals::one(0, 2000 * us);
        assert!(dark(&launches, &all).iter().all(|one| one.ps == one.usual_ps && one.ps == 90 * us));
        assert!(dark(&launches[..4], &idle).iter().all(|one| one.ps == one.usual_ps));
    }
}
