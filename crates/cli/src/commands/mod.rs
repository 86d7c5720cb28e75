//! A file a subcommand. The analyses share one.

mod analysis;
mod browser;
mod cache;
mod capture;
mod completions;
mod demo;
mod export;
mod fleet;
mod help;
mod index;
mod ledger;
mod licenses;
mod man;
mod mcp;
mod oom;
mod oom_try;
mod part;
mod query;
mod report;
mod run;
mod serve;
mod share;
mod shared_machine;
mod skill;
mod source_root;
mod timeline;
mod version;
mod xprof;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, ArgMatches, Command};
use haloscope_analyses as analyses;
use haloscope_profile::load;
use haloscope_report::clean;
use haloscope_time::analysis::MenuGroup;

use help::Purpose;
pub use report::{report_fragment, report_page};

use crate::{Failure, Printer};

/// A subcommand that is not an analysis.
struct Other {
    /// What it is for, as help groups commands.
    purpose: Purpose,
    /// Its arguments.
    command: fn() -> Command,
    /// Runs it; the exit code.
    run: fn(&ArgMatches, &mut Printer) -> Result<u8, Failure>,
}

const OTHERS: &[Other] = &[
    Other { purpose: Purpose::Profile, command: capture::command, run: capture::run },
    Other { purpose: Purpose::Show, command: serve::command, run: serve::run },
    Other { purpose: Purpose::Profile, command: run::command, run: run::run },
    Other { purpose: Purpose::Show, command: mcp::command, run: mcp::run },
    Other { purpose: Purpose::Show, command: xprof::command, run: xprof::run },
    Other { purpose: Purpose::Menu(MenuGroup::Time), command: timeline::command, run: timeline::run },
    Other { purpose: Purpose::Show, command: query::command, run: query::run },
    Other { purpose: Purpose::Show, command: export::command, run: export::run },
    Other { purpose: Purpose::Show, command: report::command, run: report::run },
    Other { purpose: Purpose::Show, command: share::slice_command, run: share::slice },
    Other { purpose: Purpose::Show, command: share::redact_command, run: share::redact },
    Other { purpose: Purpose::Show, command: part::command, run: part::run },
    Other { purpose: Purpose::Show, command: skill::command, run: skill::run },
    Other { purpose: Purpose::Menu(MenuGroup::Change), command: fleet::command, run: fleet::run },
    Other { purpose: Purpose::Menu(MenuGroup::Change), command: ledger::command, run: ledger::run },
    Other { purpose: Purpose::Program, command: index::command, run: index::run },
    Other { purpose: Purpose::Program, command: cache::command, run: cache::run },
    Other { purpose: Purpose::Program, command: demo::command, run: demo::run },
    Other { purpose: Purpose::Program, command: version::command, run: version::run },
    Other { purpose: Purpose::Program, command: licenses::command, run: licenses::run },
    Other {
        purpose: Purpose::Program,
        command: completions::command,
        run: |matches, printer| completions::run(command(), matches, printer),
    },
    Other {
        purpose: Purpose::Program,
        command: man::command,
        run: |matches, printer| man::run(command(), matches, printer),
    },
];

/// What refuses the pager.
const NO_PAGER: &str = "no-pager";

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("haloscope")
        .version(crate::VERSION)
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .after_help(
            "RUN is the log folder given to the profiler (its newest session), a session folder, a .xplane.pb file, or - for \
             stdin; or a compiled program: an HLO proto, HLO text, a folder written by --xla_dump_to.\n\
             Start with `haloscope demo`, then `haloscope diagnose RUN`. `haloscope COMMAND --help` says more.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(analysis::HELP_WIDTH)
        .help_template(help::TEMPLATE)
        .before_help(help::commands(OTHERS))
        .arg(memory_limit())
        .arg(max_unpacked())
        .arg(no_pager())
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
        .help("Limits memory, such as 2GiB; the rest goes to a scratch file")
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
        .help("Largest unpacked size of a compressed file [200 times its size, and 4GiB at most]")
        .help_heading("Memory")
}

/// Bounds the memory of the process, where that was asked for, and what files unpack to.
fn bound_memory(matches: &ArgMatches) {
    let inner = innermost(matches);
    load::set_memory_limit(inner.get_one::<u64>("memory-limit").copied());
    load::set_unpacked_limit(inner.get_one::<u64>("max-unpacked").copied());
}

/// The arguments of the last subcommand: what was given behind its name is known to that one only.
fn innermost(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| innermost(inner))
}

/// Refuses the pager, for all subcommands.
fn no_pager() -> Arg {
    Arg::new(NO_PAGER)
        .long(NO_PAGER)
        .global(true)
        .action(ArgAction::SetTrue)
        .help("Prints straight to the terminal, without $HALOSCOPE_PAGER, $PAGER or less")
        .help_heading("Output")
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
        Err(message) => return explain(message, printer),
    };
    bound_memory(&matches);
    if innermost(&matches).get_flag(NO_PAGER) {
        printer.without_pager();
    }
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
fn explain(mut message: clap::Error, printer: &mut Printer) -> Result<u8, Failure> {
    if message.use_stderr() {
        // What it repeats of the command line, such as a name of a profile, makes no line of its own.
        let given: Vec<(ContextKind, ContextValue)> = message
            .context()
            .filter_map(|(kind, value)| match value {
                ContextValue::String(text) => Some((kind, ContextValue::String(clean(text).into_owned()))),
                _ => None,
            })
            .collect();
        for (kind, value) in given {
            message.insert(kind, value);
        }
        printer.talk(message.render());
        return Ok(2);
    }
    printer.page(|out| write!(out, "{}", message.render()))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
