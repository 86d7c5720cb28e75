//! The yardsticks of one file: reading it, scanning it, and walking it with our reader. In a process of its own, for the memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::Suite;
use super::figures::Figure;
use crate::bench::process::Cost;
use crate::bench::scan::{Scan, scan};
use crate::bench::{median, time, walk};
use crate::say;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often each is measured
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// A profile (`….xplane.pb`)
    path: PathBuf,
}

/// What was measured, seconds.
#[derive(Debug, Serialize, Deserialize)]
struct Yardstick {
    events: u64,
    read: Vec<f64>,
    scan: Vec<f64>,
    walk: Vec<f64>,
}

/// Measures and says it as JSON.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut bytes = Vec::new();
    let read = time(args.runs, || {
        bytes = Vec::new();
        bytes = fs::read(&args.path)?;
        Ok(())
    })
    .with_context(|| format!("cannot read {}", args.path.display()))?;
    let (mut found, mut walked) = (Scan::default(), Scan::default());
    let scanned = time(args.runs, || {
        found = scan(std::hint::black_box(&bytes));
        Ok(())
    })?;
    let walks = time(args.runs, || {
        walked = walk(std::hint::black_box(&bytes));
        Ok(())
    })?;
    if found != walked {
        bail!("{}: the scan found {found:?}, the reader {walked:?}", args.path.display());
    }
    let seconds = |costs: Vec<Cost>| costs.iter().map(|cost| cost.seconds).collect();
    let said =
        Yardstick { events: found.events, read: seconds(read), scan: seconds(scanned), walk: seconds(walks) };
    say(&serde_json::to_string(&said)?);
    Ok(())
}

impl Suite {
    /// The yardsticks of a file. The number of its events is the scan's count.
    pub(super) fn yardsticks(&self, subject: &str, path: &Path, runs: u32) -> Result<Vec<Figure>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["yardstick", "--runs", &runs.to_string()]).arg(path).stdin(Stdio::null());
        let said = command.output()?;
        ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr).trim());
        let found: Yardstick = serde_json::from_slice(&said.stdout)?;
        let figure = |who, seconds: &[f64]| {
            let costs: Vec<Cost> =
                seconds.iter().map(|s| Cost { seconds: *s, cpu_seconds: None, peak_bytes: None }).collect();
            Figure {
                seconds: Some(median(&costs)),
                other_s: seconds.iter().copied().min_by(f64::total_cmp),
                bytes: fs::metadata(path).ok().map(|about| about.len()),
                count: Some(found.events),
                ..Figure::new(subject, "yardstick", who, "")
            }
        };
        Ok(vec![figure("read", &found.read), figure("scan", &found.scan), figure("walk", &found.walk)])
    }
}
