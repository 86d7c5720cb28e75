//! A scan of `event` as a step of a plan: which lines, in which parts, on how many threads.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs,
};
use haloscope_profile::{Line, LineId};

use super::prune::Pruning;
use super::read::{Reader, Wanted};
use crate::runs::Run;
use crate::stats::Stats;

/// Events of a long line that one thread reads at a time.
const PART: u64 = 1 << 17;

/// A part of a line.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Position of the run.
    pub(super) run: usize,
    /// The line.
    pub(super) line: LineId,
    /// Its events, as its header states.
    pub(super) events: u64,
    /// Its rows from here on.
    pub(super) from: usize,
    /// Before this one; of the last part all that follow.
    pub(super) before: usize,
    /// Starts from and before these, picoseconds.
    pub(super) start_ps: Option<(i64, i64)>,
    /// What of the line is wanted.
    pub(super) wanted: Wanted,
}

/// The scan.
pub(crate) struct Scan {
    runs: Arc<[Run]>,
    partitions: Vec<Arc<[Part]>>,
    limit: Option<usize>,
    stats: Arc<Stats>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    words: String,
    events: u64,
}

impl Scan {
    pub(super) fn new(
        runs: &Arc<[Run]>,
        schema: SchemaRef,
        pruning: &Pruning,
        limit: Option<usize>,
        partitions: usize,
        stats: &Arc<Stats>,
    ) -> Result<Self> {
        let mut parts = Vec::new();
        let (mut lines, mut all_lines, mut events, mut all_events) = (0, 0, 0_u64, 0_u64);
        for (at, run) in runs.iter().enumerate() {
            let own: Vec<&Line> = run.profile.lines.iter().filter(|line| line.event_count > 0).collect();
            all_lines += own.len();
            all_events += own.iter().map(|line| line.event_count).sum::<u64>();
            for line in wanted_lines(run, &own, pruning)? {
                lines += 1;
                events += line.0.event_count;
                push_parts(at, line, &mut parts);
            }
        }
        let words = format!(
            "lines={lines} of {all_lines}, events<={events} of {all_events}, columns=[{}], by=[{}]",
            schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", "),
            pruning.words.join(", "),
        );
        stats.scans(lines, all_lines);
        let partitions = spread(parts, partitions);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self {
            runs: Arc::clone(runs),
            partitions,
            limit,
            stats: Arc::clone(stats),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            words,
            events,
        })
    }
}

impl Scan {
    /// The batches of a partition, of so many rows at most; none of one that there is not.
    pub(crate) fn reader(&self, partition: usize, rows: usize) -> Reader {
        Reader {
            runs: Arc::clone(&self.runs),
            parts: self.partitions.get(partition).cloned().unwrap_or_default(),
            schema: self.schema(),
            rows,
            left: self.limit,
            stats: Arc::clone(&self.stats),
            output_rows: MetricBuilder::new(&self.metrics).output_rows(partition),
            looked_at: MetricBuilder::new(&self.metrics).counter("events_looked_at", partition),
            next: 0,
            at: None,
        }
    }
}

/// The lines that may hold what is wanted, with what is wanted of them and the starts that count.
type WantedLine<'r> = (&'r Line, Wanted, Option<(i64, i64)>);

fn wanted_lines<'r>(run: &Run, lines: &[&'r Line], pruning: &Pruning) -> Result<Vec<WantedLine<'r>>> {
    let mut wanted = Vec::new();
    let mut names = vec![None; run.profile.planes.len()];
    let takes_no_op = pruning.takes_no_op()?;
    for (line, takes) in lines.iter().zip(pruning.lines(run, lines)?) {
        if !takes {
            continue;
        }
        let device = run.device_with_ops(line);
        if device.is_none() && !takes_no_op {
            continue;
        }
        let own = match &names[line.plane.index()] {
            Some(known) => Option::clone(known),
            None => {
                let found = pruning.names(run, run.profile.plane(line.plane))?;
                names[line.plane.index()] = Some(found.clone());
                found
            }
        };
        if own.as_ref().is_some_and(|names| !names.contains(&true)) {
            continue;
        }
        let mut start_ps = pruning.start_ps;
        if let Some((from, before)) = pruning.step_starts(run, line)? {
            let known = start_ps.unwrap_or((i64::MIN, i64::MAX));
            start_ps = Some((known.0.max(from), known.1.min(before)));
        }
        if start_ps.is_some_and(|(from, before)| from >= before) {
            continue;
        }
        let ops = device.map(|device| pruning.ops(run, device)).transpose()?.flatten();
        if ops.as_ref().is_some_and(|ops| !ops.contains(&true)) {
            continue;
        }
        wanted.push((*line, Wanted { names: own, ops }, start_ps));
    }
    Ok(wanted)
}

/// Cuts a line into parts, by the number of events that its header states.
fn push_parts(run: usize, (line, wanted, start_ps): WantedLine<'_>, parts: &mut Vec<Part>) {
    let pieces = line.event_count.div_ceil(PART).max(1);
    for piece in 0..pieces {
        let before = if piece + 1 == pieces { u64::MAX } else { (piece + 1) * PART };
        let (from, before) = (index(piece * PART), index(before));
        let (line, events) = (line.id, line.event_count);
        parts.push(Part { run, line, events, from, before, start_ps, wanted: wanted.clone() });
    }
}

fn index(row: u64) -> usize {
    usize::try_from(row).unwrap_or(usize::MAX)
}

/// The parts in about equal heaps, each in the order of lines; one empty heap where there is none.
fn spread(parts: Vec<Part>, heaps: usize) -> Vec<Arc<[Part]>> {
    let size = |part: &Part| part.events.min(PART);
    let all: u64 = parts.iter().map(size).sum();
    let each = all.div_ceil(heaps.max(1) as u64).max(1);
    let mut spread: Vec<Vec<Part>> = vec![Vec::new()];
    let mut heap = 0;
    for part in parts {
        if heap >= each
            && spread.len() < heaps
            && let Some(last) = spread.last()
            && !last.is_empty()
        {
            spread.push(Vec::new());
            heap = 0;
        }
        heap += size(&part);
        if let Some(last) = spread.last_mut() {
            last.push(part);
        }
    }
    spread.into_iter().map(Into::into).collect()
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan").field("words", &self.words).finish_non_exhaustive()
    }
}

impl DisplayAs for Scan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventScan: {}", self.words)?;
        match self.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for Scan {
    fn name(&self) -> &'static str {
        "EventScan"
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
        let reader = self.reader(partition, context.session_config().batch_size());
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), futures::stream::iter(reader))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let share = args.partition().map_or(1, |_| self.partitions.len() as u64);
        let schema = self.schema();
        let column_statistics = schema.fields().iter().map(|_| ColumnStatistics::new_unknown()).collect();
        Ok(Arc::new(Statistics {
            num_rows: Precision::Inexact(index(self.events / share.max(1))),
            total_byte_size: Precision::Absent,
            column_statistics,
        }))
    }
}
