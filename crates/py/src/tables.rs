//! Tables as Arrow streams (the Arrow PyCapsule interface), which polars, pandas, pyarrow, DuckDB and others take without a copy of
//! ours in between.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch,
    RecordBatchIterator, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use haloscope_report::{Cell, Column, Kind, Table as ReportTable, Value};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

use crate::errors::Trouble;

/// A table of typed columns.
#[pyclass(frozen, module = "haloscope._native")]
pub(crate) struct Table {
    /// Its id in the report.
    #[pyo3(get)]
    id: String,
    /// What a person reads above it.
    #[pyo3(get)]
    title: String,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl From<ArrowError> for Trouble {
    fn from(error: ArrowError) -> Self {
        Self::bug(&format!("a table does not fit its columns: {error}"))
    }
}

impl Table {
    pub(crate) fn new(id: &str, title: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), schema, batches }
    }

    /// A table of a report.
    ///
    /// # Errors
    /// A bug, where rows do not fit their columns.
    pub(crate) fn of(table: &ReportTable) -> Result<Self, Trouble> {
        let mut fields = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for (place, column) in table.columns.iter().enumerate() {
            let cells = || table.rows.iter().map(|row| row.get(place).unwrap_or(&Cell::Unknown));
            let (kind, array) = array(column, cells);
            fields.push(field(column, kind));
            columns.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        // A table without columns has no rows either.
        let batches = if columns.is_empty() {
            vec![]
        } else {
            vec![RecordBatch::try_new(Arc::clone(&schema), columns)?]
        };
        Ok(Self::new(table.id, table.title, schema, batches))
    }

    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// A field with what Arrow has no place for: unit, label, meaning and kind, as metadata.
pub(crate) fn field(column: &Column, kind: DataType) -> Field {
    let words = [
        ("unit", column.unit.symbol()),
        ("label", column.label),
        ("doc", column.doc),
        ("kind", word(column.kind)),
    ];
    let words = words.into_iter().filter(|(_, word)| !word.is_empty());
    let metadata: HashMap<String, String> =
        words.map(|(key, word)| (key.to_owned(), word.to_owned())).collect();
    Field::new(column.id, kind, true).with_metadata(metadata)
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Prose => "text",
        Kind::Int => "int",
        Kind::Float => "float",
        Kind::Bytes => "bytes",
        Kind::DurationPs => "duration_ps",
        Kind::Rate => "rate",
        Kind::Share => "share",
        Kind::Flag => "flag",
        Kind::Quantity => "quantity",
        Kind::Change => "change",
    }
}

/// A column's type follows from what it is; where its cells are something else, from these: a mean of times is no whole number.
fn array<'a, I: Iterator<Item = &'a Cell>>(column: &Column, cells: impl Fn() -> I) -> (DataType, ArrayRef) {
    let has = |is: fn(&Cell) -> bool| cells().any(is);
    let has_text = has(|cell| matches!(cell, Cell::Text(_)));
    let kind = match column.kind {
        Kind::Text | Kind::Prose => DataType::Utf8,
        _ if has_text => DataType::Utf8,
        Kind::Flag => DataType::Boolean,
        Kind::Int | Kind::Bytes | Kind::DurationPs if !has(|cell| matches!(cell, Cell::Float(_))) => {
            DataType::Int64
        }
        _ => DataType::Float64,
    };
    let array: ArrayRef = match kind {
        DataType::Utf8 => Arc::new(StringArray::from_iter(cells().map(|cell| match cell {
            Cell::Text(text) => Some(text.clone()),
            Cell::Int(number) => Some(number.to_string()),
            Cell::Float(number) => Some(number.to_string()),
            Cell::Flag(flag) => Some(flag.to_string()),
            Cell::Unknown => None,
        }))),
        DataType::Boolean => Arc::new(BooleanArray::from_iter(cells().map(|cell| match cell {
            Cell::Flag(flag) => Some(*flag),
            _ => None,
        }))),
        DataType::Int64 => Arc::new(Int64Array::from_iter(cells().map(|cell| match cell {
            Cell::Int(number) => Some(*number),
            _ => None,
        }))),
        _ => Arc::new(Float64Array::from_iter(cells().map(Cell::number))),
    };
    (kind, array)
}

/// The value of a cell as Python has it.
pub(crate) fn to_python<'py>(py: Python<'py>, cell: &Cell) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        Cell::Int(number) => number.into_pyobject(py)?.into_any(),
        Cell::Float(number) => number.into_pyobject(py)?.into_any(),
        Cell::Text(text) => text.into_pyobject(py)?.into_any(),
        Cell::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Cell::Unknown => py.None().into_bound(py),
    })
}

/// A headline number: value, unit, status, label, meaning.
pub(crate) type ValueParts<'py> = (Bound<'py, PyAny>, &'static str, &'static str, &'static str, &'static str);

/// The parts of a headline number.
pub(crate) fn value_parts<'py>(py: Python<'py>, value: &Value) -> PyResult<ValueParts<'py>> {
    Ok((to_python(py, &value.value)?, value.unit.symbol(), value.status.word(), value.label, value.doc))
}

/// The first rows of a column as Python has them, behind those that are in the list already.
fn list<'py>(py: Python<'py>, array: &dyn Array, most: usize, out: &Bound<'py, PyList>) -> PyResult<()> {
    let any = array.as_any();
    let get = |row: usize| -> PyResult<Bound<'py, PyAny>> {
        if array.is_null(row) {
            return Ok(py.None().into_bound(py));
        }
        if let Some(numbers) = any.downcast_ref::<Int64Array>() {
            return Ok(numbers.value(row).into_pyobject(py)?.into_any());
        }
        if let Some(numbers) = any.downcast_ref::<Float64Array>() {
            return Ok(numbers.value(row).into_pyobject(py)?.into_any());
        }
        if let Some(texts) = any.downcast_ref::<StringArray>() {
            return Ok(texts.value(row).into_pyobject(py)?.into_any());
        }
        if let Some(flags) = any.downcast_ref::<BooleanArray>() {
            return Ok(flags.value(row).into_pyobject(py)?.to_owned().into_any());
        }
        let words = any.downcast_ref::<DictionaryArray<Int32Type>>();
        let words = words.and_then(|words| words.downcast_dict::<StringArray>());
        let word = words.map(|words| arrow_array::ArrayAccessor::value(&words, row));
        Ok(word.into_pyobject(py)?)
    };
    let room = most.saturating_sub(out.len());
    (0..array.len().min(room)).try_for_each(|row| out.append(get(row)?))
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// What each column is: type, unit, label, meaning and kind by name.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for field in self.schema.fields() {
            let about = PyDict::new(py);
            let kind = match field.data_type() {
                DataType::Int64 => "int64",
                DataType::Float64 => "float64",
                DataType::Boolean => "bool",
                DataType::Dictionary(..) => "dictionary",
                _ => "string",
            };
            about.set_item("type", kind)?;
            for key in ["unit", "label", "doc", "kind"] {
                about.set_item(key, field.metadata().get(key).map_or("", String::as_str))?;
            }
            out.set_item(field.name(), about)?;
        }
        Ok(out)
    }

    /// The cells of each column by name, as Python's own.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.head(py, usize::MAX)
    }

    /// The cells of the first rows.
    fn head<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for (place, field) in self.schema.fields().iter().enumerate() {
            let cells = PyList::empty(py);
            for batch in &self.batches {
                list(py, batch.column(place), rows, &cells)?;
            }
            out.set_item(field.name(), cells)?;
        }
        Ok(out)
    }

    /// The table as an Arrow stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer that cannot cast give what it has.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The columns as an Arrow schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema).map_err(Trouble::from)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
