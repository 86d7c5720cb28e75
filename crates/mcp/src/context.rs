//! What tools answer from: the runs, and where the page is.

use std::sync::Arc;

use haloscope_report::Report;
use haloscope_report::scope::Scope;
use haloscope_store::{Run, Store};
use haloscope_time::analysis::{Analysis, Params};

use crate::recent::Recent;
use crate::{Arguments, Refusal};

/// What tools answer from. Cheap to share between threads.
#[derive(Debug)]
pub struct Context {
    /// The runs.
    pub store: Arc<Store>,
    /// Where the page is served, such as `http://127.0.0.1:8791/`; `None` where none is.
    pub page: Option<String>,
    /// The reports computed last: a cursor asks for more of one.
    recent: Recent,
}

impl Context {
    /// The runs of a store, without a page.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, page: None, recent: Recent::default() }
    }

    /// With the address of the page.
    #[must_use]
    pub fn with_page(self, page: impl Into<String>) -> Self {
        Self { page: Some(page.into()), ..self }
    }

    /// Opens the run that `argument` names, by its id or its name; the newest where it is not given.
    ///
    /// # Errors
    /// For a run that is not there, with those that are; for one that cannot be read.
    pub fn run(&self, arguments: &Arguments, argument: &str) -> Result<Arc<Run>, Refusal> {
        match arguments.text(argument)? {
            Some(id) => self.open(&id),
            None => Ok(self.store.open(&self.newest()?)?),
        }
    }

    /// The id of the newest run.
    ///
    /// # Errors
    /// Where there is none.
    pub fn newest(&self) -> Result<String, Refusal> {
        Ok(self.store.newest()?.ok_or_else(no_run)?.id)
    }

    /// Opens a run by its id, else by its name, else by a part of its path that no other run has.
    ///
    /// # Errors
    /// As [`Context::run`].
    pub fn open(&self, id: &str) -> Result<Arc<Run>, Refusal> {
        match self.store.open(id) {
            Err(haloscope_store::Error::UnknownRun(_)) => Ok(self.store.open(&self.id_of(id)?)?),
            other => Ok(other?),
        }
    }

    /// The id of the run that is called so: by its id, else its name, else a part of its path that no other run has. None is opened.
    ///
    /// # Errors
    /// For a run that is not there, with those that are.
    pub fn id_of(&self, id: &str) -> Result<String, Refusal> {
        let ids: Vec<String> = self.store.list()?.into_iter().map(|run| run.id).collect();
        if ids.iter().any(|known| known == id) {
            return Ok(id.to_owned());
        }
        if let Ok(named) = self.store.named(id) {
            return Ok(named.id);
        }
        if ids.is_empty() {
            return Err(no_run());
        }
        let word = id.trim_matches('/');
        let has = |whole: &&String| !word.is_empty() && format!("/{whole}/").contains(&format!("/{word}/"));
        if let [one] = ids.iter().filter(has).collect::<Vec<_>>()[..] {
            return Ok((*one).clone());
        }
        let parts: Vec<&str> = ids.iter().flat_map(|id| id.split('/')).collect();
        Err(Refusal::unlike("run", id, &ids, &parts, "`xprof_list_runs` lists the runs with their ids"))
    }

    /// Opens all runs that a list names.
    ///
    /// # Errors
    /// As [`Context::run`].
    pub fn runs(&self, arguments: &Arguments, argument: &str) -> Result<Vec<Arc<Run>>, Refusal> {
        arguments.list(argument)?.iter().map(|id| self.open(id)).collect()
    }

    /// The report of an analysis, computed now or a moment ago.
    ///
    /// # Errors
    /// As [`haloscope_time::analysis::run_with`].
    pub fn report(
        &self,
        run: &Arc<Run>,
        others: &[Arc<Run>],
        analysis: &'static Analysis,
        scope: &Scope,
        params: &Params,
    ) -> Result<Arc<Report>, Refusal> {
        let runs: Vec<Arc<Run>> = std::iter::once(run).chain(others).cloned().collect();
        self.recent.get(analysis.id, &runs, scope, params, || {
            let ids: Vec<&str> = runs.iter().map(|run| run.info.id.as_str()).collect();
            Ok(self.store.report(&ids, analysis, scope, params)?)
        })
    }
}

fn no_run() -> Refusal {
    Refusal::new(
        "there is no run yet",
        "capture a profile into the log folder, for instance with jax.profiler.trace, and call again",
    )
}
