//! `haloscope query`: runs asked in SQL, by a program of its own, which `haloscope` finds beside itself.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | answered, also where the reader of stdout went away |
//! | 2 | the command line or the SQL is wrong |
//! | 3 | an input could not be read, an output not written, or the query took too long or too much memory |
//! | 4 | nothing to analyse |
//! | 70 | a bug of ours |
//! | 130 | stopped with Ctrl-C |
//!
//! `haloscope-query worker` reads files for `haloscope query --cluster` on other machines.

mod args;
mod ask;
mod canned;
mod cluster;
mod docs;
mod engine;
mod failure;
mod functions;
mod open;
mod ops;
mod output;
mod printer;
mod prompt;
mod runs;
mod stats;
mod tables;

use std::ffi::OsString;
use std::process::ExitCode;

use args::Task;
use failure::Failure;

fn main() -> ExitCode {
    haloscope_profile::load::map::guard();
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let is_worker = cluster::worker::is_meant(&words);
    let matches = if is_worker {
        cluster::worker::command().try_get_matches_from(std::env::args_os().skip(1))
    } else {
        args::command().try_get_matches()
    };
    let outcome = match matches {
        Ok(matches) if is_worker => cluster::worker::run(&matches),
        Ok(matches) => args::task(&matches).and_then(|task| match task {
            Task::Ask(asked) => ask::ask(asked),
            Task::Prompt(runs, options) => prompt::run(&runs, options),
            Task::Print(text) => Ok(printer::data(|out| out.write_all(text.as_bytes()))?),
        }),
        Err(message) if message.use_stderr() => {
            printer::talk(message.render());
            return ExitCode::from(2);
        }
        Err(message) => printer::data(|out| write!(out, "{}", message.render())).map_err(Failure::from),
    };
    let code = match outcome {
        Ok(()) => 0,
        Err(failure) => {
            printer::failure(&failure);
            failure.exit_code()
        }
    };
    haloscope_store::leave();
    // What still runs on other threads ends with the process: a query cannot be stopped in all of its parts.
    ExitCode::from(code)
}
