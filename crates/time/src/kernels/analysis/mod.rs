//! `kernels`: the kernels of GPUs and the custom calls of TPUs, how they were launched and how long they took.

use crate::analysis::{Analysis, Input, MenuGroup, Params, Run};
use crate::kernel_times::{self, Histogram, KernelTimes};
use crate::ops;
use crate::select::Scoped;
use haloscope_profile::Peaks;
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Cell, Columns, Notes, Report, Row, Severity, Status, Table, Unit, Value, row};

/// Executions shorter than this are mostly launch overhead: 0.1 ms.
const SMALL_PS: i64 = 100_000_000;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernels",
    label: "Kernels",
    group: MenuGroup::Work,
    question: "Which kernels run, how are they launched, and do they use the tensor cores?",
    params: &[],
    needs: &[
        "GPU: kernel events with `kernel_details`, which the CUPTI and rocprofiler tracers write",
        "TPU: custom calls on the XLA Ops line",
    ],
    reads: &[Input::Profile],
    example: "kernels logs --steady",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let profile = asked.profile;
    let selection = asked.selection()?;
    let (kernels, histogram) = kernel_times::collect(profile, selection);
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
            "capture with a newer profiler: older ones wrote uninitialised memory",
        );
    }
    let all: i64 = units::sum(kernels.iter().map(|k| k.total_ps));
    let peaks = selection.peaks();
    let rows = kernels.iter().map(|kernel| row(kernel, all, &peaks));
    let table = Table::of("kernels", "Kernels by time", rows);
    // Executions count whole, ops are cut to the scope: of a part of the time their sums have no ratio.
    let of_all_ops = || units::sum(ops::collect(profile, selection).iter().map(|op| op.self_ps));
    let ops_ps = if selection.cuts_time() { 0 } else { of_all_ops() };
    let values = values(&kernels, &histogram, all, ops_ps);
    Ok(Report { values, tables: vec![table, durations(&histogram)], ..Report::default() })
}

fn row(kernel: &KernelTimes<'_>, all: i64, peaks: &Peaks) -> Row<impl Columns + use<>> {
    let three = |[x, y, z]: [u64; 3]| format!("{x},{y},{z}");
    let launch = kernel.launch;
    let time_ps = kernel.total_ps as f64;
    let limits = crate::roofline::Work { time_ps, ..kernel.work }.against(peaks);
    row![
        text(
            "name",
            "Kernel",
            "The function's name; for a custom call of a TPU, the instruction's.",
            kernel.name.as_ref()
        ),
        duration(
            "total_ps",
            "Time",
            "Sum over executions that start in the scope, and over devices.",
            kernel.total_ps
        ),
        share(
            "share",
            "Share",
            "Share of the time of all kernels in the scope.",
            share(kernel.total_ps, all)
        ),
        count("occurrences", "Count", "Executions that start in the scope.", kernel.occurrences),
        duration("mean_ps", "Mean", "Time of one execution.", time_ps / kernel.occurrences.max(1) as f64),
        duration("min_ps", "Shortest", "The shortest execution.", kernel.min_ps),
        duration("max_ps", "Longest", "The longest execution.", kernel.max_ps),
        flag(
            "uses_tensor_cores",
            "Tensor cores",
            "Whether the name is one of those of tensor-core kernels.",
            kernel.uses_tensor_cores
        ),
        flag(
            "tensor_core_eligible",
            "Eligible",
            "Whether tensor cores could do the work of its framework op, because it multiplies matrices. Unknown if the op has no name.",
            kernel.could_use_tensor_cores
        ),
        share(
            "occupancy",
            "Occupancy",
            "Threads of this launch that a multiprocessor can hold at once, as a share of its maximum; computed by the tracer.",
            launch.occupancy
        ),
        text("grid", "Grid", "Blocks, as x,y,z.", launch.grid.map(three)),
        text("block", "Block", "Threads per block, as x,y,z.", launch.block.map(three)),
        count("registers", "Registers", "Registers per thread.", launch.registers),
        bytes(
            "shared_bytes",
            "Shared memory",
            "Shared memory per block, static and dynamic.",
            launch.shared_bytes
        ),
        share(
            "flop_share_of_peak",
            "FLOP/s of peak",
            "FLOP rate of a custom call, as a share of the peak of one device; unknown for GPU kernels, because several may serve one op.",
            limits.flop_share
        ),
        share("hbm_share_of_peak", "HBM of peak", "Likewise for bytes to and from HBM.", limits.hbm_share),
        float(
            "flops",
            "FLOPs",
            Unit::Flop,
            "FLOPs of all executions of a custom call: those of its matrix products, or of its vector work if it has none. `counted` says where they come from.",
            kernel.work.flops
        ),
        float(
            "stated_flops",
            "FLOPs stated",
            Unit::Flop,
            "FLOPs that the profiler or the kernel's author states; the count from its module replaces them. A profiler counts each instruction of a kernel's code once, however often it runs.",
            kernel.stated_flops
        ),
        text(
            "counted",
            "Counted",
            "Where the FLOPs and bytes of a custom call come from: derived from its module (exactly, at most, at least), with the reason if it is not a single number; or stated.",
            Cell::words(&kernel.counted)
        ),
        text(
            "what",
            "What",
            "GPU kernel, or the target of the custom call: tpu_custom_call for Pallas and Mosaic kernels.",
            kernel.what.as_ref()
        ),
        text("module", "Module", "The HLO module of a custom call.", Cell::words(&kernel.module)),
        text(
            "framework_op",
            "Framework op",
            "The scope path that it works for, in JAX, PyTorch or TensorFlow, from its annotation.",
            Cell::words(&kernel.framework_op)
        ),
    ]
}

fn share(part: i64, all: i64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

fn durations(histogram: &Histogram) -> Table {
    let classes = histogram.classes();
    let all: i64 = units::sum(classes.iter().map(|c| c.total_ps));
    let mut rows = Vec::new();
    for class in &classes {
        let row = row![
            duration("from_ps", "From", "Executions of this length or longer.", class.from_ps),
            duration("to_ps", "To", "And shorter than this.", class.to_ps),
            count("occurrences", "Count", "Executions.", class.occurrences),
            duration("total_ps", "Time", "Their time.", class.total_ps),
            share(
                "share",
                "Share",
                "Share of the time of all kernels in the scope.",
                share(class.total_ps, all)
            ),
        ];
        rows.push(row);
    }
    Table::of("durations", "Executions by length", rows)
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
            "Share of the self time of all ops in the scope; on GPUs, copies and memsets are the rest. Unknown if the scope cuts time: kernels count in full, ops only as far as they are in it.",
        ),
        Value::new(
            "kernel_count",
            "Kernels",
            Some(kernels.len()),
            Unit::Count,
            Status::Measured,
            "Distinct by name, launch, framework op and use of tensor cores; custom calls by program and name.",
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
            "Time divided by executions.",
        ),
        Value::new(
            "small_share",
            "Executions under 0.1 ms",
            histogram.share_below(SMALL_PS),
            Unit::Share,
            Status::Derived,
            "Share of the executions; if it is large, the launches themselves may take the time.",
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
