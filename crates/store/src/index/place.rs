//! Where the cache lies and how large it may grow.

use std::env;
use std::path::{Path, PathBuf};

use haloscope_core::{Error, load, units};

pub use haloscope_remote::FOLDER_VARIABLE;

/// How many bytes the cache may hold.
pub const MAX_VARIABLE: &str = "HALOSCOPE_CACHE_MAX";
/// How many bytes it may hold if nobody says so.
const MAX: u64 = 10_000_000_000;

/// The folder that the environment names, else the user's own; `None` where it is off, or the user has none.
pub(super) fn folder() -> Result<Option<PathBuf>, Error> {
    match env::var_os(FOLDER_VARIABLE) {
        Some(word) if word == "off" => Ok(None),
        Some(path) if !path.is_empty() => {
            std::path::absolute(&path).map(Some).map_err(|source| Error::Io { path: path.into(), source })
        }
        _ => Ok(load::user_cache()),
    }
    haloscope_remote::cache_folder().map_err(|source| Error::Io { path: FOLDER_VARIABLE.into(), source })
}

/// How many bytes it may hold.
pub(super) fn max_bytes() -> Result<u64, Error> {
    let Some(text) = env::var_os(MAX_VARIABLE).filter(|text| !text.is_empty()) else { return Ok(MAX) };
    let text = text.to_string_lossy();
    units::size_of(&text).ok_or_else(|| {
        Error::Usage(format!("{MAX_VARIABLE}: expected a size such as 500MB, 10GB or 2GiB, found `{text}`"))
    })
}

/// The bytes that a text such as `10GB`, `2GiB` or `4096` stands for.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| (number * scale) as u64)
}

/// Refuses a place in a run's folder: nothing is ever written into a run.
pub(super) fn check(folder: &Path) -> Result<(), Error> {
    match crate::ledger::run_around(folder) {
        None => Ok(()),
        Some(run) => Err(Error::Usage(format!(
            "{FOLDER_VARIABLE}: {} lies in the folder of a run ({}), and nothing is written into those: take a folder outside of it",
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
