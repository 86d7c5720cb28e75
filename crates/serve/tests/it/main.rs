//! The server as its clients see it: over TCP, on a port of its own.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod agents;
mod api;
mod asked;
mod capture;
mod client;
mod files;
mod fleet;
mod ledger;
mod live;
mod page;
mod partial;
mod profiler;
mod security;
mod source;
#[cfg(unix)]
mod sql;
mod xprof;
