//! `haloscope man DIR`: a manual page for the program and for each of its commands.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_mangen::Man;

use crate::to_file::to_file;
use crate::{Failure, Printer};

pub(super) fn command() -> Command {
    Command::new("man").about("Writes the manual pages").arg(
        Arg::new("dir")
            .value_name("DIR")
            .required(true)
            .value_parser(value_parser!(PathBuf))
            .help("The folder to write the pages into, as haloscope-ops.1"),
    )
}

/// Writes the pages of `all`, the whole command line.
pub(super) fn run(all: Command, matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let Some(folder) = matches.get_one::<PathBuf>("dir") else { return Ok(2) };
    fs::create_dir_all(folder).map_err(|error| Failure::File(folder.clone(), error))?;
    let mut all = all.disable_help_subcommand(true);
    all.build();
    let written = write(&all, folder)?;
    printer.data(|out| writeln!(out, "{written} pages in {}", folder.display()))?;
    Ok(0)
}

/// Writes the page of a command and those of its subcommands; how many.
fn write(command: &Command, folder: &Path) -> Result<usize, Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let page = Man::new(command.clone().before_help("").before_long_help(""));
    to_file(&folder.join(format!("{name}.1")), |out| page.render(&mut { out }))?;
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
        .try_fold(1, |n, inner| Ok(n + write(inner, folder)?))
}
