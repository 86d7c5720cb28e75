//! One table as CSV.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::report::{Cell, Table};

/// Writes a table as CSV: a header of column ids, then a line a row. Numbers stand in the base unit of their column
/// (picoseconds, bytes, FLOP/s, shares from 0 to 1) with all their digits; unknown is an empty field. Quoting follows
/// RFC 4180; lines end with a line feed alone, as other command-line tools expect.
///
/// # Errors
/// What the writer says.
pub fn csv(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let header: Vec<_> = table.columns.iter().map(|c| Cow::Borrowed(c.id)).collect();
    line(&header, out)?;
    for row in &table.rows {
        let fields: Vec<_> = row.iter().map(field).collect();
        line(&fields, out)?;
    }
    Ok(())
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
        Cell::Text(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\"")).into()
        }
        Cell::Text(text) => text.as_str().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Column, Unit};

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
        let mut table = Table::new("ops", "", COLUMNS);
        table.push(vec!["a,b".into(), Cell::Int(12), 1.5e12.into(), true.into()]);
        table.push(vec!["say \"x\"\nand go".into(), Cell::Unknown, Cell::Unknown, false.into()]);
        table.push(vec!["plain".into(), Cell::Int(-1), 1e300.into(), Cell::Unknown]);
        assert_eq!(
            text(&table),
            "op,self_ps,flop_rate,async\n\
             \"a,b\",12,1500000000000.0,true\n\
             \"say \"\"x\"\"\nand go\",,,false\n\
             plain,-1,1e300,\n"
        );
    }

    #[test]
    fn a_single_unknown_is_still_a_line() {
        let mut table = Table::new("t", "", &COLUMNS[..1]);
        table.push(vec![Cell::Unknown]);
        assert_eq!(text(&table), "op\n\"\"\n");
    }
}
