//! A file a subcommand. The analyses share one.

mod analysis;
mod browser;
mod cache;
mod capture;
mod completions;
mod demo;
mod export;
mod index;
mod ledger;
mod mcp;
mod oom;
mod report;
mod run;
mod serve;
mod skill;
mod source_root;
mod timeline;
mod version;
mod xprof;

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command};
use haloscope_analyses as analyses;
use haloscope_profile::load;

use crate::{Failure, Printer};

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
    Other { command: timeline::command, run: timeline::run },
    Other { command: export::command, run: export::run },
    Other { command: report::command, run: report::run },
    Other { command: skill::command, run: skill::run },
    Other { command: ledger::command, run: ledger::run },
    Other { command: index::command, run: index::run },
    Other { command: cache::command, run: cache::run },
    Other { command: demo::command, run: demo::run },
    Other { command: version::command, run: version::run },
    Other {
        command: completions::command,
        run: |matches, printer| completions::run(command(), matches, printer),
    },
];

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("haloscope")
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .after_help(
            "RUN is the log folder given to the profiler (the newest session in it is taken), a session folder in it, or \
             one .xplane.pb file; or a compiled program: an HLO proto, HLO text, a folder that --xla_dump_to made. First steps: `haloscope demo`, then `haloscope overview RUN`",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(analysis::HELP_WIDTH)
        .arg(memory_limit())
        .arg(max_unpacked())
        .subcommands(analysis::commands())
        .subcommands(OTHERS.iter().map(|other| (other.command)()))
}

/// The bound on memory, which all subcommands keep.
fn memory_limit() -> Arg {
    Arg::new("memory-limit")
        .long("memory-limit")
        .value_name("SIZE")
        .global(true)
        .env("HALOSCOPE_MEMORY_LIMIT")
        .hide_env_values(true)
        .value_parser(|text: &str| load::size(text).map_err(|error| error.to_string()))
        .help("Keeps the process below this much memory, such as 2GiB; what does not fit lies in a scratch file")
        .help_heading("Memory")
}

/// The bound on what a packed file unpacks to, which all subcommands keep.
fn max_unpacked() -> Arg {
    Arg::new("max-unpacked")
        .long("max-unpacked")
        .value_name("SIZE")
        .global(true)
        .env("HALOSCOPE_MAX_UNPACKED")
        .hide_env_values(true)
        .value_parser(|text: &str| load::size(text).map_err(|error| error.to_string()))
        .help("Unpacks a packed file to no more than this [200 times its size, and 4GiB at most]")
        .help_heading("Memory")
}

/// Bounds the memory of the process, where that was asked for, and what files unpack to.
fn bound_memory(matches: &ArgMatches) {
    // What was given behind a subcommand's name is known to that one only.
    if let Some((_, inner)) = matches.subcommand() {
        return bound_memory(inner);
    }
    load::set_memory_limit(matches.get_one::<u64>("memory-limit").copied());
    load::set_unpacked_limit(matches.get_one::<u64>("max-unpacked").copied());
}

/// Parses a command line and runs what it asks for.
///
/// # Errors
/// [`Failure`] where there is no answer.
pub(crate) fn dispatch(
    args: impl IntoIterator<Item = OsString>,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let matches = match command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(message) => return explain(&message, printer),
    };
    bound_memory(&matches);
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
