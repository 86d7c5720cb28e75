//! The folder in which Haloscope keeps what it can make again: answers, columns, files brought from elsewhere, scratch.
//!
//! A crate of its own, because who reads profiles and who fetches them both ask for it, and neither needs the other.

use std::env;
use std::io;
use std::path::PathBuf;

/// The environment variable that names the folder; `off` for none.
pub const FOLDER_VARIABLE: &str = "HALOSCOPE_CACHE";

/// The folder that the environment names, else [the user's own](user_cache_folder); `None` where it is off, or the user has none.
///
/// # Errors
/// If the environment names a relative path and there is no current folder.
pub fn cache_folder() -> io::Result<Option<PathBuf>> {
    match env::var_os(FOLDER_VARIABLE) {
        Some(word) if word == "off" => Ok(None),
        Some(path) if !path.is_empty() => std::path::absolute(&path).map(Some),
        _ => Ok(user_cache_folder()),
    }
}

/// Folders for scratch files, the best first: the one that the environment names as an absolute path, else the user's own, then
/// the one for temporary files. Unlike [`cache_folder`] there is always one: with `off` nothing is kept, and scratch files are not.
#[must_use]
pub fn scratch_folders() -> Vec<PathBuf> {
    let named = env::var_os(FOLDER_VARIABLE).map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(user_cache_folder).into_iter().chain([env::temp_dir()]).collect()
}

/// Our folder in the one for what a user's programs keep and can make again; `None` where the user has none.
#[must_use]
pub fn user_cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let all = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else {
        let below = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        // https://specifications.freedesktop.org/basedir-spec: a path that is not absolute is to be ignored.
        absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(below)))
    };
    all.map(|folder| folder.join("haloscope"))
}
