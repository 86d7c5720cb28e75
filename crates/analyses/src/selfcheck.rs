//! All analyses over a grid of scopes, held against the sums that must hold: what `inspect --selfcheck` shows.

use haloscope_profile::Profile;
use haloscope_report::scope::{Scope, StepRange};
use haloscope_report::{Error, Quality, Report, Severity, Table, row};
use haloscope_selfcheck::{Invariant, Tally};
use haloscope_time::analysis::{Analysis, MenuGroup, Param, ParamKind, Params, run_scoped};
use haloscope_time::select::Scoped;

/// What came of an invariant in the reports of an analysis.
pub struct Outcome {
    /// The invariant.
    pub invariant: &'static Invariant,
    /// The analysis, or `all` where several were held against each other.
    pub analysis: &'static str,
    /// The scopes: one where it is broken.
    pub scope: String,
    /// How often it was looked at and broken.
    pub tally: Tally,
}

/// A scope of the grid.
struct Place {
    words: String,
    scope: Scope,
}

/// Parts of the run that have nothing in common, and what they are all of.
struct Partition {
    whole: Place,
    parts: Vec<Place>,
}

/// Asks all of these analyses in the scope and in parts of it, and holds what they say against all invariants. What is broken comes first,
/// place by place; what holds is one entry for all scopes.
///
/// # Errors
/// [`Error::Changed`] and other errors that are not of one question.
pub fn check(asked: &Scoped<'_>, analyses: &[&'static Analysis]) -> Result<Vec<Outcome>, Error> {
    let mut found = Found::default();
    let whole = Place { words: "as asked".into(), scope: asked.scope.clone() };
    let reports = ask(asked, analyses, true)?;
    found.look(&reports, &whole);
    let timed: Vec<&'static Analysis> = analyses.iter().copied().filter(|a| is_of_time(a)).collect();
    for partition in partitions(asked.profile, &asked.scope, &reports) {
        let all = if partition.whole.scope == asked.scope {
            None
        } else {
            Some(found.ask(asked.profile, &timed, &partition.whole)?)
        };
        let mut parts: Vec<Vec<Report>> = Vec::new();
        for part in &partition.parts {
            parts.push(found.ask(asked.profile, &timed, part)?);
        }
        for whole in all.as_ref().unwrap_or(&reports) {
            let of =
                |part: &Vec<Report>| part.iter().find(|report| report.analysis == whole.analysis).cloned();
            let parts: Vec<Report> = parts.iter().filter_map(of).collect();
            for (invariant, tally) in haloscope_selfcheck::of_parts(whole, &parts) {
                found.add(invariant, whole.analysis, words(&partition), tally);
            }
        }
    }
    Ok(found.into_outcomes())
}

fn words(partition: &Partition) -> String {
    let parts: Vec<&str> = partition.parts.iter().map(|part| part.words.as_str()).collect();
    format!("{} of {}", parts.join(" + "), partition.whole.words)
}

/// Whether a question's answer depends on hosts, devices, steps and windows.
fn is_of_time(analysis: &Analysis) -> bool {
    matches!(analysis.group, MenuGroup::Start | MenuGroup::Time | MenuGroup::Work)
}

/// The answers; none where there is nothing to say. With all choices of their parameters, where asked for.
fn ask(asked: &Scoped<'_>, analyses: &[&'static Analysis], every_choice: bool) -> Result<Vec<Report>, Error> {
    let mut reports = Vec::new();
    for analysis in analyses {
        for params in choices(analysis, every_choice) {
            match run_scoped(analysis, asked, &[], &params) {
                Ok(report) => reports.push(report),
                Err(Error::Nothing(_) | Error::Usage(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(reports)
}

fn choices(analysis: &Analysis, every: bool) -> Vec<Params> {
    let mut all = vec![Params::default()];
    let offered = analysis.params.iter().filter(|_| every);
    for (param, words) in offered.filter_map(|param| Some((param, offers(param)?))) {
        for word in words.iter().filter(|word| **word != param.default) {
            let mut params = Params::default();
            params.set(param.id, word);
            all.push(params);
        }
    }
    all
}

fn offers(param: &Param) -> Option<&'static [&'static str]> {
    match param.kind {
        ParamKind::Choice(words) => Some(words),
        _ => None,
    }
}

/// The ways in which the scope is cut into parts.
fn partitions(profile: &Profile, scope: &Scope, reports: &[Report]) -> Vec<Partition> {
    let whole = || Place { words: "the whole".into(), scope: scope.clone() };
    let mut all = Vec::new();
    if scope.steps.is_none() && !scope.steady {
        let parts = windows(profile, scope);
        if !parts.is_empty() {
            all.push(Partition { whole: whole(), parts });
        }
    }
    let covered = reports.first().map(|report| &report.scope);
    let two = |names: &[String], what: &str, set: &dyn Fn(Vec<String>) -> Scope| {
        let (first, rest) = names.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let one = Place { words: first.clone(), scope: set(vec![first.clone()]) };
        let others = match rest {
            [other] => other.clone(),
            _ => format!("{} other {what}", rest.len()),
        };
        let others = Place { words: others, scope: set(rest.to_vec()) };
        Some(Partition { whole: whole(), parts: vec![one, others] })
    };
    if let Some(covered) = covered {
        all.extend(two(&covered.devices, "devices", &|devices| Scope { devices, ..scope.clone() }));
        all.extend(two(&covered.hosts, "hosts", &|hosts| Scope { hosts, ..scope.clone() }));
    }
    all.extend(steps(scope, reports));
    all
}

/// Three windows that touch: cut in the middle of ops, unevenly.
fn windows(profile: &Profile, scope: &Scope) -> Vec<Place> {
    let spans = profile.lines.iter().filter_map(|line| profile.events(line).span_ps());
    let span = scope.window_ps.or_else(|| spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))));
    let Some((from, to)) = span else { return Vec::new() };
    // A window of its own keeps its edges; the run's events all lie within.
    let margin = if scope.window_ps.is_some() { 0 } else { 1 };
    let length = to - from;
    let cuts = [from - margin, from + length / 3, from + length / 7 * 5 + 77.min(length / 8), to + margin];
    let place = |cut: &[i64]| {
        let window = (cut[0], cut[1]);
        let words = format!("window {}ps..{}ps", window.0, window.1);
        Place { words, scope: Scope { window_ps: Some(window), ..scope.clone() } }
    };
    cuts.windows(2).filter(|cut| cut[0] < cut[1]).map(place).collect()
}

/// Two halves of the steps, beside all of them.
fn steps(scope: &Scope, reports: &[Report]) -> Option<Partition> {
    if scope.steps.is_some() {
        return None;
    }
    let table = reports.iter().find(|report| report.analysis == "steps")?.table("steps")?;
    let column = table.column("step")?;
    let mut numbers: Vec<i64> =
        table.rows.iter().filter_map(|row| Some(row.get(column)?.number()? as i64)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let (first, last) = (*numbers.first()?, *numbers.last()?);
    let middle = numbers.get((numbers.len() - 1) / 2).copied().filter(|middle| *middle < last)?;
    let place = |from: i64, to: i64| {
        let text = format!("{from}-{to}");
        let steps = StepRange::parse(&text).ok()?;
        Some(Place { words: format!("steps {text}"), scope: Scope { steps: Some(steps), ..scope.clone() } })
    };
    Some(Partition {
        whole: place(first, last)?,
        parts: vec![place(first, middle)?, place(middle + 1, last)?],
    })
}

#[derive(Default)]
struct Found(Vec<Outcome>);

impl Found {
    fn ask(
        &mut self,
        profile: &Profile,
        analyses: &[&'static Analysis],
        place: &Place,
    ) -> Result<Vec<Report>, Error> {
        let scoped = Scoped::new(profile, &place.scope);
        let reports = ask(&scoped, analyses, false)?;
        self.look(&reports, place);
        Ok(reports)
    }

    /// Each report by itself, and those with default parameters together.
    fn look(&mut self, reports: &[Report], place: &Place) {
        for report in reports {
            for (invariant, tally) in haloscope_selfcheck::of_report(report) {
                self.add(invariant, report.analysis, place.words.clone(), tally);
            }
        }
        let mut plain: Vec<Report> = Vec::new();
        for report in reports {
            // The first of an analysis is the one without parameters.
            if !plain.iter().any(|known| known.analysis == report.analysis) {
                plain.push(report.clone());
            }
        }
        for (invariant, tally) in haloscope_selfcheck::of_scope(&plain) {
            self.add(invariant, "all", place.words.clone(), tally);
        }
    }

    fn add(&mut self, invariant: &'static Invariant, analysis: &'static str, scope: String, tally: Tally) {
        self.0.push(Outcome { invariant, analysis, scope, tally });
    }

    /// What is broken, each by itself, then what holds, an entry for each invariant and analysis.
    fn into_outcomes(self) -> Vec<Outcome> {
        let (mut all, held): (Vec<Outcome>, Vec<Outcome>) =
            self.0.into_iter().partition(|outcome| outcome.tally.broken > 0);
        let mut merged: Vec<(Outcome, Vec<String>)> = Vec::new();
        for outcome in held {
            let known = merged.iter_mut().find(|(one, _)| {
                one.invariant.id == outcome.invariant.id && one.analysis == outcome.analysis
            });
            match known {
                Some((one, scopes)) => {
                    one.tally.add(outcome.tally);
                    if !scopes.contains(&outcome.scope) {
                        scopes.push(outcome.scope);
                    }
                }
                None => {
                    let scopes = vec![outcome.scope.clone()];
                    merged.push((outcome, scopes));
                }
            }
        }
        for (mut outcome, scopes) in merged {
            if scopes.len() > 1 {
                outcome.scope = format!("{} scopes", scopes.len());
            }
            all.push(outcome);
        }
        let place = |outcome: &Outcome| {
            haloscope_selfcheck::ALL.iter().position(|invariant| invariant.id == outcome.invariant.id)
        };
        all.sort_by_key(|outcome| (outcome.tally.broken == 0, place(outcome)));
        all
    }
}

/// The outcomes as a table.
#[must_use]
pub fn table(outcomes: &[Outcome]) -> Table {
    let mut rows = Vec::new();
    for outcome in outcomes {
        let tally = &outcome.tally;
        let row = row![
            text("invariant", "Invariant", "What must hold, by its id.", outcome.invariant.id),
            text(
                "analysis",
                "Analysis",
                "The report that it is about; `all` if several were compared.",
                outcome.analysis
            ),
            text(
                "verdict",
                "Verdict",
                "`holds` or `broken`.",
                if tally.broken > 0 { "broken" } else { "holds" }
            ),
            count("checked", "Looked at", "Numbers or sums that were checked.", tally.checked),
            count("broken", "Broken", "Those that do not hold.", tally.broken),
            text("scope", "Scope", "The part of the run that was analysed.", outcome.scope.as_str()),
            prose(
                "said",
                "Numbers",
                "The first place where it is broken, with the numbers.",
                tally.first.as_ref().map(ToString::to_string)
            ),
            prose("says", "What must hold", "In a sentence.", outcome.invariant.says),
        ];
        rows.push(row);
    }
    Table::of("selfcheck", "Sums that must hold", rows)
}

/// What is broken as remarks.
pub fn remarks(outcomes: &[Outcome]) -> impl Iterator<Item = Quality> {
    let broken = outcomes.iter().filter(|outcome| outcome.tally.broken > 0);
    broken.map(|outcome| {
        let mut remark = haloscope_selfcheck::remark(outcome.invariant, &outcome.tally);
        remark.severity = Severity::Error;
        if outcome.scope != "as asked" {
            remark.message += &format!(" ({})", outcome.scope);
        }
        remark
    })
}
