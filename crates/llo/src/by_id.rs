//! Instructions by their ids.

use rustc_hash::FxHashMap;

use crate::InstructionIdx;

/// The rows of instructions by id; of two with one id the last. Compilers number instructions one by one: such ids are looked up in
/// a list, and others, of any size, in a map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ById {
    /// A row and one, or 0 for none.
    dense: Vec<u32>,
    rest: FxHashMap<i32, u32>,
}

impl ById {
    /// Room for this many.
    pub(crate) fn new(instructions: usize) -> Self {
        // Ids have gaps where instructions were optimised away.
        const GAPS: usize = 4;
        Self { dense: vec![0; instructions.saturating_mul(GAPS)], rest: FxHashMap::default() }
    }

    pub(crate) fn insert(&mut self, id: i32, row: InstructionIdx) {
        let Ok(row) = u32::try_from(row) else { return };
        match usize::try_from(id).ok().and_then(|id| self.dense.get_mut(id)) {
            Some(slot) => *slot = row.saturating_add(1),
            None => {
                self.rest.insert(id, row);
            }
        }
    }

    /// The row of an instruction.
    #[must_use]
    pub fn get(&self, id: i32) -> Option<InstructionIdx> {
        match usize::try_from(id).ok().and_then(|id| self.dense.get(id)) {
            Some(slot) => slot.checked_sub(1),
            None => self.rest.get(&id).copied(),
        }
        .map(|row| row as InstructionIdx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_size_are_found_and_of_two_the_last() {
        let mut rows = ById::new(2);
        for (id, row) in [(0, 5), (7, 6), (8, 7), (-1, 8), (i32::MAX, 9), (i32::MIN, 10), (7, 11)] {
            rows.insert(id, row);
        }
        let found = [0, 7, 8, -1, i32::MAX, i32::MIN, 1, 9].map(|id| rows.get(id));
        assert_eq!(found, [Some(5), Some(11), Some(7), Some(8), Some(9), Some(10), None, None]);
    }
}
