//! How long values are kept, and how many registers that takes.

use std::collections::BTreeMap;

use crate::by_id::ById;
use crate::instruction::{Operand, RegisterType};
use crate::{InstructionIdx, Module};

/// From where to where a value is kept. Back edges of loops are not followed, so that a value that a later pass through a loop reads
/// is taken to end at its last use in the order of bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The instruction that makes it.
    pub instruction: InstructionIdx,
    /// The type of its register.
    pub register_type: RegisterType,
    /// Its register.
    pub register: i32,
    /// The bundle that makes it; 0 where that was not scheduled.
    pub first: u32,
    /// The last bundle that reads it.
    pub last: u32,
}

/// A stretch of bundles in which the same number of values is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pressure {
    /// Its first bundle.
    pub first: u32,
    /// Its last bundle.
    pub last: u32,
    /// How many, by type; never 0.
    pub by_type: BTreeMap<RegisterType, u32>,
}

impl Pressure {
    /// How many values are kept.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_type.values().map(|count| u64::from(*count)).sum()
    }
}

/// What is kept when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Liveness {
    /// A value each, in the order of the program.
    pub ranges: Vec<Range>,
}

impl Liveness {
    /// Of all values that have a register.
    #[must_use]
    pub fn new(module: &Module<'_>) -> Self {
        let mut of_id = ById::new(module.instructions.len());
        let mut ranges = Vec::new();
        for (row, instruction) in module.instructions.iter().enumerate() {
            let Some(register) = instruction.register else { continue };
            let first = instruction.bundle.unwrap_or(0);
            of_id.insert(instruction.id, ranges.len());
            let register_type = instruction.register_type;
            ranges.push(Range { instruction: row, register_type, register, first, last: first });
        }
        for instruction in &module.instructions {
            let Some(bundle) = instruction.bundle else { continue };
            for operand in module.operands(instruction) {
                if let Operand::Result(id) = operand
                    && let Some(range) = of_id.get(*id).and_then(|at| ranges.get_mut(at))
                {
                    range.last = range.last.max(bundle);
                }
            }
        }
        Self { ranges }
    }

    /// How many values are kept, from the first bundle to the last: what XProf calls register pressure. Two values that share a
    /// register count twice, so that there may be more than the core has registers.
    #[must_use]
    pub fn values(&self) -> Vec<Pressure> {
        stretches(self.kept())
    }

    /// How many different registers hold a value, from the first bundle to the last.
    #[must_use]
    pub fn registers(&self) -> Vec<Pressure> {
        stretches(self.held().into_iter())
    }

    /// The most values of each type that are kept at once: of [`Liveness::values`].
    #[must_use]
    pub fn value_peaks(&self) -> BTreeMap<RegisterType, u32> {
        peaks(self.kept())
    }

    /// The most registers of each type that hold a value at once: of [`Liveness::registers`].
    #[must_use]
    pub fn register_peaks(&self) -> BTreeMap<RegisterType, u32> {
        peaks(self.held().into_iter())
    }

    fn kept(&self) -> impl Iterator<Item = Kept> {
        self.ranges.iter().map(|range| (range.register_type.code(), range.first, range.last))
    }

    /// The same of registers: the stretches of one that touch or overlap become one.
    fn held(&self) -> Vec<Kept> {
        // Type, register, first and last bundle, in the order of their bits.
        let key = |range: &Range| {
            let register = (i64::from(range.register) - i64::from(i32::MIN)) as u128;
            u128::from(range.register_type.code()) << 96
                | register << 64
                | u128::from(range.first) << 32
                | u128::from(range.last)
        };
        let mut sorted: Vec<u128> = self.ranges.iter().map(key).collect();
        sorted.sort_unstable();
        let mut joined: Vec<Kept> = Vec::with_capacity(sorted.len());
        let mut before = None;
        for key in sorted {
            let (of, first, last) = (key >> 64, (key >> 32) as u32, key as u32);
            match joined.last_mut() {
                Some(stretch) if before == Some(of) && first <= stretch.2 => stretch.2 = stretch.2.max(last),
                _ => joined.push(((of >> 32) as u8, first, last)),
            }
            before = Some(of);
        }
        joined
    }
}

/// The code of a register's type, and the first and last bundle in which a value is kept.
type Kept = (u8, u32, u32);

/// Counts what is kept, by stretches between the bundles where something begins or ends: `each` gets the first and last bundle of
/// one, and how many are kept there by the code of their type.
fn sweep(kept: impl Iterator<Item = Kept>, mut each: impl FnMut(u32, u32, &[i64; RegisterType::CODES])) {
    // A bundle, a type, and whether something begins there, in the order of their bits: quicker to sort than apart.
    let mut changes: Vec<u64> = Vec::with_capacity(kept.size_hint().0.saturating_mul(2));
    for (code, first, last) in kept {
        changes.push(u64::from(first) << 8 | u64::from(code) << 1 | 1);
        changes.push((u64::from(last) + 1) << 8 | u64::from(code) << 1);
    }
    changes.sort_unstable();
    let mut now = [0_i64; RegisterType::CODES];
    for (at, change) in changes.iter().enumerate() {
        if let Some(count) = now.get_mut((change >> 1 & 127) as usize) {
            *count += if change & 1 == 1 { 1 } else { -1 };
        }
        let (bundle, end) = (change >> 8, changes.get(at + 1).map_or(0, |next| next >> 8));
        let is_kept = || now.iter().any(|count| *count > 0);
        if bundle < end
            && let (Ok(first), Ok(last)) = (u32::try_from(bundle), u32::try_from(end - 1))
            && is_kept()
        {
            each(first, last, &now);
        }
    }
}

/// What of each type there is.
fn by_type(counts: &[i64; RegisterType::CODES]) -> impl Iterator<Item = (RegisterType, u32)> {
    let of = |(code, count): (i64, &i64)| {
        Some((RegisterType::of(code), u32::try_from(*count).ok().filter(|count| *count > 0)?))
    };
    (0..).zip(counts).filter_map(of)
}

fn stretches(kept: impl Iterator<Item = Kept>) -> Vec<Pressure> {
    let mut out = Vec::new();
    sweep(kept, |first, last, counts| out.push(Pressure { first, last, by_type: by_type(counts).collect() }));
    out
}

fn peaks(kept: impl Iterator<Item = Kept>) -> BTreeMap<RegisterType, u32> {
    let mut most = [0; RegisterType::CODES];
    sweep(kept, |_, _, counts| {
        for (most, count) in most.iter_mut().zip(counts) {
            *most = *count.max(most);
        }
    });
    by_type(&most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_those_of_the_stretches() {
        let range = |register_type, register, first, last| Range {
            instruction: 0,
            register_type,
            register,
            first,
            last,
        };
        let (vector, odd) = (RegisterType::Vector, RegisterType::Other(u8::MAX));
        let live = Liveness {
            ranges: vec![
                range(vector, 1, 0, 4),
                range(vector, -1, 2, 9),
                range(vector, 1, 4, 6),
                range(odd, i32::MAX, 3, u32::MAX),
                range(RegisterType::Predicate, i32::MIN, 5, 5),
            ],
        };
        for (stretches, peaks) in
            [(live.registers(), live.register_peaks()), (live.values(), live.value_peaks())]
        {
            let mut most = BTreeMap::new();
            for (kind, count) in stretches.iter().flat_map(|stretch| &stretch.by_type) {
                let peak = most.entry(*kind).or_insert(0);
                *peak = (*peak).max(*count);
            }
            assert_eq!(peaks, most);
            // Nothing overlaps, and nothing lies between.
            assert!(stretches.windows(2).all(|two| two[0].last + 1 == two[1].first), "{stretches:?}");
        }
        assert_eq!((live.register_peaks()[&vector], live.value_peaks()[&vector]), (2, 3));
        assert_eq!(live.register_peaks()[&odd], 1);
    }
}
