//! What an analysis is: a question, its parameters, and the function that answers it; and how one is asked.

use std::collections::BTreeMap;

use crate::select::{NO_EVENTS, Scoped};
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::stop;
use haloscope_report::{Finding, Link, Notes, Report, Severity, Status};

/// The part of a menu that an analysis stands in, in the order of the menu.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MenuGroup {
    /// What is asked first of a run.
    Start,
    /// Where the time goes: steps, waiting, hosts, transfers, requests.
    Time,
    /// What devices work on.
    Work,
    /// What is in memory.
    Memory,
    /// What the compiler built, and of what.
    Programs,
    /// Runs held against each other.
    Change,
    /// What the files hold.
    File,
}

impl MenuGroup {
    /// All groups, in order.
    pub const ALL: &'static [Self] =
        &[Self::Start, Self::Time, Self::Work, Self::Memory, Self::Programs, Self::Change, Self::File];
}

/// Where an analysis stands beside the places that every analysis has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Also {
    /// In the one file that `haloscope report` writes.
    Report,
    /// Among the tools for agents by itself, because it is asked for often; each costs words of every conversation.
    Tool,
    /// On one screen of a terminal, unless all is asked for: its verdict, its first findings, the values of these ids.
    Brief(&'static [&'static str]),
}

/// One question and how it is answered.
pub struct Analysis {
    /// Its name on the command line and in JSON: one word, or the family's and its own, as in `memory peak`.
    pub id: &'static str,
    /// Its name in menus and headings; of a member of a family, its own without the family's.
    pub label: &'static str,
    /// The part of a menu that it stands in.
    pub group: MenuGroup,
    /// The question it answers, one sentence.
    pub question: &'static str,
    /// Its parameters beside the scope.
    pub params: &'static [Param],
    /// What a profile must hold for a full answer, in words.
    pub needs: &'static [&'static str],
    /// What the RUN may be; of what is none of these there is no answer.
    pub reads: &'static [Input],
    /// An example command line, without the program's name.
    pub example: &'static str,
    /// Where it stands beside the places that every analysis has.
    pub also: &'static [Also],
    /// Computes the answer. Call it through [`run`] or [`run_with`], which fill what all reports share.
    pub run: Run,
}

/// The outcome of a question.
pub type Answer = Result<Report, Error>;

/// What a RUN may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Profiles, or traces in JSON.
    Profile,
    /// A compiled program, of which nothing says when it ran.
    Program,
    /// A text with flags of XLA or libtpu.
    Flags,
}

impl Input {
    /// What a run that was opened is.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        match (profile.is_flags(), profile.is_program()) {
            (true, _) => Self::Flags,
            (false, true) => Self::Program,
            (false, false) => Self::Profile,
        }
    }
}

/// How a question is answered.
#[derive(Clone, Copy)]
pub enum Run {
    /// From one run.
    Of(fn(&Scoped<'_>, &Params, &mut Notes) -> Answer),
    /// From one run, or without any from what the parameters state.
    Maybe(fn(Option<&Scoped<'_>>, &Params, &mut Notes) -> Answer),
    /// From a text that a parameter holds, without a run; else from one run. Every door asks for no run where such a text is given.
    Told(fn(Option<&Scoped<'_>>, &Params, &mut Notes) -> Answer),
    /// From two, the second to be held against the first; the scope holds for both. Where only one is given it is both.
    Between(fn(&Scoped<'_>, &Scoped<'_>, &Params, &mut Notes) -> Answer),
    /// From one run and any number of others, each held against it; the scope holds for all. Where none is given it is held
    /// against itself.
    Among(fn(&Scoped<'_>, &[Scoped<'_>], &Params, &mut Notes) -> Answer),
    /// From one run, held against a baseline where one is given, or several runs of it; the scope holds for all.
    Against(fn(&Scoped<'_>, &[Scoped<'_>], &Params, &mut Notes) -> Answer),
}

/// Which runs a question takes beside the one it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// None.
    None,
    /// Perhaps one, that is held against it.
    One,
    /// Any number, each held against it.
    Many,
    /// Any number of runs of a baseline, against which it is held.
    Baseline,
}

impl Others {
    /// What the others are called in a route and on a command line; `None` where there are none.
    #[must_use]
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::One | Self::Many => Some("other"),
            Self::Baseline => Some("baseline"),
        }
    }
}

impl Analysis {
    /// Its name in routes, files and web addresses: the id with `-` for the space.
    #[must_use]
    pub fn slug(&self) -> String {
        self.id.replace(' ', "-")
    }

    /// The ids of the values that its short form shows; `None` where it has none.
    #[must_use]
    pub fn brief(&self) -> Option<&'static [&'static str]> {
        self.also.iter().find_map(|also| match also {
            Also::Brief(numbers) => Some(*numbers),
            Also::Report | Also::Tool => None,
        })
    }

    /// Its name as words of a command line.
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.id.split(' ')
    }

    /// Whether its parameters can state all that it needs in place of a run: see [`run_alone`].
    #[must_use]
    pub fn works_alone(&self) -> bool {
        matches!(self.run, Run::Maybe(_) | Run::Told(_))
    }

    /// Whether a text among its parameters is what it is asked about, so that no run is meant.
    #[must_use]
    pub fn is_told(&self, params: &Params) -> bool {
        let is_text =
            |param: &&Param| param.kind == ParamKind::Document && !params.text(param).trim().is_empty();
        matches!(self.run, Run::Told(_)) && self.params.iter().any(|param| is_text(&param))
    }

    /// The first word of an id of two: its family, or the analysis that leads it.
    #[must_use]
    pub fn family(&self) -> Option<&'static str> {
        self.id.split_once(' ').map(|(first, _)| first)
    }

    /// Refuses a run of which there can be no answer, and says why.
    fn can_read(&self, profile: &Profile) -> Result<(), Error> {
        let input = Input::of(profile);
        if self.reads.contains(&input) {
            return Ok(());
        }
        Err(Error::Nothing(match input {
            Input::Flags => FLAGS_ONLY.to_owned(),
            Input::Program => NO_EVENTS.to_owned(),
            Input::Profile => format!("`{}` reads no profiles", self.id),
        }))
    }

    /// Which runs it takes beside the one that it is about.
    #[must_use]
    pub fn others(&self) -> Others {
        match self.run {
            Run::Of(_) | Run::Maybe(_) | Run::Told(_) => Others::None,
            Run::Between(_) => Others::One,
            Run::Among(_) => Others::Many,
            Run::Against(_) => Others::Baseline,
        }
    }
}

/// The definition of a parameter.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name: `--by`, `?by=`.
    pub id: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// What values it takes.
    pub kind: ParamKind,
    /// The value where none is given.
    pub default: &'static str,
}

/// What values a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamKind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number, 0 or more.
    Count,
    /// A number with an optional unit prefix, such as `138.8G`.
    Quantity,
    /// Any text.
    Text,
    /// Several texts with `;` between them; on the command line the option may be given again.
    Texts,
    /// The text of a file; on the command line, the path of one.
    Document,
    /// `yes` or `no`, which is the same as nothing; on the command line an option without a value.
    Flag,
}

/// Which HLO module a question is about; read by [`crate::programs::choose`].
pub const MODULE: Param = Param {
    id: "module",
    doc: "the HLO module: name, `name(program id)` or program id; of a dump also `@stage` behind it",
    kind: ParamKind::Text,
    default: "",
};

/// How many rows an answer lists: the one word for it by every door. Analyses that list less than all have their own text and default.
pub const LIMIT: Param =
    Param { id: "limit", doc: "how many rows to list; 0 lists all", kind: ParamKind::Count, default: "" };

/// Goes on where a check refuses: the one word for it by every door.
pub const FORCE: Param = Param {
    id: "force",
    doc: "compare runs even if they are not comparable",
    kind: ParamKind::Flag,
    default: "",
};

/// What parameters were called before, and what they are called now. Every door still takes the old words.
pub const FORMER: &[(&str, &str)] = &[
    ("rows", LIMIT.id),
    ("lines", LIMIT.id),
    ("limit-nodes", LIMIT.id),
    ("limit_nodes", LIMIT.id),
    ("top", LIMIT.id),
    ("anyway", FORCE.id),
];

/// What a parameter is called now.
#[must_use]
pub fn current(id: &str) -> &str {
    FORMER.iter().find(|(former, _)| *former == id).map_or(id, |(_, now)| now)
}

/// Parameter values as given, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    /// Adds a value; a [former](FORMER) word counts as the one for it now.
    pub fn set(&mut self, id: &str, value: &str) {
        self.0.insert(current(id).to_owned(), value.to_owned());
    }

    /// The text given for a parameter, else its default.
    #[must_use]
    pub fn text<'a>(&'a self, param: &Param) -> &'a str {
        self.0.get(param.id).map_or(param.default, String::as_str)
    }

    /// Whether a flag was given.
    #[must_use]
    pub fn flag(&self, param: &Param) -> bool {
        self.text(param) == "yes"
    }

    /// The whole number given for a parameter, else its default; 0 where neither is one.
    #[must_use]
    pub fn count(&self, param: &Param) -> usize {
        self.text(param).parse().unwrap_or(0)
    }

    /// The quantity given for a parameter, if one was given.
    #[must_use]
    pub fn quantity(&self, param: &Param) -> Option<f64> {
        parse_quantity(self.text(param))
    }

    fn check(&self, analysis: &Analysis) -> Result<(), Error> {
        for (id, value) in &self.0 {
            let Some(param) = analysis.params.iter().find(|p| p.id == id) else {
                let known: Vec<_> = analysis.params.iter().map(|p| p.id).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                return Err(Error::Usage(format!(
                    "`{}` has no parameter `{id}`; it has: {known}",
                    analysis.id
                )));
            };
            let expected = match param.kind {
                ParamKind::Choice(words) if !words.contains(&value.as_str()) => words.join(", "),
                ParamKind::Count if value.parse::<usize>().is_err() => "a whole number".into(),
                ParamKind::Quantity if !value.is_empty() && parse_quantity(value).is_none() => {
                    "a number such as 138.8G".into()
                }
                ParamKind::Flag if !["", "no", "yes"].contains(&value.as_str()) => "yes or no".into(),
                _ => continue,
            };
            return Err(Error::Usage(format!(
                "`{id}` of `{}`: expected {expected}, found `{value}`",
                analysis.id
            )));
        }
        Ok(())
    }
}

fn parse_quantity(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, scale) = match text.char_indices().next_back()? {
        (i, 'k') => (&text[..i], 1e3),
        (i, 'M') => (&text[..i], 1e6),
        (i, 'G') => (&text[..i], 1e9),
        (i, 'T') => (&text[..i], 1e12),
        (i, 'P') => (&text[..i], 1e15),
        _ => (text, 1.0),
    };
    digits.trim().parse::<f64>().ok().map(|v| v * scale).filter(|v| v.is_finite() && *v >= 0.0)
}

/// Why a text with flags has no answer to other questions.
const FLAGS_ONLY: &str = "this is a text with flags of XLA or libtpu, not a profile: only `audit flags` reads it; with a run, use `audit flags RUN --script FILE`, which says more";

/// Answers a question from its parameters, without a run.
///
/// # Errors
/// [`Error::Usage`] for parameters that do not fit, or that leave something open which only a run could tell.
pub fn run_alone(analysis: &Analysis, params: &Params) -> Result<Report, Error> {
    params.check(analysis)?;
    let (Run::Maybe(run) | Run::Told(run)) = analysis.run else {
        return Err(Error::Usage(format!("`{}` needs a run", analysis.id)));
    };
    let mut notes = Notes::default();
    let mut report = run(None, params, &mut notes)?;
    report.analysis = analysis.id;
    report.quality = notes.into_sorted();
    Ok(report)
}

/// Answers a question: checks the parameters, runs the analysis and fills in what all reports share.
///
/// # Errors
/// [`Error::Usage`] for parameters or a scope that do not fit, [`Error::Nothing`] where the profile holds nothing that
/// the question is about, [`Error::Changed`] where a file of the run changed meanwhile.
pub fn run(analysis: &Analysis, profile: &Profile, scope: &Scope, params: &Params) -> Result<Report, Error> {
    run_with(analysis, profile, &[], scope, params)
}

/// As [`run`], with other runs for analyses that [take some](Analysis::others); the others leave them alone.
///
/// # Errors
/// As [`run`]; [`Error::Usage`] too for more runs than the analysis takes.
pub fn run_with(
    analysis: &Analysis,
    profile: &Profile,
    others: &[&Profile],
    scope: &Scope,
    params: &Params,
) -> Result<Report, Error> {
    stop::or_refused(|| {
        let others: Vec<Scoped<'_>> = others.iter().map(|other| Scoped::new(other, scope)).collect();
        run_scoped(analysis, &Scoped::new(profile, scope), &others, params)
    })
}

/// As [`run_with`], of runs whose scope is resolved.
pub fn run_scoped(
    analysis: &Analysis,
    asked: &Scoped<'_>,
    others: &[Scoped<'_>],
    params: &Params,
) -> Result<Report, Error> {
    params.check(analysis)?;
    let answer = stop::or_refused(|| answer(analysis, asked, others, params));
    // Whatever was found: that there is nothing to say may come of a file that is no longer whole.
    std::iter::once(asked).chain(others).try_for_each(|run| run.profile.unchanged())?;
    answer
}

fn answer(
    analysis: &Analysis,
    asked: &Scoped<'_>,
    others: &[Scoped<'_>],
    params: &Params,
) -> Result<Report, Error> {
    let takes = analysis.others();
    if others.len() > 1 && takes == Others::One {
        return Err(Error::Usage(format!(
            "`{}` compares with one other run, found {}",
            analysis.id,
            others.len()
        )));
    }
    std::iter::once(asked).chain(others).try_for_each(|run| analysis.can_read(run.profile))?;
    // A host or device that is not there is an error even of a question that does not look at devices.
    if let Err(error @ Error::Usage(_)) = asked.selection() {
        return Err(error);
    }
    crate::programs::known(asked.profile, &asked.scope)?;
    let mut notes = Notes::default();
    let first = others.first();
    let answer = match analysis.run {
        Run::Of(run) => run(asked, params, &mut notes),
        Run::Maybe(run) | Run::Told(run) => run(Some(asked), params, &mut notes),
        Run::Between(run) => run(asked, first.unwrap_or(asked), params, &mut notes),
        Run::Among(run) if others.is_empty() => run(asked, std::slice::from_ref(asked), params, &mut notes),
        Run::Among(run) => run(asked, others, params, &mut notes),
        Run::Against(run) => run(asked, others, params, &mut notes),
    };
    let mut report = answer.map_err(|error| with_damage(error, asked.profile))?;
    report.analysis = analysis.id;
    crate::provenance::fill(&mut report, asked, &mut notes);
    for other in others.iter().filter(|_| takes != Others::None) {
        crate::provenance::add_files(&mut report, other.profile, &mut notes);
    }
    report.quality = notes.into_sorted();
    let broken: Vec<_> = haloscope_selfcheck::remarks(&report).collect();
    report.quality.splice(0..0, broken);
    say_first(&mut report);
    Ok(report)
}

/// Remarks that say that a file is not whole: nothing may be read before them.
const NOT_WHOLE: &[&str] = &["damaged_file", "unreadable_file", "trace_json_cut", "lost_records"];

/// Puts damage of files before all else that a report says: what is left of a file may look like a run that idles.
fn say_first(report: &mut Report) {
    let Some(note) = report.quality.iter().find(|note| NOT_WHOLE.contains(&note.id)) else { return };
    let finding = Finding {
        id: "file_not_whole",
        severity: Severity::Error,
        claim: format!(
            "A file is incomplete, so all results cover only what could be read: {}",
            note.message
        ),
        evidence: note.cost.clone(),
        ceiling: "nothing: the file is the problem, not the program".into(),
        recommendation: note.fix.clone(),
        falsifier: "another copy of the file has the same size and the same answers".into(),
        status: Status::Measured,
        links: vec![Link::to("inspect")],
        ..Finding::default()
    };
    report.findings.insert(0, finding);
}

/// Where there is nothing to say because a file is damaged, says that too.
fn with_damage(error: Error, profile: &Profile) -> Error {
    let Error::Nothing(message) = error else { return error };
    let damaged = profile
        .sources
        .iter()
        .find_map(|s| Some((haloscope_report::naming::shown(&s.path), s.faults.kept().first()?)));
    let lost = profile.left_out.first().map(|reason| format!("{message} ({reason})"));
    Error::Nothing(match damaged {
        Some((path, fault)) => format!("{message} ({path} is damaged {fault})"),
        None => lost.unwrap_or(message),
    })
}
