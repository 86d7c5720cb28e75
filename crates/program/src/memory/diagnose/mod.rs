//! `memory diagnose`: what could be saved. One rule a file; the numbers that rules compare with are in `thresholds.rs`.

mod context;
mod donation;
mod fragmentation;
mod headroom;
mod logits;
mod long_lived;
mod optimiser;
mod padding;
mod peak_phase;
mod rematerialisation;
mod same_shape;
mod spikes;
mod thresholds;

use super::{RULES, SPACE, buffers, chosen, peak, program_and_peak, rules, space};
use crate::attribution::{Attribution, Totals};
use crate::program_memory::ProgramMemory;
use context::Context;
use haloscope_report::Error;
use haloscope_report::{Cell, Finding, Notes, Report, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MODULE, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::quality;
use haloscope_time::select::Scoped;

const CAPACITY: Param = Param {
    id: "capacity",
    doc: "bytes of the device's memory, such as 17.2G [default: what the run says]",
    kind: ParamKind::Quantity,
    default: "",
};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "memory diagnose",
    label: "Diagnose",
    group: MenuGroup::Memory,
    question: "Which memory could the program do without, and what should you try?",
    params: &[MODULE, SPACE, RULES, CAPACITY],
    needs: &[
        "an HLO module with its buffer assignment: in profiles of XLA programs, or as `*.hlo_proto.pb` or `*.hlo.pb`",
        "for the headroom: a device type whose memory is known, allocator events, or --capacity",
        "for the passes of a training step: op names as JAX and TensorFlow write them",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "memory diagnose module.hlo_proto.pb --capacity 17.2G",
    also: &[],
    run: Run::Of(run),
};

/// A question about a program's memory.
struct Rule {
    id: &'static str,
    check: fn(&Context<'_, '_>) -> Outcome,
}

/// The rules, in the order in which their checks are listed.
const RULES_OF_DIAGNOSIS: &[Rule] = &[
    Rule { id: "headroom", check: headroom::check },
    Rule { id: "vocabulary_sized_logits", check: logits::check },
    Rule { id: "donation_missed", check: donation::check },
    Rule { id: "f32_optimiser_state", check: optimiser::check },
    Rule { id: "long_lived_temporaries", check: long_lived::check },
    Rule { id: "rematerialisation_candidates", check: rematerialisation::check },
    Rule { id: "same_shape_buffers", check: same_shape::check },
    Rule { id: "padding", check: padding::check },
    Rule { id: "fragmentation", check: fragmentation::check },
    Rule { id: "peak_phase", check: peak_phase::check },
    Rule { id: "spikes", check: spikes::check },
];

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Found,
    Clear,
    NotApplicable,
    Unknown,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Clear => "clear",
            Self::NotApplicable => "does not apply",
            Self::Unknown => "unknown",
        }
    }
}

/// What a rule says.
#[derive(Debug)]
struct Outcome {
    verdict: Verdict,
    /// The bytes in question.
    bytes: Option<i64>,
    /// The share that was compared; the rule's threshold says of what.
    share: Option<f64>,
    threshold: String,
    /// What was seen, or why it is unknown.
    said: String,
    finding: Option<Finding>,
}

impl Outcome {
    /// Nothing can be said, for this reason.
    fn unknown(threshold: String, why: &str) -> Self {
        let said = why.to_owned();
        Self { verdict: Verdict::Unknown, bytes: None, share: None, threshold, said, finding: None }
    }

    /// The question does not arise, for this reason.
    fn not_applicable(threshold: String, why: &str) -> Self {
        Self { verdict: Verdict::NotApplicable, ..Self::unknown(threshold, why) }
    }

    /// What was measured; found if there is a finding.
    fn measured(
        bytes: i64,
        share: Option<f64>,
        threshold: String,
        said: String,
        finding: Option<Finding>,
    ) -> Self {
        let verdict = if finding.is_some() { Verdict::Found } else { Verdict::Clear };
        Self { verdict, bytes: Some(bytes), share, threshold, said, finding }
    }
}

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let rules = rules(params)?;
    let space = space(params, ANALYSIS.id)?;
    if scope.cuts_time() {
        quality::not_used("steps and windows", notes);
    }
    let program = chosen(profile, scope, params, space)?;
    let buffers = buffers(&program)?;
    let memory = ProgramMemory::new(&buffers, space);
    let attribution = Attribution::of(&memory, &rules);
    let totals = Totals::of(&attribution);
    if totals.peak_bytes == 0 {
        return Err(peak::nothing_in(&program.label(), space, &buffers));
    }
    let capacity = context::capacity(profile, scope, program.entry.host, space, params.quantity(&CAPACITY));
    let runtime = context::runtime_fragmentation(profile, program.entry.host);
    let context =
        Context::new(&attribution, totals, capacity, runtime, haloscope_time::fix::WrittenIn::of(profile));
    super::remark_trace(&memory, &program.label(), notes);
    let outcomes: Vec<_> = RULES_OF_DIAGNOSIS.iter().map(|rule| (rule.id, (rule.check)(&context))).collect();
    let mut rows = Vec::new();
    for (id, outcome) in &outcomes {
        let row = row![
            text("rule", "Rule", "What was checked.", id.replace('_', " ")),
            text(
                "verdict",
                "Verdict",
                "`found`, `clear`, `does not apply`, or `unknown` if the profile does not say.",
                outcome.verdict.word()
            ),
            bytes("bytes", "Bytes", "The bytes in question.", outcome.bytes),
            share("share", "Share", "The share that was compared.", outcome.share),
            text(
                "threshold",
                "Threshold",
                "The value from which it is a finding.",
                outcome.threshold.as_str()
            ),
            text("said", "What was seen", "What was seen, or why it is unknown.", outcome.said.as_str()),
        ];
        rows.push(row);
    }
    let count = |verdict| outcomes.iter().filter(|(_, outcome)| outcome.verdict == verdict).count();
    let (clear, unknown) = (count(Verdict::Clear), count(Verdict::Unknown));
    let mut findings: Vec<Finding> =
        outcomes.into_iter().filter_map(|(_, outcome)| outcome.finding).collect();
    if findings.iter().all(|finding| finding.severity == Severity::Info) {
        findings.push(nothing(clear, unknown));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let values = values(&program.label(), &context, &findings, unknown);
    Ok(Report {
        values,
        tables: vec![Table::of("checks", "What was checked", rows)],
        findings,
        ..Report::default()
    })
}

/// Good news, said plainly.
fn nothing(clear: usize, unknown: usize) -> Finding {
    let rest = match unknown {
        0 => String::new(),
        1 => "; 1 check could not be made".to_owned(),
        n => format!("; {n} checks could not be made"),
    };
    let claim = match unknown {
        0 => "Good: no unneeded memory was found",
        _ => "The checks that could be made found nothing",
    };
    Finding {
        id: "nothing_to_save",
        severity: Severity::Info,
        claim: claim.to_owned(),
        evidence: format!(
            "{clear} checks are clear{rest}; the table of checks has their numbers and thresholds"
        ),
        ceiling: "these rules suggest nothing".to_owned(),
        recommendation: "use a smaller batch, more devices or lower precision if it must be less".to_owned(),
        falsifier: "the runtime needs more than the program's peak: compare with the allocator".to_owned(),
        status: Status::Derived,
        ..Finding::default()
    }
}

fn values(label: &str, context: &Context<'_, '_>, findings: &[Finding], unknown: usize) -> Vec<Value> {
    let worth = findings.iter().filter(|finding| finding.severity > Severity::Info).count();
    let capacity = context.capacity.as_ref().map(|capacity| Cell::Int(capacity.bytes));
    let mut all = Vec::from(program_and_peak(label, &context.totals));
    all.extend([
        Value::new(
            "capacity_bytes",
            "Memory of the device",
            capacity,
            Unit::Bytes,
            Status::Measured,
            "From --capacity, the allocator or the table of chips; the check `headroom` says which.",
        ),
        Value::new(
            "problem_count",
            "Problems found",
            Some(worth),
            Unit::Count,
            Status::Derived,
            "Findings above the level of information.",
        ),
        Value::new(
            "unknown_count",
            "Checks that could not be made",
            Some(unknown),
            Unit::Count,
            Status::Derived,
            "Checks that need something the run does not have.",
        ),
    ]);
    all
}

#[cfg(test)]
mod tests;
