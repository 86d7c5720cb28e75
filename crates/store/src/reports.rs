//! Questions about runs by their ids: answered from what is kept, without opening anything, or computed and kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haloscope_profile::{Profile, load};
use haloscope_report::Report;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Analysis, Params};

use crate::listing::Listed;
use crate::{Body, Cache, Error, Indexes, Question, Run, Store, lock};

/// What takes less is computed sooner than it is found again.
const WORTH: Duration = Duration::from_millis(20);

/// The answer of a tool to a question about a run, in `words` that tell it from all others to that tool (`None` for one that is not
/// worth keeping), from what `work` makes of the run. One that is kept is given without opening the run; one that is of all files of
/// the run is kept, once `give` has given it.
///
/// # Errors
/// As [`load::open`], and what `work` and `give` say.
pub fn ask_body<E: From<haloscope_report::Error>>(
    cache: Option<&Cache>,
    run: &load::Run,
    (tool, words): (&str, Option<&str>),
    work: impl FnOnce(&Profile) -> Result<Body, E>,
    give: impl FnOnce(&Body) -> Result<(), E>,
) -> Result<(), E> {
    // Asked before the run is opened: what is kept is of the files that were there then, or is not kept.
    let question = cache.zip(words).and_then(|(_, words)| Question::of_words(tool, words, run));
    if let Some(body) = cache.zip(question.as_ref()).and_then(|(cache, asked)| cache.body(asked)) {
        return give(&body);
    }
    let (profile, indexes) = match cache {
        Some(cache) => cache.open(run)?,
        None => (load::open(run)?, Indexes::default()),
    };
    let body = work(&profile)?;
    give(&body)?;
    if let Some(cache) = cache {
        if let Some(question) = question.filter(|_| profile.left_out.is_empty()) {
            cache.keep_body(&question, &body);
        }
        cache.learn(&profile, &indexes);
    }
    Ok(())
}

/// Whether an answer is kept: it took a while, it is of all files of the runs, and of no window, for a window is one of very many,
/// and soon computed of a run that is open.
pub(crate) fn is_worth_keeping(begun: Instant, scope: &Scope, profiles: &[&Profile]) -> bool {
    begun.elapsed() >= WORTH
        && scope.window_ps.is_none()
        && profiles.iter().all(|profile| profile.left_out.is_empty())
}

impl Store {
    /// Keeps answers and indexes there, and uses those that are there.
    #[must_use]
    pub fn with_cache(mut self, cache: Option<Cache>) -> Self {
        self.cache = cache.map(Arc::new);
        self
    }

    /// The cache, if there is one.
    #[must_use]
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_deref()
    }

    /// The report of an analysis on the run with this id, held against those with the other ids. One that is kept is given
    /// without opening the runs.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Read`] too with what [`analysis::run_with`] says.
    pub fn report(
        &self,
        ids: &[&str],
        analysis: &Analysis,
        scope: &Scope,
        params: &Params,
    ) -> Result<Report, Error> {
        let begun = Instant::now();
        // Asked before the runs are opened: what is kept is of the files that were there then, or is not kept.
        let question = self.question(ids, analysis, scope, params);
        let cache = self.cache();
        if let Some(report) = cache.zip(question.as_ref()).and_then(|(cache, asked)| cache.answer(asked)) {
            return Ok(report);
        }
        let runs = ids.iter().map(|id| self.open(id)).collect::<Result<Vec<Arc<Run>>, _>>()?;
        let profiles: Vec<_> = runs.iter().map(|run| &*run.profile).collect();
        let [profile, others @ ..] = profiles.as_slice() else {
            return Err(Error::UnknownRun(String::new()));
        };
        let report = analysis::run_with(analysis, profile, others, scope, params)?;
        if is_worth_keeping(begun, scope, &profiles)
            && let (Some(cache), Some(question)) = (cache, &question)
        {
            cache.keep(question, &report);
        }
        Ok(report)
    }

    /// As [`Store::report`], if it is kept.
    #[must_use]
    pub fn known(&self, ids: &[&str], analysis: &Analysis, scope: &Scope, params: &Params) -> Option<Report> {
        self.cache()?.answer(&self.question(ids, analysis, scope, params)?)
    }

    /// The answer of a tool about the run with this id, as [`ask_body`] has it.
    ///
    /// # Errors
    /// As [`Store::open`], and what `work` says.
    pub fn body<E: From<Error>>(
        &self,
        id: &str,
        (tool, words): (&str, Option<&str>),
        work: impl FnOnce(&Run) -> Result<Body, E>,
    ) -> Result<Body, E> {
        let begun = Instant::now();
        let question = words.and_then(|words| match self.files(&[id])?.as_slice() {
            [run] => Question::of_words(tool, words, run),
            _ => None,
        });
        let kept = self.cache().zip(question.as_ref());
        if let Some(body) = kept.and_then(|(cache, asked)| cache.body(asked)) {
            return Ok(body);
        }
        let run = self.open(id)?;
        let body = work(&run)?;
        if let Some((cache, question)) = kept
            && is_worth_keeping(begun, &Scope::default(), &[&run.profile])
        {
            cache.keep_body(question, &body);
        }
        Ok(body)
    }

    fn question(
        &self,
        ids: &[&str],
        analysis: &Analysis,
        scope: &Scope,
        params: &Params,
    ) -> Option<Question> {
        Question::new(analysis, &self.files(ids)?.iter().collect::<Vec<_>>(), scope, params)
    }

    /// The files of the runs with these ids, where answers about all of them may be kept.
    fn files(&self, ids: &[&str]) -> Option<Vec<load::Run>> {
        self.cache.as_ref()?;
        let files = |listed: Listed| match &listed.remote {
            None => Some(load::Run { files: listed.files, path: listed.path, chosen_from: 1 }),
            // What is not here yet has not been asked about by this process.
            Some(session) => self.downloads.downloaded(session).map(|here| load::Run {
                files: here.files,
                path: here.folder,
                chosen_from: 1,
            }),
        };
        let listed = |id: &&str| {
            let is_in_memory = lock(&self.in_memory).iter().any(|run| run.info.id == **id);
            (!is_in_memory).then(|| self.find(id, |l| l.info.id == **id).ok()).flatten()
        };
        ids.iter().map(|id| listed(id).and_then(files)).collect()
    }

    /// Writes down what is missing of an open run's index, as long as `go_on` says so.
    pub(crate) fn index(&self, run: &Run, go_on: &dyn Fn() -> bool) {
        if let Some(cache) = self.cache() {
            cache.build_unasked(&run.profile, &run.indexes, go_on);
        }
    }
}
