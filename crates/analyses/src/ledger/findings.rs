//! What follows from a history.

use super::change_points::LEAST_NOISE;
use super::metrics::{STEP_TIME, say, say_change};
use super::parse::Ledger;
use super::series::Track;
use super::tables;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};

/// More findings than this are not read.
const MOST: usize = 8;

/// The last change of each metric that has one, and drifts; for the worse first.
pub(super) fn of_tracks(ledger: &Ledger, tracks: &[Track]) -> Vec<Finding> {
    let mut all: Vec<Finding> = tracks.iter().filter_map(|track| changed(ledger, track)).collect();
    all.extend(tracks.iter().filter_map(drifting));
    all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    all.truncate(MOST);
    all
}

fn changed(ledger: &Ledger, track: &Track) -> Option<Finding> {
    let change = track.found.changes.last()?;
    let word = track.word(change.delta);
    if word == "different" {
        return None;
    }
    let (at, from) = (track.entry(change.at), track.entry(change.at.checked_sub(1)?));
    let name = |at: usize| {
        let commit = tables::commit(&ledger.entries[at]).map(|c| format!(", commit {c}")).unwrap_or_default();
        format!("entry {}{commit}", at + 1)
    };
    let share = if change.before == 0.0 {
        String::new()
    } else {
        let share = change.delta / change.before.abs();
        format!("{}{}, ", if share > 0.0 { "+" } else { "-" }, units::share(share.abs()))
    };
    let number = |v: f64| say(v, track.unit);
    let differ = |v: f64| say_change(v, track.unit);
    let is_worse = word == "worse";
    let back =
        (track.id == STEP_TIME && is_worse && change.before > 0.0).then(|| change.after / change.before);
    Some(Finding {
        id: if is_worse { "level_worse" } else { "level_better" },
        severity: if is_worse { Severity::Warning } else { Severity::Info },
        claim: format!(
            "{} is {word} since {} ({share}{} to {}).",
            track.label,
            name(at),
            number(change.before),
            number(change.after)
        ),
        evidence: format!(
            "change {}, 95% interval {} to {}, chance by noise alone {}; noise between runs {} (standard deviation, assumed to be at least {} of the level)",
            differ(change.delta),
            differ(change.low),
            differ(change.high),
            chance(change.p),
            track.found.noise.map_or_else(|| "unknown".into(), differ),
            units::share(LEAST_NOISE),
        ),
        ceiling: if is_worse {
            format!("the former level: {}", number(change.before))
        } else {
            String::new()
        },
        speedup: back,
        recommendation: if is_worse {
            let run = |at: usize| &ledger.entries[at].entry.run;
            format!(
                "look at what changed in between: `haloscope compare` with the runs {} and {}",
                run(from),
                run(at)
            )
        } else {
            String::new()
        },
        falsifier: format!(
            "another run of {} is at the level of the other side",
            name(if is_worse { at } else { from })
        ),
        status: Status::Derived,
        ..Finding::default()
    })
}

fn drifting(track: &Track) -> Option<Finding> {
    let line = track.found.drift?;
    let word = track.word(line.slope);
    if word == "different" {
        return None;
    }
    let share = line.share().map(|s| format!(" ({} an entry)", units::share(s.abs()))).unwrap_or_default();
    let differ = |v: f64| say_change(v, track.unit);
    Some(Finding {
        id: "drift",
        severity: if word == "worse" { Severity::Warning } else { Severity::Info },
        claim: format!(
            "{} gets {word} little by little, without a single step: {} an entry{share}.",
            track.label,
            differ(line.slope)
        ),
        evidence: format!(
            "slope over {} entries, 95% interval {} to {}; a straight line fits as well as levels do, with fewer parameters",
            line.n,
            differ(line.low),
            differ(line.high)
        ),
        recommendation: "compare the first and the last run: each step in between is too small to see".into(),
        falsifier: "there is an entry at which the level changes at once".into(),
        status: Status::Derived,
        ..Finding::default()
    })
}

/// A chance for people.
pub(super) fn chance(p: f64) -> String {
    if p < 0.0001 { "under 0.01%".into() } else { units::share(p) }
}
