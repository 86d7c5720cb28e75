//! `part('hosts', ...)`: of each file what some analyses need of it, as bytes that are a profile.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, LargeBinaryArray, StringViewArray};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::catalog::{MemTable, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use haloscope_analyses::part::{self, USUAL};
use haloscope_profile::{Profile, load};
use haloscope_report::{Column, Error};

use super::analysis::{external, texts};
use super::schema;
use crate::runs::Run;

/// The bytes themselves are the last column.
const COLUMNS: [Column; 4] = [
    schema::RUN,
    Column::text("host", "Host", "The stem of its file."),
    Column::bytes("file_bytes", "Size", "Size of its file, unpacked."),
    Column::bytes("part_bytes", "Part", "Size of the part."),
];

const BYTES: Column = Column::text("bytes", "Bytes", "The part: an XSpace.");

/// The part of one file.
pub(crate) struct FilePart {
    pub(crate) run: String,
    pub(crate) host: String,
    pub(crate) file_bytes: u64,
    pub(crate) bytes: Vec<u8>,
}

/// What a profile's parts are, one a file.
///
/// # Errors
/// As [`part::of`].
pub(crate) fn of(run: &str, profile: &Profile, questions: &[&str]) -> Result<Vec<FilePart>, Error> {
    let part = |part: part::Part| FilePart {
        run: run.to_owned(),
        host: part.about.host,
        file_bytes: part.about.whole_bytes,
        bytes: part.bytes,
    };
    Ok(part::of(profile, questions)?.into_iter().map(part).collect())
}

/// The analyses that stand between the brackets; the usual ones where none does.
///
/// # Errors
/// For what is no analysis, or one that cannot be asked about parts.
pub(crate) fn questions(exprs: &[Expr]) -> Result<Vec<&'static str>> {
    if exprs.is_empty() {
        return Ok(USUAL.to_vec());
    }
    let id = |id: String| part::asked(&id).map(|analysis| analysis.id).map_err(external);
    texts("part", exprs)?.into_iter().map(id).collect()
}

/// Parts as a table.
///
/// # Errors
/// Never in practice: columns are as long as each other.
pub(crate) fn table(parts: &[FilePart]) -> Result<Arc<dyn TableProvider>> {
    let fields = COLUMNS.iter().map(|column| schema::field(column, schema::usual_type(column)));
    let schema: SchemaRef = Arc::new(Schema::new(
        fields.chain([schema::field(&BYTES, DataType::LargeBinary)]).collect::<Vec<_>>(),
    ));
    let size = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringViewArray::from_iter_values(parts.iter().map(|part| &part.run))),
        Arc::new(StringViewArray::from_iter_values(parts.iter().map(|part| &part.host))),
        Arc::new(Int64Array::from_iter_values(parts.iter().map(|part| size(part.file_bytes)))),
        Arc::new(Int64Array::from_iter_values(parts.iter().map(|part| size(part.bytes.len() as u64)))),
        Arc::new(LargeBinaryArray::from_iter_values(parts.iter().map(|part| &part.bytes))),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}

/// The runs that parts make when they are together, each under its name.
///
/// # Errors
/// For parts that are no profiles.
pub(crate) fn together(parts: Vec<FilePart>) -> Result<Arc<[Run]>> {
    type Files = Vec<(String, Vec<u8>)>;
    let mut of_run: Vec<(String, Files)> = Vec::new();
    for part in parts {
        let file = (format!("{}.xplane.pb", part.host), part.bytes);
        match of_run.iter_mut().find(|(run, _)| *run == part.run) {
            Some((_, files)) => files.push(file),
            None => of_run.push((part.run, vec![file])),
        }
    }
    let opened =
        |(run, files): (String, Files)| Ok(Run::of(run, load::from_bytes_of_hosts(files).map_err(external)?));
    Ok(of_run.into_iter().map(opened).collect::<Result<Vec<_>>>()?.into())
}

/// The table function, of runs that are open here.
pub(crate) struct Parts(pub(crate) Arc<[Run]>);

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl TableFunctionImpl for Parts {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let questions = questions(args.exprs())?;
        let mut all = Vec::new();
        for run in self.0.iter() {
            for source in &run.profile.sources {
                let (path, chosen_from) = (source.path.clone(), 1);
                let found = load::Run { files: vec![path.clone()], path, chosen_from };
                // Alone: what its part is does not depend on the other files, nor on what else was asked.
                let profile = load::open(&found).map_err(external)?;
                all.extend(of(&run.name, &profile, &questions).map_err(external)?);
            }
        }
        if all.is_empty() {
            return exec_err!("part: there is no file");
        }
        table(&all)
    }
}
