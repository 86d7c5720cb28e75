//! Where what is kept lies: the folder of the index cache and of the mirror.

use std::io;
use std::path::PathBuf;

/// Names the cache's folder; `off` for none.
pub const FOLDER_VARIABLE: &str = "HALOSCOPE_CACHE";

/// The folder that the environment names, else the user's own; `None` where it is off, or the user has none.
///
/// # Errors
/// If the environment names a relative path and there is no current folder.
pub fn cache_folder() -> io::Result<Option<PathBuf>> {
    match std::env::var_os(FOLDER_VARIABLE) {
        Some(word) if word == "off" => Ok(None),
        Some(path) if !path.is_empty() => std::path::absolute(&path).map(Some),
        _ => Ok(haloscope_profile::load::user_cache()),
    }
}
