//! What the crate says of kernels that were compiled for described chips.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the helpers of a test are test code, and a skipped test says so"
)]

mod fixtures;
mod shared;
mod support;
