//! What the compiler built.

pub mod counters;
pub mod diff;
pub mod find;
pub mod fusions;
pub mod graph;
pub mod modules;
mod op_times;
pub mod search;
mod subject;
pub mod text;
