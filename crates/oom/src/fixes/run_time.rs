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
                "free memory in one piece: there are {} more free than asked for, but not together",
                size(-over)
            ),
            "make the large arrays first, and free what lies between them; restart a long session",
            "what is free at another time may be less",
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
        Some(Framework::TensorFlow) => {
            "let go of models and datasets of before; tf.keras.backend.clear_session()"
        }
        _ => {
            "x.delete() or del for arrays that are no longer used; jax.live_arrays() lists what is alive, \
              jax.profiler.save_device_memory_profile() whose it is"
        }
    };
    all.push(known(Fix::unknown(
        "free_arrays",
        format!("free arrays that are no longer needed{need}"),
        free,
        "helps only where something is kept that is not needed",
    )));
    all.push(Fix::unknown(
        "donate",
        "donate arguments that results replace: without it the old and the new value are alive together",
        "jax.jit(f, donate_argnums=...)",
        "the old value is gone after the call",
    ));
    if case.is_vllm {
        all.push(Fix::unknown(
            "smaller_share",
            "leave more memory to programs: the cache of keys and values takes its share before they are loaded",
            "a lower --gpu-memory-utilization, a shorter --max-model-len, fewer --max-num-seqs",
            "fewer requests are answered at a time",
        ));
    }
    if is_gpu && !matches!(case.framework, Some(Framework::PyTorch)) {
        all.push(Fix::unknown(
            "allocator",
            "let the allocator have more of the memory, or another process less",
            "XLA_PYTHON_CLIENT_MEM_FRACTION=.95; XLA_PYTHON_CLIENT_PREALLOCATE=false where something else shares the GPU; \
             nvidia-smi says who",
            "what cuDNN, NCCL and the driver need must stay free",
        ));
    }
    if case.framework == Some(Framework::PyTorch) {
        all.push(Fix::unknown(
            "allocator",
            "less fragmentation",
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            "helps only where much is reserved but not allocated",
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
            Some(Form::ProgramLoad) => "haloscope oom DUMP, with the folder that --xla_dump_to wrote, says what the program's memory is",
            _ => "a smaller batch for each device, with gradients added up over several",
        },
        "weights and optimiser state do not shrink with the batch",
    ));
    all
}
