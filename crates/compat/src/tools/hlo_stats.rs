//! `hlo_stats`: time, FLOPs and bytes by HLO op.

use haloscope_profile::Profile;

use super::Tool;
use crate::db::{self, Db, Hardware, PerfEnv, Rates, Row, RunEnv, micros, over};
use crate::gviz::{Cell, DataTable, Kind};
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "hlo_stats",
    doc: "Time, FLOPs and bytes of each HLO op",
    hosts: Hosts::All,
    params: &[],
    offered: |_| true,
    answer,
};

const COLUMNS: &[(&str, Kind, &str)] = &[
    ("rank", Kind::Number, "Rank"),
    ("program_id", Kind::String, "Program id"),
    ("category", Kind::String, "HLO op category"),
    ("hlo_op_name", Kind::String, "HLO op name"),
    ("hlo_op_expression", Kind::String, "HLO op text"),
    ("tf_op_name", Kind::String, "Framework op name"),
    ("occurrences", Kind::Number, "#Occurrences"),
    ("total_time", Kind::Number, "Total time (us)"),
    ("avg_time", Kind::Number, "Avg. time (us)"),
    ("total_self_time", Kind::Number, "Total self time (us)"),
    ("avg_self_time", Kind::Number, "Avg. self time (us)"),
    ("total_self_time_percent", Kind::Number, "Total self time (%)"),
    ("cumulative_total_self_time_percent", Kind::Number, "Cumulative total self time (%)"),
    ("dma_stall_percent", Kind::Number, "%time stalled by DMA"),
    ("model_flop_rate", Kind::Number, "Model GFLOP/s"),
    ("normalized_flop_rate", Kind::Number, "Normalized GFLOP/s"),
    ("measured_memory_bw", Kind::Number, "Measured memory BW (GiB/s)"),
    ("hbm_bw", Kind::Number, "HBM BW (GiB/s)"),
    ("cmem_read_bw", Kind::Number, "CMEM Read BW (GiB/s)"),
    ("cmem_write_bw", Kind::Number, "CMEM Write BW (GiB/s)"),
    ("operational_intensity", Kind::Number, "Operational intensity (FLOPS/Byte)"),
    ("bound_by", Kind::String, "Bound by"),
    ("hlo_rematerialization", Kind::String, "Rematerialization"),
    ("outside_compilation", Kind::String, "Outside Compilation"),
    ("autotuned", Kind::String, "Autotuned"),
    ("source_info", Kind::String, "Source Info"),
    ("core_type", Kind::String, "TPU core type"),
    ("parent_op_name", Kind::String, "Parent op name"),
    ("vdd_energy", Kind::Number, "VDD Energy (J)"),
];

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    let ops = db::device_ops(profile, &hosts);
    let mut table = Table {
        table: DataTable::new(COLUMNS),
        perf: PerfEnv::new(profile, &hosts),
        hardware: RunEnv::new(profile, &hosts).hardware,
    };
    let mut ranks = Ranks { total_us: micros(ops.total_ps), ..Ranks::default() };
    for row in ops.sorted().into_iter().filter(|r| r.occurrences > 0) {
        ranks.next(row);
        table.push(row, &ranks, "");
        table.push_offloaded(row);
    }
    Answer::json(&table.table)
}

/// The place of a row, and its share of all time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ranks {
    /// Time of which the shares are, microseconds.
    pub(crate) total_us: f64,
    /// From 1.
    pub(crate) rank: f64,
    /// Self time over the total.
    pub(crate) share: f64,
    /// The same with all rows before.
    pub(crate) cumulative: f64,
}

impl Ranks {
    /// Goes on to the next row.
    pub(crate) fn next(&mut self, row: &Row<'_>) {
        self.rank += 1.0;
        self.share = over(micros(row.self_ps), self.total_us);
        self.cumulative += self.share;
    }
}

struct Table {
    table: DataTable,
    perf: PerfEnv,
    hardware: Hardware,
}

impl Table {
    fn push(&mut self, row: &Row<'_>, ranks: &Ranks, parent: &str) {
        let rates = Rates::new(row, &self.perf, self.hardware);
        let (time_us, self_us, count) = (micros(row.time_ps), micros(row.self_ps), row.occurrences as f64);
        let expression = if row.expression.is_empty() { &row.name } else { &row.expression };
        let name = expression.split(" = ").next().unwrap_or_default();
        let yes = |is: bool| Cell::from(if is { "Yes" } else { "No" });
        self.table.row([
            ranks.rank.into(),
            row.program_id.to_string().into(),
            row.category.as_ref().into(),
            name.strip_prefix('%').unwrap_or(name).into(),
            expression.as_ref().into(),
            row.provenance.as_ref().into(),
            count.into(),
            time_us.into(),
            over(time_us, count).into(),
            self_us.into(),
            over(self_us, count).into(),
            (ranks.share * 100.0).into(),
            (ranks.cumulative * 100.0).into(),
            over(row.dma_stall_ps as f64, row.time_ps as f64).into(),
            rates.model_flops.into(),
            rates.flops.into(),
            rates.memory.rate.into(),
            rates.hbm.rate.into(),
            rates.cmem_read.rate.into(),
            rates.cmem_write.rate.into(),
            rates.memory.intensity.into(),
            rates.bound_by.into(),
            yes(is_rematerialized(row)),
            yes(is_outside_compilation(row)),
            yes(false),
            row.source.html().into(),
            row.core_type.name().into(),
            parent.into(),
            row.energy_j.into(),
        ]);
    }

    /// The ops that a SparseCore ran for this one: below it, without a rank.
    fn push_offloaded(&mut self, row: &Row<'_>) {
        let Some(inner) = row.offloaded.as_deref() else { return };
        for child in Db::sorted(inner).into_iter().filter(|r| r.occurrences > 0) {
            self.push(child, &Ranks::default(), &row.name);
        }
    }
}

/// True for an op that is computed again rather than kept: the compiler or the framework says so by its name.
fn is_rematerialized(row: &Row<'_>) -> bool {
    let name = row.expression.split('=').next().unwrap_or_default();
    name.contains(".remat") || row.provenance.contains("/rematted_computation/")
}

/// True for an op that talks to the host in the middle of a program.
fn is_outside_compilation(row: &Row<'_>) -> bool {
    let ends = |end: &str| row.provenance.ends_with(end);
    ends(":XlaSendToHost")
        || ends(":XlaRecvFromHost")
        || (row.expression.contains("send-done") && row.expression.contains("is_host_transfer=true"))
}
