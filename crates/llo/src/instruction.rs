//! One instruction.

use crate::{GroupIdx, Opcode};

/// A row of [`crate::Module::instructions`].
pub type InstructionIdx = usize;

/// The kind of register that a result is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum RegisterType {
    /// No register.
    #[default]
    None,
    /// A predicate.
    Predicate,
    /// A scalar.
    Scalar,
    /// A mask of vectors.
    VectorMask,
    /// A vector.
    Vector,
    /// Another, by its number.
    Other(u8),
}

impl RegisterType {
    pub(crate) fn of(number: i64) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Predicate,
            2 => Self::Scalar,
            3 => Self::VectorMask,
            4 => Self::Vector,
            // What was never seen is one type, so that a hostile file cannot have many.
            other => Self::Other(u8::try_from(other).ok().filter(|number| *number < 8).unwrap_or(u8::MAX)),
        }
    }

    /// How many codes there are: see [`RegisterType::code`].
    pub(crate) const CODES: usize = 9;

    /// A small number of its own, in the order of types; [`RegisterType::of`] turns it back.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Predicate => 1,
            Self::Scalar => 2,
            Self::VectorMask => 3,
            Self::Vector => 4,
            Self::Other(number) => number.min(8),
        }
    }

    /// XProf's word for it, such as `VREG`.
    #[must_use]
    pub fn word(self) -> String {
        match self {
            Self::None => "NONE".to_owned(),
            Self::Predicate => "PREG".to_owned(),
            Self::Scalar => "SREG".to_owned(),
            Self::VectorMask => "VMREG".to_owned(),
            Self::Vector => "VREG".to_owned(),
            Self::Other(5) => "RPREG".to_owned(),
            Self::Other(6) => "DREG".to_owned(),
            Self::Other(7) => "CBREG".to_owned(),
            Self::Other(number) => format!("REGISTER_TYPE_{number}"),
        }
    }
}

/// What an instruction takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// Row of [`crate::Module::constants`].
    Constant(u32),
    /// Id of an instruction.
    Result(i32),
    /// Neither, or both empty.
    Unknown,
}

/// What an instruction does for want of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SpillKind {
    /// Stores a vector.
    VectorSpill,
    /// Loads it again.
    VectorFill,
    /// Stores a scalar.
    ScalarSpill,
    /// Loads it again.
    ScalarFill,
}

impl SpillKind {
    /// What an instruction with this opcode does, if its operand is memory for spills.
    pub(crate) fn of(opcode: Opcode) -> Option<Self> {
        let name = opcode.known_name()?;
        let starts = |prefix: &str| name.starts_with(prefix);
        match () {
            () if starts("VECTOR_STORE") => Some(Self::VectorSpill),
            () if starts("VECTOR_LOAD") => Some(Self::VectorFill),
            () if starts("SCALAR_STORE") => Some(Self::ScalarSpill),
            () if starts("SCALAR_LOAD") => Some(Self::ScalarFill),
            () => None,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::VectorSpill => "vector spill",
            Self::VectorFill => "vector fill",
            Self::ScalarSpill => "scalar spill",
            Self::ScalarFill => "scalar fill",
        }
    }
}

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Instruction {
    /// Its id, unique in the module; operands and the source map name it.
    pub id: i32,
    /// What it does.
    pub opcode: Opcode,
    /// The bundle that it is in; `None` for one that was not scheduled.
    pub bundle: Option<u32>,
    /// The register of its result, in one number space for all types; `None` for no register.
    pub register: Option<i32>,
    /// The type of that register.
    pub register_type: RegisterType,
    /// Row of [`crate::Module::notes`].
    pub note: Option<u32>,
    /// Which unit of its kind, such as matrix unit 1.
    pub unit_number: Option<u8>,
    /// Whether it runs only where a predicate holds.
    pub is_predicated: bool,
    /// The region that it stands in.
    pub group: GroupIdx,
    pub(crate) operands: (u32, u32),
}
