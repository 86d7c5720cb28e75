//! What a TPU kernel does, bundle by bundle: of every op whose LLO the profile carries, Pallas kernels and fusions alike; and the
//! analyses that say it.

mod analyses;
pub mod carried;
pub mod chip;
pub mod difference;
pub mod dump;
pub mod facts;
pub mod lines;
pub mod measured;
pub mod model;
pub mod mosaic;
mod subject;
mod values;

pub use analyses::{bundles, diff, list, opcodes, overview, regions, registers, source, spills, stages};
pub use subject::{Subject, named, why_none};
