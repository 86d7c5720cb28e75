//! Measures a child process: wall time and peak memory.
//!
//! On Linux a process begins with the peak memory of the one that started it: the system keeps it across `fork` and `exec`.
//! A child is therefore not started from here but from a fresh process of this program ([`run`], `cargo xtask measure`) that has
//! touched next to nothing, and the child's peak counts from those few megabytes.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use wait4::Wait4;

use crate::say;

/// What one run cost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Cost {
    /// Wall time, seconds.
    pub(super) seconds: f64,
    /// Peak of resident memory, bytes; of processes only.
    pub(super) peak_bytes: Option<u64>,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The command to measure, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs a command to its end, its stdout dropped, and says as JSON what it cost. Fails unless the command succeeds.
pub(crate) fn run(args: &Args) -> Result<()> {
    let Some((program, arguments)) = args.command.split_first() else { bail!("there is no command") };
    let start = Instant::now();
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let used = child.wait4()?;
    let seconds = start.elapsed().as_secs_f64();
    if !used.status.success() {
        bail!("{}", used.status);
    }
    say(&serde_json::to_string(&Cost { seconds, peak_bytes: Some(used.rusage.maxrss) })?);
    Ok(())
}

/// Runs `command` to its end, its output dropped. Fails, with what it wrote to stderr, unless it succeeds.
pub(super) fn measure(command: &Command) -> Result<Cost> {
    let mut measuring = Command::new(std::env::current_exe()?);
    measuring.arg("measure").arg("--").arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        measuring.current_dir(folder);
    }
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => measuring.env(key, value),
            None => measuring.env_remove(key),
        };
    }
    let said = measuring.stdin(Stdio::null()).output().context("cannot start xtask")?;
    if !said.status.success() {
        let talk = String::from_utf8_lossy(&said.stderr);
        let last: Vec<&str> = talk.lines().rev().take(4).collect();
        bail!("{command:?}: {}", last.into_iter().rev().collect::<Vec<_>>().join(" / "));
    }
    serde_json::from_slice(&said.stdout).context("`cargo xtask measure` said no cost")
}
