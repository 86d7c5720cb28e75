//! `haloscope licenses`: whose work is in the program, and under which licences.

use clap::{ArgMatches, Command};

use crate::{Failure, Printer};

/// Written by `cargo xtask licenses --write`, of what Cargo and npm say and of the texts in the packages.
const TEXT: &str = include_str!("licenses.txt");

pub(super) fn command() -> Command {
    Command::new("licenses").about("Prints the licences of the program's parts")
}

pub(super) fn run(_: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    printer.page(|out| out.write_all(TEXT.as_bytes()))?;
    Ok(0)
}
