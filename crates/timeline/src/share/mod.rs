//! Profiles to hand on: a part of a run, and a run without its names. Both are profiles again, for Haloscope, XProf and others.

mod blob;
mod hlo;
mod redact;
mod slice;
mod words;

#[cfg(test)]
mod tests;

pub use redact::{Kind, Redacted, Redaction, Replaced};
pub use slice::{Slice, slices};
