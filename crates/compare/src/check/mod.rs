//! `check`: whether a run keeps what was asked of it.
//!
//! Four things can be asked: that it is no slower than a baseline (`gate`), that metrics keep budgets (`budget`, `judge`),
//! that claims on it are true (`claims`, `floor`, `wall`), and that what was predicted to be in the program is (`expect`).
//! Each check passes, fails or is unknown (`outcome`), and what is unknown does not pass unless that was allowed.

mod budget;
mod claims;
mod device_time;
mod expect;
mod floor;
mod gate;
mod interval;
mod judge;
mod kernels;
mod metric;
mod outcome;
pub(crate) mod quantity;
mod reading;
mod summary;
mod wall;

use regex::Regex;

use crate::analysis::{MARGIN, margin};
use budget::Budgets;
use gate::Against;
use haloscope_report::Error;
use haloscope_report::{Gate, Notes, Report, Severity, Unit};
use haloscope_time::analysis::{Also, Analysis, FORCE, Input, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::quality;
use haloscope_time::select::Scoped;
use haloscope_time::steps::Steps;
use metric::Source;
use outcome::Judged;

const BUDGET: Param = Param {
    id: "budget",
    doc: "limits of metrics, as TOML: see docs/analyses/check.md",
    kind: ParamKind::Document,
    default: "",
};
const CLAIM: Param = Param {
    id: "claim",
    doc: "a claim about the run, such as latency<=0.71ms or kernel_bundles(mm)<=600: a metric, one of <= < >= > == !=, and a limit",
    kind: ParamKind::Texts,
    default: "",
};
const FLOOR: Param = Param {
    id: "floor",
    doc: "the least time that is physically possible, such as 0.5ms: a result below it is an error, not a win",
    kind: ParamKind::Text,
    default: "",
};
const WALL: Param = Param {
    id: "wall",
    doc: "JSON of a benchmark: its wall times are compared with device times",
    kind: ParamKind::Document,
    default: "",
};
const EXPECT: Param = Param {
    id: "expect",
    doc: "a regular expression: a matching kernel, fusion, custom call or op must have been compiled and have run",
    kind: ParamKind::Texts,
    default: "",
};
const KERNEL: Param = Param {
    id: "kernel",
    doc: "a regular expression for ops: `latency` and --wall then use their executions instead of the whole program's",
    kind: ParamKind::Text,
    default: "",
};
const TOLERANCE: Param = Param {
    id: "tolerance",
    doc: "how much slower than the baseline still passes, such as 1%: the whole interval must be below it; a budget with step_time.max_increase replaces it",
    kind: ParamKind::Text,
    default: "0%",
};
const CONFIDENCE: Param = Param {
    id: "confidence",
    doc: "confidence for budgets and claims, such as 0.95: the whole interval must be within the limit [default: the value alone decides; 0.95 for steps against a baseline]",
    kind: ParamKind::Text,
    default: "",
};
const UNKNOWN: Param = Param {
    id: "unknown",
    doc: "what happens to checks that could not be decided",
    kind: ParamKind::Choice(&["fail", "pass"]),
    default: "fail",
};
const OPS: Param = Param {
    id: "ops",
    doc: "fail if an op takes longer than in the baseline by more than noise and 0.5% of a step; otherwise such ops are only reported",
    kind: ParamKind::Choice(&["no", "yes"]),
    default: "no",
};
const ANYWAY: Param =
    Param { doc: "compare with the baseline even if chip, batch or shapes differ", ..FORCE };

/// Finds an analysis by its id or slug: a budget may name a value of any.
pub type Find = fn(&str) -> Option<&'static Analysis>;

/// The analysis. The registry gives `run`, which hands [`run`] its own [`Find`]: what any analysis can be asked for is known
/// there alone.
#[must_use]
pub const fn analysis(run: Run) -> Analysis {
    Analysis {
        id: "check",
        label: "Check",
        group: MenuGroup::Change,
        question: "Does this run keep its budgets, and is it no slower than its baseline?",
        params: &[
            BUDGET, CLAIM, FLOOR, WALL, EXPECT, KERNEL, TOLERANCE, MARGIN, OPS, CONFIDENCE, UNKNOWN, ANYWAY,
        ],
        needs: &[
            "a baseline, budgets, claims or expectations",
            "several steps in each run: their spread says what is noise",
        ],
        reads: &[Input::Profile, Input::Program],
        example: "check logs/after --baseline logs/before --budget budget.toml",
        also: &[Also::Tool],
        run,
    }
}

/// What was asked, and what came of it.
#[derive(Default)]
struct Checked {
    budgets: Vec<(Judged, judge::Numbers)>,
    claims: Vec<(Judged, claims::Held)>,
    wall: Vec<(Judged, wall::Time)>,
    wins: Vec<(Judged, wall::Win)>,
    expected: Vec<(Judged, expect::Found)>,
    /// That a comparison was asked for which nobody can make.
    not_comparable: bool,
}

impl Checked {
    /// What was judged, by the table that shows it.
    fn groups(&self) -> [(&'static str, Vec<&Judged>); 5] {
        fn judged<T>(all: &[(Judged, T)]) -> Vec<&Judged> {
            all.iter().map(|(judged, _)| judged).collect()
        }
        [
            ("budgets", judged(&self.budgets)),
            ("claims", judged(&self.claims)),
            ("wall", judged(&self.wall)),
            ("wall_wins", judged(&self.wins)),
            ("expected", judged(&self.expected)),
        ]
    }

    fn all(&self) -> impl Iterator<Item = &Judged> {
        self.groups().into_iter().flat_map(|(_, group)| group)
    }

    /// The gate; `None` where nothing was asked.
    fn gate(&self) -> Option<Gate> {
        if self.not_comparable {
            return Some(Gate::NotComparable);
        }
        self.all().next()?;
        Some(Gate::of(!self.all().any(Judged::blocks)))
    }
}

/// What the parameters say beside the checks themselves.
struct Terms {
    kernel: Option<Regex>,
    confidence: Option<f64>,
    tolerance: f64,
    floor_ps: Option<f64>,
    allow_unknown: bool,
    margin: f64,
    ops: bool,
}

impl Terms {
    fn read(params: &Params) -> Result<Self, Error> {
        let given =
            |param: &Param| Some(params.text(param).trim().to_owned()).filter(|text| !text.is_empty());
        let number = |param: &Param, unit| {
            let read = |text: String| {
                quantity::parse(&text, unit).map_err(|why| Error::Usage(format!("--{}: {why}", param.id)))
            };
            given(param).map(read).transpose()
        };
        let confidence = number(&CONFIDENCE, Unit::Share)?;
        if let Some(confidence) = confidence.filter(|c| *c <= 0.0 || *c >= 1.0) {
            return Err(Error::Usage(format!(
                "--confidence must be between 0 and 1, such as 0.95; found {confidence}"
            )));
        }
        Ok(Self {
            kernel: given(&KERNEL).map(|text| expect::pattern(KERNEL.id, &text)).transpose()?,
            confidence,
            tolerance: number(&TOLERANCE, Unit::Share)?.unwrap_or_default().max(0.0),
            floor_ps: number(&FLOOR, Unit::Ps)?,
            allow_unknown: params.text(&UNKNOWN) == "pass",
            margin: margin(params)?,
            ops: params.text(&OPS) == "yes",
        })
    }
}

/// Answers it.
///
/// # Errors
/// [`Error::Usage`] for what cannot be asked, [`Error::Nothing`] where the runs have nothing to hold.
pub fn run(
    asked: &Scoped<'_>,
    baselines: &[Scoped<'_>],
    params: &Params,
    notes: &mut Notes,
    find: Find,
) -> Result<Report, Error> {
    let terms = Terms::read(params)?;
    let budgets = match params.text(&BUDGET) {
        text if text.trim().is_empty() => {
            Budgets { allow_unknown: terms.allow_unknown, ..Budgets::default() }
        }
        text => budget::parse(text, terms.confidence, terms.allow_unknown)?,
    };
    let claimed = claims::parse(params.text(&CLAIM))?;
    let source = Source::new(asked, terms.kernel.as_ref(), find);
    let before: Vec<Source<'_>> =
        baselines.iter().map(|baseline| Source::new(baseline, terms.kernel.as_ref(), find)).collect();
    let anyway = params.flag(&ANYWAY);
    let against =
        if before.is_empty() { None } else { Some(Against::of(&before, &source, anyway, terms.margin)?) };
    remarks(asked, notes);

    let mut checked = Checked::default();
    if let Some(against) = &against {
        checked.not_comparable = !against.is_comparable();
        checked.budgets.extend(against.judge(&budgets.all, terms.tolerance, budgets.allow_unknown));
        checked.budgets.extend(against.judge_ops(terms.ops, budgets.allow_unknown));
    }
    // What cannot be compared has no baseline to be held against.
    let comparable = if checked.not_comparable { &[][..] } else { &before[..] };
    for budget in &budgets.all {
        checked.budgets.push(judge::judge(budget, &source, comparable)?);
    }
    let allow_unknown = budgets.allow_unknown;
    let of_claims = claims::Terms { confidence: terms.confidence, floor_ps: terms.floor_ps, allow_unknown };
    checked.claims = claims::judge(&claimed, &source, &of_claims)?;
    let mut tables = vec![judge::table(&checked.budgets), claims::table(&checked.claims)];
    if !params.text(&WALL).trim().is_empty() {
        let device = source.read("latency")?;
        let device_before = comparable.first().map(|before| before.read("latency")).transpose()?;
        let wall =
            wall::judge(params.text(&WALL), &device, device_before.as_ref(), terms.floor_ps, allow_unknown)?;
        if !wall.guessed.is_empty() {
            notes.add(
                "wall_unit_guessed",
                Severity::Info,
                format!("the benchmark's file does not say the unit of {}", wall.guessed.join(", ")),
                "they are assumed to be milliseconds",
                "end their keys in p50_ms, p50_us or p50_ns",
            );
        }
        tables.extend(wall.tables());
        (checked.wall, checked.wins) = (wall.times, wall.wins);
    }
    checked.expected = expect::judge(params.text(&EXPECT), &source, allow_unknown)?;
    tables.push(expect::table(&checked.expected));
    // Of what was not asked there is nothing to show.
    tables.retain(|table| !table.rows.is_empty());
    match &against {
        Some(against) => tables.extend(against.tables()),
        None => tables.push(summary::metrics(&source)?),
    }
    let gate = checked.gate();
    if gate.is_none() {
        // A compiled program keeps budgets of memory and of what was built, but has no metrics to show.
        asked.selection()?;
        summary::nothing_asked(notes);
    }
    Ok(Report {
        values: summary::values(&checked, gate, against.as_ref()),
        tables,
        findings: summary::findings(&checked, against.as_ref(), &floor::beaten(&source)),
        gate,
        ..Report::default()
    })
}

/// What the run lacks for any of this.
fn remarks(asked: &Scoped<'_>, notes: &mut Notes) {
    // Whoever asks for what such a run does not have is told so at the check itself.
    let Ok(selection) = asked.selection() else { return };
    quality::events(asked.profile, selection, notes);
    quality::steps(asked.profile, &Steps::find(asked.profile, &selection.devices), notes);
}
