//! The columns of kernels and of their lengths.

use crate::report::Column;

pub(super) const KERNELS: &[Column] = &[
    Column::text("name", "Kernel", "The function's name; of a TPU's custom call the instruction's."),
    Column::duration("total_ps", "Time", "Sum over executions that start in the scope, and over devices."),
    Column::share("share", "Share", "Time over that of all kernels in the scope."),
    Column::count("occurrences", "Count", "Executions that start in the scope."),
    Column::duration("mean_ps", "Mean", "Time of one execution."),
    Column::duration("min_ps", "Shortest", "The shortest execution."),
    Column::duration("max_ps", "Longest", "The longest execution."),
    Column::flag(
        "uses_tensor_cores",
        "Tensor cores",
        "Whether the name is one of those of tensor-core kernels.",
    ),
    Column::flag(
        "tensor_core_eligible",
        "Eligible",
        "Whether tensor cores could do the work of its framework op: it multiplies matrices. Unknown where nobody names the op.",
    ),
    Column::share(
        "occupancy",
        "Occupancy",
        "Threads that a multiprocessor can hold at once of this launch, over those that it can hold at all; as the tracer computed it.",
    ),
    Column::text("grid", "Grid", "Blocks, as x,y,z."),
    Column::text("block", "Block", "Threads a block, as x,y,z."),
    Column::count("registers", "Registers", "Registers a thread."),
    Column::bytes("shared_bytes", "Shared memory", "Shared memory a block, static and dynamic."),
    Column::share(
        "flop_share_of_peak",
        "FLOP/s of peak",
        "FLOPs of a custom call over its time, over the peak of one device; not known of GPU kernels, of which several may serve one op.",
    ),
    Column::share("hbm_share_of_peak", "HBM of peak", "Likewise for bytes to and from HBM."),
    Column::text(
        "what",
        "What",
        "GPU kernel, or the target of the custom call: tpu_custom_call for Pallas and Mosaic kernels.",
    ),
    Column::text("module", "Module", "The HLO module of a custom call."),
    Column::text(
        "framework_op",
        "Framework op",
        "The scope path that it works for, in JAX, PyTorch or TensorFlow: there its annotation.",
    ),
];

pub(super) const DURATIONS: &[Column] = &[
    Column::duration("from_ps", "From", "Executions of this length or longer."),
    Column::duration("to_ps", "To", "And shorter than this."),
    Column::count("occurrences", "Count", "Executions."),
    Column::duration("total_ps", "Time", "Their time."),
    Column::share("share", "Share", "Their time over that of all kernels in the scope."),
];
