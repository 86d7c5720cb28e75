//! A report as Markdown in GitHub's dialect, for summaries of jobs and comments on changes.

use std::io::{self, Write};

use super::brief::{Brief, action, claim};
use super::columns::Format;
use super::{Layout, tree, words};
use crate::{
    Cell, Column, Finding, Kind, Quality, Report, RunWords, Severity, Status, Table, Text, Tree, Value,
};
use escape::{code, line, prose};

mod escape;

/// Spaces that Markdown keeps, a level of a tree.
const INDENT: &str = "&nbsp;&nbsp;&nbsp;";

/// Writes the report as Markdown: the outcome, what follows, headline numbers, tables with units in their headers, remarks on
/// the data. The layout's limit of rows and its one table hold, width and colour do not. Names are written as code, so that
/// nothing in a profile becomes markup, a mention or an address.
///
/// # Errors
/// What the writer says.
pub fn markdown(report: &Report, layout: &Layout<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page { out, limit: layout.limit, runs: layout.runs };
    if let Some(id) = layout.only {
        if let Some(tree) = report.tree(id) {
            return page.tree(tree);
        }
        return report.table(id).map_or(Ok(()), |t| page.table(t));
    }
    writeln!(page.out, "## haloscope {}\n", line(report.analysis))?;
    page.outcome(report)?;
    page.findings(&report.findings)?;
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
    let source = words::source(report);
    if source.is_empty() { Ok(()) } else { writeln!(page.out, "{}", prose(&source.join("; "))) }
}

/// Writes the short form of a report as Markdown, for a comment on a change: the verdict, the first findings with one action each,
/// the values of these ids.
///
/// # Errors
/// What the writer says.
pub fn markdown_brief(
    report: &Report,
    numbers: &[&str],
    layout: &Layout<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let brief = Brief::of(report, numbers, layout.runs.one);
    writeln!(out, "## haloscope {}\n", line(report.analysis))?;
    for remark in &brief.remarks {
        writeln!(out, "> {}\n", prose(remark))?;
    }
    if let Some(verdict) = brief.verdict {
        writeln!(out, "**{}**\n", prose(verdict))?;
    }
    for (at, finding) in brief.findings.iter().enumerate() {
        let mut parts = Vec::new();
        parts.extend(claim(at, &brief).map(prose));
        if finding.speedup.is_some() {
            let estimated = if finding.status == Status::Estimated { " (estimated)" } else { "" };
            parts.push(format!("gain at most {}{estimated}", prose(&finding.ceiling)));
        }
        if !finding.recommendation.is_empty() {
            parts.push(format!("try: {}", prose(action(&finding.recommendation))));
        }
        parts.extend(
            finding
                .links
                .first()
                .map(|link| words::links(std::slice::from_ref(link), &layout.runs))
                .map(|see| prose(&see)),
        );
        writeln!(out, "{}. {}", at + 1, parts.join("; "))?;
    }
    if !brief.findings.is_empty() {
        writeln!(out)?;
    }
    if !brief.numbers.is_empty() {
        writeln!(out, "{}\n", prose(&brief.numbers.join(" · ")))?;
    }
    writeln!(out, "{}: {}", line(&brief.more), code(&brief.command))
}

struct Page<'a> {
    out: &'a mut dyn Write,
    limit: usize,
    runs: RunWords<'a>,
}

impl Page<'_> {
    /// Whether what was asked for holds, the verdict where the report has one, and what part of the run it is about.
    fn outcome(&mut self, report: &Report) -> io::Result<()> {
        let gate = report.gate.map(words::gate);
        let verdict = report.value("verdict").and_then(|v| v.value.as_text());
        let parts = [("Gate", gate), ("Verdict", verdict)];
        let said: Vec<_> =
            parts.iter().filter_map(|(what, word)| Some(format!("**{what}: {}**", line((*word)?)))).collect();
        if !said.is_empty() {
            writeln!(self.out, "{}\n", said.join(" · "))?;
        }
        let scope = words::scope(&report.scope);
        if scope.is_empty() { Ok(()) } else { writeln!(self.out, "Scope: {}\n", prose(&scope)) }
    }

    fn findings(&mut self, findings: &[Finding]) -> io::Result<()> {
        for finding in findings {
            let estimated = if finding.status == Status::Estimated { " (estimated)" } else { "" };
            writeln!(self.out, "- **{}:** {}{estimated}", finding.severity.word(), prose(&finding.claim))?;
            let links = words::links(&finding.links, &self.runs);
            let parts = [
                ("evidence", &finding.evidence),
                ("gain at most", &finding.ceiling),
                ("try", &finding.recommendation),
                ("wrong if", &finding.falsifier),
                ("see", &links),
            ];
            for (label, text) in parts.into_iter().filter(|(_, text)| !text.is_empty()) {
                writeln!(self.out, "  - {label}: {}", prose(text))?;
            }
        }
        if findings.is_empty() { Ok(()) } else { writeln!(self.out) }
    }

    fn values(&mut self, values: &[Value]) -> io::Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "| Number | Value |\n|:---|---:|")?;
        for v in values {
            let estimated =
                if v.value.number().is_some() && v.status == Status::Estimated { " (estimated)" } else { "" };
            let text = match &v.value {
                Cell::Text(text) => name(text, escape::is_plain(text)),
                _ => words::value(v),
            };
            writeln!(self.out, "| {} | {text}{estimated} |", line(v.label))?;
        }
        writeln!(self.out)
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        self.title(table.title)?;
        if table.rows.is_empty() {
            return writeln!(self.out, "No rows.\n");
        }
        let shown = if self.limit == 0 { table.rows.len() } else { self.limit.min(table.rows.len()) };
        self.rows(table.columns, &table.rows, shown, |text| text)?;
        self.more(words::more_rows(table.rows.len() - shown))
    }

    fn tree(&mut self, tree: &Tree) -> io::Result<()> {
        self.title(tree.title)?;
        if tree.is_empty() {
            return writeln!(self.out, "No rows.\n");
        }
        let outline = tree::outline(tree, self.limit);
        let mut rows = outline.rows;
        let mut depths = Vec::with_capacity(rows.len());
        for row in &mut rows {
            let Some(Cell::Text(label)) = row.first_mut() else { continue };
            depths.push(tree::depth(label));
            *label = label.trim_start().to_owned();
        }
        let mut depths = depths.into_iter();
        let count = rows.len();
        self.rows(&tree::heads(tree), &rows, count, |label| {
            format!("{}{label}", INDENT.repeat(depths.next().unwrap_or(0)))
        })?;
        self.more(words::more_nodes(outline.left_out, count))
    }

    /// The first `count` rows; `first` sees each row's first cell once, from the top.
    fn rows(
        &mut self,
        heads: &[Column],
        all: &[Vec<Cell>],
        count: usize,
        mut first: impl FnMut(String) -> String,
    ) -> io::Result<()> {
        let shown = all.get(..count).unwrap_or(all);
        let units = words::unit_column(heads);
        let mut unknown = Vec::new();
        let mut columns = Vec::new();
        for (at, head) in heads.iter().enumerate().filter(|(at, _)| Some(*at) != units) {
            if !all.iter().any(|row| row.get(at).is_some_and(|cell| *cell != Cell::Unknown)) {
                unknown.push(head.label);
                continue;
            }
            columns.push(Written::of(at, head, shown, units));
        }
        let head: Vec<_> = columns.iter().map(|column| column.head.as_str()).collect();
        writeln!(self.out, "| {} |", head.join(" | "))?;
        let rule: Vec<_> = columns.iter().map(|column| if column.right { "---:" } else { ":---" }).collect();
        writeln!(self.out, "|{}|", rule.join("|"))?;
        for row in 0..shown.len() {
            let mut cells = columns.iter_mut().map(|column| std::mem::take(&mut column.cells[row]));
            let own = cells.next().map(&mut first);
            let line: Vec<_> = own.into_iter().chain(cells).collect();
            writeln!(self.out, "| {} |", line.join(" | "))?;
        }
        writeln!(self.out)?;
        if unknown.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "Unknown in every row: {}.\n", line(&unknown.join(", ")))
    }

    fn more(&mut self, words: Option<String>) -> io::Result<()> {
        words.map_or(Ok(()), |words| writeln!(self.out, "{words}.\n"))
    }

    fn title(&mut self, title: &str) -> io::Result<()> {
        writeln!(self.out, "### {}\n", line(title))
    }

    fn text(&mut self, text: &Text) -> io::Result<()> {
        self.title(&text.title)?;
        let fence = escape::fence(&text.text, 3);
        writeln!(self.out, "{fence}text")?;
        for line in text.text.lines() {
            writeln!(self.out, "{}", crate::clean(line))?;
        }
        writeln!(self.out, "{fence}\n")
    }

    fn quality(&mut self, notes: &[Quality]) -> io::Result<()> {
        if notes.is_empty() {
            return Ok(());
        }
        self.title("Data quality")?;
        for note in notes {
            let word = note.severity.word();
            let word = if note.severity == Severity::Info { word.to_owned() } else { format!("**{word}**") };
            let parts: Vec<String> = [("cost", &note.cost), ("fix", &note.fix)]
                .into_iter()
                .filter(|(_, text)| !text.is_empty())
                .map(|(label, text)| format!("; {label}: {}", prose(text)))
                .collect();
            writeln!(self.out, "- {word}: {}{}", prose(&note.message), parts.concat())?;
        }
        writeln!(self.out)
    }
}

/// A column as it is written.
struct Written {
    head: String,
    right: bool,
    cells: Vec<String>,
}

impl Written {
    fn of(at: usize, head: &Column, shown: &[Vec<Cell>], units: Option<usize>) -> Self {
        let cells = || shown.iter().map(|row| row.get(at).unwrap_or(&Cell::Unknown));
        let format = Format::choose(head, cells());
        // One name that needs to be code makes the whole column code.
        let plain = cells().filter_map(Cell::as_text).all(escape::is_plain);
        let cell = |row: &Vec<Cell>, cell: &Cell| match (head.kind, cell) {
            (Kind::Prose, Cell::Text(text)) => prose(text),
            (_, Cell::Text(text)) => name(text, plain),
            (kind, cell) if words::is_mixed(kind) => {
                words::mixed(kind, cell, units.and_then(|at| row.get(at)), "-")
            }
            // `<0.01` is a number.
            (_, cell) => line(&format.cell(cell)),
        };
        Self {
            head: match format.unit {
                "" => line(head.label),
                unit => format!("{}, {unit}", line(head.label)),
            },
            right: format.right,
            cells: shown.iter().zip(cells()).map(|(row, one)| cell(row, one)).collect(),
        }
    }
}

/// A name in a cell.
fn name(text: &str, plain: bool) -> String {
    match text {
        "" => "\"\"".to_owned(),
        text if plain => text.to_owned(),
        text => code(text),
    }
}

#[cfg(test)]
mod tests;
