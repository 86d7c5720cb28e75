//! Reports as bytes, for keeping them on disk: read back, a report is the same to the last bit.
//!
//! The form has no version of its own, because only the very program that wrote it may read it: who keeps the bytes sees to
//! that. Damage is caught by their checksum; here it is only made harmless.

mod intern;
mod read;
mod write;

#[cfg(test)]
mod tests;

use super::{Gate, Kind, Report, Severity, Status, Unit};

/// A report as bytes; `None` for one that could not be read back, such as a tree deeper than any analysis makes.
#[must_use]
pub fn to_bytes(report: &Report) -> Option<Vec<u8>> {
    write::report(report)
}

/// The report that these bytes are; `None` if they are none.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Option<Report> {
    read::report(bytes)
}

/// Levels of a tree, the top one included, that are read back.
const LEVELS: usize = super::DEEPEST + 8;

/// A word of a fixed list, as a byte.
trait Word: Copy + PartialEq + 'static {
    /// All of them. One that is not listed is not kept.
    const ALL: &'static [Self];

    fn code(self) -> Option<u8> {
        Self::ALL.iter().position(|word| *word == self).and_then(|at| u8::try_from(at).ok())
    }
}

impl Word for Severity {
    const ALL: &'static [Self] = &[Self::Info, Self::Warning, Self::Error];
}

impl Word for Status {
    const ALL: &'static [Self] = &[Self::Measured, Self::Derived, Self::Estimated, Self::Unknown];
}

impl Word for Gate {
    const ALL: &'static [Self] = &[Self::Passed, Self::Failed, Self::NotComparable];
}

impl Word for Unit {
    const ALL: &'static [Self] = Self::ALL;
}

impl Word for Kind {
    const ALL: &'static [Self] = &[
        Self::Text,
        Self::Prose,
        Self::Int,
        Self::Float,
        Self::Bytes,
        Self::DurationPs,
        Self::Rate,
        Self::Share,
        Self::Flag,
        Self::Quantity,
        Self::Change,
    ];
}
