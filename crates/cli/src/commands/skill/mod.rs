//! `haloscope skill install [DIR]`: a guide for agents, which comes with the program and knows its tools.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_analyses as analyses;
use haloscope_mcp::tools::tool_of;

use crate::to_file::to_file;
use crate::{Failure, Printer};

/// The guide, but for the table of analyses.
const GUIDE: &str = include_str!("SKILL.md");
/// Where that table goes.
const ANALYSES: &str = "<!-- analyses -->";
/// Where agents look for it, from the folder of a project.
const PLACE: &str = ".claude/skills/haloscope";
const NAME: &str = "SKILL.md";
/// What stands before the sum of what was written.
const MARK: &str = "<!-- written by haloscope, sum ";

pub(super) fn command() -> Command {
    let folder = Arg::new("dir")
        .value_name("DIR")
        .default_value(PLACE)
        .value_parser(value_parser!(PathBuf))
        .help("The folder to write the guide into, as SKILL.md");
    let force = Arg::new("force")
        .long("force")
        .action(ArgAction::SetTrue)
        .help("Overwrites a guide that was changed");
    Command::new("skill")
        .about("Teaches an agent which tool to use and how to read the answers")
        .max_term_width(80)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("install")
                .about("Writes the guide to where agents look for it")
                .max_term_width(80)
                .after_help("Example:\n  haloscope skill install\n  haloscope skill install ~/.claude/skills/haloscope")
                .arg(folder)
                .arg(force),
        )
        .subcommand(Command::new("show").about("Prints the guide"))
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let Some(("install", matches)) = matches.subcommand() else {
        printer.page(|out| out.write_all(guide().as_bytes()))?;
        return Ok(0);
    };
    let folder = matches.get_one::<PathBuf>("dir").cloned().unwrap_or_else(|| PLACE.into());
    let path = folder.join(NAME);
    let done = match state(&path)? {
        State::Current => "is up to date",
        State::Changed if !matches.get_flag("force") => {
            let message =
                format!("{} was edited after it was installed, so it was not changed", path.display());
            let hint = "`--force` overwrites it; `haloscope skill show` prints the guide";
            return Err(Failure::Usage(message, hint.into()));
        }
        State::Missing => {
            write(&folder, &path)?;
            "written"
        }
        State::Changed | State::Older => {
            write(&folder, &path)?;
            "replaced"
        }
    };
    printer.data(|out| writeln!(out, "{} {done}", path.display()))?;
    Ok(0)
}

/// What stands where the guide is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    /// This guide.
    Current,
    /// A guide that another version wrote, as it was written.
    Older,
    /// Anything else.
    Changed,
}

fn state(path: &Path) -> Result<State, Failure> {
    match fs::read_to_string(path) {
        Ok(found) if found == installed() => Ok(State::Current),
        Ok(found) if is_as_written(&found) => Ok(State::Older),
        Ok(_) => Ok(State::Changed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(State::Missing),
        // Not text: not ours.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(State::Changed),
        Err(error) => Err(Failure::File(path.to_owned(), error)),
    }
}

fn write(folder: &Path, path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::File(folder.to_owned(), error))?;
    to_file(path, |out| out.write_all(installed().as_bytes()))
}

/// The guide, with every analysis and the tool that gives it.
fn guide() -> String {
    let mut table = String::from("| question | tool |\n|---|---|\n");
    for analysis in analyses::ALL {
        let call = tool_of(analysis.id);
        let tool = match call.split_once(' ').and_then(|(tool, rest)| Some((tool, rest.split_once('=')?))) {
            Some((tool, (name, word))) => format!("`{tool}` with `{name}` `{word}`"),
            None => format!("`{call}`"),
        };
        table += &format!("| {} | {tool} |\n", analysis.question);
    }
    GUIDE.replacen(ANALYSES, table.trim_end(), 1)
}

/// The guide with a sum at its end, by which a later version knows that nobody changed it.
fn installed() -> String {
    let guide = guide();
    format!("{guide}\n{MARK}{:016x} -->\n", sum(&guide))
}

fn is_as_written(text: &str) -> bool {
    let Some((guide, sum_of)) = text.rsplit_once(MARK) else { return false };
    let stated = sum_of.trim_end().trim_end_matches("-->").trim();
    guide.strip_suffix('\n').is_some_and(|guide| format!("{:016x}", sum(guide)) == stated)
}

/// FNV-1a: it has to tell an edit from none, and nothing else.
fn sum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
