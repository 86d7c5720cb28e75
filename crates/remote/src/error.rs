//! Why something that lies elsewhere could not be read or written.

use std::error::Error as Cause;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use object_store::client::{HttpError, HttpErrorKind};

/// Why something that lies elsewhere could not be read or written. Addresses in it hide their secrets.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store knows who asks, and refuses.
    #[error("{at}: access denied: {found}. {advice}")]
    Denied {
        /// What was asked for.
        at: String,
        /// What the store said.
        found: String,
        /// What to do.
        advice: String,
    },
    /// There is no such thing.
    #[error("{at}: not found: {found}")]
    Missing {
        /// What was asked for.
        at: String,
        /// What was found in its place.
        found: String,
    },
    /// No answer in time.
    #[error(
        "{at}: no answer within {} s. Check the address, and whether a firewall or proxy blocks it; \
         HALOSCOPE_REMOTE_TIMEOUT sets the seconds to wait",
        after.as_secs_f64()
    )]
    Timeout {
        /// What was asked for.
        at: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// It could not be reached, or broke off, or answered what nobody understands.
    #[error("{at}: {found}")]
    Network {
        /// What was asked for.
        at: String,
        /// What happened.
        found: String,
    },
    /// A text that is no address.
    #[error(
        "`{text}`: expected gs://BUCKET/PREFIX, s3://BUCKET/PREFIX, az://CONTAINER/PREFIX (or \
         abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX), or http(s)://HOST/PATH; found {found}"
    )]
    Address {
        /// The text, without secrets.
        text: String,
        /// What is wrong with it.
        found: String,
    },
    /// Nobody said who asks, or what was said cannot be used.
    #[error("{at}: no usable credentials: {found}. {advice}")]
    Credentials {
        /// What was asked for.
        at: String,
        /// What was found.
        found: String,
        /// What to set.
        advice: String,
    },
    /// The mirror here could not be read or written.
    #[error("cannot write {}: {found}", path.display())]
    Local {
        /// The file or folder here.
        path: PathBuf,
        /// What the system said.
        found: String,
    },
    /// It is not what was listed any more.
    #[error("{at} changed while it was read: {found}. Try again when nothing writes to it")]
    Changed {
        /// What was asked for.
        at: String,
        /// What tells that it is another.
        found: String,
    },
    /// Something lies already where something was to be written.
    #[error("{at} exists already and is not overwritten: use another session name or place")]
    There {
        /// Where.
        at: String,
    },
}

impl Error {
    /// The exit code of a process that ends with this error: 2 usage, 3 unreadable input.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Self::Address { .. }) { 2 } else { 3 }
    }

    /// What it is about: an address without its secrets, or a path here.
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Self::Denied { at, .. }
            | Self::Missing { at, .. }
            | Self::Timeout { at, .. }
            | Self::Network { at, .. }
            | Self::Credentials { at, .. }
            | Self::Changed { at, .. }
            | Self::There { at } => at.clone(),
            Self::Address { text, .. } => text.clone(),
            Self::Local { path, .. } => path.display().to_string(),
        }
    }

    /// What it says, without [its place](Self::place) where that stands first.
    #[must_use]
    pub fn message(&self) -> String {
        let text = self.to_string();
        let rest =
            text.strip_prefix(&self.place()).map(|rest| rest.trim_start_matches([':', ' ']).to_owned());
        rest.unwrap_or(text)
    }

    pub(crate) fn local(path: &std::path::Path, error: &io::Error) -> Self {
        Self::Local { path: path.to_owned(), found: error.to_string() }
    }
}

/// How an error of the libraries below came about.
pub(crate) enum NetworkErrorKind {
    Timeout,
    Connect,
    Other,
}

/// Looks through the causes of an error for what the network did.
pub(crate) fn network_error_kind(error: &(dyn Cause + 'static)) -> NetworkErrorKind {
    let mut cause = Some(error);
    while let Some(one) = cause {
        if let Some(http) = one.downcast_ref::<HttpError>() {
            match http.kind() {
                HttpErrorKind::Timeout => return NetworkErrorKind::Timeout,
                HttpErrorKind::Connect => return NetworkErrorKind::Connect,
                _ => {}
            }
        }
        if let Some(web) = one.downcast_ref::<reqwest::Error>() {
            if web.is_timeout() {
                return NetworkErrorKind::Timeout;
            }
            if web.is_connect() {
                return NetworkErrorKind::Connect;
            }
        }
        cause = one.source();
    }
    NetworkErrorKind::Other
}

/// The innermost cause: what the system or the server said, without what was built around it.
pub(crate) fn innermost(error: &(dyn Cause + 'static)) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}
