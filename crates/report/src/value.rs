//! Headline numbers and their units.

use serde::{Serialize, Serializer};

use super::{Cell, Kind};

/// How a number is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The profiler recorded it.
    Measured,
    /// Computed from recorded numbers alone.
    Derived,
    /// Rests on an assumption that the value's doc names.
    Estimated,
    /// The profile cannot tell. The value is `null`.
    #[default]
    Unknown,
}

impl Status {
    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Derived => "derived",
            Self::Estimated => "estimated",
            Self::Unknown => "unknown",
        }
    }
}

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

/// One headline number. Its `id` is part of the contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Stable id, such as `step_time_mean_ps`.
    pub id: &'static str,
    /// What a person reads beside it.
    pub label: &'static str,
    /// The number or text; [`Cell::Unknown`] where the profile cannot tell.
    pub value: Cell,
    /// Its unit.
    pub unit: Unit,
    /// How it is known.
    pub status: Status,
    /// What it is and how it was computed.
    pub doc: &'static str,
}

impl Value {
    /// What kind of thing the value is; presenters choose its format by it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.unit {
            Unit::Ps => Kind::DurationPs,
            Unit::Bytes => Kind::Bytes,
            Unit::FlopRate | Unit::ByteRate => Kind::Rate,
            Unit::Flop | Unit::FlopPerByte | Unit::Ratio => Kind::Float,
            Unit::Share => Kind::Share,
            Unit::Count => Kind::Int,
            Unit::None => Kind::Text,
        }
    }

    /// A value; `None` gives status unknown, whatever `status` says.
    pub fn new<T: Into<Cell>>(
        id: &'static str,
        label: &'static str,
        value: Option<T>,
        unit: Unit,
        status: Status,
        doc: &'static str,
    ) -> Self {
        match value.map(Into::into) {
            Some(cell) if cell != Cell::Unknown => Self { id, label, value: cell, unit, status, doc },
            _ => Self { id, label, value: Cell::Unknown, unit, status: Status::Unknown, doc },
        }
    }
}
