//! The analysis of a run on TPUs.

use haloscope_profile::{HostId, Profile};

use super::{Analysis, generic, host, words};
use crate::db::Hardware;
use crate::gviz::{Cell, DataTable, Kind};
use crate::steps::environment::hardware_name;
use crate::steps::stat::{Stat, fixed};
use crate::steps::tpu_step::TpuStep;
use crate::steps::{Environment, SPARSE_CORES, StepDb, StepRow};

/// Means over the steps, milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Means {
    /// Time in which TensorCores compute; SparseCores; the longer of both in each step.
    pub(crate) tensor_active: f64,
    pub(crate) sparse_active: f64,
    pub(crate) active: f64,
    /// TensorCores: computing, waiting for input, for output, for anything else, transfers.
    pub(crate) compute: f64,
    pub(crate) infeed: f64,
    pub(crate) outfeed: f64,
    pub(crate) idle: f64,
    pub(crate) transfer: f64,
    pub(crate) sparse_v0: f64,
    /// SparseCores: the step, computing, idle; the shortest step.
    pub(crate) sparse_step: f64,
    pub(crate) sparse_compute: f64,
    pub(crate) sparse_idle: f64,
    pub(crate) sparse_step_min: f64,
}

pub(super) fn analyse(
    profile: &Profile,
    hosts: &[HostId],
    environment: &Environment,
    db: &StepDb,
) -> Analysis {
    let steps: Vec<TpuStep> = db.rows.iter().map(TpuStep::new).collect();
    let host = host::analyse(profile, hosts, 0.0);
    let total = |of: fn(&TpuStep) -> f64| steps.iter().map(of).fold(0.0, |a, b| a + b);
    let length = total(TpuStep::length);
    let percent = |of| if length > 0.0 { 100.0 * total(of) / length } else { 0.0 };
    let input_percent = percent(|s| s.infeed);
    let (verdict, output) = if length == 0.0 {
        (words::Verdict::unknown(), String::new())
    } else {
        (words::input(input_percent, 0.0).0, words::output(percent(|s| s.outfeed)))
    };
    let has_sparse = environment.cores.values().any(|core| core.is_sparse) || db.has_sparse_cores();
    let mean = |of: fn(&TpuStep) -> f64| steps.iter().map(of).collect::<Stat>().summary();
    let means = Means {
        tensor_active: mean(|s| s.active).average,
        sparse_active: mean(|s| s.sparse.active).average,
        active: mean(|s| s.active.max(s.sparse.active)).average,
        compute: mean(|s| s.compute).average,
        infeed: mean(|s| s.infeed).average,
        outfeed: mean(|s| s.outfeed).average,
        idle: mean(|s| s.idle).average,
        transfer: mean(|s| s.transfer).average,
        sparse_v0: mean(|s| s.sparse_v0).average,
        sparse_step: mean(|s| s.sparse.step).average,
        sparse_compute: mean(|s| s.sparse.compute).average,
        sparse_idle: mean(|s| s.sparse.idle).average,
        sparse_step_min: if has_sparse { mean(|s| s.sparse.step).minimum } else { 0.0 },
    };
    let step_ms = db.rows.iter().map(length_ms).collect::<Stat>().summary();
    let mut table = table(&steps, has_sparse);
    for (name, value) in [
        ("average", step_ms.average),
        ("standard_deviation", step_ms.deviation),
        ("minimum", step_ms.minimum),
        ("maximum", step_ms.maximum),
    ] {
        table.prop(format!("steptime_ms_{name}"), fixed(value, 2));
    }
    let infeed = mean(|s| s.infeed_percent[2]);
    for (name, value) in [
        ("average", infeed.average),
        ("standard_deviation", infeed.deviation),
        ("minimum", infeed.minimum),
        ("maximum", infeed.maximum),
    ] {
        table.prop(format!("infeed_percent_{name}"), fixed(value, 1));
    }
    add_means(&mut table, &means, has_sparse);
    table.prop("input_conclusion", &*verdict.statement);
    table.prop("output_conclusion", output);
    table.prop("summary_nextstep", words::next_step(verdict.class, &host.times));
    Analysis {
        slowest_cores: slowest_cores(environment, &steps),
        steps: table,
        host,
        step_ms,
        input_percent,
        // XProf looks at steps of TPUs as if they were those of GPUs, and finds nothing where there are some.
        bottleneck: if steps.is_empty() {
            generic::Bottleneck::unknown()
        } else {
            generic::Bottleneck::default()
        },
        tpu: Some(means),
    }
}

/// How long a step took on the slowest TensorCore, milliseconds.
fn length_ms(row: &StepRow) -> f64 {
    let cores = row.cores.range(..SPARSE_CORES).map(|(_, core)| core.duration_ps as f64 / 1e9);
    cores.fold(0.0, f64::max)
}

fn table(steps: &[TpuStep], has_sparse: bool) -> DataTable {
    let mut columns = vec![
        ("stepnum", Kind::String, "stepnum"),
        ("tcComputeTimeMs", Kind::Number, "TensorCore compute (in ms)"),
    ];
    if !has_sparse {
        columns.push(("scv0ComputeTimeMs", Kind::Number, "SparseCoreV0 compute (in ms)"));
        columns.push(("scv0InfeedTimeMs", Kind::Number, "SparseCoreV0 input (in ms)"));
    }
    columns.extend([
        ("tcInfeedTimeMs", Kind::Number, "TensorCore input (in ms)"),
        ("tcOutfeedTimeMs", Kind::Number, "TensorCore output (in ms)"),
        ("tcIdleTimeMs", Kind::Number, "TensorCore idle (in ms)"),
        ("hostTransferTimeMs", Kind::Number, "Host transfer (in ms)"),
        ("tooltip", Kind::String, "tooltip"),
    ]);
    let drawn: Vec<&str> = columns.iter().map(|c| c.0).collect();
    let drawn = drawn.join(",");
    columns.extend([
        ("infeedPercentAverage", Kind::Number, "% step time waiting for input data"),
        ("infeedPercentMin", Kind::Number, "Infeed percent min"),
        ("infeedPercentMax", Kind::Number, "Infeed percent max"),
    ]);
    let mut table = DataTable::new(&columns);
    for column in &mut table.cols {
        let role = match column.id.as_str() {
            "tooltip" => "tooltip",
            "infeedPercentMin" | "infeedPercentMax" => "interval",
            _ => continue,
        };
        column.props.push(("role".into(), role.into()));
    }
    table.prop("hardware_type", hardware_name(Hardware::Tpu));
    table.prop("step_time_graph_column_ids", drawn);
    for step in steps {
        let tooltip = format!(
            "step {}:\nTime waiting for input data = {} ms, Step time = {} ms",
            step.number,
            fixed(step.infeed, 3),
            fixed(step.length() - (step.all_reduce + step.all_reduce_sync), 3)
        );
        let mut cells: Vec<Cell> = vec![step.number.to_string().into(), step.compute.into()];
        if !has_sparse {
            cells.extend([step.sparse_v0.into(), 0.0.into()]);
        }
        cells.extend([step.infeed, step.outfeed, step.idle, step.transfer].map(Cell::from));
        cells.push(tooltip.into());
        cells.extend(step.infeed_percent.map(Cell::from));
        table.row(cells);
    }
    table
}

fn add_means(table: &mut DataTable, means: &Means, has_sparse: bool) {
    if !has_sparse {
        table.prop("scv0_compute_ms_average", fixed(means.sparse_v0, 2));
        table.prop("scv0_infeed_ms_average", fixed(0.0, 2));
    }
    for (key, value) in [
        ("tc_compute_ms_average", means.compute),
        ("tc_infeed_ms_average", means.infeed),
        ("tc_outfeed_ms_average", means.outfeed),
        ("tc_idle_ms_average", means.idle),
        ("host_transfer_ms_average", means.transfer),
        ("tc_active_ms_average", means.tensor_active),
        ("active_steptime_ms_average", means.active),
    ] {
        table.prop(key, fixed(value, 2));
    }
    if means.sparse_step_min > 0.0 {
        for (key, value) in [
            ("sc_active_ms_average", means.sparse_active),
            ("sc_compute_ms_average", means.sparse_compute),
            ("sc_infeed_ms_average", 0.0),
            ("sc_outfeed_ms_average", 0.0),
            ("sc_idle_ms_average", means.sparse_idle),
        ] {
            table.prop(key, fixed(value, 2));
        }
        table.prop("sc_step_time_ms_average", fixed(means.sparse_step, 1));
    }
}

fn slowest_cores(environment: &Environment, steps: &[TpuStep]) -> DataTable {
    let numbers: Vec<String> = (0..steps.len()).map(|i| i.to_string()).collect();
    let mut columns = vec![("index", Kind::String, "Index")];
    columns.extend(numbers.iter().map(|n| (n.as_str(), Kind::String, n.as_str())));
    let mut table = DataTable::new(&columns);
    let name = |step: &TpuStep| {
        let core = step.infeed_core.and_then(|id| environment.cores.get(&id));
        core.map_or_else(|| "unknown".to_owned(), |core| format!("{}:{}", core.host, core.ordinal))
    };
    let heading = |words: &str| std::iter::once(Cell::from(words));
    table.row(heading("Step number").chain(steps.iter().map(|s| s.number.to_string().into())));
    table.row(heading("Core name").chain(steps.iter().map(|s| name(s).into())));
    table
}
