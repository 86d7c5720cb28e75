//! Runs that whoever asks opens where a question needs them whole.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::failure::Failure;
use crate::open::{self, Found};
use crate::runs::Run;
use crate::stats::Stats;
use crate::tables::{self, event};

/// The runs, once they are opened.
pub(super) struct Later {
    found: Vec<Found>,
    is_partial: bool,
    opened: Mutex<Option<Arc<[Run]>>>,
}

impl Later {
    pub(super) fn new(found: Vec<Found>, is_partial: bool) -> Self {
        Self { found, is_partial, opened: Mutex::default() }
    }

    /// Opens them at the first call.
    ///
    /// # Errors
    /// As [`open::all`].
    pub(super) fn get(&self) -> Result<Arc<[Run]>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runs) = opened.as_ref() {
            return Ok(Arc::clone(runs));
        }
        // As they were listed for the workers. What is left out was said when those looked at it.
        let found = self.found.iter().map(|found| Ok(found.clone()));
        let runs = open::each(found, self.is_partial, None, &|_| ()).map_err(|failure| match failure {
            Failure::Core(error) => DataFusionError::External(Box::new(error)),
            other => DataFusionError::Execution(other.message().unwrap_or_default()),
        })?;
        *opened = Some(Arc::clone(&runs));
        Ok(runs)
    }

    /// Fails where a file was written to since it was opened.
    pub(super) fn unchanged(&self) -> Result<(), Failure> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.iter().flat_map(|runs| runs.iter()).try_for_each(|run| run.profile.unchanged())?;
        Ok(())
    }
}

/// A table of all runs, made here.
pub(super) struct Whole {
    name: &'static str,
    schema: SchemaRef,
    later: Arc<Later>,
    stats: Arc<Stats>,
}

impl Whole {
    pub(super) fn new(name: &'static str, schema: SchemaRef, later: &Arc<Later>, stats: &Arc<Stats>) -> Self {
        Self { name, schema, later: Arc::clone(later), stats: Arc::clone(stats) }
    }
}

impl std::fmt::Debug for Whole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Whole").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for Whole {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let of = |filter: &&Expr| event::pushdown(filter).filter(|_| self.name == "event");
        Ok(filters
            .iter()
            .map(|filter| of(filter).unwrap_or(TableProviderFilterPushDown::Unsupported))
            .collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = tables::provider(self.name, &self.later.get()?, &self.stats)?;
        table.scan(state, projection, filters, limit).await
    }
}
