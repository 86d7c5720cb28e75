//! The tables: what SQL may ask.

pub(crate) mod analysis;
pub(crate) mod event;
pub(crate) mod part;
pub(crate) mod schema;
pub(crate) mod small;

use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::{MemTable, Session, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use haloscope_report::Column;

use crate::runs::Run;
use crate::stats::Stats;
use small::Small;

/// Makes the tables of some runs known.
///
/// # Errors
/// Never in practice: names are different.
pub(crate) fn register(context: &SessionContext, runs: &Arc<[Run]>, stats: &Arc<Stats>) -> Result<()> {
    for name in names() {
        context.register_table(name, provider(name, runs, stats)?)?;
    }
    context.register_udtf("analysis", Arc::new(analysis::Asked::new(Arc::clone(runs))));
    context.register_udtf("part", Arc::new(part::Parts(Arc::clone(runs))));
    Ok(())
}

/// A table of some runs.
///
/// # Errors
/// If there is none of this name.
pub(crate) fn provider(name: &str, runs: &Arc<[Run]>, stats: &Arc<Stats>) -> Result<Arc<dyn TableProvider>> {
    match small::ALL.iter().find(|table| table.name == name) {
        Some(table) => Ok(Arc::new(SmallTable::new(table, runs)?)),
        None if name == EVENT => Ok(Arc::new(event::EventTable::new(Arc::clone(runs), Arc::clone(stats)))),
        None => plan_err!("there is no table {name}"),
    }
}

/// All columns of a table.
///
/// # Errors
/// If there is none of this name.
pub(crate) fn schema_of(name: &str) -> Result<SchemaRef> {
    match small::ALL.iter().find(|table| table.name == name) {
        // The columns of a table are known without a row.
        Some(table) => Ok(schema::batch((table.make)(&Run::nothing()).columns, &[], true)?.schema()),
        None if name == EVENT => Ok(event::columns::event_schema()),
        None => plan_err!("there is no table {name}"),
    }
}

/// The rows of a small table.
///
/// # Errors
/// Never in practice: columns are as long as each other.
pub(crate) fn made(table: &Small, runs: &[Run]) -> Result<RecordBatch> {
    let tables: Vec<_> = runs.iter().map(|run| (run.name.as_str(), (table.make)(run))).collect();
    let columns = tables.first().map_or(&[][..], |(_, table)| table.columns);
    schema::batch(columns, &tables, true)
}

/// The table that is not small.
const EVENT: &str = "event";

/// The names of all tables.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(EVENT).chain(small::ALL.iter().map(|table| table.name))
}

/// What the documentation says of a table.
pub(crate) struct About {
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) columns: Vec<Column>,
}

/// All tables as the documentation has them.
pub(crate) fn about() -> Vec<About> {
    let nothing = Run::nothing();
    let event = About {
        name: "event",
        doc: "An event of a line. Columns that a query does not name are not decoded, and lines that WHERE excludes are not read.",
        columns: event::columns::all().map(|(column, _)| *column).collect(),
    };
    let small = small::ALL.iter().map(|table| About {
        name: table.name,
        doc: table.doc,
        columns: [schema::RUN].into_iter().chain((table.make)(&nothing).columns.iter().copied()).collect(),
    });
    std::iter::once(event).chain(small).collect()
}

/// A table that is made whole when a query is about it.
struct SmallTable {
    table: &'static Small,
    runs: Arc<[Run]>,
    schema: SchemaRef,
    made: OnceLock<RecordBatch>,
}

impl SmallTable {
    fn new(table: &'static Small, runs: &Arc<[Run]>) -> Result<Self> {
        Ok(Self { table, runs: Arc::clone(runs), schema: schema_of(table.name)?, made: OnceLock::new() })
    }

    fn made(&self) -> Result<RecordBatch> {
        if let Some(made) = self.made.get() {
            return Ok(made.clone());
        }
        let batch = made(self.table, &self.runs)?;
        Ok(self.made.get_or_init(|| batch).clone())
    }
}

impl fmt::Debug for SmallTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmallTable").field("name", &self.table.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for SmallTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let made = MemTable::try_new(self.schema(), vec![vec![self.made()?]])?;
        made.scan(state, projection, filters, limit).await
    }
}
