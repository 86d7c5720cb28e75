//! `cargo xtask instructions`: how many instructions the hot loops take, as multiples of the scan's in the same run, held against
//! `xtask/instructions.json`.
//!
//! Counts do not depend on what else the machine does, so that a loop which got slower is found on a busy one too. They are
//! callgrind's, of whole processes of this program with one thread ([`hot`]); what comes before a loop is measured by itself and taken off.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use haloscope_analyses as analyses;
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Params};
use haloscope_timeline::{Colour, Timeline};
use serde::{Deserialize, Serialize};

use crate::bench::{scan::scan, walk};
use crate::{root, run_command, say, target};

/// The hot loops: each with what it is measured above, and what it is.
const LOOPS: [(&str, &str, &str); 8] = [
    ("scan", "read", "the yardstick: three integers an event"),
    ("walk", "read", "xspace: parse, and every event"),
    ("decode", "read", "core: open, and the columns of every line"),
    ("overview", "decode", "the analysis `overview`"),
    ("ops", "decode", "the analysis `ops`"),
    ("hlo_stats", "decode", "XProf's tool `hlo_stats`"),
    ("windows", "decode", "the analysis `ops` over 10 windows"),
    ("tiles", "decode", "100 tiles of all devices"),
];

/// Size of the profile, MB.
const MB: u64 = 8;
/// A count this much above the committed one is too many.
const TOLERANCE: f64 = 0.05;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write what is measured to xtask/instructions.json in place of comparing
    #[arg(long)]
    write: bool,
}

#[derive(clap::Args)]
pub(crate) struct HotArgs {
    /// Which loop
    name: String,
    /// A profile (`….xplane.pb`)
    path: PathBuf,
}

/// The committed counts.
#[derive(Debug, Serialize, Deserialize)]
struct Held {
    /// Share above the committed count that is let pass.
    tolerance: f64,
    /// Instructions as multiples of the scan's.
    times_scan: BTreeMap<String, f64>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let profile = target().join("bench/data/instructions/plugins/profile/run/generated-host-0.xplane.pb");
    let this = std::env::current_exe()?;
    run_command(Command::new(&this).args(["generate", "--mb", &MB.to_string()]).arg(&profile))?;
    let mut counts = BTreeMap::new();
    for name in std::iter::once("read").chain(LOOPS.iter().map(|(name, ..)| *name)) {
        counts.insert(name, count(&this, name, &profile)?);
    }
    let of = |name: &str| counts.get(name).copied().unwrap_or_default() as f64;
    let unit = of("scan") - of("read");
    ensure!(unit > 0.0, "the scan took no instructions");
    let measured: BTreeMap<String, f64> = LOOPS
        .iter()
        .map(|(name, above, _)| ((*name).to_owned(), round((of(name) - of(above)) / unit)))
        .collect();
    let path = root().join("xtask/instructions.json");
    if args.write {
        let held = Held { tolerance: TOLERANCE, times_scan: measured };
        fs::write(&path, serde_json::to_string_pretty(&held)? + "\n")?;
        say(&format!("wrote {}", path.display()));
        return Ok(());
    }
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let held: Held = serde_json::from_slice(&text).context("xtask/instructions.json")?;
    let events = scan(&fs::read(&profile)?).events as f64;
    say(&format!("instructions of the hot loops; the scan takes {:.1} an event", unit / events));
    let mut worse = Vec::new();
    for (name, _, what) in LOOPS {
        let (now, word) = judge(&held, &measured, name);
        if word == "more" {
            worse.push(name);
        }
        let before =
            held.times_scan.get(name).map_or_else(String::new, |before| format!(" (committed {before})"));
        say(&format!("{word:>6}  {name}: {now} times the scan{before}: {what}"));
    }
    if !worse.is_empty() {
        bail!(
            "more instructions than committed, and more than {:.0}% more: {}. Find out why (valgrind --tool=callgrind target/release/xtask \
             hot NAME {}; callgrind_annotate), or commit what `cargo xtask instructions --write` writes and say what it buys",
            held.tolerance * 100.0,
            worse.join(", "),
            profile.display()
        );
    }
    Ok(())
}

/// What is measured of a loop, and how it stands to what is committed.
fn judge(held: &Held, measured: &BTreeMap<String, f64>, name: &str) -> (f64, &'static str) {
    let now = measured.get(name).copied().unwrap_or(f64::NAN);
    let word = match held.times_scan.get(name) {
        // A loop that nobody held before is held from the next `--write`.
        None => "new",
        Some(before) if now > before * (1.0 + held.tolerance) => "more",
        Some(before) if now < before * (1.0 - held.tolerance) => "fewer",
        Some(_) => "held",
    };
    (now, word)
}

/// To three digits behind the point.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Instructions of a process that runs a loop.
fn count(this: &Path, name: &str, profile: &Path) -> Result<u64> {
    let out = target().join(format!("bench/callgrind.{name}"));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--error-exitcode=0"]);
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(this).args(["hot", name]).arg(profile);
    // One thread: what several steal from each other is not the same in every run.
    command.env("RAYON_NUM_THREADS", "1").env("HALOSCOPE_CACHE", "off");
    let said = command.output().context("`valgrind` is needed: apt-get install valgrind")?;
    let talk = String::from_utf8_lossy(&said.stderr);
    ensure!(said.status.success(), "{name}: {}", talk.lines().last().unwrap_or_default());
    let collected = talk.lines().find_map(|line| line.split_once("Collected :"));
    let collected = collected.and_then(|(_, number)| number.trim().parse().ok());
    collected.with_context(|| format!("{name}: callgrind said no count"))
}

/// Runs one of the loops over a profile, and nothing else: callgrind counts this process.
pub(crate) fn hot(args: &HotArgs) -> Result<()> {
    let open = || -> Result<Profile> {
        let profile = load::open(&load::find(&args.path)?)?;
        let events: usize = profile.lines.iter().map(|line| profile.events(line).len()).sum();
        black_box(events);
        Ok(profile)
    };
    let analysis = |name: &str| -> Result<()> {
        let analysis = analyses::find(name).with_context(|| format!("no analysis {name}"))?;
        let profile = open()?;
        black_box(analysis::run(analysis, &profile, &Scope::default(), &Params::default())?);
        Ok(())
    };
    match &*args.name {
        "read" => drop(black_box(fs::read(&args.path)?)),
        "scan" => drop(black_box(scan(&fs::read(&args.path)?))),
        "walk" => drop(black_box(walk(&fs::read(&args.path)?))),
        "decode" => drop(black_box(open()?)),
        "overview" | "ops" => analysis(&args.name)?,
        "tiles" => tiles(open()?)?,
        "windows" => windows(&open()?)?,
        tool => {
            drop(black_box(haloscope_compat::answer(&open()?, tool, &haloscope_compat::Params::default())?));
        }
    }
    Ok(())
}

/// Length of the profile, picoseconds, about: its steps take 25 ms.
const SPAN_PS: i64 = 90 * 25_000_000_000;

fn windows(profile: &Profile) -> Result<()> {
    let ops = analyses::find("ops").context("no analysis ops")?;
    for i in 0..10 {
        let (from, length) = (SPAN_PS / 1_000_000 / 20 * i, SPAN_PS / 1_000_000 / 4);
        let window = format!("{from}us..{}us", from + length);
        let scope = Scope::from_words(|key| (key == "window").then_some(&*window))?;
        black_box(analysis::run(ops, profile, &scope, &Params::default())?);
    }
    Ok(())
}

/// Windows at all places, each half as long as the one before until it is a thousandth of the run.
fn tiles(profile: Profile) -> Result<()> {
    let lines: Vec<_> = profile.lines.iter().map(|line| line.id).collect();
    let timeline = Timeline::new(Arc::new(profile));
    for i in 0..100 {
        let length = SPAN_PS >> (i % 10);
        let start = (SPAN_PS - length) / 100 * i;
        black_box(timeline.tile(start, start + length, 1_500, &lines, Colour::Category)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_tolerance_is_told() {
        let held = Held { tolerance: 0.05, times_scan: [("walk".to_owned(), 2.0)].into() };
        let word = |now: f64| judge(&held, &[("walk".to_owned(), now)].into(), "walk").1;
        assert_eq!([2.2, 2.1, 1.95, 1.5].map(word), ["more", "held", "held", "fewer"]);
        assert_eq!(judge(&held, &[("tiles".to_owned(), 1.0)].into(), "tiles").1, "new");
    }
}
