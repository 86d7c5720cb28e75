//! Which ops have each instant of a device's time, so that their times add up to the time in which any op ran.

use haloscope_profile::Profile;
use haloscope_time::account::Class;
use haloscope_time::nesting::walk_innermost;
use haloscope_time::op_rows::{DeviceOps, Rows};

/// A stretch of time in which an op was the innermost one on its line.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: i64,
    to: i64,
    op: u32,
}

/// Calls `each` with ops and a stretch of time that is theirs: disjoint stretches, together the time in which any op ran.
/// An instant belongs to the innermost op of a line; of several lines to the ops whose class has the lowest rank, as in
/// [`haloscope_time::account`], and where these are several to all of them in equal parts.
pub(super) fn walk(
    profile: &Profile,
    ops: &DeviceOps<'_>,
    classes: &[Class],
    mut each: impl FnMut(&[u32], i64, i64),
) {
    if let Some(pieces) = ops.shared() {
        let mut all: Vec<u32> = Vec::new();
        for (from, to, owners) in pieces {
            all.clear();
            // As often as threads worked for it: parts are equal.
            owners.for_each(|(op, threads)| all.extend(std::iter::repeat_n(op, threads as usize)));
            each(&all, from, to);
        }
        return;
    }
    let lines: Vec<_> = ops.lines(profile).collect();
    let innermost = |(line, rows): &(&haloscope_profile::Line, Rows<'_>),
                     give: &mut dyn FnMut(u32, i64, i64)| {
        let events = profile.events(line);
        let events = events.iter().filter(|e| (rows.of(e) as usize) < classes.len());
        walk_innermost(events, |event, from, to| give(rows.of(event), from, to));
    };
    if let [line] = &lines[..] {
        return innermost(line, &mut |op, from, to| each(&[op], from, to));
    }
    let mut all = Vec::new();
    for line in &lines {
        innermost(line, &mut |op, from, to| all.push(Stretch { from, to, op }));
    }
    share(all, |op| classes[op as usize].rank(), each);
}

/// Gives every instant of overlapping stretches to the ops of the lowest rank.
fn share(mut all: Vec<Stretch>, rank: impl Fn(u32) -> usize, mut each: impl FnMut(&[u32], i64, i64)) {
    all.sort_by_key(|s| (s.from, s.to, s.op));
    let mut ends: Vec<i64> = all.iter().map(|s| s.to).collect();
    ends.sort_unstable();
    let (mut running, mut owners): (Vec<Stretch>, Vec<u32>) = (Vec::new(), Vec::new());
    let (mut begun, mut ended, mut now) = (0, 0, i64::MIN);
    while ended < ends.len() {
        let next = all.get(begun).map_or(ends[ended], |s| s.from.min(ends[ended]));
        if now < next && !running.is_empty() {
            let best = running.iter().map(|s| rank(s.op)).min().unwrap_or(0);
            owners.clear();
            owners.extend(running.iter().map(|s| s.op).filter(|op| rank(*op) == best));
            each(&owners, now, next);
        }
        now = next;
        while ends.get(ended).is_some_and(|end| *end <= now) {
            ended += 1;
        }
        running.retain(|s| s.to > now);
        while let Some(stretch) = all.get(begun).filter(|s| s.from <= now) {
            running.push(*stretch);
            begun += 1;
        }
    }
}

/// The parts of `time` for `count` owners: equal but for what does not divide, which the first ones have.
pub(super) fn parts(time: i64, count: usize) -> impl Iterator<Item = i64> {
    let count = count.max(1) as i64;
    let (each, left) = (time / count, time % count);
    (0..count).map(move |i| each + i64::from(i < left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_share_and_lower_ranks_win() {
        let stretch = |from, to, op| Stretch { from, to, op };
        // Ops 0 and 1 are of one class; op 9 is of another that has less right to an instant.
        let all = vec![stretch(0, 10, 0), stretch(4, 12, 1), stretch(2, 20, 9), stretch(30, 31, 9)];
        let mut seen = Vec::new();
        share(all, |op| usize::from(op == 9), |ops, from, to| seen.push((ops.to_vec(), from, to)));
        let expected = [
            (vec![0], 0, 2),
            (vec![0], 2, 4),
            (vec![0, 1], 4, 10),
            (vec![1], 10, 12),
            (vec![9], 12, 20),
            (vec![9], 30, 31),
        ];
        assert_eq!(seen, expected);
        assert_eq!(parts(10, 3).collect::<Vec<_>>(), [4, 3, 3]);
    }

    #[test]
    fn shares_add_up_to_the_union() {
        let mut seed = 7_u64;
        let mut below = |most: i64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) as i64) % most
        };
        for _ in 0..200 {
            let all: Vec<Stretch> = (0..below(30))
                .map(|_| {
                    let from = below(100);
                    Stretch { from, to: from + 1 + below(30), op: below(5) as u32 }
                })
                .collect();
            let union =
                haloscope_time::intervals::Intervals::union_of(all.iter().map(|s| (s.from, s.to)).collect());
            let (mut sum, mut last) = (0, i64::MIN);
            share(
                all,
                |op| op as usize % 2,
                |ops, from, to| {
                    assert!(last <= from && from < to);
                    last = to;
                    sum += parts(to - from, ops.len()).sum::<i64>();
                },
            );
            assert_eq!(sum, union.length());
        }
    }
}
