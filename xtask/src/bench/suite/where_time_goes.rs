//! Where the time of a cold overview goes: functions by their own share, as Linux's `perf` samples them.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::Suite;
use super::data::{self, Subject};
use super::figures::{Figure, Part};
use super::ours::{OURS, fresh_cache};
use super::tools::overview;
use crate::target;

/// Functions below this share are not told, percent.
const LEAST: &str = "1.5";

impl Suite {
    pub(super) fn profile(&self, part: &mut Part) -> Result<()> {
        let subject = data::generated(self.preset.small_mb, None)?;
        let done = self.sampled(&subject);
        subject.remove();
        part.figures.extend(done?);
        Ok(())
    }

    fn sampled(&self, subject: &Subject) -> Result<Vec<Figure>> {
        let data = target().join("bench/perf.data");
        let ours = self.haloscope(&overview().ours, &subject.folder, &fresh_cache("cold")?);
        let mut record = Command::new("perf");
        record.args(["record", "--quiet", "-F", "5000", "-o"]).arg(&data).arg("--");
        record.arg(ours.get_program()).args(ours.get_args());
        record.envs(ours.get_envs().filter_map(|(key, value)| Some((key, value?))));
        let ran = record.stdin(Stdio::null()).stdout(Stdio::null()).output();
        let ran = ran.context("`perf` is not installed")?;
        ensure!(ran.status.success(), "perf record: {}", String::from_utf8_lossy(&ran.stderr).trim());
        let mut report = Command::new("perf");
        report.args(["report", "--stdio", "--no-children", "--sort", "symbol", "--percent-limit", LEAST]);
        let said = report.arg("-i").arg(&data).output()?;
        ensure!(said.status.success(), "perf report: {}", String::from_utf8_lossy(&said.stderr).trim());
        let mut all = Vec::new();
        for line in String::from_utf8_lossy(&said.stdout).lines() {
            let Some((share, symbol)) = row(line) else { continue };
            let figure = Figure::new(&subject.name, "where time goes", OURS, symbol);
            // A share, not seconds: of 1.
            all.push(Figure { seconds: Some(share), ..figure });
        }
        ensure!(!all.is_empty(), "perf found no function");
        Ok(all)
    }
}

/// Share (of 1) and name of a function in `perf`'s report.
fn row(line: &str) -> Option<(f64, &str)> {
    let (share, symbol) = line.trim().split_once('%')?;
    let share = share.parse::<f64>().ok()? / 100.0;
    // Columns of other kinds of events follow, which are empty.
    let symbol = symbol.trim().split("   ").next().unwrap_or_default();
    Some((share, symbol.strip_prefix("[.] ").unwrap_or(symbol)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_report() {
        assert_eq!(row("    12.50%  [.] core::walk        -      -"), Some((0.125, "core::walk")));
        assert_eq!(row("     3.00%  [k] page_fault"), Some((0.03, "[k] page_fault")));
        assert_eq!(row("# Samples: 5K"), None);
    }
}
