//! Captures from servers that behave, and from such that do not.

mod continuous;
mod failures;
mod fake;
mod sessions;
mod support;
