//! A file a subcommand. The analyses share one.

mod analysis;
mod browser;
mod cache;
mod capture;
mod completions;
mod demo;
mod export;
mod find;
mod index;
pub(crate) mod kept;
mod ledger;
mod mcp;
mod report;
mod run;
mod serve;
mod skill;
pub(crate) mod source_root;
mod version;
mod xprof;

use std::ffi::OsString;

use clap::{ArgMatches, Command};
use haloscope_analyses as analyses;

use crate::{Failure, Printer, args};

/// A subcommand that is not an analysis.
struct Other {
    /// Its arguments.
    command: fn() -> Command,
    /// Runs it; the exit code.
    run: fn(&ArgMatches, &mut Printer) -> Result<u8, Failure>,
}

const OTHERS: &[Other] = &[
    Other { command: capture::command, run: capture::run },
    Other { command: serve::command, run: serve::run },
    Other { command: run::command, run: run::run },
    Other { command: mcp::command, run: mcp::run },
    Other { command: xprof::command, run: xprof::run },
    Other { command: export::command, run: export::run },
    Other { command: report::command, run: report::run },
    Other { command: skill::command, run: skill::run },
    Other { command: ledger::command, run: ledger::run },
    Other { command: index::command, run: index::run },
    Other { command: cache::command, run: cache::run },
    Other { command: demo::command, run: demo::run },
    Other { command: version::command, run: version::run },
    Other { command: completions::command, run: completions::run },
];

/// The subcommands that are no analyses.
pub(crate) fn others() -> impl Iterator<Item = Command> {
    OTHERS.iter().map(|other| (other.command)())
}

/// Parses a command line and runs what it asks for.
///
/// # Errors
/// [`Failure`] where there is no answer.
pub(crate) fn dispatch(
    args: impl IntoIterator<Item = OsString>,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let matches = match args::command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(message) => return explain(&message, printer),
    };
    args::bound_memory(&matches);
    // A subcommand is required, and only those that are known are parsed.
    let Some((name, matches)) = matches.subcommand() else { return Ok(2) };
    let (name, matches) = match matches.subcommand() {
        Some((member, matches)) if analyses::find(&format!("{name} {member}")).is_some() => {
            (format!("{name} {member}"), matches)
        }
        _ => (name.to_owned(), matches),
    };
    if let Some(analysis) = analyses::find(&name) {
        return analysis::run(analysis, matches, printer);
    }
    let other = OTHERS.iter().find(|other| (other.command)().get_name() == name);
    other.map_or(Ok(2), |other| (other.run)(matches, printer))
}

/// Help that was asked for is data; what was wrong with a command line is talk.
fn explain(message: &clap::Error, printer: &mut Printer) -> Result<u8, Failure> {
    if message.use_stderr() {
        printer.talk(message.render());
        return Ok(2);
    }
    printer.data(|out| write!(out, "{}", message.render()))?;
    Ok(0)
}
