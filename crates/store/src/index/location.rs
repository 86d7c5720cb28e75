//! Where the cache lies and how large it may grow.

use std::env;
use std::path::{Path, PathBuf};

use haloscope_report::{Error, units};

pub use haloscope_cache_folder::FOLDER_VARIABLE;

/// How many bytes the cache may hold.
pub const MAX_VARIABLE: &str = "HALOSCOPE_CACHE_MAX";
/// How many bytes it may hold if nobody says so.
const MAX: u64 = 10_000_000_000;

/// The folder that the environment names, else the user's own; `None` where it is off, or the user has none.
pub(super) fn folder() -> Result<Option<PathBuf>, Error> {
    haloscope_cache_folder::cache_folder()
        .map_err(|source| Error::Io { path: FOLDER_VARIABLE.into(), source })
}

/// How many bytes it may hold.
pub(super) fn max_bytes() -> Result<u64, Error> {
    let Some(text) = env::var_os(MAX_VARIABLE).filter(|text| !text.is_empty()) else { return Ok(MAX) };
    let text = text.to_string_lossy();
    units::size_of(&text).ok_or_else(|| {
        Error::Usage(format!("{MAX_VARIABLE}: expected a size such as 500MB, 10GB or 2GiB, found `{text}`"))
    })
}

/// Refuses a place in a run's folder: nothing is ever written into a run.
pub(super) fn check(folder: &Path) -> Result<(), Error> {
    match crate::ledger::run_around(folder) {
        None => Ok(()),
        Some(run) => Err(Error::Usage(format!(
            "{FOLDER_VARIABLE}: {} is in the folder of a run ({}), where nothing is written: use a folder outside it",
            folder.display(),
            run.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runs_folder_is_no_place() {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("plugins/profile/a");
        std::fs::create_dir_all(&session).unwrap();
        assert!(check(&session.join("cache")).is_err());
        assert!(check(&folder.path().join("cache")).is_ok());
    }
}
