//! `haloscope <analysis> RUN`: its arguments from the registry; finds the run, asks the question, writes the answer.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_analyses as analyses;
use haloscope_profile::Profile;
use haloscope_profile::load::{self, Part, Run};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_report::{Gate, Report, capitalized};
use haloscope_store::{Cache, Indexes, Question};
use haloscope_time::analysis::{self, Analysis, LIMIT, Others, Param, ParamKind, Params};

use super::{oom, oom_try, source_root};
use crate::args::{AnalysisArgs, Format, brief_args, former_flag, output_args, scope_args};
use crate::output::{takes_headline, write, write_headed};
use crate::run_argument::{find, is_stdin, say_which};
use crate::{Failure, Printer, cache_args, progress};

/// Help is no wider than this, whatever the terminal.
pub(super) const HELP_WIDTH: usize = 80;

/// What a RUN may be.
const RUN: &str = "Log folder, session folder, .xplane.pb file, - for stdin, or HLO: a proto, text, a dump";

/// The subcommands of all analyses, derived from their registry.
pub(super) fn commands() -> impl Iterator<Item = Command> {
    let leaders = analyses::ALL.iter().filter(|analysis| !analysis.id.contains(' '));
    leaders.map(|analysis| leader(analysis)).chain(analyses::FAMILIES.iter().map(family))
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
                .help(oom::help(analysis).unwrap_or(RUN)),
        )
        .args(others(analysis.others()))
        .args(analysis.params.iter().filter(|param| param.id != LIMIT.id).map(parameter))
        .args(analysis.params.iter().filter_map(former_flag))
        .args(source_root(analysis))
        .args(oom::arg(analysis))
        .args(oom_try::args(analysis))
        .args(scope_args())
        .args(output_args())
        .args(brief_args(analysis))
        .arg(cache_args::arg())
}

/// Reading the texts of lines is the command line's own part of `source`.
fn source_root(analysis: &Analysis) -> Option<Arg> {
    let help = "Prints the source lines, from files below this folder";
    (analysis.id == "source").then(|| source_root::arg(help))
}

/// The runs beside the first.
fn others(takes: Others) -> Option<Arg> {
    let arg = Arg::new(takes.word()?).value_parser(value_parser!(PathBuf));
    Some(match takes {
        Others::None => return None,
        Others::One => arg.value_name("OTHER").help("The run to compare RUN with [default: RUN itself]"),
        Others::Many => arg
            .value_name("OTHER")
            .num_args(1..)
            .required(true)
            .help("The runs to compare with RUN, one by one"),
        Others::Baseline => {
            let help = "The baseline run; repeat it for more baseline runs, whose spread is then used";
            arg.long("baseline").value_name("BASELINE").action(ArgAction::Append).help(help)
        }
    })
}

fn parameter(param: &'static Param) -> Arg {
    let arg = Arg::new(param.id).long(param.id).help(capitalized(param.doc));
    if param.kind == ParamKind::Flag {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = if param.default.is_empty() { arg } else { arg.default_value(param.default) };
    match param.kind {
        ParamKind::Choice(words) => {
            let arg = arg.value_parser(PossibleValuesParser::new(words)).value_name("WHICH");
            // What can be switched on is on without a word.
            if words == ["no", "yes"] { arg.num_args(0..=1).default_missing_value("yes") } else { arg }
        }
        ParamKind::Count => arg.value_name("N"),
        ParamKind::Quantity => arg.value_name("NUMBER"),
        ParamKind::Text => arg.value_name("TEXT"),
        ParamKind::Texts => arg.value_name("TEXT").action(ArgAction::Append),
        ParamKind::Document => arg.value_name("FILE"),
        ParamKind::Flag => arg,
    }
}

pub(super) fn run(analysis: &Analysis, matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let mut asked = AnalysisArgs::from_matches(analysis, matches)?;
    oom::tell(analysis, matches, &mut asked)?;
    let Some(path) = &asked.run else {
        let mut report = analysis::run_alone(analysis, &asked.params)?;
        oom_try::fill(matches, &asked, &mut report, printer)?;
        write(&report, &asked, printer)?;
        return Ok(0);
    };
    oom_try::refuse(matches)?;
    let has_stdin = std::iter::once(path).chain(&asked.others).any(|path| is_stdin(path));
    let cache = cache_args::cache(matches)?.filter(|_| !has_stdin);
    let run = find(path)?;
    say_which(&run, printer);
    let mut others = Vec::new();
    for path in &asked.others {
        let other = find(path)?;
        say_which(&other, printer);
        others.push(other);
    }
    let sources = source_root::from_matches(matches)?;
    let runs: Vec<&Run> = std::iter::once(&run).chain(&others).collect();
    let cache = cache.as_ref();
    let question = cache.and_then(|_| Question::new(analysis, &runs, &asked.scope, &asked.params));
    let known = cache.zip(question.as_ref()).and_then(|(cache, question)| cache.answer(question));
    let is_known = known.is_some();
    let (mut report, opened) = match known {
        Some(report) => (report, Vec::new()),
        None => compute(analysis, &runs, &asked.scope, &asked.params, cache)?,
    };
    if !is_known {
        say_memory(printer);
    }
    let headline = heads(analysis, &asked, printer)
        .then(|| verdict(&runs, &asked.scope, cache, &opened, printer))
        .flatten();
    let is_whole = opened.iter().all(|(profile, _)| profile.left_out.is_empty());
    let new = question.filter(|_| !is_known && is_whole);
    let keep = |report: &Report| {
        if let (Some(cache), Some(question)) = (cache, &new) {
            cache.keep(question, report);
        }
        if let Some(cache) = cache {
            opened.iter().for_each(|(profile, indexes)| cache.learn(profile, indexes));
        }
    };
    let written = match sources {
        // The lines of sources are not of the run.
        Some(sources) => {
            keep(&report);
            let listed = asked.format == Format::Text;
            source_root::fill(&mut report, &sources, listed, printer);
            if listed {
                report.texts.extend(source_root::listing(&report));
            }
            write(&report, &asked, printer)
        }
        // Who asked need not wait for the next one.
        None => {
            let written = write_headed(&report, headline.as_deref(), &asked, printer);
            keep(&report);
            written
        }
    };
    cache_args::say_trouble(cache, printer);
    written?;
    Ok(report.gate.map_or(0, Gate::exit_code))
}

/// Whether an answer begins with the run's verdict, as the page's overview does: for who reads it. A script that wants it asks
/// `diagnose`, and need not wait for causes here.
fn heads(analysis: &Analysis, asked: &AnalysisArgs, printer: &Printer) -> bool {
    analysis.id == "overview" && printer.is_read() && takes_headline(asked)
}

/// The sentence that `diagnose` gives for the run, in the same scope.
fn verdict(
    runs: &[&Run],
    scope: &Scope,
    cache: Option<&Cache>,
    opened: &[(Profile, Indexes)],
    printer: &mut Printer,
) -> Option<String> {
    let diagnose = analyses::find("diagnose")?;
    let params = Params::default();
    let question = cache.and_then(|_| Question::new(diagnose, runs, scope, &params));
    let known = cache.zip(question.as_ref()).and_then(|(cache, question)| cache.answer(question));
    let answer = match (known, opened.first()) {
        (Some(report), _) => Ok((report, false)),
        (None, Some((profile, _))) => {
            let ask = || analysis::run(diagnose, profile, scope, &params);
            let answer = progress::while_doing("looking for causes", || Part::decoded(profile), ask);
            answer.map(|report| (report, profile.left_out.is_empty())).map_err(Failure::from)
        }
        (None, None) => compute(diagnose, runs, scope, &params, cache).map(|(report, opened)| {
            let is_whole = opened.iter().all(|(profile, _)| profile.left_out.is_empty());
            (report, is_whole)
        }),
    };
    match answer {
        Ok((report, is_new)) => {
            if let Some((cache, question)) = cache.zip(question.as_ref()).filter(|_| is_new) {
                cache.keep(question, &report);
            }
            report.value("verdict")?.value.as_text().map(str::to_owned)
        }
        Err(failure) => {
            let why = failure.message().unwrap_or_default();
            printer.note(format_args!("there is no verdict: {why}"));
            None
        }
    }
}

/// Opens the runs and asks.
fn compute(
    analysis: &Analysis,
    runs: &[&Run],
    scope: &Scope,
    params: &Params,
    cache: Option<&Cache>,
) -> Result<(Report, Vec<(Profile, Indexes)>), Failure> {
    let opened = runs.iter().map(|run| open(run, cache)).collect::<Result<Vec<_>, _>>()?;
    let profiles: Vec<&Profile> = opened.iter().map(|(profile, _)| profile).collect();
    let [profile, others @ ..] = profiles.as_slice() else {
        return Err(Failure::Nothing("no run was given".into(), String::new()));
    };
    let ask = || analysis::run_with(analysis, profile, others, scope, params);
    let report = progress::while_doing("reading events", || Part::decoded(profile), ask)?;
    Ok((report, opened))
}

/// Opens a run, and says how far that has come where it takes long.
///
/// # Errors
/// As [`load::open`].
fn open(run: &Run, cache: Option<&Cache>) -> Result<(Profile, Indexes), Error> {
    let open = || match cache {
        Some(cache) => cache.open(run),
        None => Ok((load::open(run)?, Indexes::default())),
    };
    progress::while_doing("opening", || load::opening(&run.path).unwrap_or_default(), open)
}

/// Says that more memory was taken than was allowed, where that was so: what an analysis keeps cannot be put aside.
fn say_memory(printer: &mut Printer) {
    /// A limit is kept to within this much.
    const TOLERANCE: f64 = 1.1;
    let (Some(limit), Some(peak)) = (load::memory_limit(), load::peak_memory()) else { return };
    if peak as f64 > limit as f64 * TOLERANCE {
        printer.note(format_args!(
            "took {} of memory, over the limit of {}: this question cannot move its data to a scratch file; a narrower scope needs less",
            units::bytes(peak as f64),
            units::bytes(limit as f64)
        ));
    }
}
