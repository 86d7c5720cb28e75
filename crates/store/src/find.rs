//! Where a RUN argument leads: to files here, or to some elsewhere, which are brought here first.

use std::path::Path;

use haloscope_profile::load;
use haloscope_remote::{self as remote, Address, Downloaded, Progress, Session};
use haloscope_report::Error;
use haloscope_report::naming;

use crate::Cache;

/// Whether `run` is an address of files elsewhere, which [`find`] brings here.
#[must_use]
pub fn is_elsewhere(run: &Path) -> bool {
    run.to_str().is_some_and(|text| Address::is_one(text) && !text.starts_with("file:"))
}

/// The run that `run` stands for, as [`load::find`] finds it, or, for an address such as `gs://bucket/logs`, the newest session
/// there, whose files are brought into the cache. Reports and messages call those by their addresses.
///
/// # Errors
/// As [`load::find`]; [`Error::Usage`] for what is no address, [`Error::Input`] for what cannot be had from elsewhere.
pub fn find(run: &Path, watch: &dyn Fn(Progress)) -> Result<load::Run, Error> {
    let Some(text) = run.to_str().filter(|_| is_elsewhere(run)) else { return load::find(run) };
    let at = Address::parse(text).map_err(|error| Error::Usage(error.to_string()))?;
    let mut all = remote::sessions(&at).map_err(to_core_error)?;
    let chosen_from = all.len();
    if all.is_empty() {
        let message = "objects are there, but no profile: expected a log folder (with plugins/profile/<session>/<host>.xplane.pb \
                       below it), a session folder, or the address of one file. Pass what was given to jax.profiler.trace or \
                       start_trace";
        return Err(Error::Input { path: at.to_string().into(), message: message.to_owned() });
    }
    let newest = all.swap_remove(0);
    let downloaded = download(&newest, watch).map_err(to_core_error)?;
    Ok(load::Run { chosen_from, ..run_of(&newest, downloaded) })
}

/// Brings a session. From then on its files are called by their addresses, and count in the cache.
pub(crate) fn download(session: &Session, watch: &dyn Fn(Progress)) -> Result<Downloaded, remote::Error> {
    let downloaded = remote::download(session, watch)?;
    for (file, object) in downloaded.files.iter().zip(&session.objects) {
        naming::show_as(file.clone(), session.at.join(&object.path).to_string());
    }
    if !downloaded.kept
        && let Ok(Some(cache)) = Cache::of_user()
    {
        cache.wrote(session.bytes);
    }
    Ok(downloaded)
}

/// What was brought as a run here: its folder, or its one file.
pub(crate) fn run_of(session: &Session, downloaded: Downloaded) -> load::Run {
    let is_file = session.objects.iter().any(|object| object.path.is_empty());
    let path = downloaded.files.first().filter(|_| is_file).cloned().unwrap_or(downloaded.folder);
    naming::show_as(path.clone(), session.at.to_string());
    load::Run { files: downloaded.files, path, chosen_from: 1 }
}

fn to_core_error(error: remote::Error) -> Error {
    match error {
        remote::Error::Address { .. } => Error::Usage(error.to_string()),
        other => Error::Input { path: other.place().into(), message: other.message() },
    }
}
