//! What was measured, and where it is kept between runs: a file for each part, below `target/bench/results`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::bench::median;
use crate::bench::process::Cost;
use crate::bench::timeline::quantile;
use crate::{talk, target};

/// One thing that was measured, or why it was not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Figure {
    /// Which profile, such as `generated 80 MB`.
    pub(super) subject: String,
    /// What was asked of it, such as `overview`.
    pub(super) what: String,
    /// Which program: `haloscope`, `xprof`, `xprof-rs`, or a yardstick.
    pub(super) who: String,
    /// `cold`, `reopened`, `indexed`, `warm`, or which of several.
    pub(super) state: String,
    /// Median, seconds.
    pub(super) seconds: Option<f64>,
    /// Fastest of the runs, or another end of their spread as the part says, seconds.
    pub(super) other_s: Option<f64>,
    /// Median time of the processors, seconds; of processes only.
    #[serde(default)]
    pub(super) cpu_s: Option<f64>,
    /// Peak of resident memory, or a size as the part says, bytes.
    pub(super) bytes: Option<u64>,
    /// A number of things, as the part says.
    pub(super) count: Option<u64>,
    /// Why there is no figure, or what else is to be said.
    pub(super) note: Option<String>,
}

impl Figure {
    pub(super) fn new(subject: &str, what: &str, who: &str, state: &str) -> Self {
        let own = str::to_owned;
        Self { subject: own(subject), what: own(what), who: own(who), state: own(state), ..Self::default() }
    }

    /// The median of the runs, the fastest, and the largest peak; else why there are none.
    pub(super) fn costs(mut self, costs: Result<Vec<Cost>>) -> Self {
        match costs {
            Ok(costs) if !costs.is_empty() => {
                self.seconds = Some(median(&costs));
                self.other_s = costs.iter().map(|c| c.seconds).min_by(f64::total_cmp);
                let cpu: Vec<f64> = costs.iter().filter_map(|c| c.cpu_seconds).collect();
                self.cpu_s = (!cpu.is_empty()).then(|| quantile(&cpu, 0.5));
                self.bytes = costs.iter().filter_map(|c| c.peak_bytes).max();
                self.count = Some(costs.len() as u64);
            }
            Ok(_) => self.note = Some("not measured".to_owned()),
            Err(error) => self.note = Some(format!("{error:#}")),
        }
        self
    }

    pub(super) fn note(mut self, why: impl Into<String>) -> Self {
        self.note = Some(why.into());
        self
    }
}

/// Which program was measured. Results of another one are not put beside these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Program {
    pub(super) version: String,
    /// SHA-256 of the executable, hexadecimal.
    pub(super) sha256: String,
}

impl Program {
    pub(super) fn of(binary: &Path) -> Result<Self> {
        let bytes = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
        let digest = Sha256::digest(&bytes);
        let sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let said = std::process::Command::new(binary).arg("--version").output()?;
        Ok(Self { version: String::from_utf8_lossy(&said.stdout).trim().to_owned(), sha256 })
    }
}

/// The results of one part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) program: Program,
    /// Preset and scale: figures of different sizes are not put together.
    pub(super) preset: String,
    /// When it was measured, as the system's `date` says it.
    pub(super) date: String,
    /// How long measuring took, seconds.
    pub(super) seconds: f64,
    pub(super) figures: Vec<Figure>,
    /// What was left out, and why.
    pub(super) left_out: Vec<String>,
}

fn path(preset: &str, name: &str) -> PathBuf {
    target().join("bench/results").join(preset).join(format!("{name}.json"))
}

/// Without the places of this checkout: they are nobody's business.
fn scrubbed(text: &str) -> String {
    let text = text.replace(&target().display().to_string(), "target");
    text.replace(&crate::root().display().to_string(), ".")
}

impl Part {
    pub(super) fn keep(&mut self) -> Result<()> {
        for why in self.left_out.iter_mut().chain(self.figures.iter_mut().filter_map(|f| f.note.as_mut())) {
            *why = scrubbed(why);
        }
        let path = path(&self.preset, &self.name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, serde_json::to_vec_pretty(self)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// What an earlier run kept of this part for this very program.
    pub(super) fn kept(preset: &str, name: &str, program: &Program) -> Option<Self> {
        let part: Self = serde_json::from_slice(&fs::read(path(preset, name)).ok()?).ok()?;
        if part.program != *program {
            talk(&format!("{name}: what was kept is of another build of haloscope, and left out"));
            return None;
        }
        Some(part)
    }
}

/// All figures of a report.
#[derive(Debug, Default)]
pub(super) struct Figures(pub(super) Vec<Figure>);

impl Figures {
    pub(super) fn find(&self, subject: &str, what: &str, who: &str, state: &str) -> Option<&Figure> {
        let wanted = [subject, what, who, state];
        self.0.iter().find(|f| [&*f.subject, &*f.what, &*f.who, &*f.state] == wanted)
    }

    /// Median seconds of a figure.
    pub(super) fn seconds(&self, subject: &str, what: &str, who: &str, state: &str) -> Option<f64> {
        self.find(subject, what, who, state)?.seconds
    }

    /// Subjects of which `what` was measured, in the order of measuring.
    pub(super) fn subjects(&self, what: &str) -> Vec<&str> {
        let mut subjects = Vec::new();
        for figure in self.0.iter().filter(|f| f.what == what) {
            if !subjects.contains(&&*figure.subject) {
                subjects.push(&*figure.subject);
            }
        }
        subjects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_become_a_median_and_failures_a_note() {
        let cost = |seconds, peak| Cost { seconds, cpu_seconds: Some(2.0 * seconds), peak_bytes: Some(peak) };
        let figure = Figure::new("a", "overview", "haloscope", "cold").costs(Ok(vec![
            cost(3.0, 5),
            cost(1.0, 9),
            cost(2.0, 7),
        ]));
        let said = (figure.seconds, figure.other_s, figure.bytes, figure.count);
        assert_eq!(said, (Some(2.0), Some(1.0), Some(9), Some(3)));
        assert_eq!(figure.cpu_s, Some(4.0));
        let failed = figure.clone().costs(Err(anyhow::anyhow!("no")));
        assert_eq!(failed.note.as_deref(), Some("no"));
        let all = Figures(vec![figure]);
        assert_eq!(all.seconds("a", "overview", "haloscope", "cold"), Some(2.0));
        assert_eq!(all.seconds("a", "overview", "haloscope", "warm"), None);
        assert_eq!(all.subjects("overview"), ["a"]);
    }
}
