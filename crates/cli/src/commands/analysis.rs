//! `haloscope <analysis> RUN`: finds the run, asks the question, writes the answer.

use clap::ArgMatches;
use haloscope_core::analyses::{self, Analysis};
use haloscope_core::load::{self, Run};
use haloscope_core::present::{self, Layout};
use haloscope_core::profile::Profile;
use haloscope_core::report::{Gate, Report, Table, Tree};

use super::source_root;
use crate::args::{Asked, Format};
use crate::{Failure, Printer};

pub(super) fn run(analysis: &Analysis, matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let asked = Asked::from_matches(analysis, matches)?;
    let Some(path) = &asked.run else {
        write(&analyses::run_alone(analysis, &asked.params)?, &asked, printer)?;
        return Ok(0);
    };
    let run = load::find(path)?;
    say_which(&run, printer);
    let profile = load::open(&run)?;
    let mut others = Vec::new();
    for path in &asked.others {
        let other = load::find(path)?;
        say_which(&other, printer);
        others.push(load::open(&other)?);
    }
    let others: Vec<&Profile> = others.iter().collect();
    let sources = source_root::of(matches)?;
    let mut report = analyses::run_with(analysis, &profile, &others, &asked.scope, &asked.params)?;
    if let Some(sources) = sources {
        let listed = asked.format == Format::Text;
        source_root::fill(&mut report, &sources, listed, printer);
        if listed {
            report.texts.extend(source_root::listing(&report));
        }
    }
    write(&report, &asked, printer)?;
    Ok(report.gate.map_or(0, Gate::exit_code))
}

/// Names the session that was taken where there was a choice.
pub(super) fn say_which(run: &Run, printer: &mut Printer) {
    if run.chosen_from > 1 {
        printer.note(format_args!("newest of {} sessions: {}", run.chosen_from, run.path.display()));
    }
}

fn write(report: &Report, asked: &Asked, printer: &mut Printer) -> Result<(), Failure> {
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
    let is_text = match asked.format {
        Format::Fitting => report.tables.is_empty() && report.trees.is_empty() && !report.texts.is_empty(),
        Format::Text => !report.texts.is_empty(),
        _ => false,
    };
    match asked.format {
        _ if is_text => {
            printer.data(|out| present::texts(report, out))?;
            for note in &report.quality {
                printer.note(format_args!("{}; {}", note.message, note.cost));
            }
            Ok(())
        }
        Format::Text => {
            let message = format!("`{}` gives no text", report.analysis);
            Err(Failure::Usage(message, "leave --format out for its tables".into()))
        }
        Format::Fitting | Format::Table => printer.data(|out| present::table(report, &layout, out)),
        Format::Markdown => printer.data(|out| present::markdown(report, &layout, out)),
        Format::Json => printer.data(|out| present::json(report, out)),
        Format::Csv => match one_table(report, asked)? {
            Rows::Table(table) => printer.data(|out| present::csv(table, out)),
            Rows::Tree(tree) => printer.data(|out| present::tree_csv(tree, out)),
        },
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
