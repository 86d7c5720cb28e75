//! The program as a person would ask it, on the runs of `fixtures`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what helpers of tests unwrap is what the tests assert"
)]

mod agrees;
mod canned;
mod cluster;
mod documented;
mod far;
mod hostile;
mod kept;
mod output;
mod pushdown;
mod support;
