//! The JSON form of a report.

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::clean::clean_json;
use super::{Column, Gate, Report, Series, Table, VERSION, Value};

pub(super) fn render(report: &Report) -> String {
    // Serialising to a string fails only for maps with keys that are not strings, and there are none.
    let mut text = serde_json::to_string(report).unwrap_or_default();
    text.push('\n');
    clean_json(text)
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("Report", 13)?;
        out.serialize_field("analysis", self.analysis)?;
        out.serialize_field("version", &VERSION)?;
        out.serialize_field("scope", &self.scope)?;
        out.serialize_field("provenance", &self.provenance)?;
        out.serialize_field("quality", &self.quality)?;
        out.serialize_field("values", &Values(&self.values))?;
        out.serialize_field("tables", &self.tables)?;
        out.serialize_field("trees", &self.trees)?;
        out.serialize_field("series", &self.series)?;
        out.serialize_field("findings", &self.findings)?;
        out.serialize_field("texts", &self.texts)?;
        out.serialize_field("passed", &self.gate.and_then(Gate::holds))?;
        out.serialize_field("gate", &self.gate)?;
        out.end()
    }
}

struct Values<'a>(&'a [Value]);

impl Serialize for Values<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for value in self.0 {
            map.serialize_entry(value.id, value)?;
        }
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("Value", 6)?;
        out.serialize_field("value", &self.value)?;
        out.serialize_field("unit", &self.unit)?;
        out.serialize_field("status", &self.status)?;
        out.serialize_field("kind", &self.kind())?;
        out.serialize_field("label", self.label)?;
        out.serialize_field("doc", self.doc)?;
        out.end()
    }
}

impl Serialize for Column {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("Column", 5)?;
        out.serialize_field("id", self.id)?;
        out.serialize_field("label", self.label)?;
        out.serialize_field("unit", &self.unit)?;
        out.serialize_field("kind", &self.kind)?;
        out.serialize_field("doc", self.doc)?;
        out.end()
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("Table", 4)?;
        out.serialize_field("id", self.id)?;
        out.serialize_field("title", self.title)?;
        out.serialize_field("columns", self.columns)?;
        out.serialize_field("rows", &self.rows)?;
        out.end()
    }
}

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Axis {
            label: &'static str,
            unit: super::Unit,
        }
        let mut out = s.serialize_struct("Series", 5)?;
        out.serialize_field("id", &self.id)?;
        out.serialize_field("title", &self.title)?;
        out.serialize_field("x", &Axis { label: self.x.0, unit: self.x.1 })?;
        out.serialize_field("y", &Axis { label: self.y.0, unit: self.y.1 })?;
        out.serialize_field("points", &self.points)?;
        out.end()
    }
}
