//! Checks of what a run was started with.

mod flags;

pub(super) use flags::ANALYSIS as FLAGS;
