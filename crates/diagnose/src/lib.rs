//! `diagnose`: why a run is slow, what removing each cause could give, and what would prove it wrong.
//!
//! `rules` has one rule a file; a rule looks at `Evidence`, compares it with `thresholds`, and says what came of it. The
//! causes that were found are ranked by the share of time that would go at most (`ranking`).

mod cause;
mod evidence;
mod protocol;
mod ranking;
mod rule;
mod rules;
mod thresholds;
mod verdict;

use evidence::Evidence;
use haloscope_kernel::carried;
use haloscope_program::hlo::counters;
use haloscope_report::Error;
use haloscope_report::stop;
use haloscope_report::{Finding, Notes, Report, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Also, Analysis, Input, MODULE, MenuGroup, Params, Run};
use haloscope_time::ceiling;
use haloscope_time::quality;
use haloscope_time::select::Scoped;
use protocol::{Baseline, Given};
use rule::{Checked, Standing, Verdict};
use thresholds::Threshold;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "diagnose",
    label: "Diagnosis",
    group: MenuGroup::Start,
    question: "Why is this run slow, what would removing each cause give at most, and what would prove that wrong?",
    params: &[
        MODULE,
        counters::DOTS,
        counters::EXPS,
        counters::REDUCES,
        counters::COPIES,
        counters::DEFENSIVE,
    ],
    needs: &[
        "a device's op lines (TPU, GPU) or host events that name HLO ops (CPU)",
        "step markers, host events, HLO modules: each check says what is missing",
        "without a timeline: kernels with their LLO, from a profile or a compiler's dump; then only their schedules are checked",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "diagnose logs",
    also: &[
        Also::Report,
        Also::Tool,
        Also::Brief(&["latency_ps", "flop_share_of_peak", "hbm_share_of_peak"]),
    ],
    run: Run::Between(run),
};

fn run(asked: &Scoped<'_>, other: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    // Where no second run is given it is the first one again.
    let profile = asked.profile;
    if asked.selection().is_err()
        && profile.devices.iter().all(|device| !device.active)
        && carried::any(profile)
    {
        return Ok(of_kernels(asked, notes));
    }
    let other = Some(other).filter(|other| !std::ptr::eq(other.profile, profile));
    let evidence = Evidence::new(asked, other)?;
    if evidence.ops().is_empty() {
        return Err(quality::no_ops(profile, &evidence.selection));
    }
    quality::remarks(profile, &evidence.selection, evidence.ops(), notes);
    quality::steps(evidence.profile, evidence.steps(), notes);
    let checked: Vec<Checked> = rules::ALL
        .iter()
        .map(|rule| {
            stop::check();
            rule.apply(&evidence)
        })
        .collect();
    host_clock(&evidence, notes);
    let ranked = ranking::ranked(&checked);
    let causes: Vec<Finding> =
        ranked.iter().filter(|(s, _)| s.costs_time()).map(|(_, f)| f.clone()).collect();
    let baseline = Baseline::of(&evidence);
    let given =
        Given { evidence: &evidence, params, baseline: &baseline, checked: &checked, causes: &causes };
    let tables = vec![
        protocol::table(&given),
        causes_table(&causes),
        protocol::utilisation_table(&baseline),
        checks_table(&checked),
        Threshold::table(),
    ];
    Ok(Report {
        values: values(&baseline, &evidence, &checked, &ranked),
        tables,
        findings: ranked.into_iter().map(|(_, finding)| finding).collect(),
        ..Report::default()
    })
}

/// The clocks of hosts and devices, where they are further apart than they are as a rule.
fn host_clock(evidence: &Evidence<'_>, notes: &mut Notes) {
    let behind_ps = evidence.host().behind_ps;
    if behind_ps > evidence::host_gaps::CLOCKS_PS {
        notes.add(
            "host_clock_apart",
            Severity::Info,
            format!(
                "a program begins {} before its host queued it: the clocks of host and device differ",
                haloscope_report::units::duration_ps(behind_ps as f64)
            ),
            "to see what the host did in a gap of the device, the host was read that much later",
            "",
        );
    }
}

/// Of a run that says nothing of time: what its compiled kernels show.
fn of_kernels(asked: &Scoped<'_>, notes: &mut Notes) -> Report {
    let evidence = Evidence::of_kernels(asked);
    let checked: Vec<Checked> =
        rules::OF_KERNELS.iter().map(|rule| Checked { rule, outcome: (rule.check)(&evidence) }).collect();
    let ranked = ranking::ranked(&checked);
    let causes: Vec<Finding> =
        ranked.iter().filter(|(s, _)| s.costs_time()).map(|(_, f)| f.clone()).collect();
    notes.add(
        "no_timeline",
        Severity::Info,
        "the run has no timeline",
        "only the schedules of compiled kernels are checked; what the findings cost is unknown",
        "capture a profile while it runs",
    );
    let mut values = headline(&checked, &ranked);
    values.push(Value::new(
        "kernels",
        "Kernels",
        Some(evidence.kernels().all.len()),
        Unit::Count,
        Status::Measured,
        "Ops with their LLO that were checked; only for a run without a timeline.",
    ));
    Report {
        values,
        tables: vec![causes_table(&causes), checks_table(&checked), Threshold::table()],
        findings: ranked.into_iter().map(|(_, finding)| finding).collect(),
        ..Report::default()
    }
}

fn values(
    baseline: &Baseline,
    evidence: &Evidence<'_>,
    checked: &[Checked],
    ranked: &[(Standing, Finding)],
) -> Vec<Value> {
    let mut all = headline(checked, ranked);
    // Between the first cause and the counts stand the numbers of the run.
    let counts = all.split_off(all.len() - COUNTS);
    all.extend(baseline.values(evidence));
    all.extend(counts);
    all
}

/// Values at the end of a headline that count.
const COUNTS: usize = 2;

/// What was found, and how much of it.
fn headline(checked: &[Checked], ranked: &[(Standing, Finding)]) -> Vec<Value> {
    let unknown = checked.iter().filter(|one| one.outcome.verdict == Verdict::Unknown).count();
    let causes = || ranked.iter().filter(|(standing, _)| standing.costs_time()).map(|(_, finding)| finding);
    let first = causes().next();
    vec![
        Value::new(
            "verdict",
            "Verdict",
            Some(verdict::sentence(ranked)),
            Unit::None,
            first.map_or(Status::Derived, |finding| finding.status),
            "The first cause and its ceiling in one sentence; if there is no fault, the largest cost of the design, or else where the time goes.",
        ),
        Value::new(
            "first_cause",
            "First cause",
            first.map(|finding| finding.id),
            Unit::None,
            Status::Derived,
            "The rule whose finding ranks first; unknown if no cause was found.",
        ),
        Value::new(
            "first_speedup",
            "Its ceiling",
            first.and_then(|finding| finding.speedup),
            Unit::Ratio,
            first.map_or(Status::Unknown, |finding| finding.status),
            "Time now divided by the time without that cause, at most.",
        ),
        Value::new(
            "cause_count",
            "Causes found",
            Some(causes().count()),
            Unit::Count,
            Status::Derived,
            "Findings that cost time.",
        ),
        Value::new(
            "unknown_count",
            "Checks that could not be made",
            Some(unknown),
            Unit::Count,
            Status::Derived,
            "Checks that need something the run does not have.",
        ),
    ]
}

fn causes_table(causes: &[Finding]) -> Table {
    let mut rows = Vec::new();
    for (place, finding) in causes.iter().enumerate() {
        let row = row![
            count("rank", "Rank", "1 is the cause whose removal saves the most.", place + 1),
            text("id", "Cause", "The rule that found it.", finding.id.replace('_', " ")),
            prose("claim", "Claim", "One sentence.", finding.claim.as_str()),
            share(
                "saved_share",
                "Saved at most",
                "Share of the active window that would be saved without the cause. Causes that share time do not add up.",
                finding.speedup.map(ceiling::saved_share)
            ),
            float("speedup", "Speed-up", Unit::Ratio, "1 / (1 - saved share) (Amdahl).", finding.speedup),
            share(
                "together_share",
                "With its kind",
                "The saved share of all causes of this kind together, such as all kinds of exposed collectives; only if there are several.",
                together(causes, finding)
            ),
            text(
                "explained_by",
                "Partly due to",
                "The cause that explains part of its time; that part is not in the share.",
                finding.explained_by.map(|id| id.replace('_', " "))
            ),
            text("status", "Known", "measured, derived or estimated.", finding.status.word()),
            prose(
                "falsifier",
                "Wrong if",
                "What you would see if the finding were wrong.",
                finding.falsifier.as_str()
            ),
        ];
        rows.push(row);
    }
    Table::of("causes", "Causes, by what removing each can save at most", rows)
}

/// The share that the causes of a finding's kind save together; `None` for an only one. They take no time twice.
fn together(causes: &[Finding], finding: &Finding) -> Option<f64> {
    let kind = || causes.iter().filter(|other| other.id == finding.id);
    let saved = || kind().filter_map(|other| other.speedup.map(ceiling::saved_share));
    (kind().count() > 1).then(|| saved().sum::<f64>().min(1.0))
}

fn checks_table(checked: &[Checked]) -> Table {
    Table::of("checks", "What was checked", checked.iter().map(Checked::row))
}

#[cfg(test)]
mod tests;
