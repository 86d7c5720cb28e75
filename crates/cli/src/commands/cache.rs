//! `haloscope cache`: what is kept of runs, where, and how to be rid of it.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use clap::{ArgMatches, Command};
use haloscope_report::units;
use haloscope_report::{Report, Status, Table, Unit, Value, row};
use haloscope_store::{Cache, Contents};

use crate::args::{AnalysisArgs, output_args};
use crate::output::write;
use crate::{Failure, Printer};

pub(super) fn command() -> Command {
    Command::new("cache")
        .about("Shows or clears the cache")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(Command::new("show").about("Lists the contents of the cache").args(output_args()))
        .subcommand(Command::new("clear").about("Clears the cache"))
        .subcommand(Command::new("path").about("Prints the folder"))
        .after_help(
            "HALOSCOPE_CACHE names another folder, or is `off`; HALOSCOPE_CACHE_MAX is its largest size [default: 10GB]. With --no-cache a question is computed again and nothing is kept",
        )
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let Some(cache) = Cache::of_user()? else {
        let hint = "HALOSCOPE_CACHE is `off`, or the user has no home; set it to a folder";
        return Err(Failure::Nothing("there is no cache".into(), hint.into()));
    };
    match matches.subcommand() {
        Some(("path", _)) => printer.data(|out| writeln!(out, "{}", cache.folder().display()))?,
        Some(("clear", _)) => {
            let gone = units::bytes(cache.clear() as f64);
            printer.data(|out| writeln!(out, "removed {gone} from {}", cache.folder().display()))?;
        }
        Some(("show", matches)) => {
            write(&report(&cache.contents()), &AnalysisArgs::output(matches)?, printer)?;
        }
        _ => return Ok(2),
    }
    Ok(0)
}

#[derive(Default)]
struct Row {
    index_bytes: Option<u64>,
    brought_bytes: Option<u64>,
    answers: u64,
    answers_bytes: u64,
    used_s: u64,
}

fn report(contents: &Contents) -> Report {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let (mut answers, mut total) = (0_u64, 0);
    for item in &contents.items {
        total += item.bytes;
        answers += u64::from(item.analysis.is_some());
        let used_s = item.used.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        for file in item.files.iter().map(String::as_str).chain(item.files.is_empty().then_some("")) {
            let row = rows.entry(file).or_default();
            row.used_s = row.used_s.max(used_s);
            if item.analysis.is_some() {
                row.answers += 1;
                row.answers_bytes += item.bytes;
            } else if item.is_mirror {
                row.brought_bytes = Some(row.brought_bytes.unwrap_or(0) + item.bytes);
            } else {
                row.index_bytes = Some(row.index_bytes.unwrap_or(0) + item.bytes);
            }
        }
    }
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by(|(a, x), (b, y)| (y.used_s, a).cmp(&(x.used_s, b)));
    let mut table = Vec::new();
    for (file, row) in rows {
        let row = row![
            text("file", "File", "The profile; empty if it can no longer be read", file),
            bytes(
                "index_bytes",
                "Index",
                "Columns and structure of the file on disk; unknown if it has none",
                row.index_bytes
            ),
            count("answers", "Answers", "Answers about runs that this file belongs to", row.answers),
            bytes(
                "answers_bytes",
                "Their size",
                "These answers on disk; an answer about several files counts for each",
                row.answers_bytes
            ),
            bytes(
                "brought_bytes",
                "Brought",
                "The run's files, copied from elsewhere; unknown for local files",
                row.brought_bytes
            ),
            count("used_s", "Used", "When any of it was last used, seconds since 1970", row.used_s),
        ];
        table.push(row);
    }
    let text =
        |id, label, value: String, doc| Value::new(id, label, Some(value), Unit::None, Status::Measured, doc);
    let bytes =
        |id, label, value: u64, doc| Value::new(id, label, Some(value), Unit::Bytes, Status::Measured, doc);
    let values = vec![
        text(
            "folder",
            "Folder",
            contents.folder.display().to_string(),
            "The folder of the cache: HALOSCOPE_CACHE",
        ),
        bytes("size_bytes", "Size", total, "All that is kept, on disk"),
        bytes(
            "max_bytes",
            "May hold",
            contents.max_bytes,
            "Above it, what was unused for the longest time is deleted: HALOSCOPE_CACHE_MAX",
        ),
        Value::new(
            "answers",
            "Answers",
            Some(answers),
            Unit::Count,
            Status::Measured,
            "Answers that are kept",
        ),
    ];
    Report {
        analysis: "cache",
        values,
        tables: vec![Table::of("files", "Files with cached data", table)],
        ..Report::default()
    }
}
