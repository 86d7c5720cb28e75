//! `haloscope query RUN... "SQL"`: a program of its own, which is found as git finds its subcommands.

use std::env::{self, consts::EXE_SUFFIX};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::run_argument::{find, say_which};
use crate::{Failure, Printer};

/// The program.
const PROGRAM: &str = "haloscope-query";

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

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let own = env::current_exe().ok();
    let Some(program) = program(own.as_deref(), env::var_os("PATH").as_deref()) else {
        let hint = "from a checkout: cargo install --path query; docs/query.md says more";
        return Err(Failure::Usage(
            format!("{PROGRAM} is neither beside this program nor on PATH"),
            hint.into(),
        ));
    };
    let (mut words, mut is_here) = (Vec::new(), true);
    for word in matches.get_many::<OsString>("words").into_iter().flatten() {
        let path = Path::new(word);
        if haloscope_store::is_elsewhere(path) {
            let here = find(path)?;
            say_which(&here, printer);
            words.push(here.path.into_os_string());
            is_here = false;
        } else {
            words.push(word.clone());
        }
    }
    let mut child = process::Command::new(&program);
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
        Failure::Usage(format!("cannot start {}: {error}", program.display()), String::new())
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

/// The program beside this one, else the first on PATH.
fn program(own: Option<&Path>, path: Option<&OsStr>) -> Option<PathBuf> {
    let name = format!("{PROGRAM}{EXE_SUFFIX}");
    let beside = own.and_then(Path::parent).map(Path::to_owned);
    let folders = path.into_iter().flat_map(env::split_paths).filter(|folder| !folder.as_os_str().is_empty());
    beside.into_iter().chain(folders).map(|folder| folder.join(&name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_beside_this_one_comes_first() {
        let (beside, on_path) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = beside.path().join("haloscope");
        let path = env::join_paths([Path::new(""), on_path.path()]).unwrap();
        let found = || program(Some(&own), Some(&path));
        assert_eq!(found(), None);
        let name = format!("{PROGRAM}{EXE_SUFFIX}");
        std::fs::write(on_path.path().join(&name), "").unwrap();
        assert_eq!(found(), Some(on_path.path().join(&name)));
        std::fs::write(beside.path().join(&name), "").unwrap();
        assert_eq!(found(), Some(beside.path().join(&name)));
    }
}
