//! Profiles to hand on: a part of a run, and a run without its names. Both are profiles again, for Haloscope, XProf and others.

mod blob;
mod hlo;
mod packing;
mod redact;
mod slice;
mod texts;
mod words;

#[cfg(test)]
mod tests;

pub use redact::{Redacted, Redaction, Replaced};
pub use slice::{Slice, slices};
pub use texts::Kind;
