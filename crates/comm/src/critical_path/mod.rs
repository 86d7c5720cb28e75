//! The critical path of a step, and what the step would take if parts of it took another time.
//!
//! A step is a graph ([`Graph`]): pieces of ops and gaps in the order of each stream, transfers beside them, and barriers where
//! devices wait for each other. Run with the measured lengths it gives the measured step back; run with others it projects
//! ([`project`]). The order of each stream never changes: a compiler that knew of the change could do better.

pub mod analysis;
mod build;
mod clocks;
mod graph;
mod joins;
mod lanes;
mod members;
mod parts;
mod path;
mod project;
mod queues;

pub use build::{Facts, MOST_NODES, TooLarge, build};
pub use graph::{Barrier, Graph, GraphDevice, GraphOp, Lane, Lengths, NONE, Node, Role, Schedule, Transfer};
pub use path::{Segment, longest, slack};
pub use project::{Change, Choice, Projection, floor_ps, project};

#[cfg(test)]
mod tests;
