//! Headline numbers.

use serde::Serialize;

use super::{Cell, Kind, Unit};

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
