//! Ops of a TPU's TensorCore.

use haloscope_profile::{Device, Line, LineKind, Profile};
use haloscope_serving::event_groups::Context;
use haloscope_time::op_meta::{Access, OpMeta};
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::op_sums::{Measured, Sums, measured};
use haloscope_time::ops::sums_of;

use super::row::{CoreType, SourceInfo};
use super::{Db, Row, sparse};

/// The ops of one core, and when they and its steps ran.
pub(super) struct CoreOps<'p> {
    rows: Vec<Row<'p>>,
    ops: Option<Span>,
    steps: Option<Span>,
}

/// Start and end by the device's own clock, picoseconds.
type Span = (i64, i64);

impl<'p> CoreOps<'p> {
    pub(super) fn new(profile: &'p Profile, device: &Device) -> Self {
        let found = DeviceOps::find(profile, device);
        let sums = sums_of(profile, &found);
        let measured = measured(profile, &found, &sums);
        let mut offloaded = sparse::offloaded(profile, device, &found);
        let all = found.ops.into_iter().zip(sums.iter().zip(&measured)).enumerate();
        let rows = all.filter_map(|(at, ((meta, _), (sum, measured)))| {
            let row = row(meta, sum, measured)?;
            Some(Row { offloaded: offloaded.remove(&at).map(Box::new), ..row })
        });
        let rows = rows.collect();
        Self { rows, ops: ops_span(profile, device), steps: steps_span(profile, device, None) }
    }

    /// True if it matters which steps count.
    pub(super) fn steps_stick_out(&self) -> bool {
        self.steps.is_some_and(|(first, last)| self.ops.is_none_or(|ops| first < ops.0 || ops.1 < last))
    }

    /// The table. With a context, steps that grouping leaves out do not count.
    pub(super) fn finish(self, profile: &Profile, device: &Device, context: Option<&Context>) -> Db<'p> {
        let steps = context.map_or(self.steps, |context| steps_span(profile, device, Some(context)));
        let spans = || [self.ops, steps].into_iter().flatten();
        let (first, last) =
            (spans().map(|s| s.0).min().unwrap_or(0), spans().map(|s| s.1).max().unwrap_or(0));
        Db::of_device(self.rows, last.saturating_sub(first).max(0) as u64)
    }
}

/// What one execution of an op does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PerRun {
    flops: f64,
    model_flops: f64,
    bytes: f64,
    accesses: Vec<Access>,
}

impl PerRun {
    /// Of an op that has a row: it needs a program and a symbol other than the program itself.
    pub(super) fn new(meta: &OpMeta<'_>) -> Option<Self> {
        meta.program_id?;
        meta.symbol_id.filter(|id| *id != 0)?;
        // FLOPs and bytes that only the events of a custom call state do not count.
        let flops = meta.flops.filter(|_| !meta.flops_from_events).unwrap_or(0.0);
        let model_flops = meta.model_flops.filter(|v| *v > 0.0 && !meta.flops_from_events).unwrap_or(flops);
        let bytes = meta.bytes.filter(|_| !meta.bytes_from_events).unwrap_or(0.0);
        Some(Self { flops, model_flops, bytes, accesses: meta.accesses.clone() })
    }

    /// FLOPs of this many executions as counted for the device.
    pub(super) fn flops(&self, occurrences: u64) -> f64 {
        self.flops * occurrences as f64
    }

    /// FLOPs of this many executions as written in the model.
    pub(super) fn model_flops(&self, occurrences: u64) -> f64 {
        self.model_flops * occurrences as f64
    }

    /// Bytes of this many executions in all memories.
    pub(super) fn bytes(&self, occurrences: u64) -> u64 {
        (self.bytes * occurrences as f64) as u64
    }

    /// Bytes of this many executions by direction and memory.
    pub(super) fn accesses(&self, occurrences: u64) -> impl Iterator<Item = Access> + Clone {
        self.accesses.iter().map(move |a| Access { bytes: a.bytes.saturating_mul(occurrences), ..*a })
    }
}

/// The row of an op, if it has one.
pub(super) fn row<'p>(meta: OpMeta<'p>, sum: &Sums, measured: &Measured) -> Option<Row<'p>> {
    let per_run = PerRun::new(&meta)?;
    Some(Row {
        program_id: meta.program_id?,
        source: SourceInfo::parse(&meta.source, meta.source_stack),
        name: meta.name,
        expression: meta.expression,
        category: meta.category,
        provenance: meta.tf_op,
        deduplicated_name: meta.deduplicated_name,
        occurrences: sum.occurrences,
        time_ps: sum.total_ps.max(0) as u64,
        normalized_ps: measured.normalized_ps.max(0) as u64,
        self_ps: sum.self_ps.max(0) as u64,
        flops: per_run.flops(sum.occurrences),
        model_flops: per_run.model_flops(sum.occurrences),
        bytes: per_run.bytes(sum.occurrences),
        accesses: per_run.accesses(sum.occurrences).collect(),
        dma_stall_ps: measured.dma_stall_ps.max(0) as u64,
        cores: 1,
        core_type: CoreType::Tensor,
        energy_j: measured.energy_j.unwrap_or(0.0),
        ..Row::default()
    })
}

fn ops_span(profile: &Profile, device: &Device) -> Option<Span> {
    let lines = profile.lines_of(device.plane).filter(|l| l.kind == LineKind::XlaOps);
    hull(lines.flat_map(|line| span(profile, line, 0..profile.events(line).len())))
}

fn steps_span(profile: &Profile, device: &Device, context: Option<&Context>) -> Option<Span> {
    let lines = profile.lines_of(device.plane).filter(|l| l.kind == LineKind::Steps);
    hull(lines.flat_map(|line| match context.and_then(|context| context.lane(line.id)) {
        Some(lane) => {
            let kept = (0..lane.len(profile)).filter_map(|at| lane.row(at));
            span(profile, line, kept.chain(lane.merged.iter().map(|(_, row)| *row as usize)))
        }
        None => span(profile, line, 0..profile.events(line).len()),
    }))
}

/// When these events of a line ran. Those without a place in time count as at the start of their line.
fn span(profile: &Profile, line: &Line, rows: impl Iterator<Item = usize>) -> Option<Span> {
    let events = profile.events(line);
    let placed = rows.map(|row| events.on_device_clock(row)).map(|e| (e.start_ps, e.end_ps));
    let start = line.base_ps;
    hull(placed.chain(events.aggregated.iter().map(|(_, _, ps)| (start, start.saturating_add(*ps)))))
}

fn hull(spans: impl IntoIterator<Item = Span>) -> Option<Span> {
    spans.into_iter().reduce(|(a, b), (from, to)| (a.min(from), b.max(to)))
}
