//! Rows on their way out: for a terminal, as CSV, JSON, Arrow or Parquet.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Field, Fields, Float32Type, Float64Type, Int32Type, Int64Type, Schema, SchemaRef, UInt32Type,
    UInt64Type,
};
use arrow::ipc::writer::FileWriter;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use haloscope_report::present::csv_line;
use haloscope_report::{Cell, clean, clean_json, clean_lines};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Table,
    Csv,
    Json,
    Arrow,
    Parquet,
    /// For a program: columns with what is known of them, rows, and whether there are more.
    Answer,
}

impl Format {
    /// All, by their words.
    pub(crate) const NAMES: [(&str, Self); 6] = [
        ("table", Self::Table),
        ("csv", Self::Csv),
        ("json", Self::Json),
        ("arrow", Self::Arrow),
        ("parquet", Self::Parquet),
        ("answer", Self::Answer),
    ];

    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(name, _)| *name == word).map(|(_, format)| *format)
    }

    /// Whether a terminal can show it.
    pub(crate) fn is_text(self) -> bool {
        !matches!(self, Self::Arrow | Self::Parquet)
    }
}

/// What takes rows.
pub(crate) trait Sink {
    /// Takes a batch; `false` if no more are wanted.
    ///
    /// # Errors
    /// What the writer says.
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<bool>;

    /// Writes what is left. Says whether rows were left out.
    ///
    /// # Errors
    /// What the writer says.
    fn finish(self: Box<Self>) -> io::Result<bool>;
}

/// What writes rows with these columns in a format; of a table and an answer no more than `limit`.
///
/// # Errors
/// What the writer says.
pub(crate) fn sink<'a>(
    format: Format,
    schema: &SchemaRef,
    out: &'a mut dyn Write,
    limit: Option<usize>,
) -> io::Result<Box<dyn Sink + 'a>> {
    Ok(match format {
        Format::Table => Box::new(Grid { names: names(schema), rows: Vec::new(), limit, is_cut: false, out }),
        Format::Csv => {
            csv_line(&names(schema).into_iter().map(Cell::Text).collect::<Vec<_>>(), out)?;
            Box::new(Csv { out })
        }
        Format::Json => {
            write!(out, "[")?;
            Box::new(Json { names: keys(schema), any: false, out })
        }
        Format::Answer => Box::new(Whole {
            columns: columns(schema),
            rows: String::new(),
            count: 0,
            limit,
            is_cut: false,
            out,
        }),
        Format::Arrow => {
            let schema = plain_schema(schema);
            let writer = FileWriter::try_new(out, &schema).map_err(io::Error::other)?;
            Box::new(Ipc { schema, writer })
        }
        Format::Parquet => {
            let schema = plain_schema(schema);
            let written = Written::default();
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let writer = ArrowWriter::try_new(written.clone(), Arc::clone(&schema), Some(properties));
            Box::new(Parquet { schema, written, writer: writer.map_err(io::Error::other)?, out })
        }
    })
}

fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// Names as keys of an object: those that stand there twice get a number.
fn keys(schema: &Schema) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut keys = Vec::new();
    for name in names(schema) {
        let mut key = name.clone();
        let mut number = 2;
        while !seen.insert(key.clone()) {
            key = format!("{name}_{number}");
            number += 1;
        }
        keys.push(key);
    }
    keys
}

/// A cell of a row.
fn cell(array: &ArrayRef, row: usize) -> Cell {
    if array.is_null(row) {
        return Cell::Unknown;
    }
    match array.data_type() {
        DataType::Null => Cell::Unknown,
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::Int32 => i64::from(array.as_primitive::<Int32Type>().value(row)).into(),
        DataType::UInt32 => i64::from(array.as_primitive::<UInt32Type>().value(row)).into(),
        DataType::UInt64 => {
            let number = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(number).map_or_else(|_| Cell::Text(number.to_string()), Cell::Int)
        }
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
        DataType::Float32 => f64::from(array.as_primitive::<Float32Type>().value(row)).into(),
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        _ => {
            let options = FormatOptions::default();
            let text = ArrayFormatter::try_new(array, &options).map(|format| format.value(row).to_string());
            text.map_or(Cell::Unknown, Cell::Text)
        }
    }
}

fn row(batch: &RecordBatch, at: usize) -> Vec<Cell> {
    batch.columns().iter().map(|array| cell(array, at)).collect()
}

struct Csv<'a> {
    out: &'a mut dyn Write,
}

impl Sink for Csv<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<bool> {
        (0..batch.num_rows()).try_for_each(|at| csv_line(&row(batch, at), self.out))?;
        Ok(true)
    }

    fn finish(self: Box<Self>) -> io::Result<bool> {
        Ok(false)
    }
}

/// A list of objects, one a line.
struct Json<'a> {
    names: Vec<String>,
    any: bool,
    out: &'a mut dyn Write,
}

impl Sink for Json<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<bool> {
        for at in 0..batch.num_rows() {
            let mut line = String::from(if self.any { ",\n {" } else { "\n {" });
            self.any = true;
            for (column, (name, cell)) in self.names.iter().zip(row(batch, at)).enumerate() {
                let key = serde_json::to_string(name).map_err(io::Error::other)?;
                let value = serde_json::to_string(&cell).map_err(io::Error::other)?;
                line += &format!("{}{key}: {value}", if column > 0 { ", " } else { "" });
            }
            line.push('}');
            self.out.write_all(clean_json(line).as_bytes())?;
        }
        Ok(true)
    }

    fn finish(self: Box<Self>) -> io::Result<bool> {
        writeln!(self.out, "{}]", if self.any { "\n" } else { "" })?;
        Ok(false)
    }
}

/// Bytes of an answer's rows at most: what a program or a page takes in one piece.
const MOST_BYTES: usize = 16 << 20;

/// One object, which is written when it is whole: where something goes wrong on the way, nothing is.
struct Whole<'a> {
    columns: Vec<serde_json::Value>,
    rows: String,
    count: usize,
    limit: Option<usize>,
    is_cut: bool,
    out: &'a mut dyn Write,
}

/// Name, type, and what a column of a table says of itself.
fn columns(schema: &Schema) -> Vec<serde_json::Value> {
    let of = |field: &Arc<Field>| {
        let kind = match field.data_type() {
            DataType::Boolean => "flag",
            DataType::Int32 | DataType::Int64 | DataType::UInt32 | DataType::UInt64 => "integer",
            DataType::Float32 | DataType::Float64 => "real",
            _ => "text",
        };
        let mut column = serde_json::json!({"name": field.name(), "kind": kind});
        for key in ["unit", "label", "doc"] {
            if let Some(word) = field.metadata().get(key) {
                column[key] = word.as_str().into();
            }
        }
        // What is computed has only its name, whose end says what lengths and sizes are in.
        let by_name =
            [("_ps", "ps"), ("_bytes", "B")].into_iter().find(|(end, _)| field.name().ends_with(end));
        if let (Some((_, unit)), true, true) =
            (by_name, column["unit"].is_null(), matches!(kind, "integer" | "real"))
        {
            column["unit"] = unit.into();
        }
        column
    };
    schema.fields().iter().map(of).collect()
}

impl Sink for Whole<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<bool> {
        for at in 0..batch.num_rows() {
            if self.limit.is_some_and(|limit| self.count >= limit) || self.rows.len() >= MOST_BYTES {
                self.is_cut = true;
                return Ok(false);
            }
            let cells = serde_json::to_string(&row(batch, at)).map_err(io::Error::other)?;
            self.rows.push_str(if self.count > 0 { ",\n  " } else { "\n  " });
            self.rows.push_str(&clean_json(cells));
            self.count += 1;
        }
        Ok(true)
    }

    fn finish(self: Box<Self>) -> io::Result<bool> {
        let columns = serde_json::to_string(&self.columns).map_err(io::Error::other)?;
        let columns = clean_json(columns);
        writeln!(
            self.out,
            "{{\"columns\": {columns},\n \"is_cut\": {},\n \"rows\": [{}]}}",
            self.is_cut, self.rows
        )?;
        // It says so itself.
        Ok(false)
    }
}

/// Columns as wide as what stands in them.
struct Grid<'a> {
    names: Vec<String>,
    rows: Vec<Vec<Cell>>,
    limit: Option<usize>,
    is_cut: bool,
    out: &'a mut dyn Write,
}

/// A longer text is cut in a table.
const WIDEST: usize = 80;

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Int(number) => number.to_string(),
        Cell::Float(number) => format!("{number:?}"),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Unknown => "NULL".to_owned(),
        Cell::Text(text) => {
            let text = clean(text);
            if text.chars().count() <= WIDEST {
                return text.into_owned();
            }
            text.chars().take(WIDEST - 1).chain(['…']).collect()
        }
    }
}

impl Sink for Grid<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<bool> {
        for at in 0..batch.num_rows() {
            if self.limit.is_some_and(|limit| self.rows.len() >= limit) {
                self.is_cut = true;
                return Ok(false);
            }
            self.rows.push(row(batch, at));
        }
        Ok(true)
    }

    fn finish(self: Box<Self>) -> io::Result<bool> {
        // EXPLAIN: texts of many lines.
        if self.names == ["plan_type", "plan"] {
            for row in &self.rows {
                let text = row.iter().filter_map(Cell::as_text).collect::<Vec<_>>().join(":\n");
                writeln!(self.out, "{}", clean_lines(&text).trim_end())?;
            }
            return Ok(self.is_cut);
        }
        let is_text = |column: usize| {
            self.rows.iter().all(|row| matches!(row[column], Cell::Text(_) | Cell::Unknown | Cell::Flag(_)))
        };
        let left: Vec<bool> = (0..self.names.len()).map(is_text).collect();
        let names: Vec<String> = self.names.iter().map(|name| clean(name).into_owned()).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.iter().map(shown).collect()).collect();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([names[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..names.len()).map(width).collect();
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        for line in [&names, &rule].into_iter().chain(&rows) {
            let mut text = String::new();
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let gap = if column > 0 { "  " } else { "" };
                let pad = " ".repeat(width - cell.chars().count());
                text += &if left[column] { format!("{gap}{cell}{pad}") } else { format!("{gap}{pad}{cell}") };
            }
            writeln!(self.out, "{}", text.trim_end())?;
        }
        Ok(self.is_cut)
    }
}

/// Columns whose texts are what every reader knows: views and dictionaries as texts of their own.
fn plain_schema(schema: &Schema) -> SchemaRef {
    let fields =
        schema.fields().iter().map(|field| Field::clone(field).with_data_type(plain(field.data_type())));
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

fn plain(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8View => DataType::Utf8,
        DataType::Dictionary(_, value) => plain(value),
        other => other.clone(),
    }
}

fn plain_batch(batch: &RecordBatch, schema: &SchemaRef) -> io::Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type())).collect::<Result<_, _>>();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch =
        columns.and_then(|columns| RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options));
    batch.map_err(io::Error::other)
}

struct Ipc<'a> {
    schema: SchemaRef,
    writer: FileWriter<&'a mut dyn Write>,
}

impl Sink for Ipc<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<bool> {
        self.writer.write(&plain_batch(batch, &self.schema)?).map_err(io::Error::other)?;
        Ok(true)
    }

    fn finish(mut self: Box<Self>) -> io::Result<bool> {
        self.writer.finish().map_err(io::Error::other)?;
        Ok(false)
    }
}

/// Bytes between a writer that wants them on any thread, and one that is on this.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn give(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        out.write_all(&bytes)
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Parquet<'a> {
    schema: SchemaRef,
    written: Written,
    writer: ArrowWriter<Written>,
    out: &'a mut dyn Write,
}

impl Sink for Parquet<'_> {
    fn batch(&mut self, batch: &RecordBatch) -> io::Result<bool> {
        self.writer.write(&plain_batch(batch, &self.schema)?).map_err(io::Error::other)?;
        self.written.give(self.out)?;
        Ok(true)
    }

    fn finish(self: Box<Self>) -> io::Result<bool> {
        self.writer.close().map_err(io::Error::other)?;
        self.written.give(self.out)?;
        Ok(false)
    }
}
