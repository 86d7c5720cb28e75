//! A report as text for a terminal: findings first, then headline numbers, tables, and what to know about the data.

use std::io::{self, Write};

use super::grid::Grid;
use super::text::{width, wrap};
use super::{tree, words};
use crate::{
    Column, Finding, Kind, Quality, Report, RunWords, ScopeSummary, Severity, Status, Table, Text, Tree,
    Value, clean,
};

/// How a report is laid out.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    /// Columns of the terminal; lines are no wider.
    pub width: usize,
    /// Rows of a table that are shown; 0 shows all.
    pub limit: usize,
    /// True to colour with ANSI escapes.
    pub colour: bool,
    /// Show only the table with this id, and nothing else.
    pub only: Option<&'a str>,
    /// What the runs are called in commands that are printed.
    pub runs: RunWords<'a>,
}

impl Default for Layout<'_> {
    fn default() -> Self {
        Self { width: 80, limit: 20, colour: false, only: None, runs: RunWords::default() }
    }
}

/// A table of no more rows than this goes on below with the columns that do not fit.
const FEW_ROWS: usize = 8;

/// Narrower terminals are written to as if they had this many columns.
pub(super) const NARROWEST: usize = 40;

const BOLD: &str = "1";
const DIM: &str = "2";

/// Writes the report as text.
///
/// # Errors
/// What the writer says.
pub fn table(report: &Report, layout: &Layout<'_>, out: &mut dyn Write) -> io::Result<()> {
    let width = layout.width.max(NARROWEST);
    let mut page =
        Page { out, width, limit: layout.limit, colour: layout.colour, runs: layout.runs, started: false };
    if let Some(id) = layout.only {
        if let Some(tree) = report.tree(id) {
            return page.tree(tree);
        }
        return report.table(id).map_or(Ok(()), |t| page.table(t));
    }
    page.scope(&report.scope)?;
    for finding in &report.findings {
        page.finding(finding)?;
    }
    page.values(&report.values)?;
    for tree in &report.trees {
        page.tree(tree)?;
    }
    for table in &report.tables {
        page.table(table)?;
    }
    for text in &report.texts {
        page.text(text)?;
    }
    page.quality(&report.quality)?;
    page.source(report)
}

/// Writes the texts of a report as they are, and nothing else; characters that a terminal would obey are escaped.
///
/// # Errors
/// What the writer says.
pub fn texts(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for line in report.texts.iter().flat_map(|text| text.text.lines()) {
        writeln!(out, "{}", clean(line))?;
    }
    Ok(())
}

struct Page<'a> {
    out: &'a mut dyn Write,
    width: usize,
    limit: usize,
    colour: bool,
    runs: RunWords<'a>,
    started: bool,
}

impl Page<'_> {
    fn paint(&self, style: &str, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// An empty line between what was written and what follows.
    fn section(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.started, true) { writeln!(self.out) } else { Ok(()) }
    }

    /// A text behind a label, wrapped so that its lines start below each other.
    fn labelled(&mut self, label: &str, style: &str, indent: usize, text: &str) -> io::Result<()> {
        let room = self.width.saturating_sub(indent).max(NARROWEST / 2);
        for (i, line) in wrap(&clean(text), room).iter().enumerate() {
            let shown = if i == 0 { label } else { "" };
            let pad = " ".repeat(indent.saturating_sub(width(shown)));
            writeln!(self.out, "{}{pad}{line}", self.paint(style, shown))?;
        }
        Ok(())
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        for line in wrap(&clean(text), self.width) {
            writeln!(self.out, "{}", self.paint(DIM, &line))?;
        }
        Ok(())
    }

    fn scope(&mut self, scope: &ScopeSummary) -> io::Result<()> {
        let text = words::scope(scope);
        if text.is_empty() {
            return Ok(());
        }
        self.section()?;
        self.labelled("scope", BOLD, 7, &text)
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        self.section()?;
        let (word, style) = severity(finding.severity);
        let claim = match finding.status {
            Status::Estimated => format!("{} (estimated)", finding.claim),
            _ => finding.claim.clone(),
        };
        self.labelled(&format!("{word}:"), style, width(word) + 2, &claim)?;
        let parts = [
            ("evidence", &finding.evidence),
            ("gain at most", &finding.ceiling),
            ("try", &finding.recommendation),
            ("wrong if", &finding.falsifier),
        ];
        for (label, text) in parts.into_iter().filter(|(_, text)| !text.is_empty()) {
            self.labelled(&format!("  {label}"), DIM, 16, text)?;
        }
        let links = finding.links.iter().take(words::MOST_LINKS);
        let lines = links.flat_map(|link| words::command_lines(link, &self.runs, self.width - 16));
        for (i, line) in lines.enumerate() {
            let label = if i == 0 { "  see" } else { "" };
            writeln!(self.out, "{}{}{line}", self.paint(DIM, label), " ".repeat(16 - label.len()))?;
        }
        Ok(())
    }

    fn values(&mut self, values: &[Value]) -> io::Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        self.section()?;
        let widest = values.iter().map(|v| width(v.label)).max().unwrap_or(0).min(self.width / 2);
        for v in values {
            let is_number = v.value.number().is_some();
            let estimated = if is_number && v.status == Status::Estimated { " (estimated)" } else { "" };
            let text = format!("{}{estimated}", words::value(v));
            let mut label = wrap(v.label, widest);
            let last = label.pop().unwrap_or_default();
            for line in label {
                writeln!(self.out, "{}", self.paint(DIM, &line))?;
            }
            self.labelled(&last, DIM, widest + 2, &text)?;
        }
        Ok(())
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        self.title(table.title)?;
        if table.rows.is_empty() {
            return self.note("no rows");
        }
        let shown = if self.limit == 0 { table.rows.len() } else { self.limit.min(table.rows.len()) };
        let grid = Grid::new(table.columns, &table.rows, shown, self.width);
        let prose: Vec<_> =
            (0..table.columns.len()).filter(|i| table.columns[*i].kind == Kind::Prose).collect();
        self.grid(&grid, |page, place| page.prose(table, &prose, place))?;
        if let Some(more) = words::more_rows(table.rows.len() - shown) {
            self.note(&more)?;
        }
        let has_room = table.rows.len() <= FEW_ROWS;
        self.below(&grid, table.columns, table.id, "unknown", has_room)?;
        if has_room && !grid.left_out.is_empty() {
            self.rest(table, &grid.left_out)?;
        }
        Ok(())
    }

    /// The columns of a short table that did not fit, behind its first one.
    fn rest(&mut self, table: &Table, left_out: &[usize]) -> io::Result<()> {
        // A column of quantities needs the one with their units, which is not shown by itself.
        let units = words::unit_column(table.columns).filter(|at| *at > 0 && !left_out.contains(at));
        let places: Vec<usize> = std::iter::once(0).chain(left_out.iter().copied()).chain(units).collect();
        let heads: Vec<_> = places.iter().filter_map(|at| table.columns.get(*at).copied()).collect();
        let row = |row: &Vec<crate::Cell>| -> Vec<crate::Cell> {
            places.iter().map(|at| row.get(*at).cloned().unwrap_or(crate::Cell::Unknown)).collect()
        };
        let rows: Vec<_> = table.rows.iter().map(row).collect();
        let shown = if self.limit == 0 { rows.len() } else { self.limit.min(rows.len()) };
        let grid = Grid::new(&heads, &rows, shown, self.width);
        writeln!(self.out)?;
        self.grid(&grid, |_, _| Ok(()))?;
        self.below(&grid, &heads, table.id, "unknown", true)?;
        match grid.left_out.as_slice() {
            [] => Ok(()),
            // Each round shows at least one more.
            left if left.len() < left_out.len() => {
                let left: Vec<usize> = left.iter().filter_map(|at| places.get(*at).copied()).collect();
                self.rest(table, &left)
            }
            _ => Ok(()),
        }
    }

    /// A tree as a table whose first column is indented.
    fn tree(&mut self, tree: &Tree) -> io::Result<()> {
        self.title(tree.title)?;
        if tree.is_empty() {
            return self.note("no rows");
        }
        let rows = tree::outline(tree, self.limit);
        let grid = Grid::new(&tree::heads(tree), &rows.rows, rows.rows.len(), self.width);
        self.grid(&grid, |_, _| Ok(()))?;
        if let Some(more) = words::more_nodes(rows.left_out, rows.rows.len()) {
            self.note(&more)?;
        }
        self.below(&grid, &tree::heads(tree), tree.id, "unknown, or does not apply to this node", false)
    }

    fn title(&mut self, title: &str) -> io::Result<()> {
        self.section()?;
        for line in wrap(title, self.width) {
            writeln!(self.out, "{}", self.paint(BOLD, &line))?;
        }
        Ok(())
    }

    /// `below` writes what follows the row in this place.
    fn grid(
        &mut self,
        grid: &Grid,
        mut below: impl FnMut(&mut Self, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        for line in grid.header() {
            writeln!(self.out, "{}", self.paint(BOLD, &line))?;
        }
        writeln!(self.out, "{}", self.paint(DIM, &grid.rule()))?;
        for (place, lines) in grid.rows().enumerate() {
            lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
            below(self, place)?;
        }
        Ok(())
    }

    /// The sentences of a row, below it; with labels where there are several columns of them.
    fn prose(&mut self, table: &Table, columns: &[usize], place: usize) -> io::Result<()> {
        for (column, cell) in columns.iter().filter_map(|i| {
            let text = table.rows.get(place)?.get(*i)?.as_text().filter(|text| !text.is_empty())?;
            Some((table.columns.get(*i)?, text))
        }) {
            let label = if columns.len() > 1 {
                format!("    {}", column.label.to_lowercase())
            } else {
                String::new()
            };
            let indent = if columns.len() > 1 { width(&label) + 2 } else { 4 };
            self.labelled(&label, DIM, indent, cell)?;
        }
        Ok(())
    }

    /// What the grid does not show, and where it is: further down if the rest is `shown` there.
    fn below(&mut self, grid: &Grid, heads: &[Column], id: &str, dash: &str, shown: bool) -> io::Result<()> {
        if grid.has_unknown {
            self.note(&format!("- = {dash}"))?;
        }
        if !grid.unknown.is_empty() {
            self.note(&format!("unknown in every row: {}", grid.unknown.join(", ")))?;
        }
        if !grid.same.is_empty() {
            self.note(&format!("the same in every row: {}", grid.same.join(", ")))?;
        }
        if !grid.zero.is_empty() {
            self.note(&format!("0 in every row: {}", grid.zero.join(", ")))?;
        }
        if !grid.left_out.is_empty() && !shown {
            let left = grid.left_out.iter().filter_map(|at| heads.get(*at)).map(|head| head.label);
            let (columns, what) = (self.width, left.collect::<Vec<_>>().join(", "));
            let fix = format!("use --format csv --table {id} or a wider terminal");
            self.note(&format!("left out at {columns} columns: {what}; {fix}"))?;
        }
        Ok(())
    }

    fn text(&mut self, text: &Text) -> io::Result<()> {
        self.section()?;
        writeln!(self.out, "{}", self.paint(BOLD, &clean(&text.title)))?;
        for line in text.text.lines() {
            writeln!(self.out, "{}", clean(line))?;
        }
        Ok(())
    }

    fn quality(&mut self, notes: &[Quality]) -> io::Result<()> {
        if notes.is_empty() {
            return Ok(());
        }
        self.section()?;
        writeln!(self.out, "{}", self.paint(BOLD, "Data quality"))?;
        for note in notes {
            let (word, style) = severity(note.severity);
            self.labelled(&format!("{word}:"), style, width(word) + 2, &note.message)?;
            for (label, text) in [("  cost", &note.cost), ("  fix", &note.fix)] {
                if !text.is_empty() {
                    self.labelled(label, DIM, 8, text)?;
                }
            }
        }
        Ok(())
    }

    fn source(&mut self, report: &Report) -> io::Result<()> {
        let lines = words::source(report);
        if lines.is_empty() {
            return Ok(());
        }
        self.section()?;
        lines.iter().try_for_each(|line| self.note(line))
    }
}

/// The word for how much something matters, and its colour.
fn severity(severity: Severity) -> (&'static str, &'static str) {
    let style = match severity {
        Severity::Info => "36",
        Severity::Warning => "1;33",
        Severity::Error => "1;31",
    };
    (severity.word(), style)
}

#[cfg(test)]
mod tests;
