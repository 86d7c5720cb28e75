//! Constants, which instructions name, and the allocations that some of them are addresses of.

/// A memory of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// The vector memory.
    Vmem,
    /// The scalar memory.
    Smem,
    /// Sync flags.
    SyncFlag,
    /// Another, by its number.
    Other(i32),
}

impl Space {
    pub(crate) fn of(number: i32) -> Self {
        match number {
            2 => Self::Vmem,
            3 => Self::Smem,
            4 => Self::SyncFlag,
            other => Self::Other(other),
        }
    }

    /// Its number in the message.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Vmem => 2,
            Self::Smem => 3,
            Self::SyncFlag => 4,
            Self::Other(number) => number,
        }
    }

    /// The word for it; of one that is not known its number.
    #[must_use]
    pub fn word(self) -> String {
        match self {
            Self::Vmem => "vmem".to_owned(),
            Self::Smem => "smem".to_owned(),
            Self::SyncFlag => "sflag".to_owned(),
            Self::Other(number) => format!("space {number}"),
        }
    }
}

/// A place in memory that the kernel has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// Which memory.
    pub space: Space,
    /// How large.
    pub bytes: i64,
    /// Its number in that memory: `#allocation12` of the compiler's text.
    pub ordinal: i32,
    /// Where in it this constant points.
    pub offset: i64,
    /// On another chip.
    pub is_remote: bool,
    /// For values that found no register.
    pub is_spill: bool,
    /// Given back at the kernel's end.
    pub is_scoped: bool,
    /// Without an address of its own.
    pub is_virtual: bool,
}

/// `Constant`: what an operand may be beside the result of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Constant {
    /// The opcode that says what it is: 249 a scalar, 45 an address.
    pub kind: u32,
    /// The bits of a scalar.
    pub scalar: u32,
    /// The allocation that it is an address in.
    pub allocation: Option<Allocation>,
}
