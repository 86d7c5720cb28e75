//! Columns, and the cells that stand in them.

use serde::Serialize;

use super::Unit;

/// What kind of thing a column holds; presenters choose alignment and format by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Words.
    Text,
    /// Sentences: words that a terminal writes below their row, over as many lines as they need. `text` in JSON.
    #[serde(rename = "text")]
    Prose,
    /// A whole number.
    Int,
    /// A real number.
    Float,
    /// A size in bytes.
    Bytes,
    /// A time in picoseconds.
    DurationPs,
    /// A rate: FLOP/s or B/s.
    Rate,
    /// A share, 0 to 1, shown in percent.
    Share,
    /// Yes or no.
    Flag,
    /// A number whose unit stands in the row's column `unit`: see [`Column::quantity`].
    Quantity,
    /// A difference of two such numbers, written with its sign; shares differ by points.
    Change,
}

/// A column's definition: one place for id, label, unit and explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Column {
    /// Stable id.
    pub id: &'static str,
    /// Header for people, without the unit.
    pub label: &'static str,
    /// Unit of every cell.
    pub unit: Unit,
    /// What the cells are.
    pub kind: Kind,
    /// What the number is and how it was computed.
    pub doc: &'static str,
}

impl Column {
    /// A column of words.
    #[must_use]
    pub const fn text(id: &'static str, label: &'static str, doc: &'static str) -> Self {
        Self { id, label, unit: Unit::None, kind: Kind::Text, doc }
    }
    /// A column of sentences.
    #[must_use]
    pub const fn prose(id: &'static str, label: &'static str, doc: &'static str) -> Self {
        Self { id, label, unit: Unit::None, kind: Kind::Prose, doc }
    }
    /// A column of counts.
    #[must_use]
    pub const fn count(id: &'static str, label: &'static str, doc: &'static str) -> Self {
        Self { id, label, unit: Unit::Count, kind: Kind::Int, doc }
    }
    /// A column of times in picoseconds.
    #[must_use]
    pub const fn duration(id: &'static str, label: &'static str, doc: &'static str) -> Self {
        Self { id, label, unit: Unit::Ps, kind: Kind::DurationPs, doc }
    }
    /// A column of shares, 0 to 1.
    #[must_use]
    pub const fn share(id: &'static str, label: &'static str, doc: &'static str) -> Self {
        Self { id, label, unit: Unit::Share, kind: Kind::Share, doc }
    }
    /// A column of sizes in bytes.
    #[must_use]
    pub const fn bytes(id: &'static str, label: &'static str, doc: &'static str) -> Self {
        Self { id, label, unit: Unit::Bytes, kind: Kind::Bytes, doc }
    }
    /// A column of rates, in FLOP/s or B/s.
    #[must_use]
    pub const fn rate(id: &'static str, label: &'static str, unit: Unit, doc: &'static str) -> Self {
        Self { id, label, unit, kind: Kind::Rate, doc }
    }
    /// A column of real numbers.
    #[must_use]
    pub const fn float(id: &'static str, label: &'static str, unit: Unit, doc: &'static str) -> Self {
        Self { id, label, unit, kind: Kind::Float, doc }
    }
    /// A column of numbers of different units. The table has a column of words `unit`, in which each row says what its
    /// numbers are: `ps`, `B`, `FLOP`, `FLOP/s`, `B/s`, `FLOP/B`, `share`, `count` or `ratio`; nothing where they are words.
    #[must_use]
    pub const fn quantity(id: &'static str, label: &'static str, doc: &'static str) -> Self {
        Self { id, label, unit: Unit::None, kind: Kind::Quantity, doc }
    }
    /// A column of differences of numbers of different units: as [`Column::quantity`], with a sign.
    #[must_use]
    pub const fn change(id: &'static str, label: &'static str, doc: &'static str) -> Self {
        Self { id, label, unit: Unit::None, kind: Kind::Change, doc }
    }
    /// A column of yes and no.
    #[must_use]
    pub const fn flag(id: &'static str, label: &'static str, doc: &'static str) -> Self {
        Self { id, label, unit: Unit::None, kind: Kind::Flag, doc }
    }
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A whole number.
    Int(i64),
    /// A real number; never NaN or infinite ([`From<f64>`] turns those into [`Cell::Unknown`]).
    Float(f64),
    /// Words.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// Not known; `null` in JSON.
    Unknown,
}

impl From<i64> for Cell {
    fn from(v: i64) -> Self {
        Self::Int(v)
    }
}
impl From<usize> for Cell {
    fn from(v: usize) -> Self {
        i64::try_from(v).map_or(Self::Unknown, Self::Int)
    }
}
impl From<u64> for Cell {
    fn from(v: u64) -> Self {
        i64::try_from(v).map_or(Self::Unknown, Self::Int)
    }
}
impl From<f64> for Cell {
    fn from(v: f64) -> Self {
        if v.is_finite() { Self::Float(v) } else { Self::Unknown }
    }
}
impl From<bool> for Cell {
    fn from(v: bool) -> Self {
        Self::Flag(v)
    }
}
impl From<String> for Cell {
    fn from(v: String) -> Self {
        Self::Text(v)
    }
}
impl From<&str> for Cell {
    fn from(v: &str) -> Self {
        Self::Text(v.to_owned())
    }
}
impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(v: Option<T>) -> Self {
        v.map_or(Self::Unknown, Into::into)
    }
}

impl Cell {
    /// Words; unknown where there are none.
    #[must_use]
    pub fn words(words: &str) -> Self {
        if words.is_empty() { Self::Unknown } else { Self::Text(words.to_owned()) }
    }

    /// The number in the cell, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(v) => Some(*v as f64),
            Self::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// The words in the cell, if it holds some.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(v) => Some(v),
            _ => None,
        }
    }
}
