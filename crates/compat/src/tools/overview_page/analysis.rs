//! The ops that take most time, and shares of the time.

use std::collections::BTreeMap;

use haloscope_profile::{HostId, Profile};

use crate::db::{self, Db, Hardware, kernels};
use crate::gviz::{Cell, DataTable, Kind};
use crate::input_pipeline::Analysis;
use crate::steps::duty::DutyCycle;
use crate::steps::stat::fixed;
use crate::steps::{Environment, StepDb};
use crate::tools::framework_op_stats::by_framework_op;

/// As many ops are shown.
const MOST_OPS: usize = 10;

pub(super) fn table(
    profile: &Profile,
    hosts: &[HostId],
    environment: &Environment,
    steps: &StepDb,
    input: &Analysis,
) -> DataTable {
    let device = db::device_ops_with(profile, hosts, |host| environment.context(profile, host));
    let host = db::host_ops(profile, hosts);
    let framework = by_framework_op(&device);
    let is_gpu = environment.run.device_type.contains("GPU");
    let tensor_cores = is_gpu.then(|| tensor_cores(profile, hosts));
    let mut table = top_ops(&framework, tensor_cores.as_ref());
    add_shares(&mut table, &framework, &host);
    table.prop("mxu_utilization_percent", percent(environment.mxu_percent));
    table.prop("hbm_utilization_percent", percent(environment.hbm_percent));
    if is_gpu {
        let (low, high) = steps.precision_ps;
        table.prop("device_compute_16bit_percent", percent(share(low as f64, low as f64 + high as f64)));
        table.prop("device_compute_32bit_percent", percent(share(high as f64, low as f64 + high as f64)));
        return table;
    }
    let is_tpu = environment.run.hardware == Hardware::Tpu;
    let duty = if is_tpu { DutyCycle::new(profile, hosts) } else { DutyCycle::default() };
    let idle = |db: &Db<'_>| if is_tpu { 100.0 - share(db.op_ps as f64, db.total_ps as f64) } else { 0.0 };
    // The limits that these two are relative to are not known to XProf's open build.
    table.prop("flop_rate_utilization_relative_to_roofline", percent(0.0));
    table.prop("memory_bw_utilization_relative_to_hw_limit", percent(0.0));
    table.prop("device_idle_time_percent", percent(idle(&device)));
    table.prop("device_duty_cycle_percent", percent(duty.percent()));
    table.prop("device_duty_cycle_high_confidence_percent", percent(duty.certain_percent()));
    table.prop("host_idle_time_percent", percent(idle(&host)));
    let idle_ps = duty.span_ps - duty.certain_ps;
    if idle_ps > 0 {
        table.prop("idle_time_high_confidence_ps", six_digits(idle_ps as f64));
    }
    add_step_means(&mut table, input);
    table
}

/// Means over steps, as far as they are not 0.
fn add_step_means(table: &mut DataTable, input: &Analysis) {
    let Some(means) = input.tpu else { return };
    for (key, value) in [
        ("tc_active_ms_average", means.tensor_active),
        ("sc_active_ms_average", means.sparse_active),
        ("active_steptime_ms_average", means.active),
    ] {
        if value != 0.0 {
            table.prop(key, fixed(value, 2));
        }
    }
    if means.sparse_step_min > 0.0 {
        table.prop("sc_steptime_average", fixed(means.sparse_step, 1));
        table.prop("sc_infeed_time_avg", fixed(0.0, 1));
        table.prop("sc_outfeed_time_avg", fixed(0.0, 1));
        table.prop("sc_idle_time_avg", fixed(means.sparse_idle, 1));
    }
}

fn top_ops(ops: &Db<'_>, tensor_cores: Option<&BTreeMap<String, (bool, bool)>>) -> DataTable {
    let rate = if tensor_cores.is_some() { "GFLOPs/Sec" } else { "Bf16 Normalized Flop Rate(GFLOPs/Sec)" };
    let mut columns = vec![
        ("selfTimePercent", Kind::Number, "Time (%)"),
        ("cumulativeTimePercent", Kind::Number, "Cumulative time (%)"),
        ("category", Kind::String, "Category"),
        ("operation", Kind::String, "Operation"),
        ("flopRate", Kind::Number, rate),
    ];
    if tensor_cores.is_some() {
        columns.push(("tcEligibility", Kind::Boolean, "TensorCore eligibility"));
        columns.push(("tcUtilization", Kind::Boolean, "Op is using TensorCore"));
    }
    let mut table = DataTable::new(&columns);
    let mut cumulative = 0.0;
    for op in ops.sorted().into_iter().filter(|op| !op.is_idle()).take(MOST_OPS) {
        let part = share(op.self_ps as f64, ops.op_ps as f64) / 100.0;
        cumulative += part;
        let nanoseconds = op.time_ps as f64 / 1e3;
        let rate = if nanoseconds > 0.0 { op.flops / nanoseconds } else { 0.0 };
        let mut cells: Vec<Cell> =
            vec![part.into(), cumulative.into(), (&*op.category).into(), (&*op.name).into(), rate.into()];
        if let Some(ops) = tensor_cores {
            let (could, does) = ops.get(&*op.name).copied().unwrap_or_default();
            cells.extend([could.into(), does.into()]);
        }
        table.row(cells);
    }
    table
}

/// By framework op: whether its kernels could use tensor cores, and whether one does.
fn tensor_cores(profile: &Profile, hosts: &[HostId]) -> BTreeMap<String, (bool, bool)> {
    let mut ops: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for kernel in kernels(profile, hosts) {
        // The first kernel tells what its op could do.
        let op = ops.entry(kernel.framework_op.to_string()).or_insert((kernel.could_use_tensor_cores, false));
        op.1 |= kernel.uses_tensor_cores && kernel.total_ns > 0;
    }
    ops
}

/// How many ops ran where, and how much of their time op by op.
fn add_shares(table: &mut DataTable, device: &Db<'_>, host: &Db<'_>) {
    let runs =
        |db: &Db<'_>| db.rows.iter().filter(|r| !r.is_idle()).map(|r| r.occurrences).sum::<u64>() as f64;
    let eager = |db: &Db<'_>| {
        let time = |only: bool| {
            let rows = db.rows.iter().filter(|r| !r.is_idle() && (r.eager || !only));
            rows.map(|r| r.self_ps).sum::<u64>() as f64
        };
        share(time(true), time(false))
    };
    let all = runs(device) + runs(host);
    table.prop("host_trace_level", "0");
    table.prop("host_tf_op_percent", percent(share(runs(host), all)));
    table.prop("device_tf_op_percent", percent(share(runs(device), all)));
    table.prop("host_op_time_eager_percent", percent(eager(host)));
    table.prop("device_op_time_eager_percent", percent(eager(device)));
    table.prop("remark_text", "");
    table.prop("remark_color", "");
}

/// A share in percent; 0 of nothing.
fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { 100.0 * part / all } else { 0.0 }
}

fn percent(value: f64) -> String {
    if value >= 0.0 { format!("{value:.1}%") } else { "unknown".into() }
}

/// A number with at most six significant digits, as C's `%g` prints it: `5e+10`, `4.90776e+13`, `123456`.
fn six_digits(value: f64) -> String {
    let text = format!("{value:.5e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |number: &str| match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => number.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        let decimals = (5 - exponent).max(0) as usize;
        return trim(&format!("{value:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::six_digits;

    #[test]
    fn prints_as_c_does() {
        for (value, text) in [
            (5e10, "5e+10"),
            (49_077_612_345_678.0, "4.90776e+13"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.23457e+06"),
            (379_754_000.0, "3.79754e+08"),
            (1.5, "1.5"),
            (0.0, "0"),
        ] {
            assert_eq!(six_digits(value), text);
        }
    }
}
