//! What the crate says of kernels that were compiled for described chips.

mod fixtures;
mod shared;
mod support;
