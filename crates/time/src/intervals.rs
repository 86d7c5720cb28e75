//! Sets of time intervals: sorted, disjoint, half-open, in picoseconds.

use haloscope_report::units;

/// A set of disjoint intervals `[start, end)`, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(i64, i64)>);

impl Intervals {
    /// One interval; empty if it does not end after it starts.
    #[must_use]
    pub fn one(start: i64, end: i64) -> Self {
        Self(if start < end { vec![(start, end)] } else { Vec::new() })
    }

    /// The union of intervals in any order; empty ones are dropped.
    #[must_use]
    pub fn union_of(mut parts: Vec<(i64, i64)>) -> Self {
        parts.sort_unstable();
        Self::union_of_sorted(parts)
    }

    /// The union of intervals that are sorted by start.
    #[must_use]
    pub fn union_of_sorted(parts: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut out: Vec<(i64, i64)> = Vec::new();
        for (start, end) in parts {
            match out.last_mut() {
                _ if end <= start => {}
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => out.push((start, end)),
            }
        }
        Self(out)
    }

    /// The set of intervals that are sorted and disjoint, do not touch, and of which none is empty.
    pub(super) fn of_disjoint(parts: Vec<(i64, i64)>) -> Self {
        debug_assert!(parts.iter().all(|p| p.0 < p.1) && parts.is_sorted_by(|a, b| a.1 < b.0));
        Self(parts)
    }

    /// The set, earlier by so much.
    #[must_use]
    pub fn earlier(&self, by: i64) -> Self {
        Self(self.0.iter().map(|&(start, end)| (start.saturating_sub(by), end.saturating_sub(by))).collect())
    }

    /// What is in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (mut i, mut j) = (0, 0);
        let next = || {
            let (a, b) = (self.0.get(i), other.0.get(j));
            match (a, b) {
                (Some(a), Some(b)) if a <= b => (i += 1, Some(*a)).1,
                (_, Some(b)) => (j += 1, Some(*b)).1,
                (Some(a), None) => (i += 1, Some(*a)).1,
                (None, None) => None,
            }
        };
        Self::union_of_sorted(std::iter::from_fn(next))
    }

    /// The intervals.
    #[must_use]
    pub fn as_slice(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Total length, picoseconds; the largest number that there is where a window that somebody asked for is longer.
    #[must_use]
    pub fn length(&self) -> i64 {
        units::sum(self.0.iter().map(|(s, e)| e.saturating_sub(*s)))
    }

    /// From the first start to the last end.
    #[must_use]
    pub fn hull(&self) -> Option<(i64, i64)> {
        Some((self.0.first()?.0, self.0.last()?.1))
    }

    /// What is in both sets.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let (mut i, mut j, mut out) = (0, 0, Vec::new());
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            let (start, end) = (a.0.max(b.0), a.1.min(b.1));
            if start < end {
                out.push((start, end));
            }
            if a.1 < b.1 { i += 1 } else { j += 1 }
        }
        Self(out)
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut out = Vec::new();
        let mut j = 0;
        for &(mut start, end) in &self.0 {
            while other.0.get(j).is_some_and(|b| b.1 <= start) {
                j += 1;
            }
            let mut k = j;
            while let Some(&(from, to)) = other.0.get(k).filter(|b| b.0 < end) {
                if start < from {
                    out.push((start, from));
                }
                start = start.max(to);
                k += 1;
            }
            if start < end {
                out.push((start, end));
            }
        }
        Self(out)
    }

    /// What of the set is in `[start, end)`. Looks at that part of the set only.
    #[must_use]
    pub fn within(&self, start: i64, end: i64) -> Self {
        Self(self.parts_in(start, end).collect())
    }

    /// The parts of the set that are in `[start, end)`, cut at its ends.
    pub fn parts_in(&self, start: i64, end: i64) -> impl Iterator<Item = (i64, i64)> {
        let first = self.0.partition_point(|b| b.1 <= start);
        let inside = self.0[first..].iter().take_while(move |b| b.0 < end);
        inside.map(move |b| (b.0.max(start), b.1.min(end))).filter(|b| b.0 < b.1)
    }

    /// What of `[start, end)` is not in the set. Looks at that part of the set only.
    #[must_use]
    pub fn gaps(&self, start: i64, end: i64) -> Self {
        let (mut out, mut now) = (Vec::new(), start);
        let first = self.0.partition_point(|b| b.1 <= start);
        for &(from, to) in self.0[first..].iter().take_while(|b| b.0 < end) {
            if now < from {
                out.push((now, from));
            }
            now = to;
        }
        if now < end {
            out.push((now, end));
        }
        Self(out)
    }

    /// How much of `[start, end)` is in the set, picoseconds.
    #[must_use]
    pub fn overlap(&self, start: i64, end: i64) -> i64 {
        let first = self.0.partition_point(|b| b.1 <= start);
        let inside = self.0[first..].iter().take_while(|b| b.0 < end);
        units::sum(inside.map(|b| b.1.min(end) - b.0.max(start)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(parts: &[(i64, i64)]) -> Intervals {
        Intervals::union_of(parts.to_vec())
    }

    #[test]
    fn union_merges_touching_and_nested_parts() {
        assert_eq!(set(&[(5, 9), (0, 3), (3, 4), (6, 7), (2, 2)]).as_slice(), [(0, 4), (5, 9)]);
        assert_eq!(set(&[(5, 9), (0, 3)]).length(), 7);
        assert_eq!(set(&[]).hull(), None);
    }

    #[test]
    fn intersection_and_difference_partition_a_set() {
        let (a, b) = (set(&[(0, 10), (20, 30)]), set(&[(-5, 2), (4, 6), (8, 22), (29, 40)]));
        assert_eq!(a.intersect(&b).as_slice(), [(0, 2), (4, 6), (8, 10), (20, 22), (29, 30)]);
        assert_eq!(a.minus(&b).as_slice(), [(2, 4), (6, 8), (22, 29)]);
        assert_eq!(a.intersect(&b).length() + a.minus(&b).length(), a.length());
        assert_eq!(a.overlap(9, 21), 2);
        assert_eq!(b.gaps(-7, 35), Intervals::one(-7, 35).minus(&b));
        assert_eq!(b.gaps(0, 2).as_slice(), []);
        for (start, end) in [(-7, 35), (0, 2), (2, 4), (6, 8), (5, 30), (40, 50), (5, 5), (9, 3)] {
            assert_eq!(b.within(start, end), b.intersect(&Intervals::one(start, end)), "{start}..{end}");
        }
        assert_eq!(a.union(&b).as_slice(), [(-5, 40)]);
        assert_eq!(a.union(&b).length(), a.length() + b.minus(&a).length());
    }
}
