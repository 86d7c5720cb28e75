//! `--source-root DIR`: the texts of the lines that a profile names.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use haloscope_profile::load::SourceRoot;
use haloscope_report::units;
use haloscope_report::{Cell, Report, Text};

use crate::{Failure, Printer};

const ID: &str = "source-root";

/// The option.
pub(crate) fn arg(help: &'static str) -> Arg {
    Arg::new(ID).long(ID).value_name("DIR").value_parser(value_parser!(PathBuf)).help(help)
}

/// The folder that was given, where the subcommand takes one.
///
/// # Errors
/// [`Failure::Usage`] if it is no folder.
pub(super) fn from_matches(matches: &ArgMatches) -> Result<Option<SourceRoot>, Failure> {
    let Some(folder) = matches.try_get_one::<PathBuf>(ID).ok().flatten() else { return Ok(None) };
    SourceRoot::new(folder).map(Some).map_err(|error| {
        let hint = "--source-root takes a folder: a checkout of the program that was profiled";
        Failure::Usage(error.to_string(), hint.into())
    })
}

/// Fills the texts of lines into the table that has room for them, with the space before them only where they are listed.
/// Lines without a text stay as they are.
pub(super) fn fill(report: &mut Report, sources: &SourceRoot, listed: bool, printer: &mut Printer) {
    let Some(table) = report.tables.iter_mut().find(|table| table.id == "lines") else { return };
    let columns = ["file", "line", "text"].map(|id| table.column(id));
    let [Some(file), Some(line), Some(text)] = columns else { return };
    let mut files: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
    for row in &mut table.rows {
        let Some(path) = row[file].as_text().map(str::to_owned) else { continue };
        let lines = files.entry(path).or_insert_with_key(|path| {
            let found = sources.read(path).ok()?;
            Some(found.text.lines().map(|line| line.trim_end().to_owned()).collect())
        });
        let number = row[line].number().and_then(|n| (n as usize).checked_sub(1));
        let found = lines.as_ref().zip(number).and_then(|(lines, at)| lines.get(at));
        if let Some(found) = found {
            row[text] = Cell::from(if listed { found } else { found.trim_start() });
        }
    }
    let missing = files.values().filter(|lines| lines.is_none()).count();
    if missing > 0 {
        printer.note(format_args!("{missing} of {} files are not below the source root", files.len()));
    }
}

/// The lines that take time with their texts, file by file in the order of the report, each by line; none where no text was
/// found.
pub(super) fn listing(report: &Report) -> Vec<Text> {
    let (Some(files), Some(lines)) = (report.table("files"), report.table("lines")) else {
        return Vec::new();
    };
    let names = (0..files.rows.len()).filter_map(|row| files.cell(row, "file")?.as_text());
    let of_file = |file: &str| {
        let number = |row: usize, id: &str| lines.cell(row, id).and_then(Cell::number);
        let own = |row: &usize| lines.cell(*row, "file").and_then(Cell::as_text) == Some(file);
        let mut rows: Vec<usize> = (0..lines.rows.len()).filter(own).collect();
        rows.sort_by(|a, b| number(*a, "line").unwrap_or(0.0).total_cmp(&number(*b, "line").unwrap_or(0.0)));
        let has_text = rows.iter().any(|row| lines.cell(*row, "text").is_some_and(|c| c.as_text().is_some()));
        let time =
            |row: usize, id: &str| number(row, id).map_or_else(|| "unknown".into(), units::duration_ps);
        let mut text = format!("{file}\n  own time  share  callees   line\n");
        for row in rows {
            let share = number(row, "share").map_or_else(|| "unknown".into(), units::share);
            let line = number(row, "line").map_or_else(|| "?".into(), |line| line.to_string());
            let words = lines.cell(row, "text").and_then(Cell::as_text).unwrap_or_default();
            let (own, all) = (time(row, "self_ps"), time(row, "total_ps"));
            text += format!("{own:>11} {share:>6} {all:>11} {line:>5}  {words}").trim_end();
            text.push('\n');
        }
        has_text.then(|| Text { id: "listing", title: file.to_owned(), text })
    };
    names.filter_map(of_file).collect()
}
