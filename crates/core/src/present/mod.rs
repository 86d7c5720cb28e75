//! Presents finished reports: as text for a terminal, as CSV, as JSON. Presenters format; they never compute an answer.

mod columns;
mod csv;
mod grid;
mod json;
mod table;
mod text;
mod tree;

pub use csv::{csv, tree_csv};
pub use json::json;
pub use table::{Layout, table, texts};
