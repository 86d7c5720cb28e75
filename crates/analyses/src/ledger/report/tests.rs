use super::*;
use crate::ledger::made::{decided, entry, ledger, step, with};
use crate::ledger::{Against, BadLine, Decision, Entry};
use haloscope_report::present;

fn text(report: &Report) -> String {
    let mut out = Vec::new();
    present::table(report, &present::Layout::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Ten runs: the step time goes up by 6% with the seventh and stays, memory never changes.
fn regressed() -> Ledger {
    let steps = [10.02, 9.98, 10.01, 9.99, 10.03, 9.97, 10.61, 10.58, 10.62, 10.59];
    ledger(steps.iter().zip(1..).map(|(ms, i)| with(step(entry(i), *ms, 12, 0.04), "peak_bytes", 7e9, "B")))
}

#[test]
fn a_regression_is_told_with_its_entry_and_commit() {
    let report = show(&regressed(), &Ask::default()).unwrap();
    let changes = report.table("change_points").unwrap();
    assert_eq!(changes.rows.len(), 1);
    let cell = |column: &str| changes.cell(0, column).unwrap().clone();
    assert_eq!(cell("metric").as_text(), Some("step_time_mean_ps"));
    assert_eq!((cell("entry").number(), cell("commit").as_text()), (Some(7.0), Some("0007")));
    assert_eq!((cell("verdict").as_text(), cell("after_commit").as_text()), (Some("worse"), Some("0006")));
    assert!((cell("delta").number().unwrap() - 0.6e9).abs() < 1e6);
    let finding = &report.findings[0];
    assert_eq!(finding.id, "level_worse");
    assert!(finding.claim.contains("since entry 7, commit 0007 (+6.0%"), "{}", finding.claim);
    assert!((finding.speedup.unwrap() - 1.06).abs() < 1e-3);
    assert_eq!(report.value("worse_count").unwrap().value.number(), Some(1.0));
    let series: Vec<(&str, usize)> = report.series.iter().map(|s| (s.id.as_str(), s.points.len())).collect();
    assert_eq!(series, [("step_time_mean_ps", 10), ("peak_bytes", 10)]);
    assert_eq!(report.series[0].points[6], [7.0, 10.61e9]);
    let entries = report.table("entries").unwrap();
    assert_eq!(entries.cell(0, "entry").unwrap().number(), Some(10.0));
    assert_eq!(entries.cell(3, "verdict").unwrap().as_text(), Some("slower"));
    assert_eq!(entries.cell(9, "verdict").unwrap().as_text(), None);
}

#[test]
fn one_metric_has_its_points() {
    let ask = Ask { metric: Some("step_time_mean_ps".into()), ..Ask::default() };
    let report = show(&regressed(), &ask).unwrap();
    let points = report.table("points").unwrap();
    assert_eq!(points.rows.len(), 10);
    assert_eq!(points.cell(3, "what").unwrap().as_text(), Some("change"));
    assert_eq!(points.cell(4, "what").unwrap().as_text(), None);
    assert!((points.cell(0, "level").unwrap().number().unwrap() - 10.6e9).abs() < 1e7);
    assert_eq!(report.series.len(), 1);
    let error = show(&regressed(), &Ask { metric: Some("mfu".into()), ..Ask::default() }).unwrap_err();
    assert!(error.to_string().contains("there are: step_time_mean_ps, peak_bytes"), "{error}");
}

#[test]
fn tries_that_were_taken_back_make_no_level() {
    let mut ledger = regressed();
    for kept in ledger.entries.iter_mut().skip(6) {
        kept.entry = decided(kept.entry.clone(), Decision::Revert);
    }
    let report = show(&ledger, &Ask::default()).unwrap();
    assert_eq!(report.table("change_points").unwrap().rows.len(), 0);
    // They are seen all the same.
    assert_eq!(report.series[0].points.len(), 10);
}

#[test]
fn labels_choose_and_what_is_left_out_is_said() {
    let mut ledger = regressed();
    for (i, kept) in ledger.entries.iter_mut().enumerate() {
        kept.entry.labels.insert("model".into(), if i % 2 == 0 { "a" } else { "b" }.into());
    }
    ledger.bad.push(BadLine { file: "w.jsonl".into(), line: 3, why: "it is cut off".into() });
    let ask = |model: &str| Ask { labels: [("model".to_owned(), model.to_owned())].into(), ..Ask::default() };
    let report = show(&ledger, &ask("b")).unwrap();
    assert_eq!(report.value("entry_count").unwrap().value.number(), Some(5.0));
    assert!(report.quality.iter().any(|q| q.id == "bad_ledger_line" && q.message.starts_with("w.jsonl:3: ")));
    let error = show(&ledger, &ask("c")).unwrap_err();
    assert!(error.to_string().contains("there are: model=a, model=b"), "{error}");
    assert_eq!(error.exit_code(), 4);
    let empty = show(&Ledger { entries: vec![], bad: ledger.bad }, &Ask::default()).unwrap_err();
    assert!(empty.to_string().contains("w.jsonl:3"), "{empty}");
}

#[test]
fn devices_that_differ_are_said() {
    let mut ledger = regressed();
    ledger.entries[9].entry.device_type = Some("TPU v6 lite".into());
    let report = show(&ledger, &Ask::default()).unwrap();
    assert!(report.quality.iter().any(|q| q.id == "mixed_devices" && q.message.contains("16 x TPU v6 lite")));
}

#[test]
fn a_verdict_that_was_given_is_shown() {
    let mut ledger = regressed();
    let against = Against { run: "base/1".into(), verdict: "undecided".into(), ..Against::default() };
    ledger.entries[9].entry.against = Some(against);
    let entries = show(&ledger, &Ask::default()).unwrap();
    let entries = entries.table("entries").unwrap();
    assert_eq!(entries.cell(0, "verdict").unwrap().as_text(), Some("undecided"));
    assert_eq!(entries.cell(0, "against").unwrap().as_text(), Some("base/1"));
}

#[test]
fn a_drift_is_a_finding_and_no_change() {
    let entries = (1..=12).map(|i| step(entry(i), 10.0 + 0.05 * i as f64 + 0.005 * (i % 3) as f64, 12, 0.04));
    let report = show(&ledger(entries), &Ask::default()).unwrap();
    assert_eq!(report.table("change_points").unwrap().rows.len(), 0);
    assert_eq!((report.findings[0].id, report.findings[0].severity), ("drift", Severity::Warning));
    assert_eq!(report.table("metrics").unwrap().cell(0, "trend").unwrap().as_text(), Some("rising"));
}

#[test]
fn advice_says_what_the_score_is_made_of() {
    let run = |i, ms: f64, mfu: f64| with(step(entry(i), ms, 30, 0.01), "mfu", mfu, "share");
    let report = advise(&ledger([run(1, 3.0, 0.4), run(2, 2.8, 0.214)]), &Ask::default()).unwrap();
    let said = |id: &str| report.value(id).unwrap().value.as_text().map(str::to_owned);
    assert_eq!((said("advice").as_deref(), said("score_says").as_deref()), (Some("keep"), Some("revert")));
    let score = report.findings.iter().find(|f| f.id == "ratchet_score").unwrap();
    assert_eq!(score.severity, Severity::Warning);
    for words in ["rewards latency twice", "the score falls with it", "x1.071"] {
        assert!(score.evidence.contains(words), "{words}: {}", score.evidence);
    }
    assert!(text(&report).lines().all(|line| line.chars().count() <= 80));
    let error = advise(&ledger([run(1, 3.0, 0.4)]), &Ask::default()).unwrap_err();
    assert_eq!(error.exit_code(), 4);
}

#[test]
fn odd_numbers_make_no_odd_report() {
    let odd = [0.0, -1.0, 1e300, f64::MIN_POSITIVE, 5.0, 5.0, f64::NAN, f64::INFINITY, 1e-300];
    let with_odd =
        |i, v: f64| with(step(with(entry(i), "mfu", v, "share"), v, 3, v.abs()), "own", v, "furlong");
    let all: Vec<Entry> = odd.iter().zip(1..).map(|(v, i)| with_odd(i, *v)).collect();
    for n in 1..=all.len() {
        let ledger = ledger(all[..n].iter().cloned());
        for report in [show(&ledger, &Ask::default()), advise(&ledger, &Ask::default())].into_iter().flatten()
        {
            let json = report.to_json();
            assert!(!json.contains("NaN"), "{json}");
            assert!(!text(&report).is_empty());
        }
    }
}
