//! The row of an op that ran on a TPU.

use haloscope_time::op_meta::{Access, OpMeta};
use haloscope_time::op_sums::{Measured, Sums};

use super::Row;
use super::row::{CoreType, SourceInfo};

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
        // FLOPs and bytes that only the events of a custom call state do not count, and those of a kernel's module neither.
        let stated = meta.stated();
        let flops = stated.flops.filter(|_| !meta.flops_from_events).unwrap_or(0.0);
        let model_flops = stated.model_flops.filter(|v| *v > 0.0 && !meta.flops_from_events).unwrap_or(flops);
        let bytes = stated.bytes.filter(|_| !meta.bytes_from_events).unwrap_or(0.0);
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
