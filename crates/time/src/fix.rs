//! What to try, in the words of the framework that a run was written in.
//!
//! A cure that names a function of one framework is no cure in another: a TensorFlow program has no `jax.jit`. What the same
//! advice is called in each stands in one [`Fix`], and who gives it asks for the words of the run.

use haloscope_profile::{PlaneKind, Profile};

/// The framework whose program a run shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenIn {
    /// JAX.
    Jax,
    /// TensorFlow, Keras among it.
    TensorFlow,
    /// PyTorch/XLA.
    PyTorch,
    /// Nothing in the run says so.
    Unknown,
}

/// One piece of advice, as it is said for each framework.
#[derive(Debug, Clone, Copy)]
pub struct Fix {
    /// In JAX.
    pub jax: &'static str,
    /// In TensorFlow.
    pub tensorflow: &'static str,
    /// In PyTorch/XLA.
    pub pytorch: &'static str,
    /// Where nothing says which it is: true of each of them.
    pub any: &'static str,
}

/// What JAX alone writes: calls of jitted functions by the C++ path, its own files among Python's frames, its arrays.
const JAX_EVENTS: [&str; 5] =
    ["PjitFunction(", "PmapFunction(", "$pjit.py:", "$api.py:", "np.asarray(jax.Array)"];
/// What TensorFlow's runtime writes. `Iterator::` is not among it: `tf.data` feeds JAX as well.
const TENSORFLOW_EVENTS: [&str; 7] = [
    "TFE_Py_",
    "EagerLocalExecute",
    "EagerExecute",
    "EagerKernelExecute",
    "ExecutorState::Process",
    "FunctionRun",
    "TfrtModelRequest",
];
/// What PyTorch/XLA writes.
const PYTORCH_EVENTS: [&str; 5] =
    ["SyncTensorsGraph", "SyncLiveTensorsGraph", "XLAGraphExecutor", "torch_xla", "aten::"];

impl WrittenIn {
    /// What the names of programs, of the host's events and of its threads say. JAX before the others: programs in JAX may use
    /// TensorFlow to read their input.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        let mut found = Self::Unknown;
        let mut see = |one: Self| {
            if found == Self::Unknown || one == Self::Jax || one == Self::PyTorch && found == Self::TensorFlow
            {
                found = one;
            }
            one == Self::Jax
        };
        if profile.modules.iter().any(|module| see(Self::of_program(&module.name))) {
            return Self::Jax;
        }
        for plane in &profile.planes {
            let source = profile.source_of(plane);
            let labels = (0..plane.metas.len() as u32).map(|meta| plane.meta_label(source, meta));
            let is_jax = match plane.kind {
                PlaneKind::Host | PlaneKind::OtherHost => {
                    labels.map(|label| Self::of_event(&label)).any(&mut see)
                }
                // Programs' executions are named `jit_step(123)`.
                kind if kind.is_device() => labels.map(|label| Self::of_program(&label)).any(&mut see),
                _ => false,
            };
            if is_jax {
                return Self::Jax;
            }
            let threads = profile.lines_of(plane.id);
            if plane.kind == PlaneKind::Host && threads.map(|line| Self::of_thread(&line.name)).any(&mut see)
            {
                return Self::Jax;
            }
        }
        found
    }

    fn of_event(name: &str) -> Self {
        let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
        if starts(&JAX_EVENTS) {
            Self::Jax
        } else if starts(&PYTORCH_EVENTS) {
            Self::PyTorch
        } else if starts(&TENSORFLOW_EVENTS) {
            Self::TensorFlow
        } else {
            Self::Unknown
        }
    }

    /// By the name that frameworks give to programs.
    fn of_program(name: &str) -> Self {
        let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
        if starts(&["jit_", "pjit_", "pmap_", "jit__"]) {
            Self::Jax
        } else if starts(&["SyncTensorsGraph", "SyncLiveTensorsGraph", "IrToHlo"]) {
            Self::PyTorch
        } else if starts(&["cluster_", "a_inference_", "__inference_"]) {
            Self::TensorFlow
        } else {
            Self::Unknown
        }
    }

    /// TensorFlow's executor names its threads.
    fn of_thread(name: &str) -> Self {
        if name.starts_with("tf_Compute") { Self::TensorFlow } else { Self::Unknown }
    }
}

impl Fix {
    /// Advice that is the same everywhere but in JAX, which has a function for it.
    #[must_use]
    pub const fn jax_or(jax: &'static str, any: &'static str) -> Self {
        Self { jax, tensorflow: any, pytorch: any, any }
    }

    /// The words for a framework.
    #[must_use]
    pub const fn for_framework(&self, framework: WrittenIn) -> &'static str {
        match framework {
            WrittenIn::Jax => self.jax,
            WrittenIn::TensorFlow => self.tensorflow,
            WrittenIn::PyTorch => self.pytorch,
            WrittenIn::Unknown => self.any,
        }
    }

    /// The words for a run.
    #[must_use]
    pub fn for_run(&self, profile: &Profile) -> &'static str {
        self.for_framework(WrittenIn::of(profile))
    }
}

/// How steps are marked.
pub static MARK_STEPS: Fix = Fix {
    jax: "wrap the loop's body in jax.profiler.StepTraceAnnotation(\"train\", step_num=i)",
    tensorflow: "wrap the loop's body in tf.profiler.experimental.Trace(\"train\", step_num=i, _r=1)",
    pytorch: "wrap the loop's body in torch_xla.debug.profiler.StepTrace(\"train\", step_num=i)",
    any: "wrap the loop's body in a step marker: jax.profiler.StepTraceAnnotation(\"train\", step_num=i) in JAX, \
          tf.profiler.experimental.Trace(\"train\", step_num=i, _r=1) in TensorFlow",
};

/// How a step becomes one program.
pub static ONE_PROGRAM: Fix = Fix {
    jax: "put the whole step into one function under `jax.jit`: gradients, the update, the metrics; code outside it runs op by op",
    tensorflow: "put the whole step into one `tf.function(jit_compile=True)`: gradients, the update, the metrics; code outside it runs op by op",
    pytorch: "compile the whole step as one graph (`torch_xla.compile`, or `torch.compile(backend=\"openxla\")`), and do not read tensor values inside it",
    any: "compile the whole step as one program (`jax.jit`, `torch.compile`, `tf.function(jit_compile=True)`): gradients, the \
          update, the metrics",
};

/// How kernels of programs that XLA did not compile are read.
pub static NAME_KERNELS: Fix = Fix {
    jax: "kernels in command buffers (CUDA graphs) lose their names: capture with --xla_gpu_enable_command_buffer=",
    tensorflow: "XLA compiles only what `tf.function(jit_compile=True)` marks, and only that has HLO ops; `ops --by framework-op` groups kernels by TensorFlow op",
    pytorch: "kernels in command buffers (CUDA graphs) lose their names: capture with --xla_gpu_enable_command_buffer=",
    any: "kernels in command buffers (CUDA graphs) lose their names: if XLA compiled them, capture with --xla_gpu_enable_command_buffer=",
};

/// How a profile comes to hold the programs.
pub static KEEP_PROGRAMS: Fix = Fix {
    jax: "keep `enable_hlo_proto` on when you capture, and start the profiler before the programs first run",
    tensorflow: "XLA compiles only what `tf.function(jit_compile=True)` marks, and only that has HLO: capture such a function from its first call on",
    pytorch: "start the profiler before the graphs first run",
    any: "capture a program that XLA compiled with `enable_hlo_proto` on, and start the profiler before it first runs",
};

/// What to do where a device waits between programs.
pub static STEPS_ON_DEVICE: Fix = Fix {
    jax: "steps in a loop on the device (lax.scan)",
    tensorflow: "several steps in one call (steps_per_execution of Keras, a loop within the tf.function)",
    pytorch: "several steps in one graph",
    any: "several steps in one program",
};

/// How a part of a program is marked on the host's timeline.
pub static ANNOTATE: Fix = Fix {
    jax: "jax.profiler.TraceAnnotation",
    tensorflow: "tf.profiler.experimental.Trace",
    pytorch: "torch_xla.debug.profiler.Trace",
    any: "an annotation of the profiler (jax.profiler.TraceAnnotation, tf.profiler.experimental.Trace)",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_who_wrote_them() {
        use WrittenIn::{Jax, PyTorch, TensorFlow, Unknown};
        for (name, is) in [
            ("PjitFunction(train_step)", Jax),
            ("$api.py:3105 block_until_ready", Jax),
            ("TFE_Py_FastPathExecute_C", TensorFlow),
            ("EagerLocalExecute: __inference_train_function_1616", TensorFlow),
            ("SyncTensorsGraph", PyTorch),
            // A reader of either, XLA's own client, a function of the user's.
            ("Iterator::Prefetch", Unknown),
            ("TfrtTpuLoadedExecutable::Execute", Unknown),
            ("my_PjitFunction(", Unknown),
        ] {
            assert_eq!(WrittenIn::of_event(name), is, "{name}");
        }
        assert_eq!(WrittenIn::of_program("jit_train_step(17)"), Jax);
        assert_eq!(WrittenIn::of_program("cluster_2__XlaCompiledKernel_true"), TensorFlow);
        assert_eq!(WrittenIn::of_program("jitter"), Unknown);
        assert_eq!(WrittenIn::of_thread("tf_Compute/12"), TensorFlow);
        assert_eq!(WrittenIn::of_thread("tf_data_iterator_resource/3"), Unknown);
    }

    #[test]
    fn no_framework_is_told_the_words_of_another() {
        for fix in [&MARK_STEPS, &ONE_PROGRAM, &NAME_KERNELS, &KEEP_PROGRAMS, &STEPS_ON_DEVICE, &ANNOTATE] {
            assert!(!fix.tensorflow.contains("jax") && !fix.tensorflow.contains("torch"), "{fix:?}");
            assert!(!fix.pytorch.contains("jax") && !fix.pytorch.contains("tf."), "{fix:?}");
            assert!(!fix.jax.contains("tf.") && !fix.jax.contains("torch"), "{fix:?}");
        }
    }
}
