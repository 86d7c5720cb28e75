//! `haloscope ledger`: what became of each try, kept in lines that are only ever added to.

mod version_control;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_analyses as analyses;
use haloscope_analyses::ledger::{self, Against, Ask, Decision, Entry, Time};
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Cell;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_store::Ledger;
use haloscope_time::analysis::{self, Params};

use crate::args::{AnalysisArgs, output_args};
use crate::output::write;
use crate::run_argument::{find, run_name, say_which};
use crate::{Failure, Printer};

const LABEL_HINT: &str = "write it as `--label model=small`";

pub(super) fn command() -> Command {
    Command::new("ledger")
        .about("Keeps a history of runs: trends, changes, keep or revert")
        .max_term_width(80)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(add())
        .subcommand(show())
        .subcommand(advise())
}

fn add() -> Command {
    let text = |id: &'static str, value: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name(value).help(help)
    };
    Command::new("add")
        .about("Adds a run to a ledger: its numbers, the commit, the outcome")
        .max_term_width(80)
        .after_help(
            "Example:\n  haloscope ledger add logs/after --baseline logs/before --ledger history --note 'fused the softmax'",
        )
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Log folder, session folder or .xplane.pb file"),
        )
        .arg(
            Arg::new("ledger")
                .long("ledger")
                .value_name("PATH")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The ledger: a .jsonl file, or a folder of them, one per writer; created if missing"),
        )
        .arg(
            Arg::new("baseline")
                .long("baseline")
                .value_name("BASELINE")
                .value_parser(value_parser!(PathBuf))
                .help("The run to compare it with; the verdict is kept"),
        )
        .arg(text("commit", "SHA", "The commit that ran [default: git's HEAD in this folder, if it has one]"))
        .arg(text("branch", "NAME", "Its branch [default: git's, if the commit is]"))
        .arg(
            text("decision", "WHICH", "What became of the change").value_parser(["keep", "revert"]),
        )
        .arg(text("note", "TEXT", "A note about it"))
        .arg(
            text("label", "KEY=VALUE", "A label to separate series, such as model=small; may be repeated")
                .action(ArgAction::Append),
        )
        .arg(text("time", "TIME", "When it ran, such as 2026-11-22T10:45:12Z [default: now]"))
        .arg(
            text("writer", "NAME", "The writer whose file in the folder gets the line [default: this machine's name]")
                .env("HALOSCOPE_WRITER")
            .hide_env_values(true),
        )
        .args(output_args())
}

fn show() -> Command {
    reading("show")
        .about("Shows the history: entries, the level and trend of each metric, where it changed")
        .after_help("Example:\n  haloscope ledger show history --metric step_time_mean_ps")
}

fn advise() -> Command {
    reading("advise")
        .about("Says whether to keep the last change, and what its score says")
        .alias("advice")
        .after_help("Example:\n  haloscope ledger advise history")
}

fn reading(name: &'static str) -> Command {
    Command::new(name)
        .max_term_width(80)
        .arg(
            Arg::new("ledger")
                .value_name("PATH")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The ledger: a .jsonl file, or a folder of them"),
        )
        .arg(
            Arg::new("metric")
                .long("metric")
                .value_name("ID")
                .help("Only this metric, such as step_time_mean_ps"),
        )
        .arg(
            Arg::new("label")
                .long("label")
                .value_name("KEY=VALUE")
                .action(ArgAction::Append)
                .help("Only entries with this label; may be repeated"),
        )
        .args(output_args())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    // A subcommand is required, and only those that are known are parsed.
    let Some((name, matches)) = matches.subcommand() else { return Ok(2) };
    if name == "add" {
        return run_add(matches, printer);
    }
    let asked = AnalysisArgs::output(matches)?;
    let ask = Ask { metric: matches.get_one::<String>("metric").cloned(), labels: labels(matches)? };
    let ledger = at(matches)?.read()?;
    let report = if name == "show" { ledger::show(&ledger, &ask) } else { ledger::advise(&ledger, &ask) };
    // What to do stands in the message: no profile is to be looked at.
    let report = report.map_err(|error| match error {
        Error::Nothing(message) => Failure::Nothing(message, String::new()),
        other => other.into(),
    })?;
    write(&report, &asked, printer)?;
    Ok(0)
}

fn run_add(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let word = |id: &str| matches.get_one::<String>(id).cloned();
    // A wrong question is refused before anything is read.
    let asked = AnalysisArgs::output(matches)?;
    let (ledger, labels) = (at(matches)?, labels(matches)?);
    let time = word("time").map_or_else(|| Ok(now()), |text| text.parse::<Time>());
    let time = time.map_err(|message| Failure::Usage(format!("--time: {message}"), String::new()))?;
    let open = |id: &str, printer: &mut Printer| -> Result<Option<(load::Run, Profile)>, Failure> {
        let Some(path) = matches.get_one::<PathBuf>(id) else { return Ok(None) };
        let run = find(path)?;
        say_which(&run, printer);
        let profile = load::open(&run)?;
        Ok(Some((run, profile)))
    };
    let Some((run, profile)) = open("run", printer)? else { return Ok(2) };
    let measured = ledger::measure(&profile)?;
    // Else what could not be read any more would count as what the run does not have.
    profile.unchanged()?;
    for (analysis, why) in &measured.without {
        printer.note(format_args!("no numbers of `{analysis}`: {why}"));
    }
    let mut entry = Entry::new(time, run_name(&run.path));
    entry.session = run.path.file_name().map(|name| name.to_string_lossy().into_owned());
    entry.metrics = measured.metrics;
    (entry.device_type, entry.device_count) = (measured.device_type, measured.device_count);
    if let Some((baseline, with)) = open("baseline", printer)? {
        entry.against = against(&run_name(&baseline.path), &with, &profile, printer)?;
    }
    match word("commit") {
        Some(commit) => entry.commit = Some(commit),
        None => version_control::fill(&mut entry),
    }
    entry.branch = word("branch").or(entry.branch);
    entry.decision = word("decision").map(|d| if d == "keep" { Decision::Keep } else { Decision::Revert });
    (entry.note, entry.labels) = (word("note"), labels);
    let written = ledger.append(&entry, &word("writer").unwrap_or_else(version_control::machine))?;
    let place = format!("{}:{}", written.file.display(), written.line);
    write(&ledger::entry_report(&entry, &place), &asked, printer)?;
    Ok(0)
}

/// What `compare` says of the run and its baseline.
fn against(
    name: &str,
    baseline: &Profile,
    run: &Profile,
    printer: &mut Printer,
) -> Result<Option<Against>, Failure> {
    let Some(compare) = analyses::find("compare") else { return Ok(None) };
    let report = match analysis::run_with(compare, baseline, &[run], &Scope::default(), &Params::default()) {
        Ok(report) => report,
        // The run's own numbers are worth keeping all the same.
        Err(Error::Nothing(why)) => {
            printer.note(format_args!("no verdict against {name}: {why}"));
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let value = |id: &str| report.value(id).map(|v| &v.value);
    let number = |id: &str| value(id).and_then(Cell::number);
    Ok(value("verdict").and_then(Cell::as_text).map(|verdict| Against {
        run: name.to_owned(),
        verdict: verdict.to_owned(),
        delta_ps: number("step_delta_ps"),
        low_ps: number("step_delta_low_ps"),
        high_ps: number("step_delta_high_ps"),
        ..Against::default()
    }))
}

fn at(matches: &ArgMatches) -> Result<Ledger, Failure> {
    let place = matches.get_one::<PathBuf>("ledger").cloned().unwrap_or_default();
    Ok(Ledger::at(&place)?)
}

fn labels(matches: &ArgMatches) -> Result<std::collections::BTreeMap<String, String>, Failure> {
    let pairs = matches.get_many::<String>("label").unwrap_or_default();
    pairs
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(Failure::Usage(format!("`--label {pair}`: expected key=value"), LABEL_HINT.into())),
        })
        .collect()
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
