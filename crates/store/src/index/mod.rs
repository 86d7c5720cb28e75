//! What is known of runs from before: finished answers, and the index of a file. It lies in the user's cache folder, never
//! in a run's, and is rebuilt, not trusted, when anything differs.
//!
//! - `identity`: which file it is, and which program asks.
//! - `file`: the form of all files here, whose every byte is checked before it is used.
//! - `writing`: files appear whole; `room`: the least recently used go first.
//! - `answers`: reports, and answers as they are sent, by question.
//! - `column_store`: the index of one file; `build`: those of a run, and when something is added to them.
//! - `show`: what there is, for people.

mod answers;
mod atomic_write;
mod build;
mod container;
mod eviction;
mod file_index;
mod identity;
mod location;
mod show;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use haloscope_report::Error;

pub use answers::{Body, Question};
pub use build::Indexes;
pub(crate) use identity::FilesSeen;
pub use identity::loaded_from;
pub use location::{FOLDER_VARIABLE, MAX_VARIABLE};
pub use show::{Contents, check_kept_file};

/// The ending of files of sections.
const ENDING: &str = "kept";
/// A file must have been left alone for this long before anything of it is kept: times of files are no finer than some
/// milliseconds, and a profile may still be written.
const QUIET: Duration = Duration::from_secs(2);

/// A folder in which finished work is kept. Several processes may use it at once. What cannot be read there is as if it were
/// not there; what cannot be written is not kept, and [`Cache::trouble`] says so.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    max_bytes: u64,
    quiet: Duration,
    trouble: OnceLock<String>,
}

impl Cache {
    /// The cache that the environment names (`HALOSCOPE_CACHE`, `HALOSCOPE_CACHE_MAX`), else the one in the user's cache
    /// folder; `None` where it is off, or the user has no such folder.
    ///
    /// # Errors
    /// [`Error::Usage`] for a size that is none, and for a place in a run's folder.
    pub fn of_user() -> Result<Option<Self>, Error> {
        let max_bytes = location::max_bytes()?;
        location::folder()?.map(|folder| Self::at(folder, max_bytes)).transpose()
    }

    /// A cache in this folder, which need not be there yet, of so many bytes at most.
    ///
    /// # Errors
    /// [`Error::Usage`] for a place in a run's folder.
    pub fn at(folder: PathBuf, max_bytes: u64) -> Result<Self, Error> {
        location::check(&folder)?;
        Ok(Self { folder, max_bytes, quiet: QUIET, trouble: OnceLock::new() })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Why something could not be kept, if something could not: the first reason.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }

    fn failed(&self, error: &std::io::Error) {
        let _ =
            self.trouble.set(format!("the cache in {} cannot be written: {error}", self.folder.display()));
    }

    fn mirror_folder(&self) -> PathBuf {
        self.folder.join(haloscope_remote::MIRROR)
    }

    fn answers_folder(&self) -> PathBuf {
        self.folder.join("answers")
    }

    fn index_folder(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// The file whose lock is held by who writes an index.
    fn lock_of(index: &Path) -> PathBuf {
        index.with_extension("lock")
    }

    /// Makes a folder of the cache. Its tag tells backups to leave it out: https://bford.info/cachedir.
    fn make(&self, folder: &Path) -> std::io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        atomic_write::make_folder(folder)?;
        let tag =
            "Signature: 8a477f597d28d172789f06886806bc55\n# Kept by haloscope; may be deleted at any time.\n";
        std::fs::write(self.folder.join("CACHEDIR.TAG"), tag)
    }
}
