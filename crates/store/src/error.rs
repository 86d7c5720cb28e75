//! Why a run cannot be had.

use std::path::PathBuf;
use std::sync::Arc;

/// Why a run cannot be had. It can be cloned, because all who waited for a run learn why there is none.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The listing has no run with this id.
    #[error("there is no run `{0}`")]
    UnknownRun(String),
    /// A folder that a request names lies in none of the places that may be named.
    #[error(
        "{0} is not below a folder that this server may read; `--root DIR` (or `--root URL`) at its start adds one"
    )]
    Outside(String),
    /// A folder that a request names is no absolute path of this machine.
    #[error("expected the absolute path of a folder on the server's machine, found `{0}`")]
    NoPath(String),
    /// A file of it is still being written, and was not read half.
    #[error("{} is still being written ({bytes} bytes so far); ask again when it is done", path.display())]
    StillWritten {
        /// The file.
        path: PathBuf,
        /// Its length now, in bytes.
        bytes: u64,
    },
    /// Its files lie elsewhere, and are not all here yet.
    #[error("{at} is being downloaded: {bytes} of {of} bytes; ask again when it is done")]
    Downloading {
        /// The run.
        at: String,
        /// Bytes that are here.
        bytes: u64,
        /// Bytes that there are.
        of: u64,
    },
    /// What lies elsewhere cannot be had.
    #[error(transparent)]
    Remote(Box<haloscope_remote::Error>),
    /// Its files, or the folder, cannot be read.
    #[error(transparent)]
    Read(Arc<haloscope_report::Error>),
}

impl From<haloscope_remote::Error> for Error {
    fn from(error: haloscope_remote::Error) -> Self {
        Self::Remote(Box::new(error))
    }
}

impl From<haloscope_report::Error> for Error {
    fn from(error: haloscope_report::Error) -> Self {
        Self::Read(Arc::new(error))
    }
}
