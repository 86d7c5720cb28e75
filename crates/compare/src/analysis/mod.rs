//! `compare`: what changed between runs, and whether it is more than noise.

mod buffers;
mod copies;
pub(super) mod facts;
mod findings;
mod memory;
pub(super) mod metrics;
mod names;
mod ops;
mod programs;
pub(super) mod regressions;
mod renamed;
mod runs;
mod side;
pub(super) mod values;
mod waterfall;

use crate::check::quantity;
use crate::{Fact, RunSamples, StepVerdict, Terms, Verdict, comparable, label};
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::{Finding, Gate, Notes, Report, Table, Unit};
use haloscope_time::analysis::{
    Also, Analysis, FORCE, Input, LIMIT, MenuGroup, Param, ParamKind, Params, Run,
};
use haloscope_time::quality;
use haloscope_time::select::Scoped;
use side::Side;

const ANYWAY: Param = Param {
    doc: "compare runs even if their chip, device count, mesh, types, batch or shapes differ",
    ..FORCE
};

const PICK: Param = Param {
    id: "pick",
    doc: "which of several experiments to show in detail; 1 is the first",
    kind: ParamKind::Count,
    default: "1",
};

const MOST: Param = Param {
    doc: "how many ops and names to list, largest differences first; 0 lists all",
    default: "100",
    ..LIMIT
};

const RENAMED: Param = Param {
    id: "renamed",
    doc: "also list ops that only have another name",
    kind: ParamKind::Choice(&["no", "yes"]),
    default: "no",
};

/// Within how much the step time is the same.
pub(crate) const MARGIN: Param = Param {
    id: "margin",
    doc: "a difference shown to be within this share of a step counts as the same; if it is shown neither within nor beyond, it is undecided",
    kind: ParamKind::Text,
    default: "1%",
};

/// The margin that was asked for, a share of the step.
///
/// # Errors
/// [`Error::Usage`] for what is no share, or none between 0 and 1.
pub(crate) fn margin(params: &Params) -> Result<f64, Error> {
    let read = quantity::parse(params.text(&MARGIN), Unit::Share);
    let margin = read.map_err(|why| Error::Usage(format!("--margin: {why}")))?;
    if !(margin > 0.0 && margin < 1.0) {
        return Err(Error::Usage(format!("--margin lies between 0% and 100%, such as 1%; found {margin}")));
    }
    Ok(margin)
}

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "compare",
    label: "Compare",
    group: MenuGroup::Change,
    question: "What changed between these runs, is it more than noise, and which ops make up the difference?",
    params: &[ANYWAY, MARGIN, PICK, MOST, RENAMED],
    needs: &[
        "several steps in each run: their spread says what is noise",
        "HLO, to recognise an op whose name has changed",
    ],
    reads: &[Input::Profile],
    example: "compare logs/before logs/after",
    also: &[Also::Tool],
    run: Run::Among(run),
};

fn run(
    asked: &Scoped<'_>,
    others: &[Scoped<'_>],
    params: &Params,
    notes: &mut Notes,
) -> Result<Report, Error> {
    let pick = params.count(&PICK).checked_sub(1).filter(|at| *at < others.len()).ok_or_else(|| {
        Error::Usage(format!(
            "`pick`: expected the number of an experiment, 1 to {}, found `{}`",
            others.len(),
            params.text(&PICK)
        ))
    })?;
    let profiles: Vec<&Profile> = std::iter::once(asked).chain(others).map(|run| run.profile).collect();
    let labels = label::labels(&profiles);
    let first = RunSamples::of(asked, notes)?;
    quality::events(asked.profile, &first.selection, notes);
    let terms = Terms { margin: margin(params)?, ..Terms::default() };
    let mut held = Vec::new();
    for (other, label) in others.iter().zip(&labels[1..]) {
        let one = Held::of(&first, other, label, (params, terms), notes)?;
        quality::events(other.profile, &one.run.selection, notes);
        held.push(one);
    }
    let picked = &held[pick];
    let named = [labels[0].as_str(), picked.label];
    let mut report = picked.report(&first, &asked.scope, params);
    report.tables.push(facts::table(&picked.facts));
    report.tables.push(runs::runs(held.iter().map(|one| (one.label, &one.run, &one.said))));
    report.tables.push(runs::steps([&first, &picked.run], named));
    report.series = runs::series([&first, &picked.run], named);
    Ok(report)
}

/// An experiment, and what may be said of it.
struct Held<'l, 'p> {
    label: &'l str,
    run: RunSamples<'p>,
    facts: Vec<Fact>,
    said: StepVerdict,
    anyway: bool,
}

impl<'l, 'p> Held<'l, 'p> {
    fn of(
        first: &RunSamples<'p>,
        other: &Scoped<'p>,
        label: &'l str,
        (params, terms): (&Params, Terms),
        notes: &mut Notes,
    ) -> Result<Self, Error> {
        let run = RunSamples::of(other, notes)?;
        let facts = comparable::facts(first, &run, &other.scope);
        let anyway = params.flag(&ANYWAY);
        let mut said = StepVerdict::of(&first.steps, &run.steps, terms);
        if !anyway && !comparable::are_comparable(&facts) {
            let broken = facts.iter().filter(|fact| fact.breaks());
            let broken: Vec<String> = broken.map(|fact| fact.label.to_lowercase()).collect();
            said = said.not_comparable(format!("they differ in {}", broken.join(", ")));
        }
        Ok(Self { label, run, facts, said, anyway })
    }

    /// What is said of it against the baseline. Of runs that are not comparable: what both are, and their numbers.
    fn report(&self, first: &RunSamples<'p>, scope: &Scope, params: &Params) -> Report {
        let comparable = self.said.verdict != Verdict::NotComparable;
        let mut findings = facts::findings(&self.facts, self.anyway);
        let mut values = values::of_step(first, &self.run, &self.said);
        let (own, others) = (metrics::of(first, scope), metrics::of(&self.run, scope));
        let mut tables = vec![metrics::table(&own, &others, comparable)];
        if comparable {
            let side = Side::of(first, &self.run, self.said.clone());
            values.extend(values::of_ops(&side));
            tables.extend(details(&side, params));
            // What makes runs incomparable comes before the verdict, what else differs after it.
            let place = findings.partition_point(|finding: &Finding| finding.id == "not_comparable");
            let memory = memory::Memory::of(&side.matches);
            let all =
                findings::all(&side).into_iter().chain(memory.as_ref().and_then(memory::Memory::finding));
            findings.splice(place..place, all);
            tables.extend(of_programs(&side, memory.as_ref(), params));
        }
        // As a gate has it: whoever compares in a script is not to take numbers of other work for an answer.
        let gate = (!comparable).then_some(Gate::NotComparable);
        Report { values, tables, findings, gate, ..Report::default() }
    }
}

/// How many rows are listed at most.
fn limit(params: &Params) -> usize {
    match params.count(&MOST) {
        0 => usize::MAX,
        rows => rows,
    }
}

/// The tables of what the programs are, and what they need.
fn of_programs(side: &Side<'_, '_>, memory: Option<&memory::Memory>, params: &Params) -> Vec<Table> {
    let rows = limit(params);
    let mut tables: Vec<Table> = memory.map(memory::Memory::table).into_iter().collect();
    tables.extend(buffers::buffers(&side.matches, rows));
    tables.extend(copies::copies(side.a, side.b, &side.matches, rows));
    tables.push(programs::programs(&side.matches));
    tables
}

/// The tables of what changed.
fn details(side: &Side<'_, '_>, params: &Params) -> Vec<Table> {
    let rows = limit(params);
    let mut tables =
        vec![waterfall::table(side), ops::table(side, rows), names::names(side, rows), names::classes(side)];
    if params.text(&RENAMED) == "yes" {
        tables.push(renamed::renamed(side));
    }
    tables.push(renamed::regrouped(side));
    tables
}
