//! `event`: every event of every line, of which only what a query needs is decoded.

pub(crate) mod columns;
mod prune;
mod read;
mod scan;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::runs::Run;
use crate::stats::Stats;

/// The table.
pub(crate) struct EventTable {
    runs: Arc<[Run]>,
    schema: SchemaRef,
    stats: Arc<Stats>,
}

impl EventTable {
    pub(crate) fn new(runs: Arc<[Run]>, stats: Arc<Stats>) -> Self {
        Self { runs, schema: columns::event_schema(), stats }
    }
}

impl fmt::Debug for EventTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventTable").finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for EventTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let of = |filter: &&Expr| pushdown(filter).unwrap_or(TableProviderFilterPushDown::Unsupported);
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
            None => Arc::clone(&self.schema),
        };
        let limit = limit_of(limit, filters, pushdown);
        let partitions = state.config().target_partitions();
        Ok(Arc::new(scan_of(state, &self.runs, schema, filters, limit, partitions, &self.stats)?))
    }
}

/// How far the table applies a condition itself; `None` where not at all.
pub(crate) fn pushdown(filter: &Expr) -> Option<TableProviderFilterPushDown> {
    prune::about(filter).map(|about| match about.is_exact() {
        true => TableProviderFilterPushDown::Exact,
        false => TableProviderFilterPushDown::Inexact,
    })
}

/// The limit where it is the table's: nothing is left to be looked at behind what it `takes`.
pub(crate) fn limit_of(
    limit: Option<usize>,
    filters: &[Expr],
    takes: impl Fn(&Expr) -> Option<TableProviderFilterPushDown>,
) -> Option<usize> {
    let is_exact = |filter| takes(filter) == Some(TableProviderFilterPushDown::Exact);
    limit.filter(|_| filters.iter().all(is_exact))
}

/// A scan of these columns, of events for which these conditions hold as far as the table applies them.
///
/// # Errors
/// For a condition that cannot be evaluated.
pub(crate) fn scan_of(
    state: &dyn Session,
    runs: &Arc<[Run]>,
    schema: SchemaRef,
    filters: &[Expr],
    limit: Option<usize>,
    partitions: usize,
    stats: &Arc<Stats>,
) -> Result<scan::Scan> {
    let pruning = prune::Pruning::of(state, filters)?;
    scan::Scan::new(runs, schema, &pruning, limit, partitions, stats)
}
