//! An HLO module, or what lies around one of its instructions, as a drawing: in Graphviz's language, or as a page with an SVG.
//!
//! A [`Scope`] says what is shown, a [`Drawing`] how; [`Drawing::graph`] draws it, [`Graph::dot`] and [`Graph::page`] write it.

mod colours;
mod dot;
mod labels;
mod neighbourhood;
mod svg;

pub use dot::{Drawing, Graph};
pub use neighbourhood::Scope;
