//! The reader, on messages made by hand, on hostile ones, and on the fixtures' kernels.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on should stop"
)]

mod corpus;
mod fixtures;
mod hostile;
mod made;
mod read;
