//! Measures a child process: wall time and peak memory, within limits of both.
//!
//! On Linux a process begins with the peak memory of the one that started it: the system keeps it across `fork` and `exec`.
//! A child is therefore not started from here but from a fresh process of this program ([`run`], `cargo xtask measure`) that has
//! touched next to nothing, and the child's peak counts from those few megabytes.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use wait4::Wait4;

use crate::say;

/// What one run cost.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Cost {
    /// Wall time, seconds.
    pub(super) seconds: f64,
    /// Time of the processors for it and what it started and waited for, user and system, seconds; of processes only.
    pub(super) cpu_seconds: Option<f64>,
    /// Peak of resident memory, bytes; of processes only.
    pub(super) peak_bytes: Option<u64>,
}

/// How much a child may take. One that takes more is ended, and has failed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    /// Wall time, seconds.
    pub(super) seconds: Option<u64>,
    /// Resident memory, bytes. Looked at 50 times a second, so a child may have had a little more. Linux only.
    pub(super) memory: Option<u64>,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// End the command after so many seconds
    #[arg(long, value_name = "SECONDS")]
    limit_seconds: Option<u64>,
    /// End the command when it has more resident memory
    #[arg(long, value_name = "BYTES")]
    limit_memory: Option<u64>,
    /// Write the command's stdout to this file in place of dropping it
    #[arg(long, value_name = "PATH")]
    stdout: Option<PathBuf>,
    /// The command to measure, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs a command to its end and says as JSON what it cost. Fails unless the command succeeds within its limits.
pub(crate) fn run(args: &Args) -> Result<()> {
    let Some((program, arguments)) = args.command.split_first() else { bail!("there is no command") };
    let stdout = match &args.stdout {
        Some(path) => Stdio::from(fs::File::create(path)?),
        None => Stdio::null(),
    };
    let start = Instant::now();
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(stdout)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let limits = Limits { seconds: args.limit_seconds, memory: args.limit_memory };
    let pid = child.id();
    let ended = AtomicBool::new(false);
    let (used, why) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch(pid, limits, start, &ended));
        let used = child.wait4();
        ended.store(true, Ordering::Release);
        watch.thread().unpark();
        (used, watch.join().unwrap_or_default())
    });
    let seconds = start.elapsed().as_secs_f64();
    if let Some(why) = why {
        bail!("{why}");
    }
    let used = used?;
    if !used.status.success() {
        bail!("{}", used.status);
    }
    let cpu_seconds = Some((used.rusage.utime + used.rusage.stime).as_secs_f64());
    say(&serde_json::to_string(&Cost { seconds, cpu_seconds, peak_bytes: Some(used.rusage.maxrss) })?);
    Ok(())
}

/// Ends the process when it takes too much, and says why it did.
fn watch(pid: u32, limits: Limits, start: Instant, ended: &AtomicBool) -> Option<String> {
    if limits.seconds.is_none() && limits.memory.is_none() {
        return None;
    }
    while !ended.load(Ordering::Acquire) {
        let late = limits.seconds.filter(|most| start.elapsed() > Duration::from_secs(*most));
        let large = limits.memory.filter(|most| resident(pid).is_some_and(|now| now > *most));
        let why = match (late, large) {
            (Some(most), _) => format!("ended after {most} s, the limit"),
            (_, Some(most)) => {
                let after = start.elapsed().as_secs_f64();
                let most = most as f64 / GIB;
                format!("ended after {after:.0} s at {most:.1} GiB of resident memory, the limit")
            }
            _ => {
                std::thread::park_timeout(Duration::from_millis(20));
                continue;
            }
        };
        // A child that ends at this very moment is gone a microsecond later: the number is not another's yet.
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
        return killed.is_ok_and(|status| status.success()).then_some(why);
    }
    None
}

const GIB: f64 = 1_073_741_824.0;

/// Resident memory of a process, bytes; where the system says it.
fn resident(pid: u32) -> Option<u64> {
    status(pid, "VmRSS:")
}

/// A line of `/proc/PID/status`, bytes.
pub(super) fn status(pid: u32, key: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Memory that a new process could have, bytes; where the system says it.
pub(super) fn available() -> Option<u64> {
    let all = fs::read_to_string("/proc/meminfo").ok()?;
    let line = all.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Runs `command` to its end, its output dropped. Fails, with what it wrote to stderr, unless it succeeds.
pub(super) fn measure(command: &Command) -> Result<Cost> {
    measure_within(command, Limits::default(), None)
}

/// The same within limits, its stdout kept where that is asked for.
pub(super) fn measure_within(command: &Command, limits: Limits, stdout: Option<&PathBuf>) -> Result<Cost> {
    let mut measuring = Command::new(std::env::current_exe()?);
    measuring.arg("measure");
    for (flag, value) in [("--limit-seconds", limits.seconds), ("--limit-memory", limits.memory)] {
        if let Some(value) = value {
            measuring.arg(flag).arg(value.to_string());
        }
    }
    if let Some(path) = stdout {
        measuring.arg("--stdout").arg(path);
    }
    measuring.arg("--").arg(command.get_program()).args(command.get_args());
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
        let last: Vec<&str> = talk.lines().rev().take(2).map(str::trim).collect();
        let last: Vec<&str> =
            last.into_iter().rev().map(|l| l.strip_prefix("error: ").unwrap_or(l)).collect();
        bail!("{}", last.join(" / "));
    }
    serde_json::from_slice(&said.stdout).context("`cargo xtask measure` said no cost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(limits: Limits) -> (Option<String>, bool) {
        let mut child = Command::new("sleep").arg("20").spawn().unwrap();
        let why = watch(child.id(), limits, Instant::now(), &AtomicBool::new(false));
        let status = child.wait().unwrap();
        (why, status.success())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_that_takes_too_much_is_ended() {
        let (why, well) = watched(Limits { seconds: Some(0), memory: None });
        assert_eq!((why.as_deref(), well), (Some("ended after 0 s, the limit"), false));
        let (why, well) = watched(Limits { seconds: None, memory: Some(1) });
        assert!(why.unwrap().contains("of resident memory, the limit") && !well);
    }

    #[test]
    fn one_that_has_ended_is_left_alone() {
        let limits = Limits { seconds: Some(1), memory: None };
        assert_eq!(watch(0, limits, Instant::now(), &AtomicBool::new(true)), None);
    }
}
