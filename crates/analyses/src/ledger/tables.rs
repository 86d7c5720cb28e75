//! The tables of a ledger.

use super::advice::{self, Word};
use super::metrics::STEP_TIME;
use super::parse::{Kept, Ledger};
use super::series::Track;
use haloscope_report::{Cell, Column, Table};
use haloscope_time::significance;

const ENTRIES: &[Column] = &[
    Column::count("entry", "Entry", "Number of the entry, by time."),
    Column::text("time", "Time", "When it was made, to the minute, UTC."),
    Column::text("run", "Run", "The run as people call it."),
    Column::text("commit", "Commit", "The commit that ran; with + where files differed from it."),
    Column::duration("step_time_mean_ps", "Step", "Mean step time."),
    Column::duration("step_time_sd_ps", "SD", "Standard deviation over the counted steps."),
    Column::text(
        "verdict",
        "Verdict",
        "What `compare` said against the baseline given; without one, what step times say against the entry before that was not taken back, by the steps and by what runs differ by.",
    ),
    Column::text("decision", "Decision", "What its writer did with the change: keep or revert."),
    Column::share("mfu", "MFU", "Model FLOP utilization."),
    Column::bytes("peak_bytes", "Peak memory", "Peak of device memory by the compiler's account."),
    Column::duration("exposed_ps_per_step", "Exposed comm.", "Communication of a step that nothing hides."),
    Column::text("against", "Against", "What the verdict is against: a run, or an entry by its number."),
    Column::count("steps", "Steps", "Counted steps."),
    Column::text("branch", "Branch", "The branch of the commit."),
    Column::text("labels", "Labels", "Labels that its writer gave."),
    Column::text("device_type", "Device", "The device as the profiler names it."),
    Column::count("device_count", "Devices", "Devices in the profile."),
    Column::text("session", "Session", "The session's name."),
    Column::text("place", "Place", "File and line of the ledger."),
    Column::prose("note", "Note", "What its writer wanted to remember."),
];

/// Every entry, the latest first.
pub(super) fn entries(ledger: &Ledger, noise: Option<(f64, usize)>) -> Table {
    let mut table = Table::new("entries", "Entries, latest first", ENTRIES);
    for (at, kept) in ledger.entries.iter().enumerate().rev() {
        let entry = &kept.entry;
        let labels: Vec<String> = entry.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let (verdict, against) = verdict(ledger, at, noise);
        let samples = entry.metrics.get(STEP_TIME).and_then(|metric| metric.samples);
        table.push(vec![
            (at + 1).into(),
            entry.time.to_minute().into(),
            entry.run.as_str().into(),
            commit(kept).into(),
            entry.value(STEP_TIME).into(),
            samples.and_then(|s| s.sd).into(),
            verdict.into(),
            entry.decision.map(super::Decision::word).into(),
            entry.value("mfu").into(),
            entry.value("peak_bytes").into(),
            entry.value("exposed_ps_per_step").into(),
            against.into(),
            samples.map(|s| s.n).into(),
            entry.branch.as_deref().into(),
            (!labels.is_empty()).then(|| labels.join(" ")).into(),
            entry.device_type.as_deref().into(),
            entry.device_count.into(),
            entry.session.as_deref().into(),
            format!("{}:{}", kept.file, kept.line).into(),
            entry.note.as_deref().into(),
        ]);
    }
    table
}

/// The verdict on an entry and what it is against; `noise` is what step times of runs differ by, and of how many runs that is.
pub(super) fn verdict(
    ledger: &Ledger,
    at: usize,
    noise: Option<(f64, usize)>,
) -> (Option<String>, Option<String>) {
    let entry = |at: usize| &ledger.entries[at].entry;
    if let Some(against) = &entry(at).against {
        return (Some(against.verdict.clone()), Some(against.run.clone()));
    }
    let Some((before, _)) = advice::reference(ledger, at, false) else { return (None, None) };
    let times = entry(before).value(STEP_TIME).zip(entry(at).value(STEP_TIME));
    let between = times.zip(noise).and_then(|((a, b), (sd, n))| {
        let freedom = n.saturating_sub(2) as f64;
        significance::difference(b - a, sd * std::f64::consts::SQRT_2, freedom)
    });
    let judged = advice::judge_pair(entry(before), entry(at), STEP_TIME, between);
    let known = judged.within.is_some() || judged.between.is_some() || judged.word == Word::NotComparable;
    (known.then(|| judged.verdict().to_owned()), known.then(|| format!("entry {}", before + 1)))
}

/// The commit, short, with a mark where files differed from it.
pub(super) fn commit(kept: &Kept) -> Option<String> {
    let commit = kept.entry.commit.as_deref()?;
    let is_hash = commit.len() >= 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    let short = if is_hash { &commit[..12] } else { commit };
    Some(format!("{short}{}", if kept.entry.dirty == Some(true) { "+" } else { "" }))
}

const METRICS: &[Column] = &[
    Column::text("metric", "Metric", "Id of the metric."),
    Column::text("unit", "Unit", "Unit of the row's numbers."),
    Column::count("entries", "Entries", "Entries that know it."),
    Column::quantity("first", "First", "In the first entry that knows it."),
    Column::quantity("latest", "Latest", "In the last entry that knows it."),
    Column::quantity(
        "level",
        "Level",
        "Mean of the entries since the last change, without outliers and tries that were taken back.",
    ),
    Column::count("since", "Since", "The entry with which that level began."),
    Column::text(
        "trend",
        "Trend",
        "Whether it rises or falls since then: rising, falling, level; unknown for fewer than 4 entries.",
    ),
    Column::change(
        "slope",
        "An entry",
        "What one entry adds, by least squares over the entries since the last change.",
    ),
    Column::change("slope_low", "Low", "Lower end of the slope's 95% interval."),
    Column::change("slope_high", "High", "Upper end of the slope's 95% interval."),
    Column::quantity(
        "noise",
        "Noise",
        "Standard deviation between runs, from the differences of neighbours.",
    ),
    Column::count("changes", "Changes", "Changes of its level."),
    Column::text("outliers", "Outliers", "Entries that stand alone and count in no level."),
];

/// A row a metric.
pub(super) fn metrics(tracks: &[Track]) -> Table {
    let mut table = Table::new("metrics", "Metrics", METRICS);
    for track in tracks {
        let latest = track.found.stretches.last();
        let outliers: Vec<String> = track.outliers().iter().map(|at| (at + 1).to_string()).collect();
        table.push(vec![
            track.id.as_str().into(),
            track.unit.word().into(),
            track.values.len().into(),
            track.values.first().copied().into(),
            track.values.last().copied().into(),
            latest.map(|s| s.mean).into(),
            latest.and_then(|s| s.at.first()).map(|i| track.entry(*i) + 1).into(),
            track.trend().into(),
            track.line.map(|l| l.slope).into(),
            track.line.map(|l| l.low).into(),
            track.line.map(|l| l.high).into(),
            track.found.noise.into(),
            track.found.changes.len().into(),
            (!outliers.is_empty()).then(|| outliers.join(" ")).into(),
        ]);
    }
    table
}

const CHANGES: &[Column] = &[
    Column::text("metric", "Metric", "Id of the metric."),
    Column::text("unit", "Unit", "Unit of the row's numbers."),
    Column::count("entry", "Entry", "The first entry after the change."),
    Column::text("commit", "Commit", "Its commit."),
    Column::text("verdict", "Verdict", "better, worse, or different where neither way is better."),
    Column::quantity("before", "Before", "The level before: mean of its entries."),
    Column::quantity("after", "After", "The level after."),
    Column::change("delta", "Change", "After less before."),
    Column::share("delta_share", "Share", "The change as a share of the level before."),
    Column::change("low", "Low", "Lower end of the change's 95% interval."),
    Column::change("high", "High", "Upper end of the change's 95% interval."),
    Column::float(
        "p",
        "p",
        haloscope_report::Unit::Ratio,
        "Chance of such a change without a cause: Student's t of both levels, times the places where they could have been cut.",
    ),
    Column::text("run", "Run", "The run of that entry."),
    Column::text(
        "after_commit",
        "After commit",
        "The commit of the entry before: the change came between the two.",
    ),
];

/// Every change of a level, the latest first.
pub(super) fn change_points(ledger: &Ledger, tracks: &[Track]) -> Table {
    let mut table = Table::new("change_points", "Changes of the level", CHANGES);
    let mut rows: Vec<(usize, Vec<Cell>)> = Vec::new();
    for track in tracks {
        for change in &track.found.changes {
            let at = track.entry(change.at);
            let before = change.at.checked_sub(1).map(|i| track.entry(i));
            rows.push((
                at,
                vec![
                    track.id.as_str().into(),
                    track.unit.word().into(),
                    (at + 1).into(),
                    commit(&ledger.entries[at]).into(),
                    track.word(change.delta).into(),
                    change.before.into(),
                    change.after.into(),
                    change.delta.into(),
                    (change.before != 0.0).then(|| change.delta / change.before.abs()).into(),
                    change.low.into(),
                    change.high.into(),
                    change.p.into(),
                    ledger.entries[at].entry.run.as_str().into(),
                    before.and_then(|at| commit(&ledger.entries[at])).into(),
                ],
            ));
        }
    }
    // Stable: of one entry, in the order of the metrics.
    rows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (_, row) in rows {
        table.push(row);
    }
    table
}

const POINTS: &[Column] = &[
    Column::count("entry", "Entry", "Number of the entry, by time."),
    Column::text("time", "Time", "When it was made, to the minute, UTC."),
    Column::text("commit", "Commit", "The commit that ran."),
    Column::text("unit", "Unit", "Unit of the row's numbers."),
    Column::quantity("value", "Value", "The metric in this entry."),
    Column::quantity("sd", "SD", "Standard deviation over the steps, where the entry has samples."),
    Column::count("samples", "Samples", "How many steps that is."),
    Column::quantity("level", "Level", "Mean of the stretch that the entry is in."),
    Column::text(
        "what",
        "What",
        "change: the level differs from here on; outlier: it stands alone; taken back: not searched.",
    ),
    Column::text("status", "Known", "How the value is known."),
    Column::text("run", "Run", "The run as people call it."),
];

/// A row an entry of one metric, the latest first.
pub(super) fn points(ledger: &Ledger, track: &Track) -> Table {
    let mut table = Table::new("points", "The metric, latest first", POINTS);
    let outliers = track.outliers();
    let starts: Vec<usize> = track.found.changes.iter().map(|c| track.entry(c.at)).collect();
    for (at, value) in track.at.iter().copied().zip(&track.values).rev() {
        let kept = &ledger.entries[at];
        let metric = kept.entry.metrics.get(&track.id);
        let samples = metric.and_then(|m| m.samples);
        let of_it = |s: &&super::change_points::Stretch| s.at.iter().any(|i| track.entry(*i) == at);
        let what = if starts.contains(&at) {
            Some("change")
        } else if outliers.contains(&at) {
            Some("outlier")
        } else if kept.entry.decision == Some(super::Decision::Revert) {
            Some("taken back")
        } else {
            None
        };
        table.push(vec![
            (at + 1).into(),
            kept.entry.time.to_minute().into(),
            commit(kept).into(),
            track.unit.word().into(),
            (*value).into(),
            samples.and_then(|s| s.sd).into(),
            samples.map(|s| s.n).into(),
            track.found.stretches.iter().find(of_it).map(|s| s.mean).into(),
            what.into(),
            metric.map(|m| m.status.word()).into(),
            kept.entry.run.as_str().into(),
        ]);
    }
    table
}
