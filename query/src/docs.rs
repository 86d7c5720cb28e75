//! What can be asked, as Markdown: for people, and for the book, which a test holds against it.

use std::fmt::Write as _;

use haloscope_report::Unit;

use crate::{canned, functions, tables};

/// Tables with their columns, and functions.
pub(crate) fn schema() -> String {
    let mut text = String::new();
    for table in tables::about() {
        let _ =
            write!(text, "### {}\n\n{}\n\n| column | unit | what |\n|---|---|---|\n", table.name, table.doc);
        for column in table.columns {
            let unit = if column.unit == Unit::None { "" } else { column.unit.word() };
            let _ = writeln!(text, "| `{}` | {unit} | {} |", column.id, column.doc);
        }
        text.push('\n');
    }
    text += "### Functions\n\n| function | what |\n|---|---|\n";
    for (usage, doc) in functions::documentation() {
        let _ = writeln!(text, "| `{usage}` | {doc} |");
    }
    text
}

/// The canned questions.
pub(crate) fn questions() -> String {
    let mut text = String::from("| question | what |\n|---|---|\n");
    for canned in &canned::ALL {
        let _ = writeln!(text, "| `@{}` | {} |", canned.name, canned.question());
    }
    text
}
