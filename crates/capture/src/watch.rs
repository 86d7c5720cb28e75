//! What is told of a capture while it is under way.

use std::path::Path;
use std::time::{Duration, SystemTime};

/// Something that happened, or how far it has come.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A server is being connected to.
    Connecting {
        /// `host:port`.
        server: &'a str,
    },
    /// All servers are there; they start at this time.
    Waiting {
        /// The common start, by this machine's clock.
        until: SystemTime,
    },
    /// A server is profiling. Told a few times a second; after `of` it collects what it has.
    Profiling {
        /// `host:port`.
        server: &'a str,
        /// Since the common start.
        elapsed: Duration,
        /// The duration asked for.
        of: Duration,
    },
    /// A server's reply is under way. Told a few times a second.
    Receiving {
        /// `host:port`.
        server: &'a str,
        /// Bytes so far.
        bytes: u64,
    },
    /// A server's profile is here.
    Received {
        /// `host:port`.
        server: &'a str,
        /// Its size in bytes.
        bytes: u64,
    },
    /// An attempt failed; all servers are asked again.
    Retrying {
        /// The server that failed.
        server: &'a str,
        /// Number of the attempt that follows: 2 for the first repetition.
        attempt: u32,
        /// What happened.
        why: &'a str,
    },
    /// A file of the session lies in its place. Told after the whole session is there.
    Written {
        /// The file, or its name below a URL.
        path: &'a Path,
        /// Its size in bytes.
        bytes: u64,
    },
}

/// Who wants to know what happens. Called from other threads, one call at a time for each server.
pub trait Watch: Sync {
    /// Something happened.
    fn event(&self, event: &Event<'_>);
}

/// Wants to know nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Watch for Silent {
    fn event(&self, _: &Event<'_>) {}
}

impl<F: Fn(&Event<'_>) + Sync> Watch for F {
    fn event(&self, event: &Event<'_>) {
        self(event);
    }
}
