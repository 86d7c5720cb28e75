//! A set of intervals of which parts are measured often.

use crate::intervals::Intervals;
use crate::near::partition_near;

/// One running sum for so many intervals.
const STEP: usize = 64;

/// Intervals, and how long those before each [`STEP`]th are together: damaged times may be further apart than 64 bits say.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lengths {
    set: Intervals,
    before_ps: Box<[i128]>,
}

impl Lengths {
    /// Of a set.
    pub(crate) fn of(set: Intervals) -> Self {
        let mut sum = 0;
        let chunks = set.as_slice().chunks(STEP);
        let before_ps = chunks.map(|chunk| {
            let before = sum;
            sum += length(chunk);
            before
        });
        let before_ps = before_ps.collect();
        Self { set, before_ps }
    }

    /// The set.
    pub(crate) fn set(&self) -> &Intervals {
        &self.set
    }

    /// How much of it lies before a time, picoseconds.
    fn until(&self, time_ps: i64) -> i128 {
        let begun = self.set.as_slice().partition_point(|part| part.0 < time_ps);
        self.first(begun) - self.beyond(begun, time_ps)
    }

    /// How long the first so many of its parts are together.
    fn first(&self, count: usize) -> i128 {
        let Some(last) = count.checked_sub(1) else { return 0 };
        let chunk = last / STEP;
        self.before_ps[chunk] + length(&self.set.as_slice()[chunk * STEP..count])
    }

    /// How far the last of so many parts reaches beyond a time.
    fn beyond(&self, count: usize, time_ps: i64) -> i128 {
        let last = count.checked_sub(1).map(|last| self.set.as_slice()[last].1);
        last.map_or(0, |end| (i128::from(end) - i128::from(time_ps)).max(0))
    }

    /// How much of it lies in `[start, end)`, picoseconds: [`Intervals::overlap`] in the time of two searches.
    pub(crate) fn overlap(&self, start_ps: i64, end_ps: i64) -> i64 {
        if start_ps >= end_ps {
            return 0;
        }
        i64::try_from(self.until(end_ps) - self.until(start_ps)).unwrap_or(i64::MAX)
    }

    /// From the first to the last moment of it in `[start, end)`.
    pub(crate) fn hull(&self, start_ps: i64, end_ps: i64) -> Option<(i64, i64)> {
        let parts = self.set.as_slice();
        let first = parts.get(parts.partition_point(|part| part.1 <= start_ps))?.0.max(start_ps);
        let last = parts[..parts.partition_point(|part| part.0 < end_ps)].last()?.1.min(end_ps);
        (first < last).then_some((first, last))
    }
}

/// Measures parts of a set one after the other. What lies near the part before is found and added up without a look at the rest of
/// the set.
#[derive(Debug, Clone)]
pub struct Meter<'l> {
    lengths: &'l Lengths,
    /// How many parts of the set begin before the time that was asked for last.
    begun: usize,
    /// How long these are together, picoseconds.
    first_ps: i128,
}

impl<'l> Meter<'l> {
    pub(crate) fn of(lengths: &'l Lengths) -> Self {
        Self { lengths, begun: 0, first_ps: 0 }
    }

    fn until(&mut self, time_ps: i64) -> i128 {
        let parts = self.lengths.set.as_slice();
        let begun = partition_near(parts, self.begun, |part| part.0 < time_ps);
        let (from, to) = (begun.min(self.begun), begun.max(self.begun));
        if to - from > STEP {
            self.first_ps = self.lengths.first(begun);
        } else if begun >= self.begun {
            self.first_ps += length(&parts[from..to]);
        } else {
            self.first_ps -= length(&parts[from..to]);
        }
        self.begun = begun;
        self.first_ps - self.lengths.beyond(begun, time_ps)
    }

    /// How much of the set lies in `[start, end)`, picoseconds.
    pub fn overlap(&mut self, start_ps: i64, end_ps: i64) -> i64 {
        if start_ps >= end_ps {
            return 0;
        }
        let before = self.until(start_ps);
        i64::try_from(self.until(end_ps) - before).unwrap_or(i64::MAX)
    }
}

/// How long these are together, picoseconds.
fn length(parts: &[(i64, i64)]) -> i128 {
    parts.iter().map(|(from, to)| i128::from(*to) - i128::from(*from)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_long_as_a_cut_says() {
        let set = Intervals::union_of((0..500_i64).map(|i| (i * 10, i * 10 + i % 9 + 1)).collect());
        let lengths = Lengths::of(set.clone());
        let ends = [i64::MIN, -5, 0, 3, 10, 644, 645, 1289, 4000, 4990, 5001, i64::MAX];
        for from in ends {
            for to in ends.into_iter().filter(|to| from < *to) {
                let cut = set.intersect(&Intervals::one(from, to));
                assert_eq!(lengths.overlap(from, to), cut.length(), "{from}..{to}");
                assert_eq!(lengths.hull(from, to), cut.hull(), "{from}..{to}");
            }
        }
        // One meter for all, forth and back.
        let mut meter = Meter::of(&lengths);
        for (from, to) in ends.into_iter().flat_map(|from| ends.map(|to| (from, to))) {
            assert_eq!(meter.overlap(from, to), lengths.overlap(from, to), "{from}..{to}");
        }
        assert_eq!((Lengths::default().overlap(0, 9), Lengths::default().hull(0, 9)), (0, None));
        // Longer than a number can say.
        let all = Lengths::of(Intervals::union_of(vec![(i64::MIN, -3), (4, i64::MAX)]));
        assert_eq!(all.overlap(i64::MIN, i64::MAX), all.set().length());
        assert_eq!(all.overlap(4, 9), 5);
    }
}
