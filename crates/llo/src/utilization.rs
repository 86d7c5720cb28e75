//! How much of each unit every bundle uses.

/// The units that are counted, in the order of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitIdx {
    /// Matrix units.
    Mxu,
    /// Cross-lane units.
    Xlu,
    /// Vector arithmetic.
    VectorAlu,
    /// The unit for transcendental functions.
    VectorEup,
    /// Vector loads.
    VectorLoad,
    /// Vector stores.
    VectorStore,
    /// Scalar arithmetic.
    ScalarAlu,
}

/// All units, in the order of the message.
pub const UNITS: [UnitIdx; 7] = [
    UnitIdx::Mxu,
    UnitIdx::Xlu,
    UnitIdx::VectorAlu,
    UnitIdx::VectorEup,
    UnitIdx::VectorLoad,
    UnitIdx::VectorStore,
    UnitIdx::ScalarAlu,
];

impl UnitIdx {
    /// XProf's word for it, such as `vector_alu`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Mxu => "mxu",
            Self::Xlu => "xlu",
            Self::VectorAlu => "vector_alu",
            Self::VectorEup => "vector_eup",
            Self::VectorLoad => "vector_load",
            Self::VectorStore => "vector_store",
            Self::ScalarAlu => "scalar_alu",
        }
    }
}

/// One unit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitUse {
    /// How much of it each bundle uses. Bundles behind the end use none.
    pub used: Vec<u32>,
    /// How much of it a bundle can use.
    pub capacity: u32,
}

/// `Utilization`: bundles are those of the schedule before empty ones become delays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Utilization {
    /// The units, in the order of [`UNITS`].
    pub units: [UnitUse; 7],
    /// Stores of vectors that found no register, of each bundle.
    pub spills: Vec<u32>,
    /// Loads of such vectors, of each bundle.
    pub fills: Vec<u32>,
}

impl Utilization {
    /// One unit.
    #[must_use]
    pub fn unit(&self, unit: UnitIdx) -> &UnitUse {
        // Seven units, of which `UnitIdx` names each.
        &self.units[unit as usize]
    }

    /// How many bundles there are: the length of the longest list.
    #[must_use]
    pub fn bundles(&self) -> usize {
        self.units.iter().map(|unit| unit.used.len()).max().unwrap_or(0)
    }

    /// How much of a unit a bundle uses.
    #[must_use]
    pub fn used(&self, unit: UnitIdx, bundle: usize) -> u32 {
        self.unit(unit).used.get(bundle).copied().unwrap_or(0)
    }

    /// Whether a bundle uses no unit at all: it waits for results of earlier ones. It may still start or await a copy.
    #[must_use]
    pub fn is_empty(&self, bundle: usize) -> bool {
        self.units.iter().all(|unit| unit.used.get(bundle).is_none_or(|used| *used == 0))
    }

    /// What a bundle uses of all units together, and their capacity.
    #[must_use]
    pub fn share(&self, bundle: usize) -> (u64, u64) {
        let used = self.units.iter().map(|unit| u64::from(unit.used.get(bundle).copied().unwrap_or(0))).sum();
        (used, self.units.iter().map(|unit| u64::from(unit.capacity)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_may_be_of_different_lengths() {
        let mut both = Utilization::default();
        both.units[0] = UnitUse { used: vec![1, 0, 0], capacity: 4 };
        both.units[6] = UnitUse { used: vec![0, 2], capacity: 2 };
        assert_eq!(
            (both.bundles(), both.used(UnitIdx::ScalarAlu, 1), both.used(UnitIdx::ScalarAlu, 2)),
            (3, 2, 0)
        );
        assert_eq!([0, 1, 2, 9].map(|bundle| both.is_empty(bundle)), [false, false, true, true]);
        assert_eq!((both.share(1), both.share(2)), ((2, 6), (0, 6)));
    }
}
