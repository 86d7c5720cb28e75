//! The client of the profiler service in a running JAX, PyTorch/XLA or TensorFlow program.
