//! The parts that measure profiles of one host: generated ones of four sizes, a capture, and those recorded for tests.

use std::path::Path;

use anyhow::{Context, Result};

use super::data::{self, Subject};
use super::figures::{Figure, Part};
use super::ours::OURS;
use super::{Suite, tools};
use crate::root;

/// The recorded profile that all tools are asked about: the largest, with the compiler's own HLO.
const ALL_TOOLS_OF: &str = "decode_v5e4";

impl Suite {
    /// Measures a part; what it has measured stands in `part` even where it fails.
    pub(super) fn measure(&self, name: &str, part: &mut Part) -> Result<()> {
        match name {
            "small" => self.small(part),
            "page" => self.page(part),
            "hosts" => self.hosts(part),
            "windows" => self.windows(part),
            "middle" => self.middle(part),
            "large" => self.large(part),
            "capture" => self.capture(part),
            "sql" => self.sql(part),
            "traces" => self.traces(part),
            _ => self.profile(part),
        }
    }

    fn small(&self, part: &mut Part) -> Result<()> {
        let subject = data::generated(self.preset.small_mb, None)?;
        let done = self.all_tools(&subject, self.preset.runs, part);
        subject.remove();
        done
    }

    /// All tools, by all programs, in all states.
    fn all_tools(&self, subject: &Subject, runs: u32, part: &mut Part) -> Result<()> {
        let file = subject.files.first().context("a run has a file")?;
        part.figures.extend(self.yardsticks(&subject.name, file, runs)?);
        let questions = tools::all(self.length_ms(subject).unwrap_or(1_000.0));
        for question in &questions {
            self.tell(&format!("{}: {}", subject.name, question.what));
            part.figures.extend(self.ask_ours(subject, question, runs)?);
        }
        self.try_all(part, || self.ask_indexed(subject, &questions));
        self.try_all(part, || self.ask_warm(subject, &questions));
        // The peers last: they come near our files.
        for question in &questions {
            let runs = if question.what == "overview" { 2 } else { 1 };
            self.tell(&format!("{}: {} by the peers", subject.name, question.what));
            part.figures.extend(self.ask_peers(subject, question, runs));
        }
        Ok(())
    }

    fn middle(&self, part: &mut Part) -> Result<()> {
        let subject = data::generated(self.preset.middle_mb, None)?;
        let done = self.one_file(&subject, &self.peers_ids(), part);
        subject.remove();
        done
    }

    fn large(&self, part: &mut Part) -> Result<()> {
        let subject = data::generated(self.preset.large_mb, None)?;
        // XProf reads no message above 2 GB, and needs far more memory than there is long before.
        let done = self.one_file(&subject, &["xprof-rs"], part);
        subject.remove();
        done
    }

    fn peers_ids(&self) -> Vec<&'static str> {
        self.peers.iter().map(|peer| peer.id).collect()
    }

    /// The overview in all states, and tiles of the timeline.
    fn one_file(&self, subject: &Subject, peers: &[&str], part: &mut Part) -> Result<()> {
        let file = subject.files.first().context("a run has a file")?;
        let few = self.preset.few;
        part.figures.extend(self.yardsticks(&subject.name, file, few)?);
        self.tell(&format!("{}: overview", subject.name));
        let questions = [tools::overview()];
        part.figures.extend(self.ask_ours(subject, &questions[0], few + 1)?);
        self.try_all(part, || self.ask_indexed(subject, &questions));
        self.tell(&format!("{}: tiles", subject.name));
        self.try_all(part, || self.tiles(subject));
        self.try_all(part, || self.ask_warm(subject, &questions));
        self.tell(&format!("{}: overview by the peers", subject.name));
        let figures = self.ask_peers(subject, &questions[0], 1);
        part.figures.extend(figures.into_iter().filter(|f| peers.contains(&&*f.who)));
        Ok(())
    }

    fn capture(&self, part: &mut Part) -> Result<()> {
        let python = self.python.as_deref().context("there is no Python with JAX")?;
        let subject = data::captured(python, self.preset.capture_events)?;
        let done = self.all_tools(&subject, 3, part);
        subject.remove();
        done
    }

    /// The overview of each profile recorded for tests.
    fn traces(&self, part: &mut Part) -> Result<()> {
        let folder = root().join("../shared/traces");
        let mut found = Vec::new();
        for kind in ["real", "forged"] {
            found.extend(sessions(&folder.join(kind)));
        }
        anyhow::ensure!(!found.is_empty(), "there are no profiles below {}", folder.display());
        for (name, path) in found {
            let done = data::copied(&name, &path).and_then(|subject| {
                self.tell(&format!("trace {name}"));
                let measured = self.trace(&subject);
                // One of them by all tools: it has what generated profiles lack, such as memory.
                if name == ALL_TOOLS_OF {
                    self.all_tools(&subject, 3, part)?;
                }
                subject.remove();
                measured
            });
            match done {
                Ok(figures) => part.figures.extend(figures),
                Err(error) => part.left_out.push(format!("trace {name}: {error:#}")),
            }
        }
        Ok(())
    }

    fn trace(&self, subject: &Subject) -> Result<Vec<Figure>> {
        std::thread::sleep(std::time::Duration::from_millis(2_200));
        let size = Figure::new(&subject.name, "trace", OURS, "");
        let mut all =
            vec![Figure { bytes: Some(subject.bytes), count: Some(subject.files.len() as u64), ..size }];
        let renamed = |figures: Vec<Figure>| {
            figures.into_iter().map(|figure| Figure { what: "overview of a trace".to_owned(), ..figure })
        };
        let question = tools::overview();
        all.extend(renamed(self.ask_ours(subject, &question, 3)?));
        all.extend(renamed(self.ask_peers(subject, &question, 1)));
        Ok(all)
    }

    /// Adds what was measured, or says what was left out.
    pub(super) fn try_all(&self, part: &mut Part, what: impl FnOnce() -> Result<Vec<Figure>>) {
        match what() {
            Ok(figures) => part.figures.extend(figures),
            Err(error) => {
                self.tell(&format!("left out: {error:#}"));
                part.left_out.push(format!("{}: {error:#}", part.name));
            }
        }
    }
}

/// Log folders with a session, by name.
fn sessions(folder: &Path) -> Vec<(String, std::path::PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join("plugins/profile").is_dir())
        .filter_map(|path| Some((path.file_name()?.to_string_lossy().into_owned(), path)))
        .collect();
    all.sort();
    all
}
