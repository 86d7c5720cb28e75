//! `haloscope query RUN... "SQL"`: a program of its own, which is found as git finds its subcommands.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process;

use clap::{Arg, ArgMatches, Command, value_parser};
use haloscope_sql::{HOW_TO_GET, PROGRAM, Program};

use crate::run_argument::{find, say_which};
use crate::{Failure, Printer};

/// What the addresses of workers stand behind.
const CLUSTER: &str = "--cluster";

pub(super) fn command() -> Command {
    Command::new("query")
        .about("Asks runs in SQL: events, steps, ops, every table of every analysis")
        .max_term_width(80)
        .disable_help_flag(true)
        .after_long_help(
            "Done by haloscope-query, a program of its own, beside this one or on PATH: `haloscope query --help` says what it takes.\n\n\
             Example:\n  haloscope query RUN \"SELECT kind, name, count(*) FROM event GROUP BY 1, 2\"",
        )
        .arg(
            Arg::new("words")
                .value_name("RUN... SQL")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_parser(value_parser!(OsString))
                .help("Runs, what to ask of them, and options"),
        )
}

/// The program that answers SQL.
///
/// # Errors
/// If there is none: how to get it.
pub(super) fn program() -> Result<Program, Failure> {
    Program::find().ok_or_else(|| {
        let error = format!("{PROGRAM} is neither beside this program nor on PATH");
        Failure::Usage(error, HOW_TO_GET.into())
    })
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let program = program()?;
    let (mut words, mut is_here): (Vec<OsString>, bool) = (Vec::new(), true);
    let given: Vec<&OsString> = matches.get_many::<OsString>("words").into_iter().flatten().collect();
    let is_spread = given.iter().any(|word| word.to_string_lossy().split('=').next() == Some(CLUSTER));
    for word in given {
        let path = Path::new(word);
        // The addresses of workers are those of no run.
        let is_of_workers = words.last().is_some_and(|last| last == CLUSTER);
        if !is_of_workers && haloscope_store::is_elsewhere(path) {
            if is_spread {
                let hint = "mount the bucket as a folder, at the same place on all machines, and pass that";
                let error = format!("{CLUSTER}: workers read files, and {} is an address", path.display());
                return Err(Failure::Usage(error, hint.into()));
            }
            let here = find(path)?;
            say_which(&here, printer);
            words.push(here.path.into_os_string());
            is_here = false;
        } else {
            words.push(word.clone());
        }
    }
    let mut child = process::Command::new(program.path());
    child.args(words);
    // What was said before the command's name is said to it too.
    for (option, variable) in
        [("memory-limit", "HALOSCOPE_MEMORY_LIMIT"), ("max-unpacked", "HALOSCOPE_MAX_UNPACKED")]
    {
        if let Some(bytes) = matches.get_one::<u64>(option) {
            child.env(variable, bytes.to_string());
        }
    }
    let ended = if is_here { become_it(&mut child) } else { wait_for(&mut child) };
    let code = ended.map_err(|error| {
        Failure::Usage(format!("cannot start {}: {error}", program.path().display()), String::new())
    })?;
    Ok(u8::try_from(code).unwrap_or(3))
}

/// Goes on as the other program, so that whoever ends this process ends the query.
#[cfg(unix)]
fn become_it(program: &mut process::Command) -> io::Result<i32> {
    use std::os::unix::process::CommandExt;
    Err(program.exec())
}

#[cfg(not(unix))]
fn become_it(program: &mut process::Command) -> io::Result<i32> {
    wait_for(program)
}

/// Waits for the other program, since files that were brought here may go with this process; its exit code. Ctrl-C is for the other,
/// which has this one's terminal.
fn wait_for(program: &mut process::Command) -> io::Result<i32> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    Ok(program.status()?.code().unwrap_or(3))
}
