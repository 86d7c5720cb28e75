//! The command line: arguments in, a report on stdout, talk on stderr, an exit code out.
//!
//! `commands` has a file a subcommand, of which `analysis` derives those of the registry; `args`, `cache_args` and `run_argument`
//! are what subcommands share, `output` writes reports, and [`Printer`] is the one door to stdout and stderr,
//! with a `pager` in front of it where a person reads.

mod args;
mod cache_args;
mod commands;
// The build script is made of it; here it is only tested.
#[cfg(test)]
mod commit;
mod failure;
mod output;
mod pager;
mod printer;
mod progress;
mod run_argument;
mod to_file;

use std::ffi::OsString;
use std::panic;

pub use commands::{report_fragment, report_page};
pub use failure::Failure;
pub use printer::Printer;

/// Does what a process does that was started with these arguments, and returns its exit code. A panic is told on stderr, from here
/// on.
pub fn process(args: impl IntoIterator<Item = OsString>) -> u8 {
    panic::set_hook(Box::new(|info| Printer::standard().bug(info)));
    let args: Vec<OsString> = args.into_iter().collect();
    // What `run` leaves behind after a panic is not looked at any more.
    panic::catch_unwind(|| run(args, &mut Printer::standard())).unwrap_or(70)
}

/// The version of the program, and in brackets the commit that it was built from, where that is known.
pub const VERSION: &str = env!("HALOSCOPE_VERSION");

/// Runs a command line and returns the exit code of its process. The first argument is the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>, printer: &mut Printer) -> u8 {
    let outcome = haloscope_report::stop::or_refused(|| commands::dispatch(args, printer));
    haloscope_store::leave();
    run_argument::leave();
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            printer.failure(&failure);
            failure.exit_code()
        }
    }
}

/// The whole command line as clap sees it, for completions, manual pages and documentation.
#[must_use]
pub fn command() -> clap::Command {
    commands::command()
}
