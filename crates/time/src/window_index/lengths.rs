//! A set of intervals of which parts are measured often.

use crate::intervals::Intervals;

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
        let parts = self.set.as_slice();
        let begun = parts.partition_point(|part| part.0 < time_ps);
        let Some(last) = begun.checked_sub(1) else { return 0 };
        let chunk = last / STEP;
        let (from, to) = parts[last];
        self.before_ps[chunk] + length(&parts[chunk * STEP..last]) + length(&[(from, to.min(time_ps))])
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
        assert_eq!((Lengths::default().overlap(0, 9), Lengths::default().hull(0, 9)), (0, None));
        // Longer than a number can say.
        let all = Lengths::of(Intervals::union_of(vec![(i64::MIN, -3), (4, i64::MAX)]));
        assert_eq!(all.overlap(i64::MIN, i64::MAX), all.set().length());
        assert_eq!(all.overlap(4, 9), 5);
    }
}
