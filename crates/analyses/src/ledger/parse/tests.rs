use super::*;
use crate::ledger::{Decision, Metric, Samples, Time};
use haloscope_report::Status;

fn sample(run: &str, unix: i64) -> Entry {
    let mut entry = Entry::new(Time::from_unix(unix), run);
    let samples = Some(Samples { n: 12, mean: 5.25e9, sd: Some(1.5e7) });
    let value = Some(5.25e9);
    let metric =
        Metric { value, unit: "ps".into(), status: Status::Derived, samples, rest: Default::default() };
    entry.metrics.insert("step_time_mean_ps".into(), metric);
    entry.decision = Some(Decision::Keep);
    entry.labels.insert("model".into(), "a \"b\"\nc".into());
    entry
}

#[test]
fn an_entry_is_a_line_and_the_same_again() {
    let entry = sample("train/1", 1_795_344_312);
    let line = entry.to_line();
    assert_eq!(line.matches('\n').count(), 1);
    assert!(
        line.starts_with(r#"{"ledger":1,"time":"2026-11-22T10:45:12Z","run":"train/1","metrics":"#),
        "{line}"
    );
    assert!(line.contains(r#""value":5250000000,"unit":"ps","status":"derived""#), "{line}");
    let (entries, bad) = parse("a.jsonl", line.as_bytes());
    assert_eq!(bad, []);
    assert_eq!(entries, [PlacedEntry { entry, file: "a.jsonl".into(), line: 1 }]);
}

#[test]
fn fields_of_others_are_kept() {
    let line = concat!(
        r#"{"ledger":1,"time":"2026-11-22T10:45:12Z","run":"r","metrics":{"x":{"value":null,"unit":"ps","status":"#,
        r#""unknown","why":"no steps"}},"against":{"run":"b","verdict":"slower","rank_p":0.01},"weather":{"rain":[1,2]}}"#,
        "\n"
    );
    let (entries, bad) = parse("a", line.as_bytes());
    assert_eq!(bad, []);
    let again = entries[0].entry.to_line();
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let (was, is) = (json(line), json(&again));
    assert_eq!(was["weather"], is["weather"]);
    assert_eq!(was["metrics"], is["metrics"]);
    assert_eq!(is["against"]["rank_p"], 0.01);
    assert_eq!(entries[0].entry.value("x"), None);
}

#[test]
fn a_bad_line_is_named_and_takes_no_other_with_it() {
    let good = [sample("a", 1), sample("b", 2), sample("c", 3)].map(|e| e.to_line());
    let newer = r#"{"ledger":2,"when":"now"}"#;
    let text =
        format!("{}not json\n\n{}{newer}\n{{\"run\":\"x\"}}\n{}\r\n", good[0], good[1], good[2].trim_end());
    let (entries, bad) = parse("l.jsonl", text.as_bytes());
    let runs: Vec<_> = entries.iter().map(|k| (k.entry.run.as_str(), k.line)).collect();
    assert_eq!(runs, [("a", 1), ("b", 4), ("c", 7)]);
    let lines: Vec<_> = bad.iter().map(|b| (b.line, b.why.as_str())).collect();
    assert_eq!(lines[0].0, 2);
    assert_eq!((lines[1].0, lines[1].1.contains("version 2")), (5, true), "{}", lines[1].1);
    assert_eq!((lines[2].0, lines[2].1.contains("`ledger`")), (6, true), "{}", lines[2].1);
    assert_eq!(bad.len(), 3);
}

#[test]
fn a_line_cut_anywhere_loses_nothing_but_itself() {
    let first = sample("a", 1).to_line();
    let second = sample("ü", 2).to_line();
    let whole = format!("{first}{second}");
    for cut in first.len()..whole.len() {
        let (entries, bad) = parse("l", &whole.as_bytes()[..cut]);
        // Nothing of the second line, or all but its end, is no damage.
        let complete = cut == first.len() || cut + 1 == whole.len();
        assert_eq!(bad.len(), usize::from(!complete), "at {cut}");
        assert_eq!(entries[0].entry.run, "a");
        assert!(bad.iter().all(|b| b.line == 2 && b.why.contains("cut off")), "{bad:?}");
    }
    // The next writer begins a new line behind what was cut.
    let (entries, bad) = parse("l", format!("{first}{}\n{second}", &second[..40]).as_bytes());
    assert_eq!((entries.len(), bad.len(), bad[0].line), (2, 1, 2));
}

#[test]
fn files_are_merged_by_time() {
    let text = |entries: &[Entry]| entries.iter().map(Entry::to_line).collect::<String>();
    let one = parse("w-1.jsonl", text(&[sample("a", 10), sample("d", 40)]).as_bytes());
    let two = parse("w-0.jsonl", text(&[sample("b", 20), sample("c", 40), sample("late", 5)]).as_bytes());
    let merged = Ledger::of([one.clone(), two.clone()]);
    let runs: Vec<_> = merged.entries.iter().map(|k| k.entry.run.as_str()).collect();
    assert_eq!(runs, ["late", "a", "b", "c", "d"]);
    assert_eq!(merged, Ledger::of([two, one]));
}

#[test]
fn nothing_is_a_ledger_without_entries() {
    for text in ["", "\n", "  \n\n"] {
        assert_eq!(parse("l", text.as_bytes()), (vec![], vec![]));
    }
}
