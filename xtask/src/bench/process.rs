//! Measures a child process: wall time and peak memory.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use wait4::Wait4;

/// What one run cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Wall time, seconds.
    pub(super) seconds: f64,
    /// Peak of resident memory, bytes; of processes only.
    pub(super) peak_bytes: Option<u64>,
}

/// Runs `command` to its end, its output dropped. Fails, with what it wrote to stderr, unless it succeeds.
pub(super) fn measure(command: &mut Command) -> Result<Cost> {
    let shown = format!("{command:?}");
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {shown}"))?;
    let mut talk = String::new();
    if let Some(stderr) = &mut child.stderr {
        stderr.read_to_string(&mut talk)?;
    }
    let used = child.wait4()?;
    let seconds = start.elapsed().as_secs_f64();
    if !used.status.success() {
        let last: Vec<&str> = talk.lines().rev().take(3).collect();
        bail!("{shown}: {}: {}", used.status, last.into_iter().rev().collect::<Vec<_>>().join(" / "));
    }
    Ok(Cost { seconds, peak_bytes: Some(used.rusage.maxrss) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_a_time_and_a_peak_and_a_failing_one_its_last_words() {
        let cost = measure(Command::new("sh").args(["-c", "true"])).unwrap();
        assert!(cost.seconds > 0.0 && cost.peak_bytes.unwrap() > 100_000, "{cost:?}");
        let error = measure(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(error.to_string().ends_with("exit status: 3: why"), "{error}");
    }
}
