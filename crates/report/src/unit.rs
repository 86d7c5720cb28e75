//! The units of numbers.

use serde::{Serialize, Serializer};

/// The unit of a number, as printed in headers and JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Picoseconds.
    Ps,
    /// Bytes.
    Bytes,
    /// Floating-point operations.
    Flop,
    /// Floating-point operations a second.
    FlopRate,
    /// Bytes a second.
    ByteRate,
    /// Floating-point operations per byte of memory traffic.
    FlopPerByte,
    /// A share between 0 and 1 as a rule.
    Share,
    /// A count.
    Count,
    /// A ratio without unit.
    Ratio,
    /// Nothing to measure: text and flags.
    None,
}

impl Unit {
    /// All units.
    pub(crate) const ALL: &'static [Self] = &[
        Self::Ps,
        Self::Bytes,
        Self::Flop,
        Self::FlopRate,
        Self::ByteRate,
        Self::FlopPerByte,
        Self::Share,
        Self::Count,
        Self::Ratio,
        Self::None,
    ];

    /// The unit as text: `ps`, `B`, `FLOP`, `FLOP/s`, `B/s`, `FLOP/B`, `1` for shares, counts and ratios, or empty.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Ps => "ps",
            Self::Bytes => "B",
            Self::Flop => "FLOP",
            Self::FlopRate => "FLOP/s",
            Self::ByteRate => "B/s",
            Self::FlopPerByte => "FLOP/B",
            Self::Share | Self::Count | Self::Ratio => "1",
            Self::None => "",
        }
    }

    /// The unit as the column `unit` of a table names it: as [`Unit::symbol`], and `share`, `count` or `ratio` for those.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Count => "count",
            Self::Ratio => "ratio",
            other => other.symbol(),
        }
    }

    /// The unit that a [word](Self::word) names; none for words that name no unit.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        Self::ALL.iter().copied().find(|unit| unit.word() == word).unwrap_or(Self::None)
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.symbol())
    }
}
