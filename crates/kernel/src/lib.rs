//! What a TPU kernel does, bundle by bundle: of every op whose LLO the profile carries, Pallas kernels and fusions alike.

pub mod carried;
