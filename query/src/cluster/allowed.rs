//! What a worker does of a plan: steps that work on rows, and leaves that read nothing but files below its roots.

use datafusion::catalog::memory::DataSourceExec;
use datafusion::common::exec_err;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion_distributed::{WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse};

/// Steps that take rows from their inputs, from other workers, or from the plan itself.
const STEPS: [&str; 36] = [
    "AggregateExec",
    "BoundedWindowAggExec",
    "BroadcastExec",
    "BufferExec",
    "ChildrenIsolatorUnionExec",
    "CoalesceBatchesExec",
    "CoalescePartitionsExec",
    "CooperativeExec",
    "CrossJoinExec",
    "DistributedLeafExec",
    "EmptyExec",
    "FileScan",
    "FilterExec",
    "GlobalLimitExec",
    "HashJoinExec",
    "InterleaveExec",
    "LazyMemoryExec",
    "LocalLimitExec",
    "NestedLoopJoinExec",
    "NetworkBroadcastExec",
    "NetworkCoalesceExec",
    "NetworkShuffleExec",
    "PartialSortExec",
    "PiecewiseMergeJoinExec",
    "PlaceholderRowExec",
    "ProjectionExec",
    "RecursiveQueryExec",
    "RepartitionExec",
    "SortExec",
    "SortMergeJoinExec",
    "SortPreservingMergeExec",
    "SymmetricHashJoinExec",
    "UnionExec",
    "UnnestExec",
    "WindowAggExec",
    "WorkTableExec",
];

/// Lets a plan pass that holds nothing else.
///
/// # Errors
/// For one that reads or writes files in another way.
pub(super) fn check(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
    event.plan.apply(|step| {
        // A sort that keeps the first rows alone says so behind its name.
        let name = step.name().split('(').next().unwrap_or_default();
        let is_rows = step
            .downcast_ref::<DataSourceExec>()
            .is_some_and(|source| source.data_source().downcast_ref::<MemorySourceConfig>().is_some());
        if is_rows || STEPS.contains(&name) {
            return Ok(TreeNodeRecursion::Continue);
        }
        exec_err!("a worker does not run {name}: it only reads files of runs")
    })?;
    Ok(WorkerPlanRewriteEventResponse::new(event.plan))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::Schema;
    use datafusion::datasource::listing::PartitionedFile;
    use datafusion::datasource::physical_plan::{ArrowSource, FileScanConfigBuilder};
    use datafusion::datasource::table_schema::TableSchema;
    use datafusion::execution::object_store::ObjectStoreUrl;
    use datafusion::physical_plan::ExecutionPlan;
    use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::prelude::SessionConfig;

    use super::*;

    fn checked(plan: Arc<dyn ExecutionPlan>) -> Result<WorkerPlanRewriteEventResponse> {
        check(WorkerPlanRewriteEvent { plan, session_config: &SessionConfig::new() })
    }

    #[test]
    fn steps_on_rows_pass_and_a_reader_of_files_does_not() {
        let rows = MemorySourceConfig::try_new_exec(&[vec![]], Arc::new(Schema::empty()), None);
        assert!(rows.is_ok_and(|rows| checked(Arc::new(CoalescePartitionsExec::new(rows))).is_ok()));
        assert!(checked(Arc::new(EmptyExec::new(Arc::new(Schema::empty())))).is_ok());
        let schema: arrow::datatypes::SchemaRef = Arc::new(Schema::empty());
        let source = Arc::new(ArrowSource::new_file_source(TableSchema::from(schema)));
        let passwords = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), source)
            .with_file(PartitionedFile::new("/etc/passwd", 1))
            .build();
        let reader = Arc::new(CoalescePartitionsExec::new(DataSourceExec::from_data_source(passwords)));
        let refused = checked(reader).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("a worker does not run DataSourceExec"), "{refused}");
    }
}
