//! What the compiler built.

pub mod counters;
pub mod diff;
pub mod find;
pub mod fusions;
pub mod graph;
pub mod modules;
pub mod search;
mod subject;
pub mod text;
