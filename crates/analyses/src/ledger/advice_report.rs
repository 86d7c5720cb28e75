//! Advice as a report: the statistic, the score of the ratchet loop, and where they differ.

use super::advice::{Advice, LEAST_SHARE, Score, Word};
use super::findings::chance;
use super::metrics::{say_change, tracked, unit_of};
use super::parse::Ledger;
use super::tables;
use haloscope_compare::significance::Test;
use haloscope_report::units;
use haloscope_report::{Finding, Report, Severity, Status, Table, Unit, Value, row};

/// Factors of the score nearer to 1 than this are not worth a word.
const SAME: f64 = 0.01;

pub(super) fn of(ledger: &Ledger, advice: &Advice) -> Report {
    let unit = ledger.entries.iter().find_map(|kept| kept.entry.metrics.get(&advice.metric));
    let unit = unit.map_or(Unit::Ratio, |metric| unit_of(&metric.unit));
    let names = [advice.reference, advice.candidate].map(|at| name(ledger, at));
    Report {
        analysis: "ledger advise",
        values: values(advice, &names, unit),
        tables: vec![sides(ledger, advice)],
        findings: findings(advice, &names, unit),
        ..Report::default()
    }
}

fn name(ledger: &Ledger, at: usize) -> String {
    let kept = &ledger.entries[at];
    let commit = tables::commit(kept).map(|c| format!(", commit {c}")).unwrap_or_default();
    format!("entry {} ({}{commit})", at + 1, kept.entry.run)
}

fn values(advice: &Advice, [reference, candidate]: &[String; 2], unit: Unit) -> Vec<Value> {
    use Status::{Derived, Measured};
    let judged = &advice.judged;
    let text = |id, label, value: &str, doc| Value::new(id, label, Some(value), Unit::None, Derived, doc);
    let number = |id, label, value: Option<f64>, doc| Value::new(id, label, value, unit, Derived, doc);
    let ratio = |id, label, value: Option<f64>, doc| Value::new(id, label, value, Unit::Ratio, Derived, doc);
    let (within, between, score) = (judged.within, judged.between, advice.score);
    let delta = judged.before.zip(judged.after).map(|(a, b)| b - a);
    let share = judged.before.filter(|v| *v != 0.0).zip(delta).map(|(a, d)| d / a.abs());
    vec![
        text(
            "advice",
            "Advice",
            judged.word.word(),
            "keep, revert, unchanged, undecided or not comparable; from the samples alone.",
        ),
        text("candidate", "Entry", candidate, "The last entry."),
        text("reference", "Against", reference, "The entry that it is compared with; `chosen` says why."),
        text("chosen", "Which is", advice.chosen, "Why that entry was chosen."),
        text("metric", "Judged by", &advice.metric, "The metric that decides."),
        Value::new("before", "Before", judged.before, unit, Measured, "The metric of the reference."),
        Value::new("after", "After", judged.after, unit, Measured, "The metric of the last entry."),
        number("delta", "Change", delta, "After minus before."),
        Value::new(
            "delta_share",
            "Change, share",
            share,
            Unit::Share,
            Derived,
            "The change divided by the number before.",
        ),
        number(
            "within_low",
            "95% interval by steps, low",
            within.map(|i| i.low),
            "Of the change, by Welch's t from the steps of both runs.",
        ),
        number("within_high", "95% interval by steps, high", within.map(|i| i.high), "The upper end."),
        ratio(
            "within_p",
            "p by steps",
            within.map(|i| i.p),
            "Chance of such a change by noise alone, from the steps.",
        ),
        number(
            "between_sd",
            "Runs differ by",
            judged.between_sd,
            "Standard deviation of the entries at the reference's level, at least 4.",
        ),
        number(
            "between_low",
            "95% interval by runs, low",
            between.map(|i| i.low),
            "Of the change from that level, given the spread between runs.",
        ),
        number("between_high", "95% interval by runs, high", between.map(|i| i.high), "The upper end."),
        ratio(
            "score_before",
            "Score before",
            score.map(|s| s.before),
            "Utilization in percent x 100 / latency in ms.",
        ),
        ratio("score_after", "Score after", score.map(|s| s.after), "The same of the last entry."),
        Value::new(
            "score_says",
            "Score says",
            score.map(|s| s.says().word()),
            Unit::None,
            Derived,
            "keep if it rose, else revert: what a loop that uses the score would do.",
        ),
        ratio(
            "score_after_same_work",
            "Score after, same work",
            score.map(|s| s.with_the_same_work()),
            "The score if the same work had been counted as before.",
        ),
        ratio(
            "speed_ratio",
            "Speed, after over before",
            score.map(|s| s.speed),
            "Latency before divided by latency after: it is squared in the score.",
        ),
        ratio(
            "work_ratio",
            "Work counted, after over before",
            score.map(|s| s.work),
            "FLOPs of a step; if they are not known, utilization x latency.",
        ),
    ]
}

/// Every metric of both entries, without a verdict: one is judged, the others are to be looked at.
fn sides(ledger: &Ledger, advice: &Advice) -> Table {
    let mut rows = Vec::new();
    let entries = [advice.reference, advice.candidate].map(|at| &ledger.entries[at].entry);
    let mut ids: Vec<&String> = entries.iter().flat_map(|entry| entry.metrics.keys()).collect();
    let place = |id: &str| super::METRICS.iter().position(|metric| metric.id == id).unwrap_or(usize::MAX);
    ids.sort_by(|a, b| (place(a), a).cmp(&(place(b), b)));
    ids.dedup();
    for id in ids {
        let [before, after] = entries.map(|entry| entry.value(id));
        let unit =
            entries.iter().find_map(|entry| entry.metrics.get(id)).map_or(Unit::Ratio, |m| unit_of(&m.unit));
        let delta = before.zip(after).map(|(a, b)| b - a);
        let share = before.filter(|v| *v != 0.0).zip(delta).map(|(a, d)| d / a.abs());
        let row = row![
            text("metric", "Metric", "Id of the metric.", id.as_str()),
            text("unit", "Unit", "Unit of the row's numbers.", unit.word()),
            quantity("before", "Before", "In the entry that the last one is compared with.", before),
            quantity("after", "After", "In the last entry.", after),
            change("delta", "Change", "After minus before.", delta),
            share("delta_share", "Share", "The change divided by the number before.", share),
        ];
        rows.push(row);
    }
    Table::of("metrics", "Both entries", rows)
}

fn findings(advice: &Advice, names: &[String; 2], unit: Unit) -> Vec<Finding> {
    let mut all = vec![advised(advice, names, unit)];
    all.extend(advice.score.map(|score| scored(advice, &score)));
    all
}

fn advised(advice: &Advice, [reference, candidate]: &[String; 2], unit: Unit) -> Finding {
    let judged = &advice.judged;
    let label = tracked(&advice.metric).map_or(advice.metric.as_str(), |metric| metric.label);
    let number = |v: f64| say_change(v, unit);
    let claim = match judged.word {
        Word::Keep => format!("Keep {candidate}: {label} is better than in {reference}, by more than noise."),
        Word::Revert => {
            format!("Revert {candidate}: {label} is worse than in {reference}, by more than noise.")
        }
        Word::Unchanged => format!(
            "Keep {candidate} only for another reason: it changes {label} by less than {} in either direction.",
            units::share(LEAST_SHARE)
        ),
        Word::Undecided => format!("Whether {candidate} is better than {reference} is not decided yet."),
        Word::NotComparable => {
            format!("No advice: {candidate} and {reference} ran on different devices.")
        }
    };
    let said = |what: &str, i: Test| {
        format!("{what}: {} ({} to {}), p {}", number(i.delta), number(i.low), number(i.high), chance(i.p))
    };
    let mut evidence: Vec<String> =
        judged.within.map(|i| said("by the steps of both runs", i)).into_iter().collect();
    evidence.extend(judged.between.map(|i| said("by the runs at the level before", i)));
    if evidence.is_empty() && judged.word != Word::NotComparable {
        evidence.push(
            "the two entries have no samples, and there are fewer than four runs at the level before".into(),
        );
    }
    let recommendation = match judged.word {
        Word::Undecided => {
            "profile more steps, or profile the same change several times, and add each run to the ledger"
        }
        Word::NotComparable => "add runs of the same devices, or ask for one kind with --label",
        _ => "",
    };
    let falsifier = match judged.word {
        Word::Keep | Word::Revert if judged.between.is_none() => {
            "another run of each overlaps the other: steps of one run are similar, but runs may differ by more"
        }
        Word::Keep | Word::Revert => "another run of each overlaps the other",
        _ => "",
    };
    Finding {
        id: "advice",
        severity: if judged.word == Word::Revert { Severity::Warning } else { Severity::Info },
        claim,
        evidence: evidence.join("; "),
        recommendation: recommendation.into(),
        falsifier: falsifier.into(),
        status: if evidence_is_none(advice) { Status::Unknown } else { Status::Derived },
        ..Finding::default()
    }
}

fn evidence_is_none(advice: &Advice) -> bool {
    advice.judged.within.is_none() && advice.judged.between.is_none()
}

/// What the score says, and what it is made of.
fn scored(advice: &Advice, score: &Score) -> Finding {
    let factor = |v: f64| format!("x{}", units::number(v));
    let agrees = score.says() == advice.judged.word;
    // To take a try back that nobody can tell from the other costs nothing; to keep it for its score does.
    let opposed = [Word::Keep, Word::Revert].contains(&advice.judged.word);
    let misleads = !agrees && (opposed || score.says() == Word::Keep);
    let mut claim = format!(
        "The ratchet score goes from {} to {} ({}), which says {}",
        units::number(score.before),
        units::number(score.after),
        factor(score.after / score.before),
        score.says().word()
    );
    claim += &if agrees {
        ", as the samples do.".to_owned()
    } else {
        format!("; the samples say {}.", advice.judged.word.word())
    };
    let mut evidence = format!(
        "the score is {} in percent x 100 / {} in ms. Utilization is work divided by time, so the score rewards latency twice: of the change, {} is the speed, {} the same speed again, and {} the counted work",
        score.utilization,
        score.latency,
        factor(score.speed),
        factor(score.speed),
        factor(score.work)
    );
    let rest = score.after / score.before / (score.speed * score.speed * score.work);
    if (rest - 1.0).abs() > SAME {
        evidence += &format!(
            "; {} remains, because utilization uses another time or another count of work",
            factor(rest)
        );
    }
    if (score.work - 1.0).abs() > SAME {
        evidence += &format!(
            ". The counted work differs from before, and the score {} with it, whatever the time: with the same count it would be {}",
            if score.work < 1.0 { "falls" } else { "rises" },
            units::number(score.with_the_same_work())
        );
    }
    Finding {
        id: "ratchet_score",
        severity: if misleads { Severity::Warning } else { Severity::Info },
        claim,
        evidence,
        recommendation: "decide by the time and its interval; the score falls when less work is counted, and noise moves it as much as speed does".into(),
        status: Status::Derived,
        ..Finding::default()
    }
}
