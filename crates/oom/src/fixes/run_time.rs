//! Memory of a running program.

use haloscope_report::Status;

use super::{Fix, size};
use crate::case::Case;
use crate::framework::Framework;
use crate::message::Form;

pub(super) fn fixes(case: &Case<'_>) -> Vec<Fix> {
    let is_gpu = case.space == "gpu";
    let over = case.used.zip(case.limit).map(|(used, limit)| used.minus(limit).bytes);
    let need = over
        .filter(|over| *over > 0)
        .map_or_else(String::new, |over| format!("; {} must become free", size(over)));
    let mut all = Vec::new();
    if let Some(over) = over.filter(|over| *over <= 0) {
        // There is room, but not in one piece.
        all.push(Fix::unknown(
            "one_piece",
            format!(
                "free memory in one piece: {} more are free than asked for, but not in one piece",
                size(-over)
            ),
            "create the large arrays first, and free what lies between them; restart a long session",
            "at another time less may be free",
        ));
    }
    let exact = over.filter(|over| *over > 0);
    let known = |fix: Fix| match exact {
        Some(over) => fix.saving(case, over, Status::Estimated),
        None => fix,
    };
    let free = match case.framework {
        Some(Framework::PyTorchXla | Framework::PyTorch) => {
            "del what is no longer used (old batches, losses that hold a graph), detach(); torch_xla.sync() at the end of a step"
        }
        Some(Framework::TensorFlow) => "delete earlier models and datasets; tf.keras.backend.clear_session()",
        _ => {
            "x.delete() or del for arrays that are no longer used; jax.live_arrays() lists live arrays, jax.profiler.save_device_memory_profile() says where they were made"
        }
    };
    all.push(known(Fix::unknown(
        "free_arrays",
        format!("free arrays that are no longer needed{need}"),
        free,
        "helps only if unneeded arrays are kept",
    )));
    all.push(Fix::unknown(
        "donate",
        "donate arguments that results replace: otherwise the old and the new value are in memory together",
        "jax.jit(f, donate_argnums=...)",
        "the old value is gone after the call",
    ));
    if case.is_vllm {
        all.push(Fix::unknown(
            "smaller_share",
            "leave more memory to programs: the KV cache takes its share before they are loaded",
            "a lower --gpu-memory-utilization, a shorter --max-model-len, fewer --max-num-seqs",
            "fewer requests are served at a time",
        ));
    }
    if is_gpu && !matches!(case.framework, Some(Framework::PyTorch)) {
        all.push(Fix::unknown(
            "allocator",
            "give the allocator more of the memory, or other processes less",
            "XLA_PYTHON_CLIENT_MEM_FRACTION=.95; XLA_PYTHON_CLIENT_PREALLOCATE=false if another process shares the GPU; nvidia-smi lists processes",
            "cuDNN, NCCL and the driver need some memory too",
        ));
    }
    if case.framework == Some(Framework::PyTorch) {
        all.push(Fix::unknown(
            "allocator",
            "less fragmentation",
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            "helps only if much is reserved but not allocated",
        ));
    }
    let what = match case.form() {
        Some(Form::ProgramLoad) => {
            "a program with fewer temporaries: a smaller batch, values computed again, more devices"
        }
        _ => "a smaller batch, or more devices",
    };
    all.push(Fix::unknown(
        "smaller_batch",
        format!("{what}{need}"),
        match case.form() {
            Some(Form::ProgramLoad) => "haloscope oom DUMP, with the folder that --xla_dump_to wrote, says what uses the program's memory",
            _ => "a smaller batch per device, with gradients accumulated over several",
        },
        "weights and optimiser state do not shrink with the batch",
    ));
    all
}
