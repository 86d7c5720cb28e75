//! How long values are kept, and how many registers that takes.

use std::collections::BTreeMap;

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
        let mut of_id = rustc_hash::FxHashMap::default();
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
                    && let Some(range) = of_id.get(id).and_then(|at| ranges.get_mut(*at))
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
        sweep(self.ranges.iter().map(|range| (range.register_type, range.first, range.last)))
    }

    /// How many different registers hold a value, from the first bundle to the last.
    #[must_use]
    pub fn registers(&self) -> Vec<Pressure> {
        // The stretches of one register that touch or overlap become one.
        let mut sorted: Vec<&Range> = self.ranges.iter().collect();
        sorted.sort_unstable_by_key(|range| (range.register_type, range.register, range.first));
        let mut joined: Vec<Range> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match joined.last_mut() {
                Some(last)
                    if (last.register_type, last.register) == (range.register_type, range.register)
                        && range.first <= last.last =>
                {
                    last.last = last.last.max(range.last);
                }
                _ => joined.push(*range),
            }
        }
        sweep(joined.iter().map(|range| (range.register_type, range.first, range.last)))
    }

    /// The most of each type at once.
    #[must_use]
    pub fn peaks(pressure: &[Pressure]) -> BTreeMap<RegisterType, u32> {
        let mut peaks = BTreeMap::new();
        for (kind, count) in pressure.iter().flat_map(|stretch| &stretch.by_type) {
            let peak = peaks.entry(*kind).or_insert(0);
            *peak = (*peak).max(*count);
        }
        peaks
    }
}

/// Counts what is kept, by stretches between the bundles where something begins or ends.
fn sweep(ranges: impl Iterator<Item = (RegisterType, u32, u32)>) -> Vec<Pressure> {
    let mut changes: Vec<(u64, RegisterType, i64)> = Vec::new();
    for (kind, first, last) in ranges {
        changes.push((u64::from(first), kind, 1));
        changes.push((u64::from(last) + 1, kind, -1));
    }
    changes.sort_unstable_by_key(|change| change.0);
    let mut out = Vec::new();
    let mut now: BTreeMap<RegisterType, i64> = BTreeMap::new();
    let mut at = 0;
    while let Some(&(bundle, ..)) = changes.get(at) {
        while let Some(&(same, kind, by)) = changes.get(at).filter(|change| change.0 == bundle) {
            debug_assert_eq!(same, bundle);
            *now.entry(kind).or_insert(0) += by;
            at += 1;
        }
        let by_type: BTreeMap<_, _> = now
            .iter()
            .filter_map(|(kind, count)| Some((*kind, u32::try_from(*count).ok().filter(|count| *count > 0)?)))
            .collect();
        let end = changes.get(at).map(|change| change.0);
        if let Some(end) = end.filter(|_| !by_type.is_empty()) {
            let (first, last) = (u32::try_from(bundle), u32::try_from(end - 1));
            if let (Ok(first), Ok(last)) = (first, last) {
                out.push(Pressure { first, last, by_type });
            }
        }
    }
    out
}
