//! Pallas kernels of TPUs, as their modules in the HLO say what they are: no timeline and no TPU is needed.

mod find;
pub mod grid;
pub mod text;
