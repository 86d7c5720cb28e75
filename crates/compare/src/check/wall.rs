//! Device time beside wall time: whether what a profile gains reaches the clock on the wall.
//!
//! A benchmark's JSON is walked for numbers whose key ends in `p50`, perhaps with a unit (`p50_ms`, `latency_p50_us`), or is
//! `wall_ms` or `wall_us`. What stands below an object called `baseline` is the baseline's.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::outcome::{Judged, Outcome};
use super::quantity::words;
use super::reading::Reading;
use haloscope_report::Error;
use haloscope_report::{Table, Unit, row};

/// Closer than this both clocks agree.
const AGREE: f64 = 0.05;
/// A device that wins this much more than the wall clock wins something that nobody sees.
const UNSEEN: f64 = 1.5;
/// Deeper nesting is no benchmark's.
const DEPTH: usize = 64;

/// A wall time in a benchmark's file.
#[derive(Debug, Clone, PartialEq)]
struct Leaf {
    /// The keys that lead to it, without `baseline`.
    path: String,
    is_baseline: bool,
    wall_ps: f64,
    /// Whether the file names the unit; else it is taken for milliseconds.
    says_unit: bool,
}

/// Both tables and what came of them.
pub(super) struct Wall {
    /// Table `wall`.
    pub times: Vec<(Judged, Time)>,
    /// Table `wall_wins`.
    pub wins: Vec<(Judged, Win)>,
    /// Paths of numbers without a unit, taken for milliseconds.
    pub guessed: Vec<String>,
}

/// A wall time beside the device's.
pub(super) struct Time {
    path: String,
    is_baseline: bool,
    wall_ps: f64,
    device_ps: Option<f64>,
}

/// Times of the baseline over times of the run.
pub(super) struct Win {
    what: String,
    wall_ratio: f64,
    device_ratio: Option<f64>,
}

impl Wall {
    /// The two tables.
    pub(super) fn tables(&self) -> [Table; 2] {
        let time = |(judged, time): &(Judged, Time)| {
            row![
                text("what", "Wall time", "Where the number is in the benchmark's file.", time.path.as_str()),
                text(
                    "verdict",
                    "Verdict",
                    "`pass`, `fail` (below --floor), or `unknown` if the two cannot belong together.",
                    judged.outcome.word()
                ),
                text(
                    "side",
                    "Side",
                    "`run` or `baseline`.",
                    if time.is_baseline { "baseline" } else { "run" }
                ),
                duration("wall_ps", "Wall", "What the benchmark measured, median.", time.wall_ps),
                duration(
                    "device_ps",
                    "Device",
                    "Median time of one execution on the device; unknown if no profile of that side was given.",
                    time.device_ps
                ),
                share(
                    "gap_share",
                    "Gap",
                    "(wall - device) / wall.",
                    time.device_ps.map(|device| gap(time.wall_ps, device))
                ),
                prose("why", "Why", "What decided.", judged.why.as_str()),
            ]
        };
        let win = |(judged, win): &(Judged, Win)| {
            row![
                text(
                    "what",
                    "Win",
                    "The wall times of baseline and run that are compared.",
                    win.what.as_str()
                ),
                text(
                    "verdict",
                    "Verdict",
                    "`fail` if the device gains more than 1.5 times as much as the wall clock.",
                    judged.outcome.word()
                ),
                float(
                    "wall_ratio",
                    "Wall",
                    Unit::Ratio,
                    "Baseline's wall time divided by the run's: above 1, the run is faster.",
                    win.wall_ratio
                ),
                float("device_ratio", "Device", Unit::Ratio, "The same of device times.", win.device_ratio),
                prose("why", "Why", "What decided.", judged.why.as_str()),
            ]
        };
        [
            Table::of("wall", "Device time beside wall time", self.times.iter().map(time)),
            Table::of("wall_wins", "Whether the gain shows on the wall clock", self.wins.iter().map(win)),
        ]
    }
}

/// Holds a benchmark's file against the device times of the run and of its baseline.
///
/// # Errors
/// [`Error::Usage`] for what is no JSON or has no wall time.
pub(super) fn judge(
    text: &str,
    run: &Reading,
    baseline: Option<&Reading>,
    floor_ps: Option<f64>,
    allow_unknown: bool,
) -> Result<Wall, Error> {
    let bad = |why: String| Error::Usage(format!("the benchmark's file: {why}"));
    let json: Json = serde_json::from_str(text).map_err(|why| bad(format!("not valid JSON: {why}")))?;
    let mut leaves = Vec::new();
    walk(&json, &mut Vec::new(), false, &mut leaves);
    if leaves.is_empty() {
        return Err(bad("it has no wall time: no number whose key ends in p50 (p50_ms, p50_us, p50_ns) or is wall_ms or wall_us".into()));
    }
    let judged = |what: String, outcome, why: String| Judged {
        what,
        outcome,
        may_be_unknown: allow_unknown,
        against_baseline: false,
        why,
        speedup: None,
        seen_in: "ops",
    };
    let time = |leaf: &Leaf| {
        let device = if leaf.is_baseline { baseline.and_then(|b| b.value) } else { run.value };
        let (outcome, why) =
            side_by_side(leaf, device, floor_ps, if leaf.is_baseline { None } else { Some(run) });
        // Both sides have the same paths; a row is known by its first cell.
        let path = if leaf.is_baseline { format!("baseline.{}", leaf.path) } else { leaf.path.clone() };
        let judged = judged(format!("wall {path}"), outcome, why);
        (judged, Time { path, is_baseline: leaf.is_baseline, wall_ps: leaf.wall_ps, device_ps: device })
    };
    let times = leaves.iter().map(time).collect();
    let device_ratio =
        baseline.and_then(|b| b.value).zip(run.value).filter(|(_, now)| *now > 0.0).map(|(a, b)| a / b);
    let win = |(before, now): (&Leaf, &Leaf)| {
        let wall_ratio = before.wall_ps / now.wall_ps;
        let (outcome, why) = reaches_the_wall(wall_ratio, device_ratio);
        let what = if before.path == now.path {
            now.path.clone()
        } else {
            format!("{} -> {}", before.path, now.path)
        };
        (judged(format!("gain of {what}"), outcome, why), Win { what, wall_ratio, device_ratio })
    };
    let wins = pairs(&leaves).into_iter().map(win).collect();
    let guessed = leaves.iter().filter(|leaf| !leaf.says_unit).map(|leaf| leaf.path.clone()).collect();
    Ok(Wall { times, wins, guessed })
}

fn gap(wall_ps: f64, device_ps: f64) -> f64 {
    (wall_ps - device_ps) / wall_ps
}

fn side_by_side(
    leaf: &Leaf,
    device: Option<f64>,
    floor_ps: Option<f64>,
    run: Option<&Reading>,
) -> (Outcome, String) {
    let wall = words(leaf.wall_ps, Unit::Ps);
    if let Some(floor_ps) = floor_ps.filter(|floor| leaf.wall_ps < *floor) {
        let floor = words(floor_ps, Unit::Ps);
        return (Outcome::Fail, format!("impossible: {wall} is below the floor of {floor}"));
    }
    let Some(device) = device else {
        let why = run.map_or("no profile of the baseline was given: --baseline", |run| run.about.as_str());
        return (Outcome::Unknown, format!("the device's time is unknown: {why}"));
    };
    let share = gap(leaf.wall_ps, device);
    let (device, off) = (words(device, Unit::Ps), words(share.abs(), Unit::Share));
    if share.abs() < AGREE {
        (Outcome::Pass, format!("both clocks agree within {off}"))
    } else if share < 0.0 {
        let why = format!(
            "the device took {device}, {off} more than the {wall} on the wall clock: they measure different work, or the benchmark did not wait for the result"
        );
        (Outcome::Unknown, why)
    } else {
        (Outcome::Pass, format!("{off} of the wall time is not on the device: launches, transfers, the host"))
    }
}

fn reaches_the_wall(wall: f64, device: Option<f64>) -> (Outcome, String) {
    let Some(device) = device else {
        return (
            Outcome::Unknown,
            "device times of both sides are needed: give the baseline's profile with --baseline".into(),
        );
    };
    let both = format!("{device:.2}x on the device, {wall:.2}x on the wall clock");
    if device > UNSEEN * wall {
        (Outcome::Fail, format!("the gain does not show on the wall clock: {both}"))
    } else {
        (Outcome::Pass, both)
    }
}

/// Each wall time of the run with the baseline's of the same path; where no path is on both sides, the first of each.
fn pairs(leaves: &[Leaf]) -> Vec<(&Leaf, &Leaf)> {
    let of = |is_baseline: bool| leaves.iter().filter(move |leaf| leaf.is_baseline == is_baseline);
    let same = |now: &&Leaf| of(true).find(|before| before.path == now.path);
    let pairs: Vec<_> = of(false).filter_map(|now| Some((same(&now)?, now))).collect();
    if pairs.is_empty() { of(true).next().zip(of(false).next()).into_iter().collect() } else { pairs }
}

fn walk(json: &Json, path: &mut Vec<String>, is_baseline: bool, leaves: &mut Vec<Leaf>) {
    if path.len() > DEPTH {
        return;
    }
    match json {
        Json::Object(map) => {
            for (key, value) in map {
                let below = key == "baseline" && value.is_object();
                if let (Some((scale, says_unit)), Some(number)) = (scale(key), value.as_f64()) {
                    if number > 0.0 {
                        let keys = path.iter().map(String::as_str).chain([key.as_str()]);
                        let path = keys.collect::<Vec<_>>().join(".");
                        leaves.push(Leaf { path, is_baseline, wall_ps: number * scale, says_unit });
                    }
                    continue;
                }
                // Not part of the path, so that both sides have the same ones.
                if below {
                    walk(value, path, true, leaves);
                } else {
                    path.push(key.clone());
                    walk(value, path, is_baseline, leaves);
                    path.pop();
                }
            }
        }
        Json::Array(values) => {
            for (position, value) in values.iter().enumerate() {
                path.push(position.to_string());
                walk(value, path, is_baseline, leaves);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Picoseconds in the unit that a key names, and whether it names one; `None` for keys that are no wall time.
fn scale(key: &str) -> Option<(f64, bool)> {
    static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("p50(?:_?(ms|us|ns))?$").ok());
    let of = |unit: &str| match unit {
        "us" => 1e6,
        "ns" => 1e3,
        _ => 1e9,
    };
    match key {
        "wall_ms" => return Some((of("ms"), true)),
        "wall_us" => return Some((of("us"), true)),
        _ => {}
    }
    let found = KEY.as_ref()?.captures(key)?;
    Some(found.get(1).map_or((of("ms"), false), |unit| (of(unit.as_str()), true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::reading::Spread;

    fn device(ms: f64) -> Reading {
        Reading {
            id: "latency".into(),
            unit: Unit::Ps,
            value: Some(ms * 1e9),
            text: None,
            spread: Spread::Once,
            about: String::new(),
            seen_in: "ops",
            each: Vec::new(),
        }
    }

    fn outcomes<T>(judged: &[(Judged, T)]) -> Vec<Outcome> {
        judged.iter().map(|(one, _)| one.outcome).collect()
    }

    #[test]
    fn keys_of_wall_times() {
        assert_eq!(scale("p50"), Some((1e9, false)));
        assert_eq!(scale("latency_p50_us"), Some((1e6, true)));
        assert_eq!(scale("p50ns"), Some((1e3, true)));
        assert_eq!(scale("wall_ms"), Some((1e9, true)));
        for key in ["p50_s", "p500", "p99", "wall_s", "my_wall_ms", "mean_ms", "P50"] {
            assert_eq!(scale(key), None, "{key}");
        }
    }

    #[test]
    fn a_win_of_the_device_that_the_wall_clock_does_not_see() {
        let bench = r#"{"kernel": {"p50_ms": 10.0}, "baseline": {"kernel": {"p50_ms": 11.0}}, "n": 30}"#;
        // The device went from 2 ms to 0.5 ms, the wall clock from 11 ms to 10 ms.
        let wall = judge(bench, &device(0.5), Some(&device(2.0)), None, false).unwrap();
        assert_eq!(outcomes(&wall.wins), [Outcome::Fail]);
        assert!(
            wall.wins[0].0.why.contains("4.00x on the device, 1.10x on the wall clock"),
            "{}",
            wall.wins[0].0.why
        );
        // Both win alike.
        let wall = judge(bench, &device(9.9), Some(&device(10.9)), None, false).unwrap();
        assert_eq!(outcomes(&wall.wins), [Outcome::Pass]);
        assert_eq!(outcomes(&wall.times), [Outcome::Pass, Outcome::Pass]);
        assert!(wall.times[0].0.why.contains("agree"), "{}", wall.times[0].0.why);
    }

    #[test]
    fn one_and_a_half_times_is_still_seen() {
        let ratio = |device| reaches_the_wall(2.0, Some(device)).0;
        assert_eq!((ratio(3.0), ratio(3.001)), (Outcome::Pass, Outcome::Fail));
        assert_eq!(reaches_the_wall(2.0, None).0, Outcome::Unknown);
    }

    #[test]
    fn a_device_that_is_slower_than_the_wall_is_not_of_the_same_work() {
        let judged =
            |device_ms| judge(r#"{"wall_us": 1000}"#, &device(device_ms), None, None, false).unwrap().times;
        assert_eq!(outcomes(&judged(1.049)), [Outcome::Pass]);
        assert_eq!(outcomes(&judged(1.06)), [Outcome::Unknown]);
        assert_eq!(outcomes(&judged(0.2)), [Outcome::Pass]);
    }

    #[test]
    fn floors_units_and_files_without_wall_times() {
        let wall = judge(r#"{"a": [{"p50": 1}]}"#, &device(1.0), None, Some(2e9), false).unwrap();
        assert_eq!((outcomes(&wall.times), wall.guessed), (vec![Outcome::Fail], vec!["a.0.p50".to_owned()]));
        let error =
            |text: &str| judge(text, &device(1.0), None, None, false).err().map(|e| e.to_string()).unwrap();
        assert!(error("{\"p99_ms\": 3}").contains("no wall time"));
        assert!(error("[").contains("not valid JSON"));
        // Without the baseline's profile nobody knows what the device won.
        let bench = r#"{"p50_ms": 1.0, "baseline": {"p50_ms": 2.0}}"#;
        let wall = judge(bench, &device(1.0), None, None, false).unwrap();
        assert_eq!(outcomes(&wall.wins), [Outcome::Unknown]);
        // `baseline` that is a number is no side.
        let wall = judge(r#"{"baseline": 3, "p50_ms": 1.0}"#, &device(1.0), None, None, false).unwrap();
        assert!(wall.wins.is_empty());
    }
}
