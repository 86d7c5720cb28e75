//! What a server is told.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use haloscope_profile::load::SourceRoot;
use haloscope_store::{Ledger, Store};

use crate::capture::CaptureHosts;
use crate::sql::Sql;

/// The port that is tried unless another is given.
pub(crate) const PORT: u16 = 7070;

/// How long an answer may take unless something else is said. Browsers wait no longer.
const DEADLINE: Duration = Duration::from_secs(300);

/// What a server is told.
#[derive(Debug)]
pub struct Config {
    /// Where it listens; port 0 takes any that is free. Beyond this machine only with a token.
    pub addr: SocketAddr,
    /// What requests to the API must carry, as `Authorization: Bearer` or `?token=`: 16 characters or more. A browser that opens the page with it gets a
    /// session of its own instead.
    pub token: Option<String>,
    /// The runs.
    pub store: Store,
    /// Serves the page from this folder instead of the embedded files, for work on the page.
    pub web_root: Option<PathBuf>,
    /// Serves another front end from this folder in place of the page: XProf's own, as its Python package holds it.
    pub ui: Option<PathBuf>,
    /// Where the sources of the profiled programs lie, to show their lines.
    pub sources: Option<SourceRoot>,
    /// The history of runs that the page shows.
    pub ledger: Option<Ledger>,
    /// Which profiler servers may be asked for a profile from the page. What comes is written below the store's folder.
    pub capture: CaptureHosts,
    /// What answers SQL over the runs, if somebody may ask it.
    pub sql: Option<Sql>,
    /// How long an answer may take before it is refused; `None` for as long as it does.
    pub deadline: Option<Duration>,
}

impl Config {
    /// Port 7070 of this machine, without a token.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self {
            addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT),
            token: None,
            store,
            web_root: None,
            ui: None,
            sources: None,
            ledger: None,
            capture: CaptureHosts::default(),
            sql: None,
            deadline: Some(DEADLINE),
        }
    }
}
