//! Why there is no profile: which server, what was expected, what was found, what to do.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for is malformed.
    #[error("{0}")]
    Usage(String),
    /// Nothing takes connections at the address.
    #[error("{server}: expected a profiler service, but nothing takes connections there: {why}")]
    Refused {
        /// `host:port`.
        server: String,
        /// What the system said.
        why: String,
    },
    /// No answer within the time for one.
    #[error("{server}: no answer in {}; expected a profiler service {expected}", seconds(*after))]
    Unanswered {
        /// `host:port`.
        server: String,
        /// How long was waited.
        after: Duration,
        /// What was waited for.
        expected: &'static str,
    },
    /// The connection ended before the answer was whole.
    #[error("{server}: the connection ended after {}, before the answer was whole: {why}", seconds(*after))]
    Died {
        /// `host:port`.
        server: String,
        /// Since the call.
        after: Duration,
        /// What the connection said.
        why: String,
    },
    /// Something else answers at the address.
    #[error("{server}: expected a profiler service (gRPC), but something else answers there: {found}")]
    Other {
        /// `host:port`.
        server: String,
        /// What it said.
        found: String,
    },
    /// The server lacks what was asked of it.
    #[error("{server}: the server does not offer {what}")]
    Unimplemented {
        /// `host:port`.
        server: String,
        /// What was asked for, in words.
        what: &'static str,
    },
    /// Another profile of the program is being taken.
    #[error("{server}: another profile of this program is being taken: {message}")]
    Busy {
        /// `host:port`.
        server: String,
        /// What the server said.
        message: String,
    },
    /// There is nothing to take or to end: continuous profiling was not started.
    #[error("{server}: the program is not being profiled continuously")]
    Idle {
        /// `host:port`.
        server: String,
    },
    /// The server answered that it recorded nothing.
    #[error("{server}: the profile is empty: nothing ran, or nothing that the chosen levels record")]
    Empty {
        /// `host:port`.
        server: String,
    },
    /// The server answered, but without the profile: it is from before profiles came with the answer.
    #[error("{server}: the server is too old to send its profile: it can only write it to its own disk")]
    Old {
        /// `host:port`.
        server: String,
    },
    /// The server refused, in other words.
    #[error("{server}: the profiler service said {code}: {message}")]
    Failed {
        /// `host:port`.
        server: String,
        /// The name of gRPC's code.
        code: String,
        /// What the server said.
        message: String,
    },
    /// A session of that name is there.
    #[error("{} exists already: a session is never overwritten", path.display())]
    Exists {
        /// Its folder.
        path: PathBuf,
    },
    /// This machine could not do its part.
    #[error("cannot {what}: {source}")]
    Local {
        /// What was to be done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The object store did not take the session, or its address is malformed.
    #[error("{source}{}", still_here(kept.as_deref()))]
    Store {
        /// What the store said.
        source: haloscope_remote::Error,
        /// The folder on this machine in which the session still lies, where it had been taken.
        kept: Option<PathBuf>,
    },
    /// It was stopped.
    #[error("stopped before the profile was taken; nothing was written")]
    Stopped,
}

impl Error {
    /// The server that it is about.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Refused { server, .. }
            | Self::Unanswered { server, .. }
            | Self::Died { server, .. }
            | Self::Other { server, .. }
            | Self::Unimplemented { server, .. }
            | Self::Busy { server, .. }
            | Self::Idle { server }
            | Self::Empty { server }
            | Self::Old { server }
            | Self::Failed { server, .. } => Some(server),
            Self::Usage(_)
            | Self::Exists { .. }
            | Self::Local { .. }
            | Self::Store { .. }
            | Self::Stopped => None,
        }
    }

    /// A word for each kind, for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Refused { .. } => "refused",
            Self::Unanswered { .. } => "unanswered",
            Self::Died { .. } => "died",
            Self::Other { .. } => "other",
            Self::Unimplemented { .. } => "unimplemented",
            Self::Busy { .. } => "busy",
            Self::Idle { .. } => "idle",
            Self::Empty { .. } => "empty",
            Self::Old { .. } => "old",
            Self::Failed { .. } => "failed",
            Self::Exists { .. } => "exists",
            Self::Local { .. } => "local",
            Self::Store { .. } => "store",
            Self::Stopped => "stopped",
        }
    }

    /// What to do about it; `None` where the message says it all.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Refused { .. } => {
                "the program must have called jax.profiler.start_server(PORT) (or the same of its framework) and still be running; a port in a container or behind a firewall must be opened or forwarded"
            }
            Self::Unanswered { .. } => {
                "a program that holds Python's lock for long answers late: use a larger --timeout; otherwise the host cannot be reached, or the program hangs"
            }
            Self::Died { .. } => {
                "the program ended, crashed or was killed while it was profiled: see its own log; a shorter --duration or lower tracer levels take less memory"
            }
            Self::Other { .. } => {
                "pass the port given to start_server, not that of TensorBoard, XProf or a coordinator"
            }
            Self::Unimplemented { what, .. } if what.contains("continuous") => {
                "a newer release of the program's framework may have it (JAX 0.10 has); `haloscope capture --every 10m` takes \
                 profiles again and again without it"
            }
            Self::Unimplemented { .. } => {
                "what the profiler service offers depends on the program's framework"
            }
            Self::Busy { .. } => {
                "wait until it has ended (--retries 5 tries again), or end it: `haloscope capture --continuous stop` for a continuous one"
            }
            Self::Idle { .. } => "`haloscope capture HOST:PORT --continuous start` starts it",
            Self::Empty { .. } => {
                "was the program running steps at that time? A longer --duration, or --retries 3, waits for work"
            }
            Self::Old { .. } => {
                "--on-server DIR names a log folder that the server can write to; the session is then there, on the server's disk"
            }
            Self::Exists { .. } => "give another --session, or leave it out to use the time as the name",
            Self::Store { kept: Some(_), .. } => {
                "copy the kept folder to where the session belongs, or analyse it where it is"
            }
            Self::Usage(_)
            | Self::Failed { .. }
            | Self::Local { .. }
            | Self::Store { .. }
            | Self::Stopped => return None,
        })
    }

    /// The exit code of a process that ends with this: 2 for a malformed question, 130 where it was stopped, 4 for an empty
    /// profile, else 3.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Empty { .. } => 4,
            Self::Stopped => 130,
            Self::Store { source, .. } => source.exit_code(),
            _ => 3,
        }
    }

    /// True where a later attempt may do better.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. }
                | Self::Unanswered { .. }
                | Self::Died { .. }
                | Self::Busy { .. }
                | Self::Empty { .. }
                | Self::Failed { .. }
        )
    }
}

fn still_here(kept: Option<&Path>) -> String {
    kept.map(|folder| format!("; the captured session is kept in {}", folder.display())).unwrap_or_default()
}

/// `1.5 s`.
fn seconds(duration: Duration) -> String {
    let text = format!("{:.1}", duration.as_secs_f64());
    format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
}
