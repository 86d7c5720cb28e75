//! `framework_op_stats`: time by the framework's op, on devices and on the host's threads.

use std::collections::BTreeMap;

use haloscope_event_groups::framework_op::FrameworkOp;
use haloscope_profile::{HostId, Profile};
use haloscope_time::gradients;

use super::Tool;
use crate::db::{self, Db, Hardware, IDLE, PerfEnv, Rates, Row, RunEnv, kernels, micros, over};
use crate::gviz::{DataTable, Kind};
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "framework_op_stats",
    doc: "Time of each JAX or TensorFlow op, on the device and on the host",
    hosts: Hosts::All,
    params: &[],
    offered: |_| true,
    answer,
};

const COLUMNS: &[(&str, Kind, &str)] = &[
    ("rank", Kind::Number, "Rank"),
    ("host_or_device", Kind::String, "Host/device"),
    ("type", Kind::String, "Operation Type"),
    ("operation", Kind::String, "Operation Name"),
    ("occurrences", Kind::Number, "#Occurrences"),
    ("total_time", Kind::Number, "Total time (us)"),
    ("avg_time", Kind::Number, "Avg. time (us)"),
    ("total_self_time", Kind::Number, "Total self-time (us)"),
    ("avg_self_time", Kind::Number, "Avg. self-time (us)"),
    ("device_total_self_time_percent", Kind::Number, "Total self-time on Device (%)"),
    ("device_cumulative_total_self_time_percent", Kind::Number, "Cumulative total-self time on Device (%)"),
    ("host_total_self_time_percent", Kind::Number, "Total self-time on Host (%)"),
    ("Host_cumulative_total_self_time_percent", Kind::Number, "Cumulative total-self time on Host (%)"),
    ("measured_flop_rate", Kind::Number, "Normalized FLOP Rate (FLOPs/s)"),
    ("model_flop_rate", Kind::Number, "Model FLOP Rate (GFLOP/s)"),
    ("measured_memory_bw", Kind::Number, "Measured Memory BW (GBytes/Sec)"),
    ("operational_intensity", Kind::Number, "Operational Intensity (FLOPs/Byte)"),
    ("gpu_tensorcore_utilization", Kind::Number, TENSOR_CORES),
    ("bound_by", Kind::String, "Bound by"),
    ("eager", Kind::String, "Execution mode"),
];

/// The heading of a column that only GPUs have.
const TENSOR_CORES: &str = "GPU TensorCore utilization";
/// At most this many ops of devices, and as many of hosts.
const MOST_OPS: usize = 500;

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    let run = RunEnv::new(profile, &hosts);
    let model = Model {
        device: by_framework_op(&db::device_ops(profile, &hosts)),
        host: db::host_ops(profile, &hosts),
        perf: PerfEnv::new(profile, &hosts),
        hardware: run.hardware,
        tensor_cores: run.device_type.contains("GPU").then(|| tensor_core_shares(profile, &hosts)),
    };
    Answer::json(&[model.table(true), model.table(false)])
}

/// Device ops regrouped by the framework op that they stand for; those that name none stand for themselves.
pub(crate) fn by_framework_op<'p>(ops: &Db<'p>) -> Db<'p> {
    let mut all = Db::default();
    (all.total_ps, all.op_ps) = (ops.total_ps, ops.op_ps);
    let mut most: BTreeMap<String, u64> = BTreeMap::new();
    for row in &ops.rows {
        let (name, kind) = match row.provenance.as_ref() {
            _ if row.is_idle() => (IDLE, IDLE),
            "" => (row.name.as_ref(), ""),
            full => {
                let op = FrameworkOp::parse(full);
                (op.path, op.kind)
            }
        };
        let category = if kind.is_empty() { "Unknown" } else { kind };
        let runs = most.entry(name.to_owned()).or_default();
        *runs = row.occurrences.max(*runs);
        all.add(Row {
            name: name.to_owned().into(),
            category: category.to_owned().into(),
            time_ps: row.time_ps,
            self_ps: row.self_ps,
            flops: row.flops,
            model_flops: row.model_flops,
            bytes: row.bytes,
            eager: row.eager,
            core_type: row.core_type,
            ..Row::default()
        });
    }
    // An op runs as often as that of its device ops which runs most often.
    for row in &mut all.rows {
        row.occurrences = most.get(row.name.as_ref()).copied().unwrap_or(0);
    }
    all
}

/// The share of kernel time in kernels that use tensor cores, by framework op.
fn tensor_core_shares(profile: &Profile, hosts: &[HostId]) -> BTreeMap<String, f64> {
    let mut times: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for kernel in kernels(profile, hosts) {
        let sums = times.entry(kernel.framework_op.to_string()).or_default();
        sums.1 = sums.1.saturating_add(kernel.total_ns);
        if kernel.uses_tensor_cores {
            sums.0 = sums.0.saturating_add(kernel.total_ns);
        }
    }
    times.into_iter().map(|(op, (tensor, all))| (op, over(tensor as f64, all as f64))).collect()
}

struct Model<'p> {
    device: Db<'p>,
    host: Db<'p>,
    perf: PerfEnv,
    hardware: Hardware,
    /// `None` where there is no GPU.
    tensor_cores: Option<BTreeMap<String, f64>>,
}

impl Model<'_> {
    fn table(&self, idle: bool) -> DataTable {
        let shown = |label: &str| self.tensor_cores.is_some() || label != TENSOR_CORES;
        let columns: Vec<_> = COLUMNS.iter().copied().filter(|c| shown(c.2)).collect();
        let mut table = DataTable::new(&columns);
        let mut rank = 0.0;
        let mut trains = false;
        for (place, ops) in [("Device", &self.device), ("Host", &self.host)] {
            let total_us = micros(if idle { ops.total_ps } else { ops.op_ps });
            let mut cumulative = 0.0;
            let rows = ops.sorted().into_iter().take(MOST_OPS);
            for row in rows.filter(|r| idle || !r.is_idle()) {
                rank += 1.0;
                let share = over(micros(row.self_ps), total_us);
                cumulative += share;
                let on = |here: &str, value: f64| if here == place { value } else { 0.0 };
                let rates = Rates::new(row, &self.perf, self.hardware);
                let (time_us, self_us) = (micros(row.time_ps), micros(row.self_ps));
                let count = row.occurrences as f64;
                let mut cells = vec![
                    rank.into(),
                    place.into(),
                    row.category.as_ref().into(),
                    row.name.as_ref().into(),
                    count.into(),
                    time_us.into(),
                    over(time_us, count).into(),
                    self_us.into(),
                    over(self_us, count).into(),
                    on("Device", share).into(),
                    on("Device", cumulative).into(),
                    on("Host", share).into(),
                    on("Host", cumulative).into(),
                    rates.flops.into(),
                    rates.model_flops.into(),
                    rates.memory.rate.into(),
                    rates.memory.intensity.into(),
                ];
                if let Some(shares) = &self.tensor_cores {
                    let used = shares.get(row.name.as_ref()).copied().unwrap_or(0.0);
                    cells.push(on("Device", used).into());
                }
                cells.extend([rates.bound_by.into(), if row.eager { "Eager" } else { "Function" }.into()]);
                table.row(cells);
                trains |= gradients::is_of_gradient(&row.name, &row.category);
            }
        }
        // XProf knows other architectures by name, but never looks for them.
        table.prop("architecture_type", "Unknown");
        table.prop("task_type", if trains { "Training" } else { "Inference" });
        table
    }
}
