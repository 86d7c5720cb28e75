//! The command line.

use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_profile::load;

use crate::canned;
use crate::cluster::Token;
use crate::cluster::ask::Cluster;
use crate::failure::Failure;
use crate::output::Format;

/// Whose work is in this program, and under which licences: written by `cargo xtask licenses --write`.
const LICENSES: &str = include_str!("licenses.txt");
/// A longer text is no question of a person's, and takes the planner too long.
const MOST_SQL: u64 = 1 << 20;

/// What was asked.
pub(crate) struct Asked {
    pub(crate) runs: Vec<PathBuf>,
    pub(crate) sql: String,
    pub(crate) format: Format,
    pub(crate) output: Option<PathBuf>,
    /// Most rows of a table on a screen; `None` shows all.
    pub(crate) limit: Option<usize>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) memory: Option<u64>,
    /// What a packed file unpacks to at most.
    pub(crate) unpacked: Option<u64>,
    /// Whether files and runs that cannot be read are left out.
    pub(crate) partial: bool,
    pub(crate) verbose: bool,
    /// Whether the cache is left alone.
    pub(crate) no_cache: bool,
    /// The workers that read the files; `None` reads them here.
    pub(crate) cluster: Option<Cluster>,
}

/// What the process is to do.
pub(crate) enum Task {
    /// Answer a query.
    Ask(Asked),
    /// Answer what is typed, one query after the other, of these runs, with these options.
    Prompt(Vec<OsString>, Vec<OsString>),
    /// Print a text.
    Print(String),
}

/// The command line as clap sees it.
pub(crate) fn command() -> Command {
    Command::new("haloscope query")
        .bin_name("haloscope query")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Queries runs with SQL: hosts, devices, lines, events, steps, ops, and every table of every analysis")
        .max_term_width(80)
        .after_help(
            "SQL is a statement, @NAME is a canned question (--questions), - reads stdin. Without SQL, on a terminal, there is a prompt: type .help there.\n\n\
             Examples:\n  haloscope query logs \"SELECT kind, name, count(*), ms(sum(dur_ps)) FROM event GROUP BY 1, 2 \
             ORDER BY 4 DESC LIMIT 5\"\n  haloscope query logs @idle-gaps --format csv -o gaps.csv\n  \
             haloscope query before after \"SELECT run, p50(dur_ps) FROM step GROUP BY run\"",
        )
        .arg(
            Arg::new("words")
                .value_name("RUN... SQL")
                .num_args(0..)
                .value_parser(value_parser!(OsString))
                .help("Log folders, session folders or .xplane.pb files, here or at an address (gs://, s3://, az://, http(s)://); then what to ask of them"),
        )
        .arg(
            Arg::new("file")
                .short('f')
                .long("file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Reads the SQL from a file; all other arguments are runs"),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORM")
                .value_parser(Format::NAMES.map(|(name, _)| name))
                .default_value("table")
                .help("Format of the rows"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Writes to a file, which appears complete or stays unchanged"),
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .default_value("100")
                .help("Most rows of --format table and answer; 0 shows all"),
        )
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("SECONDS")
                .value_parser(value_parser!(f64))
                .help("Ends the query after this time"),
        )
        .arg(
            Arg::new("memory-limit")
                .long("memory-limit")
                .value_name("SIZE")
                .env("HALOSCOPE_MEMORY_LIMIT")
                .hide_env_values(true)
                .value_parser(|text: &str| load::size(text).map_err(|error| error.to_string()))
                .help("Limits memory, such as 2GiB: half for events, half for the query; the rest goes to scratch files"),
        )
        .arg(
            Arg::new("max-unpacked")
                .long("max-unpacked")
                .value_name("SIZE")
                .env("HALOSCOPE_MAX_UNPACKED")
                .hide_env_values(true)
                .value_parser(|text: &str| load::size(text).map_err(|error| error.to_string()))
                .help("Largest unpacked size of a compressed file [200 times its size, and 4GiB at most]"),
        )
        .arg(
            Arg::new("cluster")
                .long("cluster")
                .value_name("WORKERS")
                .help("Asks workers, which read the files where they are: http://HOST:PORT,http://HOST:PORT or dns://NAME:PORT"),
        )
        .arg(
            Arg::new("token-file")
                .long("token-file")
                .value_name("FILE")
                .requires("cluster")
                .value_parser(value_parser!(PathBuf))
                .help("A file with the token of the workers"),
        )
        .arg(
            Arg::new("partial")
                .long("partial")
                .action(ArgAction::SetTrue)
                .help("Leaves out files that cannot be read, and lists them on stderr; without it, such files are an error"),
        )
        .arg(
            Arg::new("verbose")
                .short('v')
                .long("verbose")
                .action(ArgAction::SetTrue)
                .help("Says on stderr how many lines and events were read"),
        )
        .arg(
            Arg::new("no-cache")
                .long("no-cache")
                .action(ArgAction::SetTrue)
                .help("Neither reads nor writes the cache: see `haloscope cache`"),
        )
        .arg(
            Arg::new("questions")
                .long("questions")
                .action(ArgAction::SetTrue)
                .help("Lists the canned questions"),
        )
        .arg(
            Arg::new("schema")
                .long("schema")
                .action(ArgAction::SetTrue)
                .help("Lists tables, columns with their units, and functions, as Markdown; with --format json also canned questions"),
        )
        .arg(
            Arg::new("licenses")
                .long("licenses")
                .action(ArgAction::SetTrue)
                .help("Prints the licences of the program's parts"),
        )
}

/// Understands a command line.
///
/// # Errors
/// [`Failure::Usage`] for one that asks nothing.
pub(crate) fn task(matches: &ArgMatches) -> Result<Task, Failure> {
    if matches.get_flag("licenses") {
        return Ok(Task::Print(LICENSES.to_owned()));
    }
    if matches.get_flag("questions") {
        return Ok(Task::Print(crate::docs::questions()));
    }
    if matches.get_flag("schema")
        && matches.get_one::<String>("format").is_some_and(|format| format == "json")
    {
        return Ok(Task::Print(crate::docs::json()));
    }
    if matches.get_flag("schema") {
        return Ok(Task::Print(crate::docs::schema()));
    }
    let mut words: Vec<OsString> =
        matches.get_many::<OsString>("words").into_iter().flatten().cloned().collect();
    let is_file = matches.contains_id("file");
    if !is_file && !words.is_empty() && words.iter().all(is_run) && is_terminal() {
        return Ok(Task::Prompt(words, options(matches)));
    }
    let sql = match matches.get_one::<PathBuf>("file") {
        Some(path) if path.as_os_str() == "-" => stdin()?,
        Some(path) => file(path)?,
        None => given(&words.pop().unwrap_or_default())?,
    };
    if words.is_empty() || sql.trim().is_empty() {
        // On a terminal there would have been a prompt.
        let hint = "as in haloscope query RUN \"SELECT * FROM step\"; --schema lists the tables, --questions what is asked often";
        return Err(Failure::Usage("expected a run and a query".into(), hint.into()));
    }
    if sql.len() as u64 > MOST_SQL {
        return Err(Failure::Usage(format!("SQL: more than {MOST_SQL} bytes"), String::new()));
    }
    let format = matches.get_one::<String>("format").map(String::as_str);
    let token = matches.get_one::<PathBuf>("token-file").map(|path| Token::read(path)).transpose()?;
    let workers = matches.get_one::<String>("cluster").cloned();
    let timeout = matches.get_one::<f64>("timeout").map(|seconds| Duration::try_from_secs_f64(*seconds));
    let bad_timeout =
        || Failure::Usage("--timeout: expected seconds, such as 30 or 0.5".into(), String::new());
    Ok(Task::Ask(Asked {
        runs: words.into_iter().map(PathBuf::from).collect(),
        sql,
        format: format.and_then(Format::named).unwrap_or(Format::Table),
        output: matches.get_one::<PathBuf>("output").cloned(),
        limit: matches.get_one::<u64>("limit").filter(|limit| **limit > 0).map(|limit| *limit as usize),
        timeout: timeout.transpose().map_err(|_| bad_timeout())?,
        memory: matches.get_one::<u64>("memory-limit").copied(),
        unpacked: matches.get_one::<u64>("max-unpacked").copied(),
        partial: matches.get_flag("partial"),
        verbose: matches.get_flag("verbose"),
        no_cache: matches.get_flag("no-cache"),
        cluster: workers.map(|workers| Cluster { workers, token }),
    }))
}

/// Whether a word is a run and no SQL: something of this name is there, or it is an address.
fn is_run(word: &OsString) -> bool {
    let path = std::path::Path::new(word);
    word != "-" && (path.exists() || haloscope_store::is_elsewhere(path))
}

/// Whether somebody sits there who types and reads.
fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The options of a command line as words, for each query that is typed.
fn options(matches: &ArgMatches) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let size = |id: &str| matches.get_one::<u64>(id).map(|bytes| bytes.to_string());
    let all = [
        ("--format", matches.get_one::<String>("format").cloned()),
        ("--limit", matches.get_one::<u64>("limit").map(ToString::to_string)),
        ("--timeout", matches.get_one::<f64>("timeout").map(ToString::to_string)),
        ("--memory-limit", size("memory-limit")),
        ("--max-unpacked", size("max-unpacked")),
    ];
    for (option, value) in all {
        words.extend(value.into_iter().flat_map(|value| [option.into(), value.into()]));
    }
    let workers = matches.get_one::<String>("cluster").map(OsString::from);
    let token = matches.get_one::<PathBuf>("token-file").map(|path| path.clone().into_os_string());
    for (option, value) in [("--cluster", workers), ("--token-file", token)] {
        words.extend(value.into_iter().flat_map(|value| [option.into(), value]));
    }
    for flag in ["partial", "verbose", "no-cache"] {
        words.extend(matches.get_flag(flag).then(|| format!("--{flag}").into()));
    }
    words
}

/// The SQL that a word stands for.
fn given(word: &OsString) -> Result<String, Failure> {
    let word = word.to_str().ok_or_else(|| Failure::Usage("SQL: this is not UTF-8".into(), String::new()))?;
    if word == "-" {
        return stdin();
    }
    let Some(name) = word.strip_prefix('@') else { return Ok(word.to_owned()) };
    let found = canned::find(name).map(|canned| canned.sql.to_owned());
    found.ok_or_else(|| {
        let names: Vec<String> = canned::ALL.iter().map(|canned| format!("@{}", canned.name)).collect();
        Failure::Usage(format!("there is no question @{name}"), format!("there are {}", names.join(", ")))
    })
}

fn stdin() -> Result<String, Failure> {
    read(io::stdin().lock())
        .map_err(|error| Failure::Usage(format!("cannot read SQL from stdin: {error}"), String::new()))
}

fn file(path: &PathBuf) -> Result<String, Failure> {
    let text = fs::File::open(path).and_then(read);
    text.map_err(|error| {
        Failure::Usage(format!("cannot read SQL from {}: {error}", path.display()), String::new())
    })
}

fn read(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(MOST_SQL + 1).read_to_string(&mut text)?;
    Ok(text)
}
