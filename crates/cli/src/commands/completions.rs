//! `haloscope completions SHELL`: the completion script of a shell.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::{Failure, Printer};

pub(super) fn command() -> Command {
    Command::new("completions").about("Prints the completion script for a shell").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(value_parser!(Shell))
            .help("The shell"),
    )
}

/// Prints the script for `all`, the whole command line.
pub(super) fn run(mut all: Command, matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    if let Some(shell) = matches.get_one::<Shell>("shell") {
        // The generator panics where it cannot write, so it writes to memory.
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut all, "haloscope", &mut script);
        printer.data(|out| out.write_all(&script))?;
    }
    Ok(0)
}
