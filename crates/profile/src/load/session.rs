//! A session: the files of one capture.

use std::path::PathBuf;
use std::time::SystemTime;

/// A session in a log folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name: the path below the log folder, without `plugins/profile`.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
    /// Its files, sorted by name.
    pub files: Vec<PathBuf>,
    /// Size of all files in bytes.
    pub bytes: u64,
    /// When the newest file was written.
    pub modified: SystemTime,
}
