//! What the compiler built.

pub(super) mod counters;
pub(super) mod diff;
pub(super) mod find;
pub(super) mod fusions;
pub(super) mod graph;
pub(super) mod modules;
pub(super) mod search;
mod subject;
pub(super) mod text;
