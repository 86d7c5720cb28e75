//! The arguments that subcommands share: the part of a run, the parameters of an analysis, the form of the answer.

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{Analysis, FORCE, FORMER, LIMIT, Param, ParamKind, Params};

use crate::Failure;

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
pub(crate) struct AnalysisArgs {
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
    /// The ids of the values that the short form shows, where that is asked for.
    pub brief: Option<&'static [&'static str]>,
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
        arg("format", "FORM", "Format of the answer [default: text if the answer is text, else table]")
            .value_parser(Format::NAMES.map(|(name, _)| name)),
        arg(
            "also",
            "FORM=FILE",
            "Writes the same answer to a file too, such as junit=check.xml; may be repeated",
        )
        .action(ArgAction::Append),
        arg("table", "ID", "Only this table; with csv, the first if not given"),
        arg(LIMIT.id, "N", "Most rows of each table; 0 shows all")
            .aliases(former(LIMIT.id))
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

/// The options that choose between an answer's short form and the whole; none where it has no short form.
pub(crate) fn brief_args(analysis: &Analysis) -> Vec<Arg> {
    let arg = |id: &'static str, help: &'static str| {
        Arg::new(id).long(id).action(ArgAction::SetTrue).help(help).help_heading("Output")
    };
    if analysis.brief().is_none() {
        return Vec::new();
    }
    vec![
        arg("all", "The whole answer, not only its first screen: every finding, table and remark")
            .conflicts_with("brief"),
        arg(
            "brief",
            "Only the first screen, which is the default without --format; for --format table and markdown",
        ),
    ]
}

/// The words that stood for an option before.
fn former(now: &'static str) -> impl Iterator<Item = &'static str> {
    FORMER.iter().filter(move |(_, word)| *word == now).map(|(former, _)| *former)
}

/// What [`FORCE`] was written as before: with a value, which a flag does not take.
const ANYWAY: &str = "anyway";

/// The former words for a flag, which help does not show.
pub(crate) fn former_flag(param: &Param) -> Option<Arg> {
    (param.id == FORCE.id).then(|| {
        let arg = Arg::new(ANYWAY).long(ANYWAY).hide(true).num_args(0..=1).default_missing_value("yes");
        arg.value_parser(["no", "yes"])
    })
}

/// Whether a flag was given by its former word.
fn is_forced(param: &Param, matches: &ArgMatches) -> bool {
    param.id == FORCE.id && matches.get_one::<String>(ANYWAY).is_some_and(|word| word == "yes")
}

/// Whether an analysis that has a short form is asked for it.
fn is_brief(analysis: &Analysis, matches: &ArgMatches) -> bool {
    if analysis.brief().is_none() {
        return false;
    }
    let has = |id: &str| matches.get_one::<String>(id).is_some();
    matches.get_flag("brief") || !matches.get_flag("all") && !has("format") && !has("table")
}

/// The part of a run that was asked for.
///
/// # Errors
/// [`Failure`] for a scope that cannot be understood.
pub(crate) fn scope_of(matches: &ArgMatches) -> Result<Scope, Failure> {
    // A command may take only some of them.
    Ok(Scope::from_words(|key| match key {
        "steady" => matches.try_get_one::<bool>("steady").ok().flatten().filter(|yes| **yes).map(|_| "1"),
        key => matches.try_get_one::<String>(key).ok().flatten().map(String::as_str),
    })?)
}

/// The text of a file that a parameter names.
fn document(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        let hint = "give the path of a text file";
        Failure::Usage(format!("cannot read {path}: {error}"), hint.into())
    })
}

impl AnalysisArgs {
    /// What was asked of an analysis.
    ///
    /// # Errors
    /// [`Failure`] for a scope that cannot be understood or options that contradict each other.
    pub(crate) fn from_matches(analysis: &Analysis, matches: &ArgMatches) -> Result<Self, Failure> {
        let word = |id: &str| matches.get_one::<String>(id).map(String::as_str);
        let scope = scope_of(matches)?;
        let mut params = Params::default();
        for param in analysis.params {
            if param.kind == ParamKind::Flag {
                if matches.get_flag(param.id) || is_forced(param, matches) {
                    params.set(param.id, "yes");
                }
                continue;
            }
            if param.id == LIMIT.id {
                // Without a word about it the analysis lists as many as it finds right, of which a table shows some.
                let is_asked = matches.value_source(param.id) == Some(ValueSource::CommandLine);
                if let Some(limit) = matches.get_one::<u64>(param.id).filter(|_| is_asked) {
                    params.set(param.id, &limit.to_string());
                }
                continue;
            }
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
            brief: is_brief(analysis, matches).then(|| analysis.brief()).flatten(),
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
            let hint = "a JSON report always has all its tables; select from `tables`";
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
            brief: None,
        })
    }
}
