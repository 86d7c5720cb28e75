//! `cargo xtask bench`: what haloscope costs, as ratios of one run on one machine. With `--quick` or `--full` that is the [`suite`];
//! else a cold `haloscope overview`, XProf's tools and the timeline for profiles that are named.
//!
//! The yardsticks are the [`scan`] plus a plain read of the file, and the peers ([`peers`]). Children are
//! measured by a process between ([`process`]), so that their memory is their own.

pub(crate) mod generate;
mod peers;
pub(crate) mod process;
pub(crate) mod scan;
mod server;
pub(crate) mod suite;
mod table;
mod timeline;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use haloscope_xspace::{EventTime, SpaceView};
use serde::Serialize;

use self::process::Cost;
use self::scan::Scan;
use crate::{root, run_command, say, talk, target};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Measure all that runs anywhere within two minutes, without peers
    #[arg(long, conflicts_with_all = ["full", "profiles", "generate"])]
    quick: bool,
    /// Measure everything and write docs/benchmarks.md: 25 minutes and 15 GB of disk
    #[arg(long, conflicts_with_all = ["profiles", "generate"])]
    full: bool,
    /// With --quick or --full only these parts; what earlier runs of the same build kept of the others stays in the report
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// With --full: sizes times this, for a trial
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    scale: f64,
    /// Profiles (`….xplane.pb`); without any, a generated one of 80 MB
    profiles: Vec<PathBuf>,
    /// Measure a generated profile of this many MB too
    #[arg(long, value_name = "MB")]
    generate: Option<u64>,
    /// How often each thing is measured; the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
    /// Write the table as Markdown to this file, such as docs/benchmarks.md
    #[arg(long, value_name = "PATH")]
    write: Option<PathBuf>,
    /// The haloscope to measure; without it, one is built
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// A Python that has xprof 2.24.2; without it, one is set up under target/peers
    #[arg(long, value_name = "PATH")]
    xprof_python: Option<PathBuf>,
    /// An xprof-rs 0.1.3; without it, one is installed under target/peers
    #[arg(long, value_name = "PATH")]
    xprof_rs: Option<PathBuf>,
    /// A haloscope-query for the part `sql`; without it, the one beside the haloscope that is measured
    #[arg(long, value_name = "PATH")]
    query: Option<PathBuf>,
    /// Leave XProf's tools out and measure the overview alone
    #[arg(long)]
    no_tools: bool,
    /// Leave xprof out
    #[arg(long)]
    no_xprof: bool,
    /// Leave xprof-rs out
    #[arg(long)]
    no_xprof_rs: bool,
}

/// What was measured of one thing.
#[derive(Debug, Clone, Serialize)]
struct Row {
    id: &'static str,
    label: String,
    /// Median of the runs, seconds.
    median_s: f64,
    /// Fastest of the runs, seconds.
    fastest_s: f64,
    /// Median ÷ (median of the scan + median of the read).
    times_scan_and_read: f64,
    /// Largest peak of resident memory, bytes; of processes only.
    peak_bytes: Option<u64>,
}

/// The rows of one profile.
#[derive(Debug, Serialize)]
struct Measured {
    profile: String,
    bytes: u64,
    events: u64,
    rows: Vec<Row>,
    /// XProf's tools, cold.
    tools: Vec<tools::Tool>,
    /// The timeline over HTTP.
    timeline: Option<timeline::Timeline>,
    /// Peers that could not be measured, and why.
    left_out: Vec<String>,
}

/// One run of the benchmark.
#[derive(Debug, Serialize)]
struct Report {
    runs: u32,
    cores: usize,
    profiles: Vec<Measured>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(args.only.is_empty() || args.quick || args.full, "--only needs --quick or --full");
    if args.quick || args.full {
        return suite::run(args);
    }
    let profiles = profiles(args)?;
    let binary = binary(args)?;
    let mut left_out = Vec::new();
    let peers = peers::find(args, &mut left_out)?;
    let mut measured = Vec::new();
    for path in &profiles {
        let children = processes(path, &binary, &peers, args.runs)?;
        let tools =
            if args.no_tools { Vec::new() } else { tools::measure(path, &binary, &peers, args.runs)? };
        let mut why = Vec::new();
        let timeline = timeline::measure(path, &binary, &peers, &mut why)?;
        let (rows, mut failed) = children;
        failed.extend(why);
        measured.push((path, (rows, failed), tools, timeline));
    }
    let mut report =
        Report { runs: args.runs, cores: std::thread::available_parallelism()?.get(), profiles: Vec::new() };
    for (path, (children, failed), tools, timeline) in measured {
        let why = left_out.iter().chain(&failed).cloned().collect();
        let in_process = in_process(path, children, args.runs, why)?;
        report.profiles.push(Measured { tools, timeline: Some(timeline), ..in_process });
    }
    say(&if args.json { serde_json::to_string_pretty(&report)? } else { table::text(&report) });
    if let Some(path) = &args.write {
        fs::write(path, table::markdown(&report))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The haloscope to measure, built if none is given.
fn binary(args: &Args) -> Result<PathBuf> {
    if let Some(path) = &args.binary {
        return std::path::absolute(path).with_context(|| format!("cannot find {}", path.display()));
    }
    talk("building haloscope");
    run_command(
        Command::new("cargo").args(["build", "--release", "--package", "haloscope"]).current_dir(root()),
    )?;
    Ok(target().join("release/haloscope"))
}

fn profiles(args: &Args) -> Result<Vec<PathBuf>> {
    let mut profiles = args.profiles.clone();
    let megabytes = args.generate.or_else(|| profiles.is_empty().then_some(80));
    if let Some(mb) = megabytes {
        let path =
            target().join(format!("bench/generated-{mb}/plugins/profile/run/generated-host-0.xplane.pb"));
        // In a process of its own, for the memory.
        run_command(
            Command::new(std::env::current_exe()?).args(["generate", "--mb", &mb.to_string()]).arg(&path),
        )?;
        profiles.push(path);
    }
    for path in &profiles {
        ensure!(path.is_file(), "{} is not a file", path.display());
    }
    Ok(profiles)
}

type Children = Vec<(&'static str, String, Vec<Cost>)>;

/// Measures whole processes; what failed is told and left out, except haloscope itself.
fn processes(
    path: &Path,
    binary: &Path,
    peers: &[peers::Peer],
    runs: u32,
) -> Result<(Children, Vec<String>)> {
    let mut rows = Vec::new();
    let mut failed = Vec::new();
    warm(path)?;
    let mut overview = Vec::new();
    for _ in 0..runs {
        let mut command = Command::new(binary);
        command.arg("overview").arg(path).args(["--format", "json"]);
        // Cold: no index of an earlier run may be found.
        let cache = target().join("bench/cache");
        drop(fs::remove_dir_all(&cache));
        overview.push(process::measure(command.env("XDG_CACHE_HOME", &cache))?);
    }
    rows.push(("overview", "haloscope overview, cold, whole process".to_owned(), overview));
    for peer in peers {
        talk(&format!("{}: {runs} runs", peer.label));
        match (0..runs).map(|_| peer.measure(path)).collect::<Result<Vec<_>>>() {
            Ok(costs) => rows.push((peer.id, peer.label.clone(), costs)),
            Err(error) => failed.push(format!("{}: {error:#}", peer.label)),
        }
    }
    Ok((rows, failed))
}

/// Reads the file once without keeping it, so that it stands in the page cache.
fn warm(path: &Path) -> Result<()> {
    let mut file = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    std::io::copy(&mut file, &mut std::io::sink())?;
    Ok(())
}

/// Measures the yardsticks, which run in this process, and puts the ratios together.
fn in_process(path: &Path, children: Children, runs: u32, left_out: Vec<String>) -> Result<Measured> {
    let mut bytes = Vec::new();
    let read = time(runs, || {
        bytes = Vec::new();
        bytes = fs::read(path)?;
        Ok(())
    })?;
    let mut found = Scan::default();
    let scanned = time(runs, || {
        found = scan::scan(std::hint::black_box(&bytes));
        Ok(())
    })?;
    let mut walked = Scan::default();
    let walk_costs = time(runs, || {
        walked = walk(std::hint::black_box(&bytes));
        Ok(())
    })?;
    if found != walked {
        bail!("{}: the scan found {found:?}, the reader {walked:?}", path.display());
    }
    let unit = median(&read) + median(&scanned);
    let mut all: Children = vec![
        ("read", "read of the file, page cache warm".to_owned(), read),
        ("scan", "scan: three integers an event, one thread".to_owned(), scanned),
        ("walk", "xspace: parse, and decode every event".to_owned(), walk_costs),
    ];
    all.extend(children);
    let row = |(id, label, costs): (&'static str, String, Vec<Cost>)| Row {
        id,
        label,
        median_s: median(&costs),
        fastest_s: costs.iter().map(|c| c.seconds).fold(f64::INFINITY, f64::min),
        times_scan_and_read: median(&costs) / unit,
        peak_bytes: costs.iter().filter_map(|c| c.peak_bytes).max(),
    };
    Ok(Measured {
        profile: path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        bytes: bytes.len() as u64,
        events: found.events,
        rows: all.into_iter().map(row).collect(),
        tools: Vec::new(),
        timeline: None,
        left_out,
    })
}

/// What the reader of `xspace` gives for the question that the scan answers.
pub(crate) fn walk(bytes: &[u8]) -> Scan {
    let mut found = Scan::default();
    let space = SpaceView::parse(bytes);
    for event in space.planes.iter().flat_map(|plane| &plane.lines).flat_map(|line| line.events()) {
        let (EventTime::OffsetPs(time) | EventTime::Occurrences(time)) = event.time;
        let sum = event.metadata_id.wrapping_add(time).wrapping_add(event.duration_ps);
        found.events += 1;
        found.sum = found.sum.wrapping_add(sum as u64);
    }
    found
}

fn time(runs: u32, mut what: impl FnMut() -> Result<()>) -> Result<Vec<Cost>> {
    let mut costs = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        what()?;
        costs.push(Cost { seconds: start.elapsed().as_secs_f64(), cpu_seconds: None, peak_bytes: None });
    }
    Ok(costs)
}

fn median(costs: &[Cost]) -> f64 {
    let mut seconds: Vec<f64> = costs.iter().map(|c| c.seconds).collect();
    seconds.sort_by(f64::total_cmp);
    let middle = seconds.len() / 2;
    match seconds.len() {
        0 => f64::NAN,
        n if n % 2 == 0 => f64::midpoint(seconds[middle - 1], seconds[middle]),
        _ => seconds[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        let costs = |all: &[f64]| {
            all.iter().map(|s| Cost { seconds: *s, cpu_seconds: None, peak_bytes: None }).collect::<Vec<_>>()
        };
        assert_eq!(median(&costs(&[3.0, 1.0, 2.0])), 2.0);
        assert_eq!(median(&costs(&[4.0, 1.0, 2.0, 3.0])), 2.5);
        assert!(median(&[]).is_nan());
    }
}
