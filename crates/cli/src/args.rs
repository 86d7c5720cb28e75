//! The command line, derived from the registry of analyses.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_analyses as analyses;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{Analysis, Others, Param, ParamKind, Params};

use crate::{Failure, commands};

/// Help is no wider than this, whatever the terminal.
const HELP_WIDTH: usize = 80;

/// A form of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The texts of a report where it has nothing else, else as [`Format::Table`].
    Fitting,
    Table,
    Json,
    Csv,
    Text,
    Markdown,
    Junit,
}

impl Format {
    /// Their names on the command line.
    const NAMES: [(&'static str, Self); 6] = [
        ("table", Self::Table),
        ("json", Self::Json),
        ("csv", Self::Csv),
        ("text", Self::Text),
        ("markdown", Self::Markdown),
        ("junit", Self::Junit),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(word, _)| *word == name).map(|(_, format)| *format)
    }
}

/// A form and a file: `junit=check.xml`.
fn also(text: &str) -> Result<(Format, PathBuf), Failure> {
    let parts = text.split_once('=').filter(|(_, path)| !path.is_empty());
    let found = parts.and_then(|(form, path)| Some((Format::named(form)?, PathBuf::from(path))));
    found.ok_or_else(|| {
        let forms: Vec<_> = Format::NAMES.iter().map(|(word, _)| *word).collect();
        let message = format!("--also: expected a form and a file, such as junit=check.xml, found `{text}`");
        Failure::Usage(message, format!("forms: {}", forms.join(", ")))
    })
}

/// What is common to all analyses, as asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    /// `None` where the parameters are to state all that a question needs.
    pub run: Option<PathBuf>,
    pub others: Vec<PathBuf>,
    pub scope: Scope,
    pub params: Params,
    pub format: Format,
    /// Files that get the same answer in other forms.
    pub also: Vec<(Format, PathBuf)>,
    pub table: Option<String>,
    pub limit: usize,
    pub width: Option<usize>,
    pub colour: Option<bool>,
}

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("haloscope")
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .after_help(
            "RUN is the log folder given to the profiler (the newest session in it is taken), a session folder in it, or \
             one .xplane.pb file; or a compiled program: an HLO proto, HLO text, a folder that --xla_dump_to made. First steps: `haloscope demo`, then `haloscope overview RUN`",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .max_term_width(HELP_WIDTH)
        .arg(memory_limit())
        .subcommands(analyses::ALL.iter().filter(|a| !a.id.contains(' ')).map(|a| leader(a)))
        .subcommands(analyses::FAMILIES.iter().map(family))
        .subcommands(commands::others())
}

/// The bound on memory, which all subcommands keep.
fn memory_limit() -> Arg {
    Arg::new("memory-limit")
        .long("memory-limit")
        .value_name("SIZE")
        .global(true)
        .env("HALOSCOPE_MEMORY_LIMIT")
        .hide_env_values(true)
        .value_parser(|text: &str| load::size(text).map_err(|error| error.to_string()))
        .help("Keeps the process below this much memory, such as 2GiB; what does not fit lies in a scratch file")
        .help_heading("Memory")
}

/// Bounds the memory of the process, where that was asked for.
pub(crate) fn bound_memory(matches: &ArgMatches) {
    // What was given behind a subcommand's name is known to that one only.
    if let Some((_, inner)) = matches.subcommand() {
        return bound_memory(inner);
    }
    load::set_memory_limit(matches.get_one::<u64>("memory-limit").copied());
}

/// The subcommand of an analysis of one word, with those of the analyses that begin with its word: `compute RUN` and
/// `compute mfu RUN`.
fn leader(leader: &'static Analysis) -> Command {
    let members: Vec<Command> =
        analyses::members(leader.id).map(|(name, member)| analysis(member, name)).collect();
    let command = analysis(leader, leader.id);
    if members.is_empty() {
        return command;
    }
    command.args_conflicts_with_subcommands(true).subcommand_negates_reqs(true).subcommands(members)
}

/// The subcommand of a family, with those of its members.
fn family(family: &'static analyses::Family) -> Command {
    let members = analyses::members(family.id).map(|(name, member)| analysis(member, name));
    Command::new(family.id)
        .about(family.about)
        .max_term_width(HELP_WIDTH)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(members)
}

/// The subcommand of an analysis.
fn analysis(analysis: &'static Analysis, name: &'static str) -> Command {
    let mut after = String::new();
    if !analysis.needs.is_empty() {
        after += "A full answer needs:\n";
        for need in analysis.needs {
            after += &format!("  - {need}\n");
        }
        after.push('\n');
    }
    after += &format!("Example:\n  haloscope {}", analysis.example);
    Command::new(name)
        .about(analysis.question)
        .max_term_width(HELP_WIDTH)
        .after_long_help(after)
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(!analysis.works_alone())
                .value_parser(value_parser!(PathBuf))
                .help("Log folder, session folder, .xplane.pb file, or HLO: a proto, text, a dump"),
        )
        .args(others(analysis.others()))
        .args(analysis.params.iter().map(parameter))
        .args(source_root(analysis))
        .args(scope_args())
        .args(output_args())
        .arg(commands::kept::arg())
}

/// Reading the texts of lines is the command line's own part of `source`.
fn source_root(analysis: &Analysis) -> Option<Arg> {
    let help = "Prints the text of the lines, from files below this folder";
    (analysis.id == "source").then(|| commands::source_root::arg(help))
}

/// The runs beside the first.
fn others(takes: Others) -> Option<Arg> {
    let arg = Arg::new(takes.word()?).value_parser(value_parser!(PathBuf));
    Some(match takes {
        Others::None => return None,
        Others::One => arg.value_name("OTHER").help("What RUN is held against [default: RUN itself]"),
        Others::Many => arg
            .value_name("OTHER")
            .num_args(1..)
            .required(true)
            .help("What is held against RUN, each by itself"),
        Others::Baseline => {
            arg.long("baseline").value_name("BASELINE").help("The run that RUN is held against")
        }
    })
}

fn parameter(param: &'static Param) -> Arg {
    let arg = Arg::new(param.id).long(param.id).help(sentence(param.doc));
    let arg = if param.default.is_empty() { arg } else { arg.default_value(param.default) };
    match param.kind {
        ParamKind::Choice(words) => arg.value_parser(PossibleValuesParser::new(words)).value_name("WHICH"),
        ParamKind::Count => arg.value_name("N"),
        ParamKind::Quantity => arg.value_name("NUMBER"),
        ParamKind::Text => arg.value_name("TEXT"),
        ParamKind::Texts => arg.value_name("TEXT").action(ArgAction::Append),
        ParamKind::Document => arg.value_name("FILE"),
    }
}

/// The text with a capital at its start, as all help has.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The options that choose a part of a run.
pub(crate) fn scope_args() -> Vec<Arg> {
    let arg = |id: &'static str, value: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name(value).help(help).help_heading("Scope")
    };
    vec![
        arg("hosts", "NAMES", "Only these hosts, such as w-0,w-1"),
        arg("devices", "NAMES", "Only these devices, as the tables print them: TPU:0, w-1/TPU:0"),
        arg("modules", "WORDS", "Only HLO modules whose names contain one of these"),
        arg("steps", "LIST", "Only these steps: 3, 2-5 or 2-5,9").allow_hyphen_values(true),
        arg("window", "FROM..TO", "Only this time from the start of the run, such as 1.5ms..20ms")
            .allow_hyphen_values(true),
        Arg::new("steady")
            .long("steady")
            .action(ArgAction::SetTrue)
            .help("Only the steady state: no warm-up, no cut steps, no outliers")
            .help_heading("Scope"),
    ]
}

/// The options that say how an answer is written.
pub(crate) fn output_args() -> Vec<Arg> {
    let arg = |id: &'static str, value: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name(value).help(help).help_heading("Output")
    };
    vec![
        arg(
            "format",
            "FORM",
            "How the answer is written [default: text where the answer is one, else table]",
        )
        .value_parser(Format::NAMES.map(|(name, _)| name)),
        arg(
            "also",
            "FORM=FILE",
            "Writes the same answer to a file too, such as junit=check.xml; may be repeated",
        )
        .action(ArgAction::Append),
        arg("table", "ID", "Only this table; with csv, the first if not given"),
        arg("limit", "N", "Rows shown of each table, with --format table or markdown; 0 shows all")
            .value_parser(value_parser!(u64))
            .default_value("20"),
        arg("width", "COLUMNS", "Columns of --format table [default: those of the terminal, else 80]")
            .value_parser(value_parser!(u64).range(40..=1000)),
        arg("color", "WHEN", "Colours in --format table")
            .visible_alias("colour")
            .value_parser(["auto", "always", "never"])
            .default_value("auto"),
    ]
}

/// The part of a run that was asked for.
///
/// # Errors
/// [`Failure`] for a scope that cannot be understood.
pub(crate) fn scope_of(matches: &ArgMatches) -> Result<Scope, Failure> {
    Ok(Scope::from_words(|key| match key {
        "steady" => matches.get_flag("steady").then_some("1"),
        key => matches.get_one::<String>(key).map(String::as_str),
    })?)
}

/// The text of a file that a parameter names.
fn document(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        let hint = "it takes the path of a text file";
        Failure::Usage(format!("cannot read {path}: {error}"), hint.into())
    })
}

impl Asked {
    /// What was asked of an analysis.
    ///
    /// # Errors
    /// [`Failure`] for a scope that cannot be understood or options that contradict each other.
    pub(crate) fn from_matches(analysis: &Analysis, matches: &ArgMatches) -> Result<Self, Failure> {
        let word = |id: &str| matches.get_one::<String>(id).map(String::as_str);
        let scope = scope_of(matches)?;
        let mut params = Params::default();
        for param in analysis.params {
            match (word(param.id), param.kind) {
                (Some(path), ParamKind::Document) if !path.is_empty() => {
                    params.set(param.id, &document(path)?);
                }
                (Some(_), ParamKind::Texts) => {
                    let all = matches.get_many::<String>(param.id).into_iter().flatten();
                    params.set(param.id, &all.map(String::as_str).collect::<Vec<_>>().join("; "));
                }
                (Some(value), _) => params.set(param.id, value),
                (None, _) => {}
            }
        }
        Ok(Self {
            run: matches.get_one::<PathBuf>("run").cloned(),
            others: analysis.others().word().map_or_else(Vec::new, |word| {
                matches.get_many::<PathBuf>(word).into_iter().flatten().cloned().collect()
            }),
            scope,
            params,
            ..Self::output(matches)?
        })
    }

    /// How an answer is to be written, and nothing else.
    ///
    /// # Errors
    /// [`Failure`] for options that contradict each other.
    pub(crate) fn output(matches: &ArgMatches) -> Result<Self, Failure> {
        let word = |id: &str| matches.get_one::<String>(id).map(String::as_str);
        let format = word("format").map_or(Some(Format::Fitting), Format::named).unwrap_or(Format::Fitting);
        let also = matches.get_many::<String>("also").into_iter().flatten().map(|text| also(text));
        let also = also.collect::<Result<Vec<_>, _>>()?;
        let table = word("table").map(str::to_owned);
        if format == Format::Json && table.is_some() {
            let hint = "a report in JSON always has all its tables; pick from `tables`";
            return Err(Failure::Usage(
                "--table goes with --format table, markdown or csv".into(),
                hint.into(),
            ));
        }
        let number = |id| matches.get_one::<u64>(id).map(|n| usize::try_from(*n).unwrap_or(usize::MAX));
        Ok(Self {
            run: None,
            others: Vec::new(),
            scope: Scope::default(),
            params: Params::default(),
            format,
            also,
            table,
            limit: number("limit").unwrap_or_default(),
            width: number("width"),
            colour: match word("color") {
                Some("always") => Some(true),
                Some("never") => Some(false),
                _ => None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
