//! The runs under `fixtures/runs`, on which analyses are asked to learn what they answer with.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use haloscope_profile::Profile;
use haloscope_profile::load::{self, Run};
use haloscope_report::Error;
use haloscope_report::Report;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Analysis, Params};

/// Opened runs, by name.
pub(super) struct Runs(Vec<Profile>);

impl Runs {
    /// Opens all runs below `fixtures/runs`, and as the last one the first files of the first two as a run of two hosts:
    /// some tables are only there for several. Then a kernel with its LLO, which no run of a folder has.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub(super) fn open(root: &Path) -> Result<Self> {
        let folder = root.join("fixtures/runs");
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
        paths.sort_unstable();
        let runs: Vec<Run> = paths.iter().map(|p| load::find(p)).collect::<Result<_, _>>()?;
        ensure!(runs.len() > 1, "{} holds fewer than two runs", folder.display());
        let two = runs.iter().flat_map(|r| r.files.first().cloned()).take(2).collect();
        let together = Run { files: two, path: folder, chosen_from: 1 };
        let kernels = load::find(&root.join("fixtures/kernels/crowded.v5e.xplane.pb.gz"))?;
        let opened = runs.iter().chain([&together, &kernels]).map(load::open).collect::<Result<_, _>>();
        Ok(Self(opened?))
    }

    /// The reports of an analysis on all runs, without those that hold nothing for it.
    ///
    /// # Errors
    /// Whatever an analysis says other than that there is nothing.
    pub(super) fn reports(&self, analysis: &Analysis, params: &Params) -> Result<Vec<Report>> {
        let answers =
            self.0.iter().map(|profile| analysis::run(analysis, profile, &Scope::default(), params));
        answers
            .filter(|answer| !matches!(answer, Err(Error::Nothing(_))))
            .map(|answer| answer.map_err(Into::into))
            .collect()
    }
}
