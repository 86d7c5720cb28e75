//! What all requests share.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use haloscope_analyses as analyses;
use haloscope_profile::load::SourceRoot;
use haloscope_report::scope::Scope;
use haloscope_report::turns::Turns;
use haloscope_store::{Ledger, Run, Store, Watch};
use haloscope_time::analysis::{self, Params};
use tokio::sync::Semaphore;

use crate::capture::Captures;
use crate::config::Config;
use crate::error::Error;
use crate::page::Page;
use crate::single_flight::SingleFlight;
use crate::sql::Sql;
use crate::workers::Workers;
use crate::xprof::Answers;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) store: Arc<Store>,
    pub(crate) page: Page,
    /// Whether that page is another front end's.
    pub(crate) other_page: bool,
    /// As many questions are computed at once as there are cores, and a quick one beside them; the others wait for their turn.
    pub(crate) turns: Arc<Turns>,
    /// The threads on which they are.
    pub(crate) threads: Workers,
    /// The thread that is kept for quick ones.
    pub(crate) quick_thread: Workers,
    /// As many exports are written at once; the others wait.
    pub(crate) exports: Arc<Semaphore>,
    /// One file at a time is taken from a page.
    pub(crate) opening: Arc<Semaphore>,
    /// How long an answer may take.
    pub(crate) deadline: Option<Duration>,
    /// The reports that are being computed.
    pub(crate) single_flight: SingleFlight,
    /// Looks at the folder of runs for as long as the server is there.
    _watch: Watch,
    /// Where the sources of the profiled programs lie, if that is known.
    pub(crate) sources: Option<SourceRoot>,
    /// The history of runs, if there is one.
    pub(crate) ledger: Option<Ledger>,
    /// What XProf's routes answered last.
    pub(crate) answers: Answers,
    /// What is captured from the page.
    pub(crate) captures: Captures,
    /// What answers SQL, if somebody may ask it.
    pub(crate) sql: Option<Sql>,
}

impl App {
    /// What a server at `config.addr` shares.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        let Config {
            addr,
            token: _,
            frame_ancestors: _,
            store,
            web_root,
            ui,
            sources,
            ledger,
            capture,
            sql,
            deadline,
        } = config;
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let other_page = ui.is_some();
        let page = Page::new(ui.or(web_root))?;
        let store = Arc::new(store);
        Ok(Self {
            _watch: store.watch(warm),
            store,
            page,
            other_page,
            turns: Turns::new(cores),
            exports: Arc::new(Semaphore::new(cores.max(2))),
            opening: Arc::new(Semaphore::new(1)),
            threads: Workers::new(cores)?,
            quick_thread: Workers::new(1)?,
            deadline,
            single_flight: SingleFlight::default(),
            sources,
            ledger,
            answers: Answers::default(),
            captures: Captures::new(capture, addr),
            sql,
        })
    }
}

pub(crate) type AppState = State<Arc<App>>;

/// What a page asks first of a run, so that what it reads has been read.
fn warm(run: &Arc<Run>) {
    for id in ["overview", "ops"] {
        if let Some(analysis) = analyses::find(id) {
            // Whoever asks is told why there is none.
            let _ = analysis::run_with(analysis, &run.profile, &[], &Scope::default(), &Params::default());
        }
    }
}
