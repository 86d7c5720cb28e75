//! `haloscope serve [LOGDIR]`: the page and its API, over a folder of runs.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_serve::{CaptureHosts, Config, FrameAncestor, Sql};
use haloscope_store::{Ledger, Store};

use super::query::program;
use super::{browser, shared_machine, source_root};
use crate::{Failure, Printer, cache_args};

/// How many ports are tried after the default one.
const TRIES: u16 = 20;

pub(super) fn command() -> Command {
    Command::new("serve")
        .about("Serves the page and its API over a folder of runs")
        .arg(
            Arg::new("logdir")
                .value_name("LOGDIR")
                .default_value(".")
                .value_parser(value_parser!(PathBuf))
                .help("Log folder of the runs, here or in a bucket (gs://, s3://, az://, https://); a session folder or a .xplane.pb file works too"),
        )
        .arg(
            Arg::new("root")
                .long("root")
                .value_name("DIR|URL")
                .action(ArgAction::Append)
                .value_parser(value_parser!(PathBuf))
                .help(
                    "Also allows requests for sessions below this folder or address, as XProf's session_path and run_path; may be repeated",
                ),
        )
        .arg(source_root::arg(
            "Shows source lines with their time, from a checkout of the profiled program in this folder. Anyone who reaches the server can read the files in it",
        ))
        .arg(
            Arg::new("ledger")
                .long("ledger")
                .value_name("PATH")
                .value_parser(value_parser!(PathBuf))
                .help("Also shows this history of runs: a file or folder that `haloscope ledger add` writes to"),
        )
        .arg(
            Arg::new("capture-hosts")
                .long("capture-hosts")
                .value_name("LIST")
                .value_parser(value_parser!(CaptureHosts))
                .help(
                    "Profiler servers that the page may capture from: hosts such as worker-3, *.tpu.internal, 10.0.0.0/8 or localhost:9999, separated by commas; `any` or `none`. Default: any if only this machine reaches the server, else none",
                ),
        )
        .arg(Arg::new("sql").long("sql").action(ArgAction::SetTrue).help(
            "Also answers SQL over the runs (a page, POST /api/query and a tool for agents) with haloscope-query, a separate program",
        ))
        .arg(
            Arg::new("frame-ancestors")
                .long("frame-ancestors")
                .value_name("LIST")
                .value_delimiter(',')
                .value_parser(value_parser!(FrameAncestor))
                .help(
                    "Sites whose pages may show this page in a frame, separated by commas: https://notebooks.example, http://localhost:8888 or self [default: none]. `?embed` in the address hides the page's bar and menu",
                ),
        )
        .arg(
            Arg::new("deadline")
                .long("deadline")
                .value_name("SECONDS")
                .default_value("300")
                .value_parser(value_parser!(u64))
                .help("Refuses answers that take longer to compute; 0 sets no limit"),
        )
        .arg(cache_args::arg())
        .args(address_args())
}

/// Where the server listens and who may talk to it.
pub(super) fn address_args() -> [Arg; 7] {
    [
        Arg::new("host")
            .long("host")
            .value_name("ADDRESS")
            .default_value("127.0.0.1")
            .value_parser(value_parser!(IpAddr))
            .help("Address to listen on; the default is reachable from this machine only"),
        Arg::new("port")
            .long("port")
            .value_name("PORT")
            .default_value("8791")
            .value_parser(value_parser!(u16))
            .help(
                "Port to listen on; 0 takes any that is free. If the default is taken, the next free one is",
            ),
        Arg::new("token")
            .long("token")
            .value_name("WORD")
            .env("HALOSCOPE_TOKEN")
            .hide_env_values(true)
            .help(
                "Secret of 16 characters or more that requests must have. One is generated if other machines reach the server (--host), or other people use this machine",
            ),
        Arg::new("no-token").long("no-token").action(ArgAction::SetTrue).conflicts_with("token").help(
            "Asks for no secret although other people use this machine: all of them can then read the profiles",
        ),
        Arg::new("open").long("open").action(ArgAction::SetTrue).help("Opens the page in a browser"),
        Arg::new("web-root")
            .long("web-root")
            .value_name("DIR")
            .value_parser(value_parser!(PathBuf))
            .help("Serves the page from this folder instead of the built-in one, for development"),
        Arg::new("ui")
            .long("ui")
            .value_name("DIR")
            .conflicts_with("web-root")
            .value_parser(value_parser!(PathBuf))
            .help("Serves XProf's own page instead, from the folder `static` of its Python package"),
    ]
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let folder = matches.get_one::<PathBuf>("logdir").cloned().unwrap_or_default();
    let roots: Vec<PathBuf> = matches.get_many("root").unwrap_or_default().cloned().collect();
    let store = Store::new(&folder).and_then(|store| store.with_roots(&roots)).map_err(store_failure)?;
    let store = store.with_cache(cache_args::cache(matches)?);
    // An address is shown without its secrets.
    let place = store.place().unwrap_or_default();
    match store.list().map_err(store_failure)?.len() {
        0 => printer.note(format_args!("no profile in {place} yet; the page lists new ones as they arrive")),
        1 => printer.note(format_args!("1 run in {place}")),
        runs => printer.note(format_args!("{runs} runs in {place}")),
    }
    listen(matches, store, printer)
}

/// Serves until the process is told to stop.
pub(super) fn listen(matches: &ArgMatches, store: Store, printer: &mut Printer) -> Result<u8, Failure> {
    let seconds = matches.try_get_one::<u64>("deadline").ok().flatten().copied();
    let store_only = Config::new(store);
    let addr = address(matches);
    let config = Config {
        deadline: match seconds {
            Some(0) => None,
            Some(seconds) => Some(Duration::from_secs(seconds)),
            None => store_only.deadline,
        },
        addr,
        token: token(matches, addr, printer)?,
        web_root: matches.get_one::<PathBuf>("web-root").cloned(),
        ui: matches.get_one::<PathBuf>("ui").cloned(),
        sources: source_root::from_matches(matches)?,
        ledger: ledger(matches)?,
        sql: sql(matches)?,
        frame_ancestors: matches
            .try_get_many::<FrameAncestor>("frame-ancestors")
            .ok()
            .flatten()
            .map(|sites| sites.cloned().collect())
            .unwrap_or_default(),
        capture: matches.try_get_one("capture-hosts").ok().flatten().cloned().unwrap_or_default(),
        ..store_only
    };
    let served = haloscope_serve::run(config, |url| {
        // Who does not read the address is served all the same.
        let _ = printer.data(|out| writeln!(out, "serving at {url}"));
        printer.note("Ctrl-C ends the server");
        if matches.get_flag("open") && browser::open(url).is_err() {
            printer.note("found no browser to open; open the address yourself");
        }
    });
    served.map(|()| 0).map_err(|error| match error {
        haloscope_serve::Error::TokenNeeded(_) | haloscope_serve::Error::ShortToken(_) => {
            Failure::Usage(error.to_string(), String::new())
        }
        other => Failure::Server(other.to_string()),
    })
}

/// The secret that requests carry: the one that was given, else a new one where somebody else could reach the server.
fn token(matches: &ArgMatches, addr: SocketAddr, printer: &mut Printer) -> Result<Option<String>, Failure> {
    let given = matches.get_one::<String>("token").cloned();
    if given.is_some() || matches.get_flag("no-token") {
        return Ok(given);
    }
    let why = if !addr.ip().to_canonical().is_loopback() {
        "other machines reach this server"
    } else if shared_machine::is_shared() {
        "other people use this machine, or this could not be checked"
    } else {
        return Ok(None);
    };
    let token = haloscope_serve::secret().map_err(|error| {
        Failure::Server(format!("cannot generate a token: {error}; give one with --token"))
    })?;
    printer.note(format_args!("{why}: the address has a token; programs send it as `Authorization: Bearer`"));
    Ok(Some(token))
}

/// What answers SQL, where the subcommand takes that and it was asked for.
fn sql(matches: &ArgMatches) -> Result<Option<Sql>, Failure> {
    if !matches.try_get_one::<bool>("sql").ok().flatten().copied().unwrap_or_default() {
        return Ok(None);
    }
    Sql::new(program()?).map(Some).map_err(|refusal| Failure::Usage(refusal.message, refusal.hint))
}

/// The history that was given, where the subcommand takes one. One that cannot be read is refused before anything is served.
fn ledger(matches: &ArgMatches) -> Result<Option<Ledger>, Failure> {
    let Some(place) = matches.try_get_one::<PathBuf>("ledger").ok().flatten() else { return Ok(None) };
    let ledger = Ledger::at(place)?;
    ledger.read()?;
    Ok(Some(ledger))
}

/// The address asked for. A port that was asked for by number is not replaced: somebody may forward it.
fn address(matches: &ArgMatches) -> SocketAddr {
    let host = matches.get_one::<IpAddr>("host").copied().unwrap_or(Ipv4Addr::LOCALHOST.into());
    let port = matches.get_one::<u16>("port").copied().unwrap_or_default();
    let asked = SocketAddr::new(host, port);
    if matches.value_source("port") != Some(ValueSource::DefaultValue) {
        return asked;
    }
    let taken = |a: SocketAddr| TcpListener::bind(a).is_err_and(|e| e.kind() == io::ErrorKind::AddrInUse);
    let next = (port..=port.saturating_add(TRIES)).map(|port| SocketAddr::new(host, port));
    next.into_iter().find(|a| !taken(*a)).unwrap_or(asked)
}

pub(super) fn store_failure(error: haloscope_store::Error) -> Failure {
    match error {
        haloscope_store::Error::Read(error) => Failure::Shared(error),
        other => Failure::Server(other.to_string()),
    }
}
