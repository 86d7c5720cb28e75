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

/// Opened runs, by name, and texts of errors, for analyses that are asked about one.
pub(super) struct Runs {
    profiles: Vec<Profile>,
    texts: Vec<String>,
}

impl Runs {
    /// Opens all runs below `fixtures/runs`, and as the last one the first files of the first two as a run of two hosts:
    /// some tables are only there for several. Then a kernel with its LLO, and a compiler's dump, which no run of a folder has.
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
        let dump = load::find(&root.join("fixtures/kernels/norm.v5e.dump"))?;
        let opened = runs.iter().chain([&together, &kernels, &dump]).map(load::open);
        Ok(Self { profiles: opened.collect::<Result<_, _>>()?, texts: texts(&root.join("fixtures/oom"))? })
    }

    /// The reports of an analysis on all runs, without those that hold nothing for it.
    ///
    /// # Errors
    /// Whatever an analysis says other than that there is nothing.
    pub(super) fn reports(&self, analysis: &Analysis, params: &Params) -> Result<Vec<Report>> {
        let answers =
            self.profiles.iter().map(|profile| analysis::run(analysis, profile, &Scope::default(), params));
        let told = self.texts.iter().filter(|_| matches!(analysis.run, analysis::Run::Told(_))).map(|text| {
            let mut params = params.clone();
            // The text that an analysis is asked about is its first parameter.
            if let Some(first) = analysis.params.first() {
                params.set(first.id, text);
            }
            analysis::run_alone(analysis, &params)
        });
        told.chain(answers)
            .filter(|answer| !matches!(answer, Err(Error::Nothing(_))))
            .map(|answer| answer.map_err(Into::into))
            .collect()
    }
}

/// The texts of a folder, in the order of their names.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "txt"));
    paths.sort_unstable();
    let read =
        |path: &PathBuf| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    paths.iter().map(read).collect()
}
