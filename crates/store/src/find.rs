//! Where a RUN argument leads: to files here, or to some elsewhere, which are brought here first.

use std::path::{Path, PathBuf};

use haloscope_core::Error;
use haloscope_core::load;
use haloscope_remote::{self as remote, Address, Progress, Session};

use crate::Cache;

/// The run that `run` stands for, as [`load::find`] finds it, or, for an address such as `gs://bucket/logs`, the newest session
/// there, whose files are brought into the cache. Reports and messages call those by their addresses.
///
/// # Errors
/// As [`load::find`]; [`Error::Usage`] for what is no address, [`Error::Input`] for what cannot be had from elsewhere.
pub fn find(run: &Path, watch: &dyn Fn(Progress)) -> Result<load::Run, Error> {
    let Some(text) = run.to_str().filter(|text| Address::is_one(text)) else { return load::find(run) };
    let at = Address::parse(text).map_err(|error| Error::Usage(error.to_string()))?;
    let mut all = remote::sessions(&at).map_err(said)?;
    let chosen_from = all.len();
    if all.is_empty() {
        let message = "objects are there, but no profile: expected a log folder (with plugins/profile/<session>/<host>.xplane.pb \
                       below it), a session folder, or the address of one file. Pass what was given to jax.profiler.trace or \
                       start_trace";
        return Err(Error::Input { path: at.to_string().into(), message: message.to_owned() });
    }
    let newest = all.swap_remove(0);
    let (path, files) = bring(&newest, watch)?;
    Ok(load::Run { files, path, chosen_from })
}

/// Brings a session: its folder here, or its one file, and its files.
fn bring(session: &Session, watch: &dyn Fn(Progress)) -> Result<(PathBuf, Vec<PathBuf>), Error> {
    let brought = remote::bring(session, watch).map_err(said)?;
    for (file, object) in brought.files.iter().zip(&session.objects) {
        load::show_as(file.clone(), session.at.join(&object.path).to_string());
    }
    if !brought.kept
        && let Ok(Some(cache)) = Cache::of_user()
    {
        cache.wrote(session.bytes);
    }
    let is_file = session.objects.iter().any(|object| object.path.is_empty());
    let path = brought.files.first().filter(|_| is_file).cloned().unwrap_or(brought.folder);
    load::show_as(path.clone(), session.at.to_string());
    Ok((path, brought.files))
}

fn said(error: remote::Error) -> Error {
    match error {
        remote::Error::Address { .. } => Error::Usage(error.to_string()),
        other => Error::Input { path: other.place().into(), message: other.message() },
    }
}
