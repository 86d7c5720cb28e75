//! Columns of reports as columns of SQL.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringViewArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use haloscope_report::{Cell, Column, Kind, Table};

/// The run, which every table names first.
pub(crate) const RUN: Column =
    Column::text("run", "Run", "The run: its folder or file; for a session, also its log folder.");

/// A column with what Arrow has no place for as metadata: unit, label and meaning.
pub(crate) fn field(column: &Column, kind: DataType) -> Field {
    let words = [("unit", column.unit.symbol()), ("label", column.label), ("doc", column.doc)];
    let words = words.into_iter().filter(|(_, word)| !word.is_empty());
    let metadata: HashMap<String, String> =
        words.map(|(key, word)| (key.to_owned(), word.to_owned())).collect();
    Field::new(column.id, kind, true).with_metadata(metadata)
}

/// The type of a column, where its cells are what it says.
pub(crate) fn usual_type(column: &Column) -> DataType {
    match column.kind {
        Kind::Text | Kind::Prose => DataType::Utf8View,
        Kind::Flag => DataType::Boolean,
        Kind::Int | Kind::Bytes | Kind::DurationPs => DataType::Int64,
        Kind::Float | Kind::Rate | Kind::Share | Kind::Quantity | Kind::Change => DataType::Float64,
    }
}

/// The type of a column with these cells: a mean of times is no whole number, and a quantity may be a word.
fn type_of<'a>(column: &Column, mut cells: impl Iterator<Item = &'a Cell> + Clone) -> DataType {
    match usual_type(column) {
        DataType::Utf8View => DataType::Utf8View,
        _ if cells.clone().any(|cell| matches!(cell, Cell::Text(_))) => DataType::Utf8View,
        DataType::Int64 if cells.any(|cell| matches!(cell, Cell::Float(_))) => DataType::Float64,
        other => other,
    }
}

fn array<'a>(kind: &DataType, cells: impl Iterator<Item = &'a Cell>) -> ArrayRef {
    match kind {
        DataType::Boolean => Arc::new(BooleanArray::from_iter(cells.map(|cell| match cell {
            Cell::Flag(flag) => Some(*flag),
            _ => None,
        }))),
        DataType::Int64 => Arc::new(Int64Array::from_iter(cells.map(|cell| match cell {
            Cell::Int(number) => Some(*number),
            _ => None,
        }))),
        DataType::Float64 => Arc::new(Float64Array::from_iter(cells.map(Cell::number))),
        _ => Arc::new(StringViewArray::from_iter(cells.map(|cell| match cell {
            Cell::Text(text) => Some(text.clone()),
            Cell::Int(number) => Some(number.to_string()),
            Cell::Float(number) => Some(number.to_string()),
            Cell::Flag(flag) => Some(flag.to_string()),
            Cell::Unknown => None,
        }))),
    }
}

/// The rows of a table, one of each run, as one batch with the run in front. `fixed` keeps the types that columns usually have.
///
/// # Errors
/// Never in practice: columns are as long as each other.
pub(crate) fn batch(columns: &[Column], tables: &[(&str, Table)], fixed: bool) -> Result<RecordBatch> {
    let runs = tables.iter().flat_map(|(run, table)| table.rows.iter().map(move |_| *run));
    let mut fields = vec![field(&RUN, DataType::Utf8View)];
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(StringViewArray::from_iter_values(runs))];
    for (place, column) in columns.iter().enumerate() {
        let rows = tables.iter().flat_map(|(_, table)| &table.rows);
        let cells = rows.map(|row| row.get(place).unwrap_or(&Cell::Unknown));
        let kind = if fixed { usual_type(column) } else { type_of(column, cells.clone()) };
        // A report's own column of this name is the one that is meant.
        if column.id == RUN.id {
            fields.remove(0);
            arrays.remove(0);
        }
        arrays.push(array(&kind, cells));
        fields.push(field(column, kind));
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}
