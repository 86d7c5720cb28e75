//! Presents finished reports: as text for a terminal, as Markdown, CSV, JSON. Presenters format; they never compute an answer.

mod brief;
mod columns;
mod csv;
mod grid;
mod json;
mod junit;
mod markdown;
mod table;
mod text;
mod tree;
mod words;

pub use brief::brief;
pub use csv::{csv, csv_line, tree_csv};
pub use json::json;
pub use junit::{has_tests, junit};
pub use markdown::{markdown, markdown_brief};
pub use table::{Layout, table, texts};
pub use text::wrap;
