//! Captures from servers that behave, and from such that do not.

#![expect(clippy::unwrap_used, reason = "what helpers of tests unwrap is what the tests assert")]

mod continuous;
mod failures;
mod fake;
mod sessions;
mod support;
