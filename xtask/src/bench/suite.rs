//! `cargo xtask bench --quick` and `--full`: the whole benchmark in parts, which may be measured in several runs.
//!
//! A part is a profile, or several, with all that is measured of them. Its results are kept as JSON, so that parts measured in
//! several runs of one build become one report ([`figures`]). What fails is told and left out, and the next part begun.

mod budgets;
mod data;
mod figures;
mod hosts;
mod markdown;
mod ours;
mod parts;
mod sections;
mod served;
mod sql;
mod tools;
mod where_time_goes;
mod yardstick;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use self::figures::{Figures, Part, Program};
use self::ours::Abilities;
use super::peers::{self, Peer};
use super::{Args, process};
use crate::{root, say, talk, target};

pub(crate) use yardstick::{Args as YardstickArgs, run as yardstick};

/// Sizes and patience.
#[derive(Debug, Clone)]
struct Preset {
    name: String,
    /// Sizes of the generated profiles, MB.
    small_mb: u64,
    windows_mb: u64,
    middle_mb: u64,
    large_mb: u64,
    hosts: u32,
    host_mb: u64,
    capture_events: u64,
    /// How often small and large things are measured.
    runs: u32,
    few: u32,
    /// The longest that one child may take, seconds.
    limit_seconds: u64,
    /// A peer that took longer is not asked again, seconds.
    patience_s: f64,
    /// All parts together, seconds; peers are left out after that.
    budget: Duration,
    parts: &'static [&'static str],
}

/// The parts of the full benchmark, in the order of measuring: what the budgets are about first.
const ALL: [&str; 10] =
    ["small", "page", "hosts", "windows", "capture", "sql", "middle", "large", "traces", "profile"];
/// Those that run anywhere within two minutes, without other programs.
const QUICK: [&str; 4] = ["small", "page", "hosts", "windows"];

impl Preset {
    fn full(scale: f64) -> Self {
        let scaled = |mb: u64| ((mb as f64 * scale) as u64).max(1);
        Self {
            name: if scale == 1.0 { "full".to_owned() } else { format!("full-{scale}") },
            small_mb: scaled(80),
            windows_mb: scaled(388),
            middle_mb: scaled(800),
            large_mb: scaled(5_000),
            hosts: 64,
            host_mb: scaled(50),
            capture_events: ((2e6 * scale) as u64).max(20_000),
            runs: 5,
            few: 2,
            limit_seconds: 300,
            patience_s: 8.0,
            budget: Duration::from_secs(25 * 60),
            parts: &ALL,
        }
    }

    fn quick() -> Self {
        Self {
            name: "quick".to_owned(),
            small_mb: 8,
            windows_mb: 8,
            middle_mb: 8,
            large_mb: 8,
            hosts: 4,
            host_mb: 4,
            runs: 3,
            parts: &QUICK,
            ..Self::full(1.0)
        }
    }
}

/// What a part needs.
struct Suite {
    preset: Preset,
    binary: PathBuf,
    abilities: Abilities,
    peers: Vec<Peer>,
    /// The Python of the peers, which captures too.
    python: Option<PathBuf>,
    /// The program that is asked in SQL.
    query: Option<PathBuf>,
    begun: Instant,
    /// Resident memory that a child may have, bytes.
    limit_memory: Option<u64>,
}

impl Suite {
    /// Whether there is time left for what could be left out.
    fn has_time(&self) -> bool {
        self.begun.elapsed() < self.preset.budget
    }

    fn tell(&self, what: &str) {
        talk(&format!("{:6.0} s  {what}", self.begun.elapsed().as_secs_f64()));
    }
}

/// A child may have as much memory as this, or as the machine has to spare.
const LIMIT_BYTES: u64 = 20 << 30;

pub(super) fn run(args: &Args) -> Result<()> {
    let preset = if args.quick { Preset::quick() } else { Preset::full(args.scale) };
    let wanted: Vec<&str> = match &args.only[..] {
        [] => preset.parts.to_vec(),
        only => only.iter().map(String::as_str).collect(),
    };
    for name in &wanted {
        ensure!(ALL.contains(name), "there is no part `{name}`; there are: {}", ALL.join(", "));
    }
    let binary = super::binary(args)?;
    let mut left_out = Vec::new();
    let peers = if args.quick { Vec::new() } else { peers::find(args, &mut left_out)? };
    let spare = process::available().map(|bytes| bytes / 10 * 9);
    let suite = Suite {
        abilities: Abilities::of(&binary)?,
        python: peers::python(args),
        query: args
            .query
            .clone()
            .or_else(|| Some(binary.with_file_name("haloscope-query")).filter(|path| path.is_file())),
        binary,
        peers,
        begun: Instant::now(),
        limit_memory: Some(spare.map_or(LIMIT_BYTES, |spare| spare.min(LIMIT_BYTES))),
        preset,
    };
    let program = Program::of(&suite.binary)?;
    for name in &wanted {
        suite.tell(&format!("part {name}"));
        let begun = Instant::now();
        let mut part = Part {
            name: (*name).to_owned(),
            program: program.clone(),
            preset: suite.preset.name.clone(),
            date: said(Command::new("date").arg("-I")),
            seconds: 0.0,
            figures: Vec::new(),
            left_out: left_out.clone(),
        };
        if let Err(error) = suite.measure(name, &mut part) {
            suite.tell(&format!("{name}: {error:#}"));
            part.left_out.push(format!("{name}: {error:#}"));
        }
        ours::remove_caches()?;
        part.seconds = begun.elapsed().as_secs_f64();
        part.keep()?;
    }
    report(args, &suite, &program, &wanted)
}

/// Puts the kept parts together.
fn report(args: &Args, suite: &Suite, program: &Program, measured: &[&str]) -> Result<()> {
    let parts: Vec<Part> =
        ALL.iter().filter_map(|name| Part::kept(&suite.preset.name, name, program)).collect();
    let all = Figures(parts.iter().flat_map(|part| part.figures.clone()).collect());
    let budgets = budgets::all(&all);
    if args.json {
        say(&serde_json::to_string_pretty(&parts)?);
    } else {
        say(&budgets::text(&budgets));
    }
    let path = match &args.write {
        Some(path) => path.clone(),
        // Sizes that were changed for a trial are not published.
        None if args.full && args.scale == 1.0 => root().join("docs/benchmarks.md"),
        None => target().join("bench/benchmarks.md"),
    };
    let by_hand = std::fs::read_to_string(&path).unwrap_or_default();
    let text = markdown::page(&parts, &all, &budgets, markdown::by_hand(&by_hand));
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    suite.tell(&format!("wrote {}", path.display()));
    // Only that nothing of ours was answered is an error: budgets depend on the machine.
    for part in parts.iter().filter(|part| measured.contains(&&*part.name)) {
        let ours = part.figures.iter().any(|figure| figure.seconds.is_some() || figure.count.is_some());
        ensure!(ours || !part.left_out.is_empty(), "part {} has no figures", part.name);
        let broken = part.left_out.iter().find(|why| why.starts_with(&format!("{}:", part.name)));
        if let Some(why) = broken.filter(|_| args.quick) {
            anyhow::bail!("{why}");
        }
    }
    Ok(())
}

/// What a command says on one line; nothing where it fails.
fn said(command: &mut Command) -> String {
    let said = command.output().map(|said| said.stdout).unwrap_or_default();
    String::from_utf8_lossy(&said).lines().next().unwrap_or_default().trim().to_owned()
}
