//! What an instruction does, by its number.

mod table;

use std::borrow::Cow;
use std::sync::OnceLock;

use table::TABLE;

/// The number of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Opcode(pub u32);

/// What kind of work an operation is, by XProf's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// Waiting, synchronising, tracing, branches.
    Control,
    /// Across lanes or sublanes of a vector.
    CrossLane,
    /// Copies between memories.
    Dma,
    /// Loads and stores of registers.
    LoadStore,
    /// Matrix units.
    Matrix,
    /// Predicate registers.
    Predicate,
    /// Scalar arithmetic.
    Scalar,
    /// Vector arithmetic.
    Vector,
    /// Whatever is none of these, or not known.
    Other,
}

/// Which unit runs an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// A matrix unit: its weights, its products, its results.
    Mxu,
    /// The unit that moves values across lanes.
    Xlu,
    /// Vector arithmetic.
    Valu,
    /// Scalar arithmetic.
    Salu,
    /// Loads and stores.
    LoadStore,
    /// Copies between memories.
    Dma,
    /// Sync flags, fences.
    Sync,
    /// The SparseCore.
    SparseCore,
    /// None, or not known.
    Other,
}

impl Category {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::CrossLane => "crosslane",
            Self::Dma => "dma",
            Self::LoadStore => "load_store",
            Self::Matrix => "matrix",
            Self::Predicate => "predicate",
            Self::Scalar => "scalar",
            Self::Vector => "vector",
            Self::Other => "other",
        }
    }
}

impl Unit {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Mxu => "MXU",
            Self::Xlu => "XLU",
            Self::Valu => "VALU",
            Self::Salu => "SALU",
            Self::LoadStore => "LOAD_STORE",
            Self::Dma => "DMA",
            Self::Sync => "SYNC",
            Self::SparseCore => "SPARSE_CORE",
            Self::Other => "OTHER",
        }
    }
}

type Row = (u32, &'static str, Category, Unit);

/// Where the rows of the table are, by number.
fn row(number: u32) -> Option<&'static Row> {
    static PLACES: OnceLock<Vec<Option<&'static Row>>> = OnceLock::new();
    let places = PLACES.get_or_init(|| {
        let last = TABLE.last().map_or(0, |row| row.0);
        (0..=last).map(|number| TABLE.iter().find(|row| row.0 == number)).collect()
    });
    places.get(number as usize).copied().flatten()
}

impl Opcode {
    /// Its name without the prefix `OPCODE_`, where it is known.
    #[must_use]
    pub fn known_name(self) -> Option<&'static str> {
        row(self.0).map(|row| row.1)
    }

    /// Its name; of one that is not known its number.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        self.known_name().map_or_else(|| Cow::Owned(format!("UNKNOWN_{}", self.0)), Cow::Borrowed)
    }

    /// What kind of work it is.
    #[must_use]
    pub fn category(self) -> Category {
        row(self.0).map_or(Category::Other, |row| row.2)
    }

    /// Which unit runs it.
    #[must_use]
    pub fn unit(self) -> Unit {
        row(self.0).map_or(Unit::Other, |row| row.3)
    }

    /// Whether it is there for a trace: tracing a custom call's regions adds such instructions, and so changes the kernel.
    #[must_use]
    pub fn is_trace(self) -> bool {
        self.known_name()
            .is_some_and(|name| name.starts_with("VECTOR_TRACE") || name == "VECTOR_SET_TRACEMARK")
    }

    /// Whether it starts a copy between memories. Waiting for one does not.
    #[must_use]
    pub fn is_copy(self) -> bool {
        self.unit() == Unit::Dma && !self.is_copy_wait()
    }

    /// Whether it waits for a copy.
    #[must_use]
    pub fn is_copy_wait(self) -> bool {
        self.known_name().is_some_and(|name| name.starts_with("DMA_DONE"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_says_each_number_once() {
        assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let mut names: Vec<_> = TABLE.iter().map(|row| row.1).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert!(names.len() == all && all > 400, "{all}");
    }

    #[test]
    fn an_opcode_has_a_name_or_stays_a_number() {
        assert_eq!(Opcode(50).name(), "VECTOR_LOAD");
        assert_eq!((Opcode(50).category(), Opcode(50).unit()), (Category::LoadStore, Unit::LoadStore));
        // Weights and results are the matrix unit's, whatever XProf calls them.
        assert_eq!(
            (Opcode(168).unit(), Opcode(375).unit(), Opcode(193).unit()),
            (Unit::Mxu, Unit::Mxu, Unit::Mxu)
        );
        for unknown in [Opcode(52), Opcode(699), Opcode(u32::MAX)] {
            assert_eq!(unknown.name(), format!("UNKNOWN_{}", unknown.0));
            assert_eq!((unknown.category(), unknown.unit()), (Category::Other, Unit::Other));
        }
    }

    #[test]
    fn copies_and_waits_for_them_are_told_apart() {
        let kind =
            |number| (Opcode(number).is_copy(), Opcode(number).is_copy_wait(), Opcode(number).is_trace());
        assert_eq!(kind(211), (true, false, false));
        assert_eq!(kind(248), (false, true, false));
        assert_eq!(kind(156), (false, false, true));
        assert_eq!(kind(50), (false, false, false));
    }
}
