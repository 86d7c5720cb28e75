//! 64-bit numbers that take 32 bits where they can.

use super::Column;

/// Numbers near a base as 32 bits; those that are not near stand in a list. Where that would be many, all take 64 bits.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'a> {
    pub(super) base: i64,
    /// The number less `base`, or [`ELSEWHERE`].
    pub(super) near: &'a [i32],
    /// Row and number of those that stand elsewhere, by row.
    pub(super) far: &'a [[i64; 2]],
    /// All numbers, where they are not packed; `near` and `far` are then empty.
    pub(super) wide: &'a [i64],
}

/// Stands in [`Packed::near`] for a number that is in [`Packed::far`].
pub(super) const ELSEWHERE: i32 = i32::MAX;

impl<'a> Packed<'a> {
    /// Numbers as they are.
    #[must_use]
    pub fn plain(numbers: &'a [i64]) -> Self {
        Self { base: 0, near: &[], far: &[], wide: numbers }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.near.len().max(self.wide.len())
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number in a row. Panics, as a slice does, where there is none.
    #[inline]
    #[must_use]
    pub fn at(&self, row: usize) -> i64 {
        match self.near.get(row) {
            Some(&ELSEWHERE) => self.far_at(row),
            Some(near) => self.base.wrapping_add(i64::from(*near)),
            None => self.wide[row],
        }
    }

    #[cold]
    fn far_at(&self, row: usize) -> i64 {
        let found = self.far.binary_search_by_key(&(row as i64), |far| far[0]);
        found.ok().and_then(|at| self.far.get(at)).map_or(0, |far| far[1])
    }

    /// All of them, by row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> + Clone + use<'a> {
        let all = *self;
        (0..all.len()).map(move |row| all.at(row))
    }
}

/// Numbers as they are kept: the columns behind [`Packed`].
#[derive(Debug, Default)]
pub(super) struct Pack {
    pub(super) base: i64,
    pub(super) near: Column<i32>,
    pub(super) far: Column<[i64; 2]>,
    pub(super) wide: Column<i64>,
}

impl Pack {
    /// A pack of near numbers and those that stand elsewhere, which all take 64 bits if too many do.
    pub(super) fn new(base: i64, near: Column<i32>, far: Vec<[i64; 2]>) -> Self {
        const MANY: usize = 4;
        let pack = Self { base, near, far: far.into(), wide: Column::default() };
        if pack.far.len() <= pack.near.len() / MANY {
            return pack;
        }
        let wide: Vec<i64> = pack.view().iter().collect();
        Self { base: 0, wide: wide.into(), ..Self::default() }
    }

    pub(super) fn view(&self) -> Packed<'_> {
        Packed { base: self.base, near: &self.near, far: &self.far, wide: &self.wide }
    }

    /// True if it has `rows` numbers, and those that stand elsewhere are as many as point there and in order.
    pub(super) fn is_sound(&self, rows: usize) -> bool {
        if !self.wide.is_empty() {
            return self.wide.len() == rows && self.near.is_empty() && self.far.is_empty();
        }
        let elsewhere = self.near.iter().filter(|near| **near == ELSEWHERE).count();
        self.near.len() == rows
            && self.far.len() == elsewhere
            && self.far.is_sorted_by(|a, b| a[0] < b[0])
            && self.far.iter().all(|far| self.near.get(far[0] as usize) == Some(&ELSEWHERE))
    }
}

/// A number for [`Packed::near`], if it fits.
#[inline]
pub(super) fn near(number: i64, base: i64) -> Option<i32> {
    i32::try_from(number.wrapping_sub(base)).ok().filter(|near| *near != ELSEWHERE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(base: i64, numbers: &[i64]) -> Pack {
        let mut far = Vec::new();
        let mut column = Vec::new();
        for (row, number) in numbers.iter().enumerate() {
            column.push(near(*number, base).unwrap_or(ELSEWHERE));
            if near(*number, base).is_none() {
                far.push([row as i64, *number]);
            }
        }
        Pack::new(base, column.into(), far)
    }

    #[test]
    fn numbers_are_the_same_after_packing() {
        let base = 1 << 31;
        let edge = (1_i64 << 32) - 1;
        let numbers = [0, 1, edge - 1, edge, edge + 1, 7, 8, 9, i64::MAX, 3, 2, 1, 5, 6, 7, 8];
        let packed = pack(base, &numbers);
        assert_eq!(packed.far.len(), 3);
        assert!(packed.wide.is_empty() && packed.is_sound(numbers.len()));
        assert_eq!(packed.view().iter().collect::<Vec<_>>(), numbers);
        let far: Vec<i64> = numbers.iter().map(|n| n.wrapping_add(1 << 40)).collect();
        let packed = pack(base, &far);
        assert!(packed.near.is_empty() && packed.is_sound(numbers.len()));
        assert_eq!(packed.view().iter().collect::<Vec<_>>(), far);
        assert!(!packed.is_sound(1));
    }

    #[test]
    fn a_list_of_far_numbers_that_does_not_fit_is_not_sound() {
        let mut packed = pack(0, &[1, 1 << 40, 2, 3, 4]);
        assert!(packed.is_sound(5));
        packed.far = vec![[2, 1 << 40]].into();
        assert!(!packed.is_sound(5));
        packed.far = Column::default();
        assert!(!packed.is_sound(5));
    }
}
