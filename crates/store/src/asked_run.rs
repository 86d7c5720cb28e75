//! Runs that somebody holds and asks about one question after another: opened when a question first needs it, and not at all
//! where the answer is kept.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Error, Report};
use haloscope_time::analysis::{self, Analysis, Params};

use crate::index::FilesSeen;
use crate::reports::is_worth_keeping;
use crate::{Cache, Indexes, Question, lock};

/// A run that is asked about again and again.
#[derive(Debug)]
pub struct AskedRun {
    /// Its files; `None` for one in memory.
    files: Option<load::Run>,
    opened: OnceLock<Opened>,
    opening: Mutex<()>,
}

#[derive(Debug)]
struct Opened {
    profile: Arc<Profile>,
    indexes: Indexes,
    /// Its files as they were just before.
    seen: FilesSeen,
}

impl AskedRun {
    /// A run of these files.
    #[must_use]
    pub fn of_files(files: load::Run) -> Self {
        Self { files: Some(files), opened: OnceLock::new(), opening: Mutex::default() }
    }

    /// A run in memory, of which nothing is kept.
    #[must_use]
    pub fn in_memory(profile: Profile) -> Self {
        let run = Self { files: None, opened: OnceLock::new(), opening: Mutex::default() };
        run.hold(profile, Indexes::default(), FilesSeen::default());
        run
    }

    /// Its files; `None` for one in memory.
    #[must_use]
    pub fn files(&self) -> Option<&load::Run> {
        self.files.as_ref()
    }

    /// What it holds, read now if nobody asked before. Where several threads ask at once, one opens it.
    ///
    /// # Errors
    /// As [`load::open`].
    pub fn profile(&self, cache: Option<&Cache>) -> Result<&Arc<Profile>, Error> {
        Ok(&self.open(cache)?.profile)
    }

    fn open(&self, cache: Option<&Cache>) -> Result<&Opened, Error> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let _one = lock(&self.opening);
        match (self.opened.get(), &self.files) {
            (Some(opened), _) => Ok(opened),
            (None, Some(files)) => {
                let seen = FilesSeen::now(files);
                let (profile, indexes) = match cache {
                    Some(cache) => cache.open(files)?,
                    None => (load::open(files)?, Indexes::default()),
                };
                Ok(self.hold(profile, indexes, seen))
            }
            (None, None) => Err(Error::Nothing("a run in memory that holds nothing".into())),
        }
    }

    fn hold(&self, mut profile: Profile, indexes: Indexes, seen: FilesSeen) -> &Opened {
        // Whoever limits memory has questions answered from the events each time.
        if load::memory_limit().is_none() {
            profile.expect_questions();
        }
        self.opened.get_or_init(|| Opened { profile: Arc::new(profile), indexes, seen })
    }

    /// Whether what is kept of its files is what this run would answer: they are those that it holds open.
    fn is_as_opened(&self) -> bool {
        let Some(files) = &self.files else { return false };
        self.opened.get().is_none_or(|opened| opened.seen == FilesSeen::now(files))
    }
}

/// The report of an analysis on the first run, held against the others. One that is kept is given without opening the runs; one
/// that took a while is kept.
///
/// # Errors
/// As [`load::open`] and [`analysis::run_with`].
pub fn ask(
    cache: Option<&Cache>,
    analysis: &Analysis,
    runs: &[&AskedRun],
    scope: &Scope,
    params: &Params,
) -> Result<Report, Error> {
    let begun = Instant::now();
    // Maps may be as old as the run is held.
    load::map::guard();
    let files: Option<Vec<&load::Run>> = runs.iter().map(|run| run.files.as_ref()).collect();
    let files = files.filter(|_| cache.is_some() && runs.iter().all(|run| run.is_as_opened()));
    let question = files.and_then(|files| Question::new(analysis, &files, scope, params));
    if let Some(report) = cache.zip(question.as_ref()).and_then(|(cache, asked)| cache.answer(asked)) {
        return Ok(report);
    }
    let opened = runs.iter().map(|run| run.open(cache)).collect::<Result<Vec<_>, _>>()?;
    let profiles: Vec<&Profile> = opened.iter().map(|opened| &*opened.profile).collect();
    let [profile, others @ ..] = profiles.as_slice() else { return analysis::run_alone(analysis, params) };
    let report = analysis::run_with(analysis, profile, others, scope, params)?;
    if let Some(cache) = cache {
        if let Some(question) = question.filter(|_| is_worth_keeping(begun, scope, &profiles)) {
            cache.keep(&question, &report);
        }
        opened.iter().for_each(|opened| cache.learn(&opened.profile, &opened.indexes));
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn fixture(name: &str) -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs").join(name)
    }

    fn overview(cache: Option<&Cache>, run: &AskedRun) -> Result<Report, Error> {
        ask(cache, &haloscope_time::overview::ANALYSIS, &[run], &Scope::default(), &Params::default())
    }

    #[test]
    fn a_run_that_is_held_answers_as_one_that_is_opened_once() {
        let files = load::find(&fixture("cpu-train")).unwrap();
        let run = AskedRun::of_files(files.clone());
        let (held, again) = (overview(None, &run).unwrap(), overview(None, &run).unwrap());
        let profile = load::open(&files).unwrap();
        let once = analysis::run(
            &haloscope_time::overview::ANALYSIS,
            &profile,
            &Scope::default(),
            &Params::default(),
        );
        assert_eq!(
            (held.to_json(), again.to_json()),
            (once.as_ref().unwrap().to_json(), once.unwrap().to_json())
        );
        // Two threads have the same profile.
        let run = AskedRun::of_files(files);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| Arc::as_ptr(run.profile(None).unwrap()) as usize);
            let own = Arc::as_ptr(run.profile(None).unwrap()) as usize;
            assert_eq!(own, other.join().unwrap());
        });
    }

    #[test]
    fn what_is_kept_of_another_file_of_the_same_name_is_no_answer_of_an_open_run() {
        let folder = tempfile::tempdir().unwrap();
        let copy = |name: &str, to: &str| {
            let from = load::find(&fixture(name)).unwrap().files.remove(0);
            let path = folder.path().join(to);
            fs::write(&path, fs::read(from).unwrap()).unwrap();
            path
        };
        let path = copy("cpu-train", "host.xplane.pb");
        let run = AskedRun::of_files(load::find(&path).unwrap());
        run.profile(None).unwrap();
        assert!(run.is_as_opened());
        fs::rename(copy("cpu-infer", "new"), &path).unwrap();
        assert!(!run.is_as_opened());
        assert!(!AskedRun::in_memory(Profile::default()).is_as_opened());
    }
}
