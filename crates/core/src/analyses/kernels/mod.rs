//! `kernels`: the kernels of GPUs and the custom calls of TPUs, how they were launched and how long they took.

mod columns;

use super::{Analysis, Params, Run};
use crate::Error;
use crate::derive::kernel_times::{self, Histogram, KernelTimes};
use crate::derive::ops;
use crate::derive::select::Selection;
use crate::profile::{Peaks, Profile};
use crate::report::{Cell, Notes, Report, Severity, Status, Table, Unit, Value};
use crate::scope::Scope;
use crate::units;

/// Executions shorter than this are mostly launch overhead: 0.1 ms.
const SMALL_PS: i64 = 100_000_000;

pub(super) static ANALYSIS: Analysis = Analysis {
    id: "kernels",
    question: "Which kernels run, how are they launched, and do they use the tensor cores?",
    params: &[],
    needs: &[
        "GPU: kernel events with `kernel_details`, which the CUPTI and rocprofiler tracers write",
        "TPU: custom calls on the XLA Ops line",
    ],
    example: "kernels logs --steady",
    run: Run::Of(run),
};

fn run(profile: &Profile, scope: &Scope, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let selection = Selection::resolve(profile, scope)?;
    let (kernels, histogram) = kernel_times::collect(profile, &selection);
    if kernels.is_empty() {
        return Err(Error::Nothing(
            "no GPU kernel and no custom call of a TPU ran in this scope; `ops` has the ops that did".into(),
        ));
    }
    let nonsense = kernels.iter().filter(|k| k.launch.is_nonsense).count();
    if nonsense > 0 {
        notes.add(
            "nonsense_launches",
            Severity::Warning,
            format!("{nonsense} of {} kernels have launch details that cannot be true", kernels.len()),
            "grid, block, registers, shared memory and occupancy of these are unknown",
            "capture with a newer profiler: older ones wrote memory that nobody had set",
        );
    }
    let all: i64 = units::sum(kernels.iter().map(|k| k.total_ps));
    let peaks = selection.peaks();
    let mut table = Table::new("kernels", "Kernels by time", columns::KERNELS);
    kernels.iter().for_each(|kernel| table.push(row(kernel, all, &peaks)));
    // Executions count whole, ops are cut to the scope: of a part of the time their sums have no ratio.
    let of_all_ops = || units::sum(ops::collect(profile, &selection).iter().map(|op| op.self_ps));
    let ops_ps = if selection.cuts_time() { 0 } else { of_all_ops() };
    let values = values(&kernels, &histogram, all, ops_ps);
    Ok(Report { values, tables: vec![table, durations(&histogram)], ..Report::default() })
}

fn row(kernel: &KernelTimes<'_>, all: i64, peaks: &Peaks) -> Vec<Cell> {
    let text = |t: &str| if t.is_empty() { Cell::Unknown } else { Cell::from(t) };
    let three = |[x, y, z]: [u64; 3]| format!("{x},{y},{z}");
    let launch = kernel.launch;
    let time_ps = kernel.total_ps as f64;
    let limits = crate::derive::limits::Work { time_ps, ..kernel.work }.against(peaks);
    vec![
        kernel.name.as_ref().into(),
        kernel.total_ps.into(),
        share(kernel.total_ps, all).into(),
        kernel.occurrences.into(),
        (time_ps / kernel.occurrences.max(1) as f64).into(),
        kernel.min_ps.into(),
        kernel.max_ps.into(),
        kernel.uses_tensor_cores.into(),
        kernel.could_use_tensor_cores.into(),
        launch.occupancy.into(),
        launch.grid.map(three).into(),
        launch.block.map(three).into(),
        launch.registers.into(),
        launch.shared_bytes.into(),
        limits.flop_share.into(),
        limits.hbm_share.into(),
        kernel.what.as_ref().into(),
        text(&kernel.module),
        text(&kernel.framework_op),
    ]
}

fn share(part: i64, all: i64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

fn durations(histogram: &Histogram) -> Table {
    let classes = histogram.classes();
    let all: i64 = units::sum(classes.iter().map(|c| c.total_ps));
    let mut table = Table::new("durations", "Executions by length", columns::DURATIONS);
    for class in &classes {
        table.push(vec![
            class.from_ps.into(),
            class.to_ps.into(),
            class.occurrences.into(),
            class.total_ps.into(),
            share(class.total_ps, all).into(),
        ]);
    }
    table
}

fn values(kernels: &[KernelTimes<'_>], histogram: &Histogram, all: i64, ops_ps: i64) -> Vec<Value> {
    let time_of = |is: &dyn Fn(&KernelTimes<'_>) -> bool| {
        units::sum(kernels.iter().filter(|k| is(k)).map(|k| k.total_ps))
    };
    let is_gpu = kernels.iter().any(|k| k.uses_tensor_cores.is_some());
    let of_gpus = |is: &dyn Fn(&KernelTimes<'_>) -> bool| {
        share(time_of(is), time_of(&|k| k.uses_tensor_cores.is_some())).filter(|_| is_gpu)
    };
    let occurrences: u64 = kernels.iter().map(|k| k.occurrences).sum();
    vec![
        Value::new(
            "time_ps",
            "Time of kernels",
            Some(all),
            Unit::Ps,
            Status::Measured,
            "Summed over executions and devices; kernels on several streams at once count several times.",
        ),
        Value::new(
            "share_of_ops",
            "Share of op time",
            share(all, ops_ps),
            Unit::Share,
            Status::Derived,
            "Over the self time of all ops in the scope: on GPUs copies and memsets are the rest. Unknown where the scope cuts time: kernels count whole, ops as far as they are in it.",
        ),
        Value::new(
            "kernel_count",
            "Kernels",
            Some(kernels.len()),
            Unit::Count,
            Status::Measured,
            "Told apart by name, launch, framework op and use of tensor cores; custom calls by program and name.",
        ),
        Value::new(
            "occurrences",
            "Executions",
            Some(occurrences),
            Unit::Count,
            Status::Measured,
            "Executions that start in the scope.",
        ),
        Value::new(
            "mean_ps",
            "Mean execution",
            (occurrences > 0).then(|| all as f64 / occurrences as f64),
            Unit::Ps,
            Status::Derived,
            "Time over executions.",
        ),
        Value::new(
            "small_share",
            "Executions under 0.1 ms",
            histogram.share_below(SMALL_PS),
            Unit::Share,
            Status::Derived,
            "Share of the executions; where it is large, the launches themselves may be what takes the time.",
        ),
        Value::new(
            "tensor_core_share",
            "Time on tensor cores",
            of_gpus(&|k| k.uses_tensor_cores == Some(true)),
            Unit::Share,
            Status::Estimated,
            "Share of the GPU kernels' time in kernels whose names are those of tensor-core kernels (mma, wgmma, MFMA and the like).",
        ),
        Value::new(
            "tensor_core_missed_share",
            "Eligible, not on tensor cores",
            share(
                time_of(&|k| k.could_use_tensor_cores == Some(true) && k.uses_tensor_cores == Some(false)),
                time_of(&|k| k.could_use_tensor_cores.is_some()),
            ),
            Unit::Share,
            Status::Estimated,
            "Share of the time of the GPU kernels whose framework op is known in those whose op multiplies matrices, and whose names are not those of tensor-core kernels.",
        ),
    ]
}
