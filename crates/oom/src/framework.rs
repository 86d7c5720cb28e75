//! Whose words a reader knows.

/// The framework that a program is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framework {
    /// JAX.
    Jax,
    /// PyTorch with PyTorch/XLA.
    PyTorchXla,
    /// PyTorch without XLA.
    PyTorch,
    /// TensorFlow.
    TensorFlow,
}

impl Framework {
    /// The framework that a text is of; `None` where it does not tell.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let has = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
        if has(&["torch_xla", "torch-xla", "pytorch/xla", "Bad StatusOr access", "pt-xla-profiler"]) {
            Some(Self::PyTorchXla)
        } else if has(&["CUDA out of memory. Tried", "torch.OutOfMemoryError", "torch.cuda.OutOfMemoryError"])
        {
            Some(Self::PyTorch)
        } else if has(&[
            "jax.errors",
            "jaxlib",
            "site-packages/jax/",
            "jit(",
            "pjit(",
            "jit_",
            "XlaRuntimeError",
            "pallas_call",
        ]) {
            Some(Self::Jax)
        } else if has(&["tensorflow", "{{node", "ResourceExhaustedError", "keras"]) {
            Some(Self::TensorFlow)
        } else {
            None
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Jax => "JAX",
            Self::PyTorchXla => "PyTorch/XLA",
            Self::PyTorch => "PyTorch",
            Self::TensorFlow => "TensorFlow",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Framework;

    #[test]
    fn a_text_tells_its_framework() {
        let cases = [
            ("jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED", Some(Framework::Jax)),
            ("HLO module: jit_step.", Some(Framework::Jax)),
            ("RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED", Some(Framework::PyTorchXla)),
            ("tensorflow.python.framework.errors_impl", Some(Framework::TensorFlow)),
            ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", Some(Framework::PyTorch)),
            ("RESOURCE_EXHAUSTED", None),
        ];
        for (text, framework) in cases {
            assert_eq!(Framework::of(text), framework, "{text}");
        }
    }
}
