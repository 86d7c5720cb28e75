//! `haloscope mcp [LOGDIR]`: the tools for agents, on stdin and stdout. Nothing but the protocol may be written to stdout.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, Command, value_parser};
use haloscope_mcp::{Context, Server};
use haloscope_store::Store;

use crate::{Failure, Printer, cache_args};

pub(super) fn command() -> Command {
    Command::new("mcp")
        .about("Serves a folder of runs to agents (Model Context Protocol)")
        .arg(
            Arg::new("logdir")
                .value_name("LOGDIR")
                .default_value(".")
                .value_parser(value_parser!(PathBuf))
                .help("Log folder of the runs, here or in a bucket (gs://, s3://, az://, https://); a session folder or a .xplane.pb file works too"),
        )
        .arg(
            Arg::new("page")
                .long("page")
                .value_name("URL")
                .help("Where `haloscope serve` shows the same folder: answers link to it"),
        )
        .arg(cache_args::arg())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let Some(folder) = matches.get_one::<PathBuf>("logdir") else { return Ok(2) };
    let store_failure = |error: haloscope_store::Error| match error {
        haloscope_store::Error::Read(error) => Failure::Shared(error),
        other => Failure::Server(other.to_string()),
    };
    let store = Store::new(folder).map_err(store_failure)?.with_cache(cache_args::cache(matches)?);
    let runs = store.list().map_err(store_failure)?.len();
    let word = if runs == 1 { "run" } else { "runs" };
    printer.note(format_args!("{runs} {word} in {}", store.place().unwrap_or_default()));
    if io::stdin().is_terminal() {
        printer.note("an agent's program starts this and sends the protocol on stdin; Ctrl-D ends it");
    }
    let store = Arc::new(store);
    let _watch = store.watch(|_| {});
    let mut context = Context::new(store);
    if let Some(page) = matches.get_one::<String>("page") {
        context = context.with_page(format!("{}/", page.trim_end_matches('/')));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    // One of another version is as good as none.
    let sql = haloscope_sql::Program::find().filter(|program| program.about().is_ok());
    let server = Server::new(context);
    let server = match sql {
        Some(program) => server.with_sql(program),
        None => server,
    };
    let ended = runtime.block_on(haloscope_mcp::stdio(server));
    // A call that is still computing must not hold the process.
    runtime.shutdown_background();
    ended.map(|()| 0).map_err(Failure::Server)
}
