//! The tables of a ledger.

use super::advice::{self, Word};
use super::metrics::STEP_TIME;
use super::parse::{Ledger, PlacedEntry};
use super::series::Track;
use haloscope_compare::significance;
use haloscope_report::{Table, Unit, row};

/// Every entry, the latest first.
pub(super) fn entries(ledger: &Ledger, noise: Option<(f64, usize)>) -> Table {
    let mut rows = Vec::new();
    for (at, kept) in ledger.entries.iter().enumerate().rev() {
        let entry = &kept.entry;
        let labels: Vec<String> = entry.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let (verdict, against) = verdict(ledger, at, noise);
        let samples = entry.metrics.get(STEP_TIME).and_then(|metric| metric.samples);
        let row = row![
            count("entry", "Entry", "Number of the entry, by time.", at + 1),
            text("time", "Time", "When it was made, to the minute, UTC.", entry.time.to_minute()),
            text("run", "Run", "The run's name.", entry.run.as_str()),
            text("commit", "Commit", "The commit that ran; with + if files differed from it.", commit(kept)),
            duration("step_time_mean_ps", "Step", "Mean step time.", entry.value(STEP_TIME)),
            duration(
                "step_time_sd_ps",
                "SD",
                "Standard deviation over the counted steps.",
                samples.and_then(|s| s.sd)
            ),
            text(
                "verdict",
                "Verdict",
                "What `compare` said against the given baseline; without one, the step times against the last entry that was not reverted, by steps and by the spread between runs.",
                verdict
            ),
            text(
                "decision",
                "Decision",
                "What the writer did with the change: keep or revert.",
                entry.decision.map(super::Decision::word)
            ),
            share("mfu", "MFU", "Model FLOP utilization.", entry.value("mfu")),
            bytes(
                "peak_bytes",
                "Peak memory",
                "Peak of device memory, from the compiler.",
                entry.value("peak_bytes")
            ),
            duration(
                "exposed_ps_per_step",
                "Exposed comm.",
                "Communication of a step that no compute hides.",
                entry.value("exposed_ps_per_step")
            ),
            text(
                "against",
                "Against",
                "What the verdict compares with: a run, or an entry by its number.",
                against
            ),
            count("steps", "Steps", "Counted steps.", samples.map(|s| s.n)),
            text("branch", "Branch", "The branch of the commit.", entry.branch.as_deref()),
            text("labels", "Labels", "The writer's labels.", (!labels.is_empty()).then(|| labels.join(" "))),
            text(
                "device_type",
                "Device",
                "The device as the profiler names it.",
                entry.device_type.as_deref()
            ),
            count("device_count", "Devices", "Devices in the profile.", entry.device_count),
            text("session", "Session", "The session's name.", entry.session.as_deref()),
            text("place", "Place", "File and line of the ledger.", format!("{}:{}", kept.file, kept.line)),
            prose("note", "Note", "The writer's note.", entry.note.as_deref()),
        ];
        rows.push(row);
    }
    Table::of("entries", "Entries, latest first", rows)
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
pub(super) fn commit(kept: &PlacedEntry) -> Option<String> {
    let commit = kept.entry.commit.as_deref()?;
    let is_hash = commit.len() >= 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    let short = if is_hash { &commit[..12] } else { commit };
    Some(format!("{short}{}", if kept.entry.dirty == Some(true) { "+" } else { "" }))
}

/// A row a metric.
pub(super) fn metrics(tracks: &[Track]) -> Table {
    let mut rows = Vec::new();
    for track in tracks {
        let latest = track.found.stretches.last();
        let outliers: Vec<String> = track.outliers().iter().map(|at| (at + 1).to_string()).collect();
        let row = row![
            text("metric", "Metric", "Id of the metric.", track.id.as_str()),
            text("unit", "Unit", "Unit of the row's numbers.", track.unit.word()),
            count("entries", "Entries", "Entries that have it.", track.values.len()),
            quantity("first", "First", "In the first entry that has it.", track.values.first().copied()),
            quantity("latest", "Latest", "In the last entry that has it.", track.values.last().copied()),
            quantity(
                "level",
                "Level",
                "Mean of the entries since the last change, without outliers and reverted attempts.",
                latest.map(|s| s.mean)
            ),
            count(
                "since",
                "Since",
                "The entry with which that level began.",
                latest.and_then(|s| s.at.first()).map(|i| track.entry(*i) + 1)
            ),
            text(
                "trend",
                "Trend",
                "Whether it has risen or fallen since then: rising, falling, level; unknown for fewer than 4 entries.",
                track.trend()
            ),
            change(
                "slope",
                "An entry",
                "What one entry adds, by least squares over the entries since the last change.",
                track.line.map(|l| l.slope)
            ),
            change("slope_low", "Low", "Lower end of the slope's 95% interval.", track.line.map(|l| l.low)),
            change(
                "slope_high",
                "High",
                "Upper end of the slope's 95% interval.",
                track.line.map(|l| l.high)
            ),
            quantity(
                "noise",
                "Noise",
                "Standard deviation between runs, from the differences of neighbours.",
                track.found.noise
            ),
            count("changes", "Changes", "Changes of its level.", track.found.changes.len()),
            text(
                "outliers",
                "Outliers",
                "Single outliers, which count in no level.",
                (!outliers.is_empty()).then(|| outliers.join(" "))
            ),
        ];
        rows.push(row);
    }
    Table::of("metrics", "Metrics", rows)
}

/// Every change of a level, the latest first.
pub(super) fn change_points(ledger: &Ledger, tracks: &[Track]) -> Table {
    let mut rows = Vec::new();
    for track in tracks {
        for change in &track.found.changes {
            let at = track.entry(change.at);
            let before = change.at.checked_sub(1).map(|i| track.entry(i));
            let row = row![
                text("metric", "Metric", "Id of the metric.", track.id.as_str()),
                text("unit", "Unit", "Unit of the row's numbers.", track.unit.word()),
                count("entry", "Entry", "The first entry after the change.", at + 1),
                text("commit", "Commit", "Its commit.", commit(&ledger.entries[at])),
                text(
                    "verdict",
                    "Verdict",
                    "better, worse, or different if neither direction is better.",
                    track.word(change.delta)
                ),
                quantity("before", "Before", "The level before: mean of its entries.", change.before),
                quantity("after", "After", "The level after.", change.after),
                change("delta", "Change", "After minus before.", change.delta),
                share(
                    "delta_share",
                    "Share",
                    "The change as a share of the level before.",
                    (change.before != 0.0).then(|| change.delta / change.before.abs())
                ),
                change("low", "Low", "Lower end of the change's 95% interval.", change.low),
                change("high", "High", "Upper end of the change's 95% interval.", change.high),
                float(
                    "p",
                    "p",
                    Unit::Ratio,
                    "Chance of such a change by noise alone: Student's t of both levels, times the number of possible places of the change.",
                    change.p
                ),
                text("run", "Run", "The run of that entry.", ledger.entries[at].entry.run.as_str()),
                text(
                    "after_commit",
                    "After commit",
                    "The commit of the entry before: the change came between the two.",
                    before.and_then(|at| commit(&ledger.entries[at]))
                ),
            ];
            rows.push((at, row));
        }
    }
    // Stable: of one entry, in the order of the metrics.
    rows.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    Table::of("change_points", "Changes of the level", rows.into_iter().map(|(_, row)| row))
}

/// A row an entry of one metric, the latest first.
pub(super) fn points(ledger: &Ledger, track: &Track) -> Table {
    let mut rows = Vec::new();
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
        let row = row![
            count("entry", "Entry", "Number of the entry, by time.", at + 1),
            text("time", "Time", "When it was made, to the minute, UTC.", kept.entry.time.to_minute()),
            text("commit", "Commit", "The commit that ran.", commit(kept)),
            text("unit", "Unit", "Unit of the row's numbers.", track.unit.word()),
            quantity("value", "Value", "The metric in this entry.", *value),
            quantity(
                "sd",
                "SD",
                "Standard deviation over the steps, where the entry has samples.",
                samples.and_then(|s| s.sd)
            ),
            count("samples", "Samples", "The number of these steps.", samples.map(|s| s.n)),
            quantity(
                "level",
                "Level",
                "Mean of the entry's level.",
                track.found.stretches.iter().find(of_it).map(|s| s.mean)
            ),
            text(
                "what",
                "What",
                "change: the level differs from here on; outlier: a single one; taken back: reverted, not searched.",
                what
            ),
            text(
                "status",
                "Known",
                "Measured, derived, estimated or unknown.",
                metric.map(|m| m.status.word())
            ),
            text("run", "Run", "The run's name.", kept.entry.run.as_str()),
        ];
        rows.push(row);
    }
    Table::of("points", "The metric, latest first", rows)
}
