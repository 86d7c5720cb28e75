//! The table, row by row, and the limits beside it.

use super::columns::{COLUMNS, On};
use super::{MOST_OPS, Model};
use crate::db::{Hardware, Part, Rates, Row, bandwidth, gibi, micros, over};
use crate::gviz::{Cell, DataTable};
use crate::text::six_digits;
use crate::tools::hlo_stats::Ranks;

/// The limits of a device as the table states them: GFLOP/s and GiB/s, 0 for a memory that it is not said to have.
#[derive(Debug, Clone, Default)]
pub(super) struct Roofs {
    device_type: String,
    is_gpu: bool,
    megacore: bool,
    has_cmem: bool,
    has_merged_vmem: bool,
    flops: f64,
    hbm: f64,
    cmem_read: f64,
    cmem_write: f64,
    vmem_read: f64,
    vmem_write: f64,
    time_scale: f64,
}

impl Roofs {
    /// Of a run without devices.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    pub(crate) fn new(model: &Model<'_>) -> Self {
        let perf = &model.perf;
        let peak = |index| gibi(perf.giga_bytes(index));
        let mut roofs = Self {
            device_type: model.run.device_type.clone(),
            is_gpu: model.run.device_type.contains("GPU"),
            flops: perf.tera_flops * 1e3,
            hbm: peak(bandwidth::HBM),
            time_scale: over(model.ops.normalized_op_ps as f64, model.ops.op_ps as f64),
            ..Self::default()
        };
        if model.run.hardware == Hardware::Gpu {
            roofs.has_merged_vmem = true;
            roofs.vmem_read = peak(bandwidth::SRAM_READ);
            roofs.vmem_write = peak(bandwidth::SRAM_WRITE);
            return roofs;
        }
        (roofs.megacore, roofs.has_cmem, roofs.has_merged_vmem) =
            (perf.has_megacore, perf.has_cmem, perf.has_merged_vmem);
        if perf.has_cmem {
            roofs.cmem_read = peak(bandwidth::CMEM_READ);
            roofs.cmem_write = peak(bandwidth::CMEM_WRITE);
        } else if perf.has_merged_vmem {
            roofs.vmem_read = peak(bandwidth::VMEM_READ);
            roofs.vmem_write = peak(bandwidth::VMEM_WRITE);
        }
        roofs
    }

    /// The table without rows.
    pub(crate) fn table(&self) -> DataTable {
        let columns = COLUMNS.iter().filter_map(|(id, kind, label, on)| match on {
            On::Tpu if self.is_gpu => None,
            On::GpuAs(label) if self.is_gpu => Some((*id, *kind, *label)),
            _ => Some((*id, *kind, *label)),
        });
        let mut table = DataTable::new(&columns.collect::<Vec<_>>());
        let flag = |is: bool| u8::from(is).to_string();
        let ridge = |gibi_bytes: f64| six_digits(over(self.flops, gibi_bytes * gibi(1.0).recip()));
        let all: [(&str, bool, String); 16] = [
            ("cmem_read_ridge_point", false, ridge(self.cmem_read)),
            ("cmem_write_ridge_point", false, ridge(self.cmem_write)),
            ("device_type", true, self.device_type.clone()),
            ("has_cmem", false, flag(self.has_cmem)),
            ("has_merged_vmem", false, flag(self.has_merged_vmem)),
            ("hbm_ridge_point", true, ridge(self.hbm)),
            ("megacore", false, flag(self.megacore)),
            ("peak_cmem_read_bw", false, six_digits(self.cmem_read)),
            ("peak_cmem_write_bw", false, six_digits(self.cmem_write)),
            ("peak_flop_rate", true, six_digits(self.flops)),
            ("peak_hbm_bw", true, six_digits(self.hbm)),
            ("peak_vmem_read_bw", false, six_digits(self.vmem_read)),
            ("peak_vmem_write_bw", true, six_digits(self.vmem_write)),
            ("time_scale_multiplier", false, six_digits(self.time_scale)),
            ("vmem_read_ridge_point", false, ridge(self.vmem_read)),
            ("vmem_write_ridge_point", true, ridge(self.vmem_write)),
        ];
        for (key, on_gpu, value) in all {
            if on_gpu || !self.is_gpu {
                table.prop(key, value);
            }
        }
        table
    }

    /// The largest share of a memory's bandwidth that an op used, among the memories that the device is said to have.
    fn memory_use(&self, rates: &Rates) -> f64 {
        let cmem = |rate: f64, peak: f64| if self.has_cmem { over(rate, peak) } else { 0.0 };
        let vmem = |rate: f64, peak: f64| if self.has_merged_vmem { over(rate, peak) } else { 0.0 };
        [
            cmem(rates.cmem_write.rate, self.cmem_write),
            cmem(rates.cmem_read.rate, self.cmem_read),
            over(rates.hbm.rate, self.hbm),
            vmem(rates.vmem_write.rate, self.vmem_write),
            vmem(rates.vmem_read.rate, self.vmem_read),
        ]
        .into_iter()
        .fold(0.0, f64::max)
    }
}

/// Adds rows to the table.
pub(super) struct Writer<'a, 'p> {
    pub(crate) model: &'a Model<'p>,
    pub(crate) roofs: &'a Roofs,
    pub(crate) into: &'a mut DataTable,
    pub(crate) infeed_outfeed: bool,
}

impl Writer<'_, '_> {
    /// All ops as one, in `steps` steps.
    pub(crate) fn program(&mut self, step: &str, program: &Row<'_>, steps: usize) {
        let total_ps = program.time_ps;
        self.row(step, program, &Ranks::default(), total_ps, steps);
    }

    /// The ops, which took `total_ps` together.
    pub(crate) fn ops(&mut self, total_ps: u64) {
        let model = self.model;
        let left_out =
            |row: &Row<'_>| !self.infeed_outfeed && Part::from_category(&row.category) == Part::InfeedOutfeed;
        let rows = model.ops.sorted().into_iter().take(MOST_OPS);
        let rows: Vec<_> = rows.filter(|r| r.occurrences > 0 && !left_out(r)).collect();
        let mut ranks = Ranks { total_us: micros(total_ps), ..Ranks::default() };
        for row in rows {
            ranks.next(row);
            self.row("Total", row, &ranks, total_ps, 1);
        }
    }

    fn row(&mut self, step: &str, row: &Row<'_>, ranks: &Ranks, total_ps: u64, steps: usize) {
        let rates = Rates::new(row, &self.model.perf, self.model.run.hardware);
        let count = row.occurrences as f64;
        let (time_us, self_us) = (micros(row.time_ps), micros(row.self_ps));
        let per_step_us = over(time_us, steps as f64);
        let (memory_use, flops_use) = (self.roofs.memory_use(&rates), over(rates.flops, self.roofs.flops));
        let efficiency = memory_use.max(flops_use);
        let cells: [Cell; 37] = [
            step.into(),
            ranks.rank.into(),
            row.category.as_ref().into(),
            row.name.as_ref().into(),
            count.into(),
            per_step_us.into(),
            over(time_us, count).into(),
            over(self_us, steps as f64).into(),
            over(self_us, count).into(),
            ranks.share.into(),
            ranks.cumulative.into(),
            over(row.dma_stall_ps as f64, row.time_ps as f64).into(),
            rates.flops.into(),
            rates.model_flops.into(),
            rates.memory.rate.into(),
            rates.hbm.rate.into(),
            rates.cmem_read.rate.into(),
            rates.cmem_write.rate.into(),
            rates.vmem_read.rate.into(),
            rates.vmem_write.rate.into(),
            rates.memory.intensity.into(),
            rates.hbm.intensity.into(),
            rates.cmem_read.intensity.into(),
            rates.cmem_write.intensity.into(),
            rates.vmem_read.intensity.into(),
            rates.vmem_write.intensity.into(),
            rates.bottleneck_intensity.into(),
            rates.bound_by.into(),
            over(per_step_us, self.model.run.core_count as f64).into(),
            over(row.time_ps as f64, total_ps as f64).into(),
            over(rates.flops, efficiency).into(),
            efficiency.into(),
            flops_use.into(),
            memory_use.into(),
            self.infeed_outfeed.into(),
            row.program_id.to_string().into(),
            row.source.html().into(),
        ];
        let shown = |on: On| !(self.roofs.is_gpu && on == On::Tpu);
        let cells = cells.into_iter().zip(COLUMNS).filter(|(_, column)| shown(column.3));
        self.into.row(cells.map(|(cell, _)| cell));
    }
}
