//! Entries for tests.

use super::{Decision, Entry, Ledger, Metric, PlacedEntry, Samples, Time};
use haloscope_report::Status;

/// 2026-11-01T00:00:00Z.
const START: i64 = 1_793_491_200;
const DAY: i64 = 86_400;

/// An entry a day, numbered from 1.
pub(super) fn entry(number: usize) -> Entry {
    let mut entry = Entry::new(Time::from_unix(START + DAY * number as i64), format!("train/{number}"));
    entry.commit = Some(format!("{number:04x}"));
    entry.device_type = Some("TPU v5 lite".into());
    entry.device_count = Some(16);
    entry
}

/// With a number and its unit.
pub(super) fn with(mut entry: Entry, id: &str, value: f64, unit: &str) -> Entry {
    let metric = Metric {
        value: Some(value),
        unit: unit.into(),
        status: Status::Derived,
        samples: None,
        rest: Default::default(),
    };
    entry.metrics.insert(id.into(), metric);
    entry
}

/// With a step time in milliseconds, of so many steps that scatter by `sd`.
pub(super) fn step(entry: Entry, ms: f64, n: u64, sd: f64) -> Entry {
    let mut entry = with(entry, "step_time_mean_ps", ms * 1e9, "ps");
    let samples = Some(Samples { n, mean: ms * 1e9, sd: Some(sd * 1e9) });
    entry.metrics.entry("step_time_mean_ps".into()).and_modify(|metric| metric.samples = samples);
    entry
}

/// With a decision.
pub(super) fn decided(entry: Entry, decision: Decision) -> Entry {
    Entry { decision: Some(decision), ..entry }
}

/// A ledger of them.
pub(super) fn ledger(entries: impl IntoIterator<Item = Entry>) -> Ledger {
    let place = |(i, entry)| PlacedEntry { entry, file: "made.jsonl".into(), line: i + 1 };
    Ledger { entries: entries.into_iter().enumerate().map(place).collect(), bad: Vec::new() }
}
