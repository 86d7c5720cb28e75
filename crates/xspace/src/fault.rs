//! What was malformed, and where.

use std::fmt;

/// One malformed place of the input. Reading goes on after the message that holds it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}, in {message}: {kind}")]
pub struct Fault {
    /// Offset in the file of the field that could not be read.
    pub offset: u64,
    /// The message that was being read, such as `XLine`.
    pub message: &'static str,
    /// What was wrong.
    pub kind: FaultKind,
}

/// The ways in which a field can be malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The bytes end inside a varint or a fixed-width number.
    CutNumber,
    /// A varint of more than ten bytes.
    LongVarint,
    /// A length that reaches past the end of the enclosing message.
    LengthPastEnd {
        /// The length that the field states, in bytes.
        length: u64,
        /// The bytes that are left in the message.
        left: u64,
    },
    /// Field number 0, which protobuf never writes.
    FieldZero,
    /// A field number above 2^29 - 1, which protobuf does not allow.
    FieldTooLarge(u64),
    /// A wire type that is not used by proto3 (groups, 6 and 7).
    UnknownWireType(u8),
    /// A known field with the wrong wire type.
    WrongWireType {
        /// Field number.
        field: u32,
        /// Wire type found (0 varint, 1 fixed64, 2 length-delimited, 5 fixed32).
        found: u8,
    },
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::CutNumber => f.write_str("the data ends inside a number"),
            Self::LongVarint => f.write_str("expected a varint of at most 10 bytes, found a longer one"),
            Self::LengthPastEnd { length, left } => {
                write!(f, "expected a field of {length} bytes, but only {left} are left")
            }
            Self::FieldZero => f.write_str("expected a field number, found 0"),
            Self::FieldTooLarge(n) => write!(f, "expected a field number of at most 536870911, found {n}"),
            Self::UnknownWireType(t) => write!(f, "expected wire type 0, 1, 2 or 5, found {t}"),
            Self::WrongWireType { field, found } => {
                write!(f, "field {field} has wire type {found}, which is not the one of the schema")
            }
        }
    }
}

/// Faults met while reading. Only the first [`Faults::KEPT`] are kept whole; the rest are counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Faults {
    pub(crate) kept: Vec<Fault>,
    pub(crate) count: u64,
}

impl Faults {
    /// How many faults are kept with their place.
    pub const KEPT: usize = 16;

    /// Adds one.
    pub fn push(&mut self, fault: Fault) {
        self.count += 1;
        if self.kept.len() < Self::KEPT {
            self.kept.push(fault);
        }
    }

    /// True if nothing was malformed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many there were, kept or not.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first ones, in the order met.
    #[must_use]
    pub fn kept(&self) -> &[Fault] {
        &self.kept
    }

    /// Adds all of `other`.
    pub fn extend(&mut self, other: &Self) {
        for fault in &other.kept {
            self.push(fault.clone());
        }
        self.count += other.count - other.kept.len() as u64;
    }
}
