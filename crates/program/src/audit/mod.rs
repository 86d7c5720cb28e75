//! Checks of what a run was started with.

mod flags;

pub use flags::ANALYSIS as FLAGS;
