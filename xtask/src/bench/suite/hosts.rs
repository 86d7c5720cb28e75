//! A session of many hosts against one of its hosts, and the limit of memory.

use std::process::Command;

use anyhow::{Context, Result};

use super::Suite;
use super::data::{self, Subject};
use super::figures::{Figure, Part};
use super::ours::{OURS, fresh_cache};
use super::tools::overview;
use crate::bench::process;

/// Limits of memory that are tried, MiB.
const LIMITS_MIB: [u64; 3] = [256, 512, 1_024];

impl Suite {
    pub(super) fn hosts(&self, part: &mut Part) -> Result<()> {
        let subject = data::generated(self.preset.host_mb, Some(self.preset.hosts))?;
        let done = self.many_hosts(&subject, part);
        subject.remove();
        done
    }

    fn many_hosts(&self, subject: &Subject, part: &mut Part) -> Result<()> {
        let file = subject.files.first().context("a session has a file")?;
        let question = overview();
        let size = Figure::new(&subject.name, "session", OURS, "");
        part.figures.push(Figure {
            bytes: Some(subject.bytes),
            count: Some(subject.files.len() as u64),
            ..size
        });
        self.tell(&format!("{}: one of them, then all", subject.name));
        let one = "one of the hosts";
        let cold = (0..self.preset.few + 1)
            .map(|_| self.once(&question.ours, file, &fresh_cache("cold")?))
            .collect();
        part.figures.push(Figure::new(one, "overview of hosts", OURS, "cold").costs(cold));
        let renamed = |figure: Figure| Figure { what: "overview of hosts".to_owned(), ..figure };
        part.figures.extend(self.ask_ours(subject, &question, self.preset.few)?.into_iter().map(renamed));
        for mib in LIMITS_MIB {
            part.figures.push(self.limited(subject, mib)?);
        }
        self.tell(&format!("{}: by the peers", subject.name));
        part.figures.extend(self.ask_peers(subject, &question, 1).into_iter().map(renamed));
        Ok(())
    }

    /// The overview within a limit of memory: the peak, or that it was refused.
    fn limited(&self, subject: &Subject, mib: u64) -> Result<Figure> {
        let figure = Figure::new(&subject.name, "memory limit", OURS, &format!("{mib} MiB"));
        let figure = Figure { count: Some(mib << 20), ..figure };
        if !self.abilities.memory_limit {
            return Ok(figure.note("there is no option `--memory-limit`"));
        }
        let mut command: Command =
            self.haloscope(&overview().ours, &subject.folder, &fresh_cache("limited")?);
        command.arg("--memory-limit").arg(format!("{mib}MiB"));
        Ok(match process::measure_within(&command, self.limits(), None) {
            Ok(cost) => Figure { seconds: Some(cost.seconds), bytes: cost.peak_bytes, ..figure },
            Err(error) => figure.note(format!("{error:#}")),
        })
    }
}
