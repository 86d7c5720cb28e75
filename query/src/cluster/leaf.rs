//! The leaf of a plan: rows of a table from some files of a run, read where the plan is worked on.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, Statistics, exec_err, internal_datafusion_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs,
};

use super::parts;
use super::session;
use super::shelf::{FileRef, Shelf, unchanged};
use super::survey;
use crate::runs::Run;
use crate::stats::Stats;
use crate::tables::{self, event, small};

/// Batches that wait for whoever takes them.
const WAITING: usize = 2;

/// What is read of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Whether they can be read, when their captures began, and how much is in them.
    Survey,
    /// How their steps were found.
    Steps,
    /// What analyses need of them.
    Part,
    /// Rows of a table.
    Table(&'static str),
}

impl What {
    const SURVEY: &'static str = "-survey";
    const STEPS: &'static str = "-steps";
    const PART: &'static str = "-part";

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Survey => Self::SURVEY,
            Self::Steps => Self::STEPS,
            Self::Part => Self::PART,
            Self::Table(name) => name,
        }
    }

    pub(super) fn named(word: &str) -> Option<Self> {
        match word {
            Self::SURVEY => Some(Self::Survey),
            Self::STEPS => Some(Self::Steps),
            Self::PART => Some(Self::Part),
            other => tables::names().find(|name| *name == other).map(Self::Table),
        }
    }

    /// All of its columns.
    ///
    /// # Errors
    /// Never in practice.
    pub(super) fn schema(self) -> Result<SchemaRef> {
        let whole = |name: &str| Field::new(name, DataType::Int64, true);
        let text = |name: &str| Field::new(name, DataType::Utf8, true);
        Ok(match self {
            Self::Survey => Arc::new(Schema::new(vec![
                whole("at"),
                text("error"),
                text("host"),
                whole("start_ns"),
                whole("first_line_ns"),
                whole("lines"),
                whole("events"),
            ])),
            Self::Steps => Arc::new(Schema::new(vec![whole("at"), text("found")])),
            Self::Part => parts::schema(),
            Self::Table(name) => tables::schema_of(name)?,
        })
    }
}

/// The leaf.
#[derive(Clone)]
pub(super) struct FileScan {
    pub(super) what: What,
    pub(super) files: Arc<[FileRef]>,
    /// Conditions that are applied before rows are made, each of the kinds that `event` takes.
    pub(super) filters: Vec<Expr>,
    /// The analyses that parts are made for.
    pub(super) questions: Arc<[&'static str]>,
    /// Rows of each file that are enough.
    pub(super) limit: Option<usize>,
    /// Events of all of its files, as far as known.
    pub(super) events: u64,
    properties: Arc<PlanProperties>,
}

impl FileScan {
    /// A leaf with these columns, in so many partitions: each reads a part of each file.
    pub(super) fn new(what: What, files: Arc<[FileRef]>, schema: SchemaRef, partitions: usize) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions.max(1)),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            what,
            files,
            filters: Vec::new(),
            questions: Arc::default(),
            limit: None,
            events: 0,
            properties: Arc::new(properties),
        }
    }

    /// The same of some of the files.
    pub(super) fn of_files(&self, files: Vec<FileRef>) -> Self {
        Self { files: files.into(), ..self.clone() }
    }

    pub(super) fn partitions(&self) -> usize {
        self.properties.partitioning.partition_count()
    }

    fn columns(&self) -> Vec<String> {
        self.schema().fields().iter().map(|field| field.name().clone()).collect()
    }
}

impl fmt::Debug for FileScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileScan").field("what", &self.what).finish_non_exhaustive()
    }
}

impl DisplayAs for FileScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by: Vec<String> = self.filters.iter().map(ToString::to_string).collect();
        let (what, files, columns) = (self.what.word(), self.files.len(), self.columns().join(", "));
        write!(f, "FileScan: {what}, files={files}, columns=[{columns}], by=[{}]", by.join(", "))?;
        match self.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for FileScan {
    fn name(&self) -> &'static str {
        "FileScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(shelf) = context.session_config().get_extension::<Shelf>() else {
            return exec_err!("a plan that reads files where none are read");
        };
        let mut builder = RecordBatchReceiverStreamBuilder::new(self.schema(), WAITING);
        let (tx, scan) = (builder.tx(), self.clone());
        let rows = context.session_config().batch_size();
        // Files are read on threads that may wait for them; those that answer calls go on.
        builder.spawn_blocking(move || {
            scan.read(partition, rows, &shelf, |batch| tx.blocking_send(Ok(batch)).is_ok()).map(|_| ())
        });
        Ok(builder.build())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let share = args.partition().map_or(1, |_| self.partitions() as u64);
        let column_statistics =
            self.schema().fields().iter().map(|_| ColumnStatistics::new_unknown()).collect();
        let rows = match self.what {
            What::Table("event") => {
                Precision::Inexact(usize::try_from(self.events / share).unwrap_or(usize::MAX))
            }
            _ => Precision::Absent,
        };
        Ok(Arc::new(Statistics { num_rows: rows, total_byte_size: Precision::Absent, column_statistics }))
    }
}

impl FileScan {
    /// Gives the batches of a partition until no more are wanted; whether more are.
    fn read(
        &self,
        partition: usize,
        rows: usize,
        shelf: &Shelf,
        mut give: impl FnMut(RecordBatch) -> bool,
    ) -> Result<bool> {
        for (at, file) in self.files.iter().enumerate() {
            let is_mine = at % self.partitions() == partition;
            match self.what {
                What::Survey if is_mine => {
                    if !give(self.projected(&survey::row(file, shelf)?)?) {
                        return Ok(false);
                    }
                }
                What::Steps if is_mine => {
                    let runs = shelf.open(file)?;
                    let found = survey::found(&runs[0]);
                    let columns: Vec<arrow::array::ArrayRef> = vec![
                        Arc::new(Int64Array::from(vec![i64::from(file.at)])),
                        Arc::new(StringArray::from(vec![found])),
                    ];
                    if !give(self.projected(&RecordBatch::try_new(self.what.schema()?, columns)?)?) {
                        return Ok(false);
                    }
                }
                What::Table("event") => {
                    let runs = shelf.open(file)?;
                    if !self.events_of(&runs, partition, rows, &mut give)? {
                        return Ok(false);
                    }
                    unchanged(&runs)?;
                }
                What::Table(name) if is_mine => {
                    let runs = shelf.open(file)?;
                    let made = self.projected(&small_table(name, &runs)?)?;
                    unchanged(&runs)?;
                    for from in (0..made.num_rows()).step_by(rows.max(1)) {
                        if !give(made.slice(from, rows.min(made.num_rows() - from))) {
                            return Ok(false);
                        }
                    }
                }
                What::Part if is_mine => {
                    for part in parts::of(file, &self.questions, shelf)? {
                        for piece in parts::pieces(file, &part) {
                            if !give(self.projected(&piece?)?) {
                                return Ok(false);
                            }
                        }
                    }
                }
                What::Survey | What::Steps | What::Part | What::Table(_) => {}
            }
        }
        Ok(true)
    }

    fn events_of(
        &self,
        runs: &Arc<[Run]>,
        partition: usize,
        rows: usize,
        give: &mut impl FnMut(RecordBatch) -> bool,
    ) -> Result<bool> {
        let state = session::plain();
        let stats = Arc::new(Stats::default());
        let scan =
            event::scan_of(state, runs, self.schema(), &self.filters, self.limit, self.partitions(), &stats)?;
        for batch in scan.reader(partition, rows) {
            if !give(batch?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn projected(&self, whole: &RecordBatch) -> Result<RecordBatch> {
        let schema = self.schema();
        let columns = schema.fields().iter().map(|field| {
            let found = whole.column_by_name(field.name()).cloned();
            found.ok_or_else(|| internal_datafusion_err!("there is no column {}", field.name()))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(whole.num_rows()));
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }
}

fn small_table(name: &str, runs: &Arc<[Run]>) -> Result<RecordBatch> {
    match small::ALL.iter().find(|table| table.name == name) {
        Some(table) => tables::made(table, runs),
        None => exec_err!("there is no table {name}"),
    }
}
