//! Tables as XProf's page reads them: the JSON of a Google Charts `DataTable`.

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

/// The type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Words.
    String,
    /// Numbers.
    Number,
    /// Yes or no.
    Boolean,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its key.
    pub id: String,
    /// Its heading.
    pub label: String,
    /// What its cells are.
    pub kind: Kind,
    /// Its custom properties.
    pub props: Vec<(String, String)>,
}

/// A cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A number. What has no form in JSON (infinities) is written as `null`.
    Number(f64),
    /// Words.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A number and how it is to be shown.
    Shown(f64, String),
}

/// A table with its custom properties, all of them words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DataTable {
    /// Its columns.
    pub cols: Vec<Column>,
    /// Its rows: as many cells as there are columns, or fewer where the last are empty.
    pub rows: Vec<Vec<Cell>>,
    /// Its custom properties.
    pub props: Vec<(String, String)>,
}

impl DataTable {
    /// A table without rows; columns are (key, type, heading).
    #[must_use]
    pub fn new(cols: &[(&str, Kind, &str)]) -> Self {
        let column = |(id, kind, label): &(&str, Kind, &str)| Column {
            id: (*id).to_owned(),
            label: (*label).to_owned(),
            kind: *kind,
            props: Vec::new(),
        };
        Self { cols: cols.iter().map(column).collect(), ..Self::default() }
    }

    /// Sets a custom property.
    pub fn prop(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.props.push((key.into(), value.into()));
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

/// A map in a given order.
struct Words<'a>(&'a [(String, String)]);

impl Serialize for Words<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(k, v)| (k, v)))
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("label", &self.label)?;
        map.serialize_entry("type", &self.kind)?;
        if !self.props.is_empty() {
            map.serialize_entry("p", &Words(&self.props))?;
        }
        map.end()
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut cell = to.serialize_struct("Cell", 2)?;
        match self {
            Self::Shown(value, text) => {
                cell.serialize_field("f", text)?;
                cell.serialize_field("v", value)?;
            }
            Self::Number(value) => cell.serialize_field("v", value)?,
            Self::Text(value) => cell.serialize_field("v", value)?,
            Self::Flag(value) => cell.serialize_field("v", value)?,
        }
        cell.end()
    }
}

struct Row<'a>(&'a [Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut row = to.serialize_struct("Row", 1)?;
        row.serialize_field("c", self.0)?;
        row.end()
    }
}

impl Serialize for DataTable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("cols", &self.cols)?;
        if !self.props.is_empty() {
            map.serialize_entry("p", &Words(&self.props))?;
        }
        map.serialize_entry("rows", &self.rows.iter().map(|r| Row(r)).collect::<Vec<_>>())?;
        map.end()
    }
}
