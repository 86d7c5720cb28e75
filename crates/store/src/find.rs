//! Where a RUN argument leads: to files here, or to some elsewhere, which are brought here first.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haloscope_profile::load;
use haloscope_remote::{self as remote, Address, Downloaded, Object, Progress, Session};
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
    if !is_elsewhere(run) {
        return load::find(run);
    }
    FarPlace::parse(run)?.newest()?.bring(watch)
}

/// An address below which runs lie, with what is secret of it.
#[derive(Debug, Clone)]
pub struct FarPlace(Address);

/// A run elsewhere as it is listed: nothing of it is brought.
#[derive(Debug, Clone)]
pub struct FarRun {
    session: Session,
    /// How many sessions there were to choose from.
    pub chosen_from: usize,
}

/// A file elsewhere, in the state in which it was listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FarFile {
    /// Its address, without what is secret of it.
    pub address: String,
    /// Its size in bytes.
    pub size: u64,
    /// What its store calls this state of it.
    pub etag: Option<String>,
    /// When it was written.
    pub modified: SystemTime,
}

/// A copy here of a file that lies elsewhere. It stays as long as this value does; then it may be evicted.
#[derive(Debug)]
pub struct FarCopy {
    folder: PathBuf,
    path: PathBuf,
}

impl FarPlace {
    /// Reads an address.
    ///
    /// # Errors
    /// [`Error::Usage`] for what is none.
    pub fn parse(text: &Path) -> Result<Self, Error> {
        let parsed = Address::parse(&text.to_string_lossy());
        parsed.map(Self).map_err(|error| Error::Usage(error.to_string()))
    }

    /// The newest session there.
    ///
    /// # Errors
    /// [`Error::Input`] where there is none, or the place cannot be listed.
    pub fn newest(&self) -> Result<FarRun, Error> {
        let all = remote::sessions(&self.0).map_err(to_core_error)?;
        let chosen_from = all.len();
        let newest = all.into_iter().next().ok_or_else(|| {
            let message = "there are objects, but no profile: expected a log folder (with plugins/profile/<session>/<host>.xplane.pb \
                           below it), a session folder, or the address of one file. Pass what was given to jax.profiler.trace or \
                           start_trace";
            Error::Input { path: self.0.to_string().into(), message: message.to_owned() }
        })?;
        Ok(FarRun { session: newest, chosen_from })
    }

    /// Whether a file lies there.
    #[must_use]
    pub fn holds(&self, file: &FarFile) -> bool {
        self.below(file).is_some()
    }

    /// The file's address with the secrets of this one.
    fn below(&self, file: &FarFile) -> Option<Address> {
        Address::parse(&file.address).ok()?.within(&self.0)
    }

    /// Brings a file into the cache, unless it is there in this very state. Nothing is listed for it.
    ///
    /// # Errors
    /// [`Error::Usage`] for a file that lies elsewhere, [`Error::Changed`] for one that is in another state by now, [`Error::Input`] for one
    /// that cannot be had.
    pub fn bring(&self, file: &FarFile) -> Result<FarCopy, Error> {
        let outside = || Error::Usage(format!("{} is outside {}", file.address, self.0));
        let at = self.below(file).ok_or_else(outside)?;
        let (bytes, modified) = (file.size, file.modified);
        let object = Object { path: String::new(), size: bytes, etag: file.etag.clone(), modified };
        let session = Session { name: at.name().to_owned(), at, objects: vec![object], modified, bytes };
        let downloaded = download(&session, &|_| ()).map_err(|error| of_listed(error, bytes))?;
        let path = downloaded.files.into_iter().next().unwrap_or_default();
        Ok(FarCopy { folder: downloaded.folder, path })
    }
}

impl FarRun {
    /// Where it lies: its folder, or its one file.
    #[must_use]
    pub fn place(&self) -> FarPlace {
        FarPlace(self.session.at.clone())
    }

    /// The same as text, without secrets.
    #[must_use]
    pub fn address(&self) -> String {
        self.session.at.to_string()
    }

    /// Its files, sorted by name.
    #[must_use]
    pub fn files(&self) -> Vec<FarFile> {
        let file = |object: &Object| FarFile {
            address: self.session.at.join(&object.path).to_string(),
            size: object.size,
            etag: object.etag.clone(),
            modified: object.modified,
        };
        self.session.objects.iter().map(file).collect()
    }

    /// Brings all of its files into the cache, as far as they are not there.
    ///
    /// # Errors
    /// [`Error::Input`] for what cannot be had.
    pub fn bring(&self, watch: &dyn Fn(Progress)) -> Result<load::Run, Error> {
        let downloaded = download(&self.session, watch).map_err(to_core_error)?;
        Ok(load::Run { chosen_from: self.chosen_from, ..run_of(&self.session, downloaded) })
    }
}

impl FarCopy {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for FarCopy {
    fn drop(&mut self) {
        remote::release(&self.folder);
    }
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

/// Why a file of so many bytes could not be had that was listed before.
fn of_listed(error: remote::Error, bytes: u64) -> Error {
    let why = |at: String, what: String| Error::Input { path: at.into(), message: what };
    match error {
        remote::Error::Changed { at, found } => Error::Changed { path: at.into(), change: found },
        remote::Error::Missing { at, found } => why(
            at,
            format!(
                "not found: {found}. It was listed with {bytes} bytes: has it been removed since? Ask again"
            ),
        ),
        remote::Error::Network { at, found } => why(
            at,
            format!(
                "{found}. It was listed with {bytes} bytes, which were expected: ask again when its server works"
            ),
        ),
        other => to_core_error(other),
    }
}

fn to_core_error(error: remote::Error) -> Error {
    match error {
        remote::Error::Address { .. } => Error::Usage(error.to_string()),
        other => Error::Input { path: other.place().into(), message: other.message() },
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_file_is_brought_from_below_its_place_only() {
        let place = FarPlace::parse("https://user:word-4711@h/logs".as_ref()).unwrap();
        let file = |address: &str| FarFile {
            address: address.to_owned(),
            size: 9,
            etag: None,
            modified: UNIX_EPOCH,
        };
        assert!(place.holds(&file("https://h/logs/a.xplane.pb")));
        for outside in [
            "https://h/logs2/a",
            "https://h/logs/../a",
            "http://h/logs/a",
            "gs://h/logs/a",
            "/logs/a",
            "logs/a",
            "",
        ] {
            assert!(!place.holds(&file(outside)), "{outside}");
            let refused = place.bring(&file(outside)).unwrap_err();
            assert!(matches!(refused, Error::Usage(_)), "{refused}");
            assert!(!refused.to_string().contains("4711"), "{refused}");
        }
        assert!(FarPlace::parse("ftp://h/logs".as_ref()).is_err());
    }

    #[test]
    fn what_cannot_be_had_says_what_was_listed() {
        let (at, found) = ("gs://b/run/a.xplane.pb".to_owned(), "503".to_owned());
        let said = of_listed(remote::Error::Network { at: at.clone(), found: found.clone() }, 9).to_string();
        assert!(said.contains(&at) && said.contains("503") && said.contains("9 bytes"), "{said}");
        let said = of_listed(remote::Error::Missing { at: at.clone(), found: found.clone() }, 9).to_string();
        assert!(said.contains(&at) && said.contains("not found") && said.contains("9 bytes"), "{said}");
        let changed = of_listed(remote::Error::Changed { at, found }, 9);
        assert!(matches!(changed, Error::Changed { .. }), "{changed}");
    }
}
