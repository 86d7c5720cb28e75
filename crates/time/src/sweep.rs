//! Sweeps over events that come one by one, by start: what would otherwise be a list of stretches of time, without the list.

use super::nesting::Innermost;
use haloscope_profile::Event;

/// Joins intervals that come by start, as [`super::intervals::Intervals::union_of_sorted`] does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Join {
    open: Option<(i64, i64)>,
}

impl Join {
    /// Takes the next interval and gives the one that it shows to be complete. Empty ones are dropped.
    #[inline]
    pub fn push(&mut self, start: i64, end: i64) -> Option<(i64, i64)> {
        if end <= start {
            return None;
        }
        match &mut self.open {
            Some(open) if start <= open.1 => {
                open.1 = open.1.max(end);
                None
            }
            open => open.replace((start, end)),
        }
    }

    /// The last one.
    pub fn finish(&mut self) -> Option<(i64, i64)> {
        self.open.take()
    }
}

/// Finds the stretches in which a device was busy: those in which ops ran, and the short gaps between them that lie inside
/// of program executions.
#[derive(Debug)]
pub struct Busy<'a> {
    ops: Join,
    busy: Join,
    /// Program executions, sorted and disjoint.
    programs: &'a [(i64, i64)],
    /// The first of them that may reach beyond `last`.
    at: usize,
    /// End of the stretch of ops before.
    last: i64,
    /// Gaps shorter than this are filled, picoseconds.
    overhead_ps: i64,
    /// Time in which ops ran, picoseconds, of the stretches that are complete.
    ops_ps: i64,
}

impl<'a> Busy<'a> {
    /// Begins. Without programs no gap is filled.
    #[must_use]
    pub fn new(programs: &'a [(i64, i64)], overhead_ps: i64) -> Self {
        let (ops, busy) = (Join::default(), Join::default());
        Self { ops, busy, programs, at: 0, last: i64::MIN, overhead_ps, ops_ps: 0 }
    }

    /// Takes the next event. `each` gets stretches that are complete, by time.
    #[inline]
    pub fn push(&mut self, start: i64, end: i64, each: impl FnMut(i64, i64)) {
        if let Some(stretch) = self.ops.push(start, end) {
            self.ran(stretch, each);
        }
    }

    /// Gives the stretches that are left, and says how long ops ran without the gaps that were filled, picoseconds.
    pub fn finish(mut self, mut each: impl FnMut(i64, i64)) -> i64 {
        if let Some(stretch) = self.ops.finish() {
            self.ran(stretch, &mut each);
        }
        self.fill(i64::MAX, &mut each);
        if let Some((from, to)) = self.busy.finish() {
            each(from, to);
        }
        self.ops_ps
    }

    fn ran(&mut self, (from, to): (i64, i64), mut each: impl FnMut(i64, i64)) {
        self.fill(from, &mut each);
        if let Some((from, to)) = self.busy.push(from, to) {
            each(from, to);
        }
        self.last = to;
        self.ops_ps = self.ops_ps.saturating_add(to - from);
    }

    /// Fills what is short of the gap that ends at `to`.
    fn fill(&mut self, to: i64, mut each: impl FnMut(i64, i64)) {
        while self.programs.get(self.at).is_some_and(|p| p.1 <= self.last) {
            self.at += 1;
        }
        for program in self.programs[self.at..].iter().take_while(|p| p.0 < to) {
            let (from, to) = (program.0.max(self.last), program.1.min(to));
            if from < to
                && to - from < self.overhead_ps
                && let Some((from, to)) = self.busy.push(from, to)
            {
                each(from, to);
            }
        }
    }
}

/// Measures stretches that come by time: how long they are in all, and the gaps between them.
#[derive(Debug)]
pub struct Idle<'a> {
    /// Length of all stretches, picoseconds.
    pub busy_ps: i64,
    /// From the first start to the last end.
    pub hull: Option<(i64, i64)>,
    /// Length of all gaps, picoseconds.
    pub gaps_ps: i64,
    /// The part of them outside of `occupied`, picoseconds.
    pub free_ps: i64,
    /// The gaps; `None` where there are more than were to be kept.
    pub gaps: Option<Vec<(i64, i64)>>,
    most: usize,
    /// Sorted and disjoint.
    occupied: &'a [(i64, i64)],
    at: usize,
}

impl<'a> Idle<'a> {
    /// Begins. At most so many gaps are kept.
    #[must_use]
    pub fn new(occupied: &'a [(i64, i64)], most: usize) -> Self {
        let gaps = Some(Vec::new());
        Self { busy_ps: 0, hull: None, gaps_ps: 0, free_ps: 0, gaps, most, occupied, at: 0 }
    }

    /// Takes the next stretch.
    #[inline]
    pub fn push(&mut self, from: i64, to: i64) {
        self.busy_ps = self.busy_ps.saturating_add(to - from);
        let Some(hull) = &mut self.hull else {
            self.hull = Some((from, to));
            return;
        };
        let gap = (hull.1, from);
        hull.1 = to;
        self.gap(gap);
    }

    fn gap(&mut self, gap: (i64, i64)) {
        self.gaps_ps = self.gaps_ps.saturating_add(gap.1 - gap.0);
        while self.occupied.get(self.at).is_some_and(|o| o.1 <= gap.0) {
            self.at += 1;
        }
        let inside = self.occupied[self.at..].iter().take_while(|o| o.0 < gap.1);
        let inside: i64 = inside.map(|o| o.1.min(gap.1) - o.0.max(gap.0)).sum();
        self.free_ps = self.free_ps.saturating_add(gap.1 - gap.0 - inside);
        match &mut self.gaps {
            Some(gaps) if gaps.len() < self.most => gaps.push(gap),
            gaps => *gaps = None,
        }
    }
}

/// Measures when a line's ops were on duty: at each instant the innermost op decides.
#[derive(Debug, Default)]
pub struct OnDuty {
    innermost: Innermost,
    /// Time on duty, picoseconds.
    pub busy_ps: i64,
    /// The part of it that is certain, picoseconds.
    pub certain_ps: i64,
}

impl OnDuty {
    /// Takes the next event; `lengths` says how much of a stretch of an event counts in all, and for certain.
    #[inline]
    pub fn push(&mut self, event: Event, lengths: impl Fn(&Event, i64, i64) -> (i64, i64)) {
        let (busy, certain) = (&mut self.busy_ps, &mut self.certain_ps);
        self.innermost.push(event, |event, from, to| add(busy, certain, lengths(event, from, to)));
    }

    /// Counts what is left.
    pub fn finish(&mut self, lengths: impl Fn(&Event, i64, i64) -> (i64, i64)) {
        let (busy, certain) = (&mut self.busy_ps, &mut self.certain_ps);
        self.innermost.finish(|event, from, to| add(busy, certain, lengths(event, from, to)));
    }
}

fn add(busy: &mut i64, certain: &mut i64, lengths: (i64, i64)) {
    *busy = busy.saturating_add(lengths.0);
    *certain = certain.saturating_add(lengths.1);
}

#[cfg(test)]
mod tests {
    use super::super::intervals::Intervals;
    use super::*;

    /// Numbers that look random and are the same in every run.
    fn numbers(mut seed: u64) -> impl FnMut(u64) -> i64 {
        move |below| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % below) as i64
        }
    }

    #[test]
    fn sweeps_say_what_sets_of_intervals_say() {
        for seed in 0..200 {
            let mut next = numbers(seed);
            let mut some = |count: u64, longest: u64| -> Vec<(i64, i64)> {
                let count = next(count);
                let mut all: Vec<_> = (0..count).map(|_| (next(300), next(longest))).collect();
                all.iter_mut().for_each(|part| part.1 += part.0);
                all.sort_unstable();
                all
            };
            let (events, programs, steps) = (some(40, 12), some(8, 60), some(8, 50));
            let (programs, steps) = (Intervals::union_of(programs), Intervals::union_of(steps));
            let ops = Intervals::union_of(events.clone());
            let short: Vec<_> =
                programs.minus(&ops).as_slice().iter().filter(|p| p.1 - p.0 < 6).copied().collect();
            let busy = ops.union(&Intervals::union_of(short));
            let hull = busy.hull().map_or_else(Intervals::default, |(from, to)| Intervals::one(from, to));
            let gaps = hull.minus(&busy);

            let mut found = Vec::new();
            let mut idle = Idle::new(steps.as_slice(), usize::MAX);
            let mut each = |from, to| {
                found.push((from, to));
                idle.push(from, to);
            };
            let mut sweep = Busy::new(programs.as_slice(), 6);
            events.iter().for_each(|e| sweep.push(e.0, e.1, &mut each));
            assert_eq!(sweep.finish(&mut each), ops.length(), "seed {seed}");
            assert_eq!(found, busy.as_slice(), "seed {seed}");
            assert_eq!((idle.busy_ps, idle.hull), (busy.length(), busy.hull()), "seed {seed}");
            assert_eq!((idle.gaps_ps, idle.gaps.as_deref()), (gaps.length(), Some(gaps.as_slice())));
            assert_eq!(idle.free_ps, gaps.minus(&steps).length(), "seed {seed}");
        }
    }

    #[test]
    fn gaps_beyond_the_most_are_counted_and_not_kept() {
        let mut idle = Idle::new(&[], 2);
        (0..4).for_each(|i| idle.push(10 * i, 10 * i + 4));
        assert_eq!((idle.busy_ps, idle.gaps_ps, idle.free_ps, idle.gaps), (16, 18, 18, None));
    }
}
