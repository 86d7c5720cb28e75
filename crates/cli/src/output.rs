//! Reports and files on their way out.

use std::io::{self, Write};
use std::path::PathBuf;

use haloscope_report::present::{self, Layout};
use haloscope_report::{Report, RunWords, Table, Tree, both_words, clean, quoted};

use crate::args::{AnalysisArgs, Format};
use crate::to_file::to_file;
use crate::{Failure, Printer};

/// Columns of tables in files.
const FILE_WIDTH: usize = 120;

/// Writes a report as it was asked for.
pub(crate) fn write(report: &Report, asked: &AnalysisArgs, printer: &mut Printer) -> Result<(), Failure> {
    write_headed(report, None, asked, printer)
}

/// Whether a report that is written so may begin with a sentence: see [`write_headed`].
pub(crate) fn takes_headline(asked: &AnalysisArgs) -> bool {
    matches!(asked.format, Format::Fitting | Format::Table) && asked.table.is_none()
}

/// The same, with a sentence above the tables of a terminal.
pub(crate) fn write_headed(
    report: &Report,
    headline: Option<&str>,
    asked: &AnalysisArgs,
    printer: &mut Printer,
) -> Result<(), Failure> {
    if let Some(id) = &asked.table
        && report.table(id).is_none()
        && report.tree(id).is_none()
    {
        let ids: Vec<_> =
            report.trees.iter().map(|t| t.id).chain(report.tables.iter().map(|t| t.id)).collect();
        let hint = if ids.is_empty() {
            "it gave no tables".to_owned()
        } else {
            format!("it has: {}", ids.join(", "))
        };
        return Err(Failure::Usage(format!("`{}` has no table `{id}`", report.analysis), hint));
    }
    let (one, both) = run_words(report, asked);
    let layout = Layout {
        width: asked.width.unwrap_or(printer.width()),
        limit: asked.limit,
        colour: asked.colour.unwrap_or(printer.colour()),
        only: asked.table.as_deref(),
        runs: RunWords { one: &one, both: &both },
    };
    let form = Form::new(report, asked, asked.format, asked.brief)?;
    // Files first: whoever reads stdout may go away.
    for (format, path) in &asked.also {
        // Without a word about it the first screen is for the screen.
        let brief = asked.brief.filter(|_| asked.format != Format::Fitting);
        let form = Form::new(report, asked, *format, brief)?;
        let layout = Layout { width: asked.width.unwrap_or(FILE_WIDTH), colour: false, ..layout };
        to_file(path, |out| form.put(report, &layout, out))?;
    }
    printer.page(|out| {
        if let Some(text) = headline.filter(|_| takes_headline(asked)) {
            for line in present::wrap(&clean(text), layout.width) {
                writeln!(out, "{line}")?;
            }
            writeln!(out)?;
        }
        form.put(report, &layout, out)
    })?;
    // A table by itself has no place for what comes first.
    let is_bare = matches!(form, Form::Csv(_)) || asked.table.is_some();
    if is_bare && let Some(first) = report.findings.first().filter(|first| first.id == "file_not_whole") {
        printer.note(format_args!("{}", first.claim));
    }
    if matches!(form, Form::Texts) {
        for note in &report.quality {
            printer.note(format_args!("{}; {}", note.message, note.cost));
        }
    }
    Ok(())
}

/// What the runs are called in commands that are printed, as they were typed: the run, and the runs to compare.
fn run_words(report: &Report, asked: &AnalysisArgs) -> (String, String) {
    let word = |path: &PathBuf| quoted(&path.to_string_lossy());
    let Some(run) = asked.run.as_ref().map(word) else {
        let words = RunWords::default();
        return (words.one.to_owned(), words.both.to_owned());
    };
    let others: Vec<String> = asked.others.iter().map(word).collect();
    let both = both_words(report.analysis, &run, &others);
    (run, both)
}

/// What of a report is written, and how.
enum Form<'a> {
    Texts,
    Table,
    Brief(&'static [&'static str]),
    Markdown,
    MarkdownBrief(&'static [&'static str]),
    Json,
    Junit,
    Csv(Rows<'a>),
}

impl<'a> Form<'a> {
    /// The form that a report has in a format.
    ///
    /// # Errors
    /// [`Failure`] where the report holds nothing that the format is for.
    fn new(
        report: &'a Report,
        asked: &AnalysisArgs,
        format: Format,
        brief: Option<&'static [&'static str]>,
    ) -> Result<Self, Failure> {
        let has_texts = !report.texts.is_empty();
        Ok(match format {
            Format::Fitting if has_texts && report.tables.is_empty() && report.trees.is_empty() => {
                Self::Texts
            }
            Format::Text if has_texts => Self::Texts,
            Format::Text => {
                let message = format!("`{}` gives no text", report.analysis);
                return Err(Failure::Usage(message, "leave out --format for its tables".into()));
            }
            Format::Fitting | Format::Table => brief.map_or(Self::Table, Self::Brief),
            Format::Markdown => brief.map_or(Self::Markdown, Self::MarkdownBrief),
            Format::Json => Self::Json,
            Format::Junit if present::has_tests(report) => Self::Junit,
            Format::Junit => {
                let message =
                    format!("`{}` had nothing to check, so there are no tests for JUnit", report.analysis);
                let hint = "this format needs a gate, such as `check` with --baseline or --budget";
                return Err(Failure::Usage(message, hint.into()));
            }
            Format::Csv => Self::Csv(one_table(report, asked)?),
        })
    }

    fn put(&self, report: &Report, layout: &Layout<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Texts => present::texts(report, out),
            Self::Table => present::table(report, layout, out),
            Self::Brief(numbers) => present::brief(report, numbers, layout, out),
            Self::Markdown => present::markdown(report, layout, out),
            Self::MarkdownBrief(numbers) => present::markdown_brief(report, numbers, layout, out),
            Self::Json => present::json(report, out),
            Self::Junit => present::junit(report, out),
            Self::Csv(Rows::Table(table)) => present::csv(table, out),
            Self::Csv(Rows::Tree(tree)) => present::tree_csv(tree, out),
        }
    }
}

/// What goes into CSV.
enum Rows<'a> {
    Table(&'a Table),
    Tree(&'a Tree),
}

/// The table or tree that was asked for, else the first: a tree where there is one.
fn one_table<'a>(report: &'a Report, asked: &AnalysisArgs) -> Result<Rows<'a>, Failure> {
    let (tree, table) = match &asked.table {
        Some(id) => (report.tree(id), report.table(id)),
        None => (report.trees.first(), report.tables.first()),
    };
    tree.map(Rows::Tree).or(table.map(Rows::Table)).ok_or_else(|| {
        let message = format!("`{}` gave no table for this profile", report.analysis);
        Failure::Nothing(message, "--format json has its other numbers".into())
    })
}
