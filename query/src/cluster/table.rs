//! Tables whose rows are of one file each, and so are read by workers.

use std::fmt;
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::TableReference;
use datafusion::datasource::provider_as_source;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use tokio::sync::OnceCell;

use super::codec::is_sendable;
use super::later::{Later, Whole};
use super::leaf::{FileScan, What};
use super::parts;
use super::shelf::FileRef;
use super::survey;
use crate::stats::Stats;
use crate::tables::part::FilePart;
use crate::tables::{self, event, small};

/// The column that depends on how the steps of the run were found.
const STEP: &str = "step";

/// Files and what is known of them.
pub(super) struct Files {
    pub(super) files: Arc<[FileRef]>,
    /// Events in all of them.
    pub(super) events: u64,
    /// Parts in which a worker reads each.
    pub(super) partitions: usize,
    /// Whether files have the steps that their runs have; asked of the workers by the first question that names one.
    steps: OnceCell<bool>,
}

impl Files {
    pub(super) fn new(files: Vec<FileRef>, events: u64, partitions: usize) -> Self {
        // A plan of one partition would not leave this process.
        Self { files: files.into(), events, partitions: partitions.max(2), steps: OnceCell::new() }
    }

    /// Reads something of all files, on the workers.
    async fn collect(
        self: &Arc<Self>,
        what: What,
        questions: &[&'static str],
        state: &dyn Session,
    ) -> Result<Vec<RecordBatch>> {
        let table = OfFiles { questions: questions.into(), ..OfFiles::new(what, self, None)? };
        let table = provider_as_source(Arc::new(table));
        let plan = LogicalPlanBuilder::scan(TableReference::bare(what.word()), table, None)?.build()?;
        collect(state.create_physical_plan(&plan).await?, state.task_ctx()).await
    }

    /// The first pass.
    pub(super) async fn surveyed(
        self: &Arc<Self>,
        state: &dyn Session,
    ) -> Result<Vec<Option<survey::Surveyed>>> {
        Ok(survey::surveyed(&self.collect(What::Survey, &[], state).await?, self.files.len()))
    }

    /// What analyses need of each file.
    pub(super) async fn parts(
        self: &Arc<Self>,
        questions: &[&'static str],
        state: &dyn Session,
    ) -> Result<Vec<FilePart>> {
        parts::joined(&self.collect(What::Part, questions, state).await?, &self.files)
    }

    async fn have_steps_of_runs(self: &Arc<Self>, state: &dyn Session) -> Result<bool> {
        let ask = || async {
            let mut of_run: Vec<(&str, Vec<String>)> = Vec::new();
            for batch in self.collect(What::Steps, &[], state).await? {
                let (at, found) =
                    (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string::<i32>());
                for (at, found) in at.values().iter().zip(found.iter()) {
                    let file = self.files.iter().find(|file| i64::from(file.at) == *at);
                    let (Some(file), Some(found)) = (file, found) else { continue };
                    match of_run.iter_mut().find(|(run, _)| *run == file.run) {
                        Some((_, all)) => all.push(found.to_owned()),
                        None => of_run.push((&file.run, vec![found.to_owned()])),
                    }
                }
            }
            Ok(of_run.iter().all(|(_, found)| survey::are_of_files(found)))
        };
        self.steps.get_or_try_init(ask).await.copied()
    }
}

/// Makes the tables known: those of files are read by workers, the others here.
///
/// # Errors
/// Never in practice: names are different.
pub(super) fn register(
    context: &SessionContext,
    files: &Arc<Files>,
    later: &Arc<Later>,
    stats: &Arc<Stats>,
    is_split: bool,
) -> Result<()> {
    for name in tables::names() {
        let what = What::Table(name);
        let whole = Whole::new(name, what.schema()?, later, stats);
        if is_split && is_of_files(name) {
            context.register_table(name, Arc::new(OfFiles::new(what, files, Some(whole))?))?;
        } else {
            context.register_table(name, Arc::new(whole))?;
        }
    }
    Ok(())
}

/// Whether each row of a table is of one file, and the same whether others are read with it or not.
fn is_of_files(name: &str) -> bool {
    name == "event" || small::ALL.iter().any(|table| table.name == name && table.is_of_files)
}

/// Such a table.
struct OfFiles {
    what: What,
    schema: SchemaRef,
    files: Arc<Files>,
    /// The analyses that parts are made for.
    questions: Arc<[&'static str]>,
    /// The same, read here.
    whole: Option<Whole>,
}

impl OfFiles {
    fn new(what: What, files: &Arc<Files>, whole: Option<Whole>) -> Result<Self> {
        Ok(Self { what, schema: what.schema()?, files: Arc::clone(files), questions: Arc::default(), whole })
    }

    fn takes(&self, filter: &Expr) -> Option<TableProviderFilterPushDown> {
        event::pushdown(filter).filter(|_| self.what == What::Table("event") && is_sendable(filter))
    }
}

impl fmt::Debug for OfFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfFiles").field("what", &self.what).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for OfFiles {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let of = |filter: &&Expr| self.takes(filter).unwrap_or(TableProviderFilterPushDown::Unsupported);
        Ok(filters.iter().map(of).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => self.schema(),
        };
        if let Some(whole) = &self.whole {
            let named =
                filters.iter().any(|filter| filter.column_refs().iter().any(|column| column.name == STEP));
            let needs_steps = named || schema.column_with_name(STEP).is_some();
            if needs_steps && !self.files.have_steps_of_runs(state).await? {
                return whole.scan(state, projection, filters, limit).await;
            }
        }
        let mut scan = FileScan::new(self.what, Arc::clone(&self.files.files), schema, self.files.partitions);
        scan.filters = filters.to_vec();
        scan.questions = Arc::clone(&self.questions);
        scan.events = self.files.events;
        scan.limit = event::limit_of(limit, filters, |filter| self.takes(filter));
        Ok(Arc::new(scan))
    }
}
