//! Why there is no answer.

use std::path::PathBuf;

/// Why there is no answer. Each kind has an exit code of its own, see [`Error::exit_code`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The question was malformed: an unknown parameter, a window that ends before it starts.
    #[error("{0}")]
    Usage(String),
    /// A path that is not there or cannot be opened.
    #[error("cannot read {}: {source}", crate::naming::shown(path))]
    Io {
        /// What was to be read.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file or folder that is not what was expected.
    #[error("cannot read {}: {message}", crate::naming::shown(path))]
    Input {
        /// What was read.
        path: PathBuf,
        /// What was expected, what was found, and what to do.
        message: String,
    },
    /// A file was written to, or cut, while the answer was computed from it: the numbers may be wrong, so there are none.
    #[error(
        "{} changed while it was read: {change}. An answer from it could be wrong; try again when nothing writes to it",
        crate::naming::shown(path)
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// What was expected and what was found.
        change: String,
    },
    /// The input was read, but holds nothing that the question is about.
    #[error("{0}")]
    Nothing(String),
}

impl Error {
    /// The exit code of a process that ends with this error: 2 usage, 3 unreadable input, 4 nothing to analyse.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Io { .. } | Self::Input { .. } | Self::Changed { .. } => 3,
            Self::Nothing(_) => 4,
        }
    }
}
