//! The family `kernel`: one file a question.

pub mod bundles;
pub mod diff;
pub mod list;
pub mod opcodes;
pub mod overview;
pub mod regions;
pub mod registers;
pub mod source;
pub mod spills;
pub mod stages;

use haloscope_report::{Notes, Severity};

/// Rows that a table of a kernel has at most.
const ROWS: usize = 2000;

/// Says that a table was cut.
fn cut(notes: &mut Notes, table: &'static str, of: usize) {
    if of > ROWS {
        notes.add(
            "thinned",
            Severity::Info,
            format!("{of} rows of `{table}`; the first {ROWS} are shown"),
            "values count all of them",
            "",
        );
    }
}
