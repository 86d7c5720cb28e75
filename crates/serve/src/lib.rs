//! The HTTP API over the analyses, the page and the documentation that are embedded in it, tools for agents at `/mcp`, and XProf's own routes. No arithmetic: every number comes from the core.
//!
//! ```no_run
//! use haloscope_serve::{Config, run};
//!
//! let store = haloscope_store::Store::new("logs".as_ref())?;
//! run(Config::new(store), |url| eprintln!("open {url}"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The server listens on this machine alone unless it is told otherwise, and then it demands a token; `guard.rs`
//! says what it checks of every request.

mod agents;
mod answer;
mod api;
mod app;
mod asker;
mod bodies;
mod capture;
mod compute;
mod config;
mod connections;
mod docs;
mod error;
mod fleet;
mod guard;
mod ledger;
mod named_run;
mod opened;
mod page;
mod partial;
mod query;
mod report_file;
mod retry_unfinished;
mod router;
mod secret;
mod server;
mod sessions;
mod shapes;
mod share;
mod single_flight;
mod source;
mod sql;
mod throttle;
mod timeline;
mod waiters;
mod workers;
mod xprof;

pub use capture::{CaptureHosts, HostRule};
pub use config::{Config, FrameAncestor};
pub use docs::{docs_page, markdown_fragment};
pub use error::Error;
pub use report_file::report_page;
pub use secret::secret;
pub use server::{Server, run};
pub use sql::Sql;
