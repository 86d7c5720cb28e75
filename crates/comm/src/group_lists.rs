//! The groups of a collective as lists of logical ids, and where they are known from.

use haloscope_hlo::MeshAxes;

/// The groups of a collective.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    /// Logical ids of the members of each group, in the order given; empty where they are not known.
    pub lists: Vec<Vec<i64>>,
    /// Source and target of each hop of a permute; then the groups are what the hops connect.
    pub pairs: Vec<(i64, i64)>,
    /// Members of a group, of the largest where they differ.
    pub size: Option<u64>,
    /// The mesh whose axes the compiler named.
    pub mesh: Option<MeshAxes>,
    /// Where it is known from.
    pub source: Source,
}

/// Where groups are known from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    /// The HLO module.
    #[default]
    Program,
    /// The text of the op in the profile.
    Text,
    /// How much larger the result is than the input, or the other way round. An estimate, and of the size only.
    Shapes,
}

impl Source {
    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Text => "text of the op",
            Self::Shapes => "shapes (estimated)",
        }
    }
}
