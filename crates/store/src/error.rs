//! Why a run cannot be had.

use std::sync::Arc;

/// Why a run cannot be had. It can be cloned, because all who waited for a run learn why there is none.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The listing has no run with this id.
    #[error("there is no run `{0}`")]
    UnknownRun(String),
    /// Its files, or the folder, cannot be read.
    #[error(transparent)]
    Read(Arc<haloscope_core::Error>),
}

impl From<haloscope_core::Error> for Error {
    fn from(error: haloscope_core::Error) -> Self {
        Self::Read(Arc::new(error))
    }
}
