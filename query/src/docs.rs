//! What can be asked, as Markdown: for people, and for the book, which a test holds against it.

use std::fmt::Write as _;

use haloscope_report::Unit;
use serde_json::json;

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

/// All of that as JSON, for programs: tables, functions, canned questions with their SQL.
pub(crate) fn json() -> String {
    let columns = |table: &tables::About| {
        let of = |column: &haloscope_report::Column| json!({"name": column.id, "unit": column.unit.symbol(), "doc": column.doc});
        table.columns.iter().map(of).collect::<Vec<_>>()
    };
    let tables = tables::about();
    let tables =
        tables.iter().map(|table| json!({"name": table.name, "doc": table.doc, "columns": columns(table)}));
    let functions =
        functions::documentation().into_iter().map(|(usage, doc)| json!({"usage": usage, "doc": doc}));
    let questions = canned::ALL
        .iter()
        .map(|canned| json!({"name": canned.name, "question": canned.question(), "sql": canned.sql}));
    let all = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "tables": tables.collect::<Vec<_>>(),
        "functions": functions.collect::<Vec<_>>(),
        "questions": questions.collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}
