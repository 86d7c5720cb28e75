//! `haloscope version`: what to put into a bug report.

use clap::{ArgMatches, Command};
use haloscope_report as report;

use crate::{Failure, Printer, VERSION};

pub(super) fn command() -> Command {
    Command::new("version").about("Prints the versions of the program and of its report format")
}

pub(super) fn run(_: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    printer.data(|out| {
        writeln!(out, "haloscope {VERSION}")?;
        writeln!(out, "built for {os} {arch}")?;
        writeln!(out, "report format {}", report::VERSION)
    })?;
    Ok(0)
}
