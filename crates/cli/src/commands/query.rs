//! `haloscope query RUN... "SQL"`: a program of its own, which is found as git finds its subcommands.

use std::ffi::OsString;
use std::io;
use std::process;

use clap::{Arg, ArgMatches, Command, value_parser};
use haloscope_sql::{HOW_TO_GET, PROGRAM, Program};

use crate::{Failure, Printer};

pub(super) fn command() -> Command {
    Command::new("query")
        .about("Queries runs with SQL: events, steps, ops, every table of every analysis")
        .max_term_width(80)
        .disable_help_flag(true)
        .after_long_help(
            "Runs haloscope-query, a separate program, found next to this one or on PATH: `haloscope query --help` lists its options.\n\n\
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
        let error = format!("{PROGRAM} was found neither next to this program nor on PATH");
        Failure::Usage(error, HOW_TO_GET.into())
    })
}

pub(super) fn run(matches: &ArgMatches, _: &mut Printer) -> Result<u8, Failure> {
    let program = program()?;
    let mut child = process::Command::new(program.path());
    child.args(matches.get_many::<OsString>("words").into_iter().flatten());
    // What was said before the command's name is said to it too.
    for (option, variable) in
        [("memory-limit", "HALOSCOPE_MEMORY_LIMIT"), ("max-unpacked", "HALOSCOPE_MAX_UNPACKED")]
    {
        if let Some(bytes) = matches.get_one::<u64>(option) {
            child.env(variable, bytes.to_string());
        }
    }
    let code = become_it(&mut child).map_err(|error| {
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

/// Waits for the other program; its exit code. Ctrl-C is for the other, which has this one's terminal.
#[cfg(not(unix))]
fn become_it(program: &mut process::Command) -> io::Result<i32> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    Ok(program.status()?.code().unwrap_or(3))
}
