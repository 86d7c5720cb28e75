//! What a ledger says, as reports.

use std::collections::BTreeMap;

use super::metrics::STEP_TIME;
use super::parse::Ledger;
use super::series::Track;
use super::{advice, advice_report, findings, tables};
use haloscope_report::Error;
use haloscope_report::{Notes, Report, Series, Severity, Status, Unit, Value};

/// What is asked of a ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ask {
    /// Only this metric, by its id.
    pub metric: Option<String>,
    /// Only entries with these labels.
    pub labels: BTreeMap<String, String>,
}

/// The history: entries, metrics, changes.
///
/// # Errors
/// [`Error::Nothing`] without an entry, [`Error::Usage`] for a metric that no entry has.
pub fn show(ledger: &Ledger, ask: &Ask) -> Result<Report, Error> {
    let mut notes = Notes::default();
    let ledger = &asked(ledger, ask, &mut notes)?;
    let all = Track::all(ledger);
    let noise = all.iter().find(|track| track.id == STEP_TIME).and_then(Track::noise);
    let tracks = match &ask.metric {
        None => all,
        Some(id) => vec![one(all, id)?],
    };
    let mut all_tables = Vec::new();
    if let (Some(_), [track]) = (&ask.metric, tracks.as_slice()) {
        all_tables.push(tables::points(ledger, track));
    }
    all_tables.extend([
        tables::change_points(ledger, &tracks),
        tables::metrics(&tracks),
        tables::entries(ledger, noise),
    ]);
    Ok(Report {
        analysis: "ledger show",
        values: values(ledger, &tracks, noise),
        tables: all_tables,
        series: tracks.iter().map(series).collect(),
        findings: findings::of_tracks(ledger, &tracks),
        quality: notes.into_sorted(),
        ..Report::default()
    })
}

/// Whether to keep the change of the last entry.
///
/// # Errors
/// [`Error::Nothing`] for fewer than two entries, [`Error::Usage`] for a metric that no entry has.
pub fn advise(ledger: &Ledger, ask: &Ask) -> Result<Report, Error> {
    let mut notes = Notes::default();
    let ledger = &asked(ledger, ask, &mut notes)?;
    if let Some(id) = &ask.metric {
        one(Track::all(ledger), id)?;
    }
    let Some(advice) = advice::advise(ledger, ask.metric.as_deref()) else {
        return Err(Error::Nothing(
            "the ledger has one entry, but advice compares the last with an earlier one: add another run with `haloscope ledger add`"
                .into(),
        ));
    };
    let mut report = advice_report::of(ledger, &advice);
    report.quality = notes.into_sorted();
    Ok(report)
}

/// The entries that were asked for, and remarks on what was left out and what does not go together.
fn asked(ledger: &Ledger, ask: &Ask, notes: &mut Notes) -> Result<Ledger, Error> {
    for bad in &ledger.bad {
        notes.add(
            "bad_ledger_line",
            Severity::Warning,
            format!("{}:{}: {}", bad.file, bad.line, bad.why),
            "the line is left out; the others are not affected",
            "check the line; if its run still exists, add it again",
        );
    }
    let entries: Vec<_> = ledger.entries.iter().filter(|kept| kept.entry.has(&ask.labels)).cloned().collect();
    if entries.is_empty() {
        return Err(Error::Nothing(nothing(ledger, ask)));
    }
    let kept = Ledger { entries, bad: ledger.bad.clone() };
    mixed(&kept, notes);
    Ok(kept)
}

fn nothing(ledger: &Ledger, ask: &Ask) -> String {
    if ledger.entries.is_empty() {
        let bad = match ledger.bad.first() {
            None => String::new(),
            Some(bad) => format!(
                " (of {} lines none can be read; {}:{}: {})",
                ledger.bad.len(),
                bad.file,
                bad.line,
                bad.why
            ),
        };
        return format!("the ledger has no entry{bad}: `haloscope ledger add RUN --ledger PATH` adds one");
    }
    let asked: Vec<String> = ask.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let mut known: Vec<String> =
        ledger.entries.iter().flat_map(|k| &k.entry.labels).map(|(k, v)| format!("{k}={v}")).collect();
    known.sort_unstable();
    known.dedup();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("no entry of the ledger has the labels {}; there are: {known}", asked.join(", "))
}

/// Says so where entries are of different devices.
fn mixed(ledger: &Ledger, notes: &mut Notes) {
    let mut kinds: Vec<String> = Vec::new();
    for kept in &ledger.entries {
        let Some(device) = &kept.entry.device_type else { continue };
        let count = kept.entry.device_count.map(|n| format!("{n} x ")).unwrap_or_default();
        let kind = format!("{count}{device}");
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if kinds.len() > 1 {
        notes.add(
            "mixed_devices",
            Severity::Warning,
            format!("the entries are of different devices: {}", kinds.join(", ")),
            "a change of level may be a change of machine",
            "label the entries (`ledger add --label machine=...`) and ask for one of them (`--label machine=...`)",
        );
    }
}

fn one(tracks: Vec<Track>, id: &str) -> Result<Track, Error> {
    let known: Vec<String> = tracks.iter().map(|track| track.id.clone()).collect();
    tracks.into_iter().find(|track| track.id == id).ok_or_else(|| {
        Error::Usage(format!(
            "no entry of the ledger knows the metric `{id}`; there are: {}",
            known.join(", ")
        ))
    })
}

fn values(ledger: &Ledger, tracks: &[Track], noise: Option<(f64, usize)>) -> Vec<Value> {
    let last = ledger.entries.last();
    let text = |id, label, value: Option<String>, doc| {
        Value::new(id, label, value, Unit::None, Status::Measured, doc)
    };
    let mut files: Vec<&str> = ledger.entries.iter().map(|kept| kept.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let count =
        |id, label, value: usize, doc| Value::new(id, label, Some(value), Unit::Count, Status::Derived, doc);
    let all =
        || tracks.iter().flat_map(|track| track.found.changes.iter().map(move |change| (track, change)));
    let worse = all().filter(|(track, change)| track.word(change.delta) == "worse").count();
    vec![
        count(
            "entry_count",
            "Entries",
            ledger.entries.len(),
            "Entries that were read and have the given labels.",
        ),
        count("file_count", "Files", files.len(), "Files that they come from, one per writer."),
        count("bad_line_count", "Lines left out", ledger.bad.len(), "Lines that could not be read."),
        text(
            "latest_time",
            "Latest entry",
            last.map(|k| k.entry.time.to_string()),
            "When the last entry was made, UTC.",
        ),
        text("latest_run", "Latest run", last.map(|k| k.entry.run.clone()), "The run of the last entry."),
        text(
            "latest_commit",
            "Latest commit",
            last.and_then(tables::commit),
            "The commit of the last entry.",
        ),
        text(
            "latest_verdict",
            "Latest verdict",
            ledger.entries.len().checked_sub(1).and_then(|at| tables::verdict(ledger, at, noise).0),
            "Of the last entry: see the table `entries`.",
        ),
        count("change_count", "Changes", all().count(), "Changes of the level of a metric."),
        count("worse_count", "Changes for the worse", worse, "Changes for the worse."),
    ]
}

fn series(track: &Track) -> Series {
    let points = track.at.iter().zip(&track.values).map(|(at, v)| [(at + 1) as f64, *v]).collect();
    Series {
        id: track.id.clone(),
        title: track.label.clone(),
        x: ("Entry", Unit::Count),
        y: ("Value", track.unit),
        points,
    }
}

#[cfg(test)]
mod tests;
