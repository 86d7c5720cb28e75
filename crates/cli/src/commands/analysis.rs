//! `haloscope <analysis> RUN`: finds the run, asks the question, writes the answer.

use std::io::{self, Write};

use clap::ArgMatches;
use haloscope_profile::Profile;
use haloscope_profile::load::{self, Part, Run};
use haloscope_report::Error;
use haloscope_report::present::{self, Layout};
use haloscope_report::units;
use haloscope_report::{Gate, Report, Table, Tree};
use haloscope_store::{Cache, Indexes, Question};
use haloscope_time::analysis::{self, Analysis};

use super::export::to_file;
use super::find::find;
use super::{kept, source_root};
use crate::args::{Asked, Format};
use crate::{Failure, Printer, progress};

/// Columns of tables in files.
const FILE_WIDTH: usize = 120;

pub(super) fn run(analysis: &Analysis, matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let asked = Asked::from_matches(analysis, matches)?;
    let Some(path) = &asked.run else {
        write(&analysis::run_alone(analysis, &asked.params)?, &asked, printer)?;
        return Ok(0);
    };
    let cache = kept::cache(matches)?;
    let run = find(path)?;
    say_which(&run, printer);
    let mut others = Vec::new();
    for path in &asked.others {
        let other = find(path)?;
        say_which(&other, printer);
        others.push(other);
    }
    let sources = source_root::of(matches)?;
    let runs: Vec<&Run> = std::iter::once(&run).chain(&others).collect();
    let cache = cache.as_ref();
    let question = cache.and_then(|_| Question::new(analysis, &runs, &asked.scope, &asked.params));
    let known = cache.zip(question.as_ref()).and_then(|(cache, question)| cache.answer(question));
    let is_known = known.is_some();
    let (mut report, opened) = match known {
        Some(report) => (report, Vec::new()),
        None => compute(analysis, &runs, &asked, cache)?,
    };
    if !is_known {
        say_memory(printer);
    }
    let is_whole = opened.iter().all(|(profile, _)| profile.left_out.is_empty());
    let new = question.filter(|_| !is_known && is_whole);
    let keep = |report: &Report| {
        if let (Some(cache), Some(question)) = (cache, &new) {
            cache.keep(question, report);
        }
        if let Some(cache) = cache {
            opened.iter().for_each(|(profile, indexes)| cache.learn(profile, indexes));
        }
    };
    let written = match sources {
        // The lines of sources are not of the run.
        Some(sources) => {
            keep(&report);
            let listed = asked.format == Format::Text;
            source_root::fill(&mut report, &sources, listed, printer);
            if listed {
                report.texts.extend(source_root::listing(&report));
            }
            write(&report, &asked, printer)
        }
        // Who asked need not wait for the next one.
        None => {
            let written = write(&report, &asked, printer);
            keep(&report);
            written
        }
    };
    kept::say_trouble(cache, printer);
    written?;
    Ok(report.gate.map_or(0, Gate::exit_code))
}

/// Opens the runs and asks.
fn compute(
    analysis: &Analysis,
    runs: &[&Run],
    asked: &Asked,
    cache: Option<&Cache>,
) -> Result<(Report, Vec<(Profile, Indexes)>), Failure> {
    let opened = runs.iter().map(|run| open(run, cache)).collect::<Result<Vec<_>, _>>()?;
    let profiles: Vec<&Profile> = opened.iter().map(|(profile, _)| profile).collect();
    let [profile, others @ ..] = profiles.as_slice() else {
        return Err(Failure::Nothing("no run was given".into(), String::new()));
    };
    let ask = || analysis::run_with(analysis, profile, others, &asked.scope, &asked.params);
    let report = progress::while_doing("reading events", || Part::decoded(profile), ask)?;
    Ok((report, opened))
}

/// Opens a run, and says how far that has come where it takes long.
///
/// # Errors
/// As [`load::open`].
fn open(run: &Run, cache: Option<&Cache>) -> Result<(Profile, Indexes), Error> {
    let open = || match cache {
        Some(cache) => cache.open(run),
        None => Ok((load::open(run)?, Indexes::default())),
    };
    progress::while_doing("opening", || load::opening(&run.path).unwrap_or_default(), open)
}

/// Says that more memory was taken than was allowed, where that was so: what an analysis keeps cannot be put aside.
fn say_memory(printer: &mut Printer) {
    /// A limit is kept to within this much.
    const TOLERANCE: f64 = 1.1;
    let (Some(limit), Some(peak)) = (load::memory_limit(), load::peak_memory()) else { return };
    if peak as f64 > limit as f64 * TOLERANCE {
        printer.note(format_args!(
            "took {} of memory, over the limit of {}: what this question keeps at once cannot be put aside; a narrower scope \
             takes less",
            units::bytes(peak as f64),
            units::bytes(limit as f64)
        ));
    }
}

/// Names the session that was taken where there was a choice.
pub(super) fn say_which(run: &Run, printer: &mut Printer) {
    if run.chosen_from > 1 {
        printer.note(format_args!(
            "newest of {} sessions: {}",
            run.chosen_from,
            haloscope_report::naming::shown(&run.path)
        ));
    }
}

/// Writes a report as it was asked for.
pub(super) fn write(report: &Report, asked: &Asked, printer: &mut Printer) -> Result<(), Failure> {
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
    let layout = Layout {
        width: asked.width.unwrap_or(printer.width()),
        limit: asked.limit,
        colour: asked.colour.unwrap_or(printer.colour()),
        only: asked.table.as_deref(),
    };
    let form = Form::of(report, asked, asked.format)?;
    // Files first: whoever reads stdout may go away.
    for (format, path) in &asked.also {
        let form = Form::of(report, asked, *format)?;
        let layout = Layout { width: asked.width.unwrap_or(FILE_WIDTH), colour: false, ..layout };
        to_file(path, |out| form.put(report, &layout, out))?;
    }
    printer.data(|out| form.put(report, &layout, out))?;
    if matches!(form, Form::Texts) {
        for note in &report.quality {
            printer.note(format_args!("{}; {}", note.message, note.cost));
        }
    }
    Ok(())
}

/// What of a report is written, and how.
enum Form<'a> {
    Texts,
    Table,
    Markdown,
    Json,
    Junit,
    Csv(Rows<'a>),
}

impl<'a> Form<'a> {
    /// The form that a report has in a format.
    ///
    /// # Errors
    /// [`Failure`] where the report holds nothing that the format is for.
    fn of(report: &'a Report, asked: &Asked, format: Format) -> Result<Self, Failure> {
        let has_texts = !report.texts.is_empty();
        Ok(match format {
            Format::Fitting if has_texts && report.tables.is_empty() && report.trees.is_empty() => {
                Self::Texts
            }
            Format::Text if has_texts => Self::Texts,
            Format::Text => {
                let message = format!("`{}` gives no text", report.analysis);
                return Err(Failure::Usage(message, "leave --format out for its tables".into()));
            }
            Format::Fitting | Format::Table => Self::Table,
            Format::Markdown => Self::Markdown,
            Format::Json => Self::Json,
            Format::Junit if present::has_tests(report) => Self::Junit,
            Format::Junit => {
                let message = format!(
                    "`{}` was asked nothing that can hold or not: JUnit has no tests",
                    report.analysis
                );
                let hint = "the format goes with a gate, such as `check` with --baseline or --budget";
                return Err(Failure::Usage(message, hint.into()));
            }
            Format::Csv => Self::Csv(one_table(report, asked)?),
        })
    }

    fn put(&self, report: &Report, layout: &Layout<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Texts => present::texts(report, out),
            Self::Table => present::table(report, layout, out),
            Self::Markdown => present::markdown(report, layout, out),
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
fn one_table<'a>(report: &'a Report, asked: &Asked) -> Result<Rows<'a>, Failure> {
    let (tree, table) = match &asked.table {
        Some(id) => (report.tree(id), report.table(id)),
        None => (report.trees.first(), report.tables.first()),
    };
    tree.map(Rows::Tree).or(table.map(Rows::Table)).ok_or_else(|| {
        let message = format!("`{}` gave no table for this profile", report.analysis);
        Failure::Nothing(message, "--format json has its other numbers".into())
    })
}
