//! What an entry says of its run, for who has just made it.

use super::entry::Entry;
use super::metrics::{METRICS, unit_of};
use haloscope_report::{Report, Status, Table, Unit, Value, row};

/// An entry as a report; `place` is where it was written.
#[must_use]
pub fn entry_report(entry: &Entry, place: &str) -> Report {
    let text =
        |id, label, value: Option<&str>, doc| Value::new(id, label, value, Unit::None, Status::Measured, doc);
    let against = entry.against.as_ref();
    let mut rows = Vec::new();
    let own = METRICS.iter().filter_map(|metric| entry.metrics.get_key_value(metric.id));
    let others = entry.metrics.iter().filter(|(id, _)| METRICS.iter().all(|metric| metric.id != **id));
    for (id, metric) in own.chain(others) {
        let row = row![
            text("metric", "Metric", "Id of the metric.", id.as_str()),
            text("unit", "Unit", "Unit of the row's numbers.", unit_of(&metric.unit).word()),
            quantity("value", "Value", "The stored number.", metric.value),
            text("status", "Known", "Measured, derived, estimated or unknown.", metric.status.word()),
            count(
                "samples",
                "Samples",
                "Steps behind the mean, if only their summary is stored.",
                metric.samples.map(|s| s.n)
            ),
            quantity("sd", "SD", "Their standard deviation.", metric.samples.and_then(|s| s.sd)),
        ];
        rows.push(row);
    }
    Report {
        analysis: "ledger add",
        values: vec![
            text("place", "Added to", Some(place), "File and line of the ledger."),
            text("time", "Time", Some(&entry.time.to_string()), "When it was made, UTC."),
            text("run", "Run", Some(&entry.run), "The run's name."),
            text("commit", "Commit", entry.commit.as_deref(), "The commit that ran."),
            text("branch", "Branch", entry.branch.as_deref(), "The branch it was on."),
            Value::new(
                "dirty",
                "Files differed from it",
                entry.dirty,
                Unit::None,
                Status::Measured,
                "Whether files under version control differed from the commit.",
            ),
            text(
                "verdict",
                "Verdict",
                against.map(|a| a.verdict.as_str()),
                "What `compare` said against the baseline.",
            ),
            text("against", "Against", against.map(|a| a.run.as_str()), "The baseline, if one was given."),
            text(
                "decision",
                "Decision",
                entry.decision.map(super::Decision::word),
                "What was done with the change.",
            ),
            text("note", "Note", entry.note.as_deref(), "The writer's note."),
        ],
        tables: vec![Table::of("metrics", "What is stored about the run", rows)],
        ..Report::default()
    }
}
