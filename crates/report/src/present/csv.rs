//! One table or tree as CSV.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::{Cell, Table, Tree, clean};

/// Writes a table as CSV: a header of column ids, then a line a row. Numbers stand in the base unit of their column
/// (picoseconds, bytes, FLOP/s, shares from 0 to 1) with all their digits; unknown is an empty field. Quoting follows
/// RFC 4180; lines end with a line feed alone, as other command-line tools expect. Texts are cleaned ([`clean`]), and what a
/// spreadsheet would take for a formula has an apostrophe in front.
///
/// # Errors
/// What the writer says.
pub fn csv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let header: Vec<_> = table.columns.iter().map(|c| Cow::Borrowed(c.id)).collect();
    line(&header, out)?;
    for row in &table.rows {
        csv_line(row, out)?;
    }
    Ok(())
}

/// Writes the cells of a row as a line of CSV, as [`csv`] does.
///
/// # Errors
/// What the writer says.
pub fn csv_line(row: &[Cell], out: &mut dyn Write) -> io::Result<()> {
    let fields: Vec<_> = row.iter().map(field).collect();
    line(&fields, out)
}

/// What stands between the labels of a path.
const BETWEEN: &str = " > ";

/// Writes a tree as CSV: a line a node, each before its children, with its path (the labels from the top, ` > ` between
/// them), its depth (0 at the top) and its label before the values. Numbers as in [`csv`].
///
/// # Errors
/// What the writer says.
pub fn tree_csv(tree: &Tree, out: &mut dyn Write) -> io::Result<()> {
    let own = ["path", "depth", "label"].map(Cow::Borrowed);
    let header: Vec<_> = own.into_iter().chain(tree.columns.iter().map(|c| Cow::Borrowed(c.id))).collect();
    line(&header, out)?;
    let mut result = Ok(());
    tree.walk(&mut |at| {
        if result.is_err() {
            return;
        }
        let own = [
            Cell::from(at.path.join(BETWEEN)),
            Cell::from(at.path.len().saturating_sub(1)),
            Cell::from(at.node.label.as_str()),
        ];
        let fields: Vec<_> = own.iter().chain(&at.node.values).map(field).collect();
        result = line(&fields, out);
    });
    result
}

fn line(fields: &[Cow<'_, str>], out: &mut dyn Write) -> io::Result<()> {
    // A line with nothing on it would be read as no line at all.
    if let [only] = fields
        && only.is_empty()
    {
        return writeln!(out, "\"\"");
    }
    writeln!(out, "{}", fields.join(","))
}

fn field(cell: &Cell) -> Cow<'_, str> {
    match cell {
        Cell::Int(v) => v.to_string().into(),
        // The shortest text that reads back as the same number.
        Cell::Float(v) => format!("{v:?}").into(),
        Cell::Flag(v) => if *v { "true" } else { "false" }.into(),
        Cell::Unknown => "".into(),
        Cell::Text(text) => quoted(text),
    }
}

/// A text as a field. A spreadsheet would compute what begins like a formula: an apostrophe before it says that it is text.
fn quoted(text: &str) -> Cow<'_, str> {
    let text = clean(text);
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let text = if is_formula { Cow::Owned(format!("'{text}")) } else { text };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")).into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Column, Node, Unit};

    const COLUMNS: &[Column] = &[
        Column::text("op", "op", ""),
        Column::duration("self_ps", "self", ""),
        Column::rate("flop_rate", "rate", Unit::FlopRate, ""),
        Column::flag("async", "async", ""),
    ];

    fn text(table: &Table) -> String {
        let mut out = Vec::new();
        csv(table, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn quotes_what_would_break_a_line() {
        let mut table = Table { id: "ops", title: "", columns: COLUMNS, rows: Vec::new() };
        table.rows.push(vec!["a,b".into(), Cell::Int(12), 1.5e12.into(), true.into()]);
        table.rows.push(vec!["say \"x\"\nand go".into(), Cell::Unknown, Cell::Unknown, false.into()]);
        table.rows.push(vec!["plain".into(), Cell::Int(-1), 1e300.into(), Cell::Unknown]);
        table.rows.push(vec!["=SUM(1,2)".into(), Cell::Int(-1), Cell::Unknown, Cell::Unknown]);
        table.rows.push(vec!["@red\u{1b}[31m".into(), Cell::Unknown, Cell::Unknown, Cell::Unknown]);
        assert_eq!(
            text(&table),
            "op,self_ps,flop_rate,async\n\
             \"a,b\",12,1500000000000.0,true\n\
             \"say \"\"x\"\"\\nand go\",,,false\n\
             plain,-1,1e300,\n\
             \"'=SUM(1,2)\",-1,,\n\
             '@red\\u{1b}[31m,,,\n"
        );
    }

    #[test]
    fn a_tree_has_a_line_a_node() {
        let node =
            |label: &str, ps, children| Node { label: label.into(), values: vec![Cell::Int(ps)], children };
        let leaves = vec![node("a,b", 2, vec![]), node("c", 1, vec![])];
        let tree = Tree { nodes: vec![node("all", 3, leaves)], ..Tree::new("t", "", &COLUMNS[1..2]) };
        let mut out = Vec::new();
        tree_csv(&tree, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "path,depth,label,self_ps\nall,0,all,3\n\"all > a,b\",1,\"a,b\",2\nall > c,1,c,1\n"
        );
    }

    #[test]
    fn a_single_unknown_is_still_a_line() {
        let mut table = Table { id: "t", title: "", columns: &COLUMNS[..1], rows: Vec::new() };
        table.rows.push(vec![Cell::Unknown]);
        assert_eq!(text(&table), "op\n\"\"\n");
    }
}
