//! Folders that a request names, as XProf's `session_path` and `run_path` do: only below the places given at the start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haloscope_profile::load;
use haloscope_remote::{Address, Session};

use crate::listing::{Listed, of_session};
use crate::{Error, Run, RunInfo, Store};

impl Store {
    /// The run whose files stand in `folder`; `None` if it holds none, or is not there. Its id and name are the folder's.
    ///
    /// # Errors
    /// [`Error::Outside`] for a folder that may not be named, [`Error::NoPath`] for what is no absolute path,
    /// [`Error::Read`] if it cannot be listed.
    pub fn session_at(&self, folder: &Path) -> Result<Option<RunInfo>, Error> {
        Ok(self.listed_at(folder)?.map(|l| l.info))
    }

    /// The runs in the folders directly below `folder`, sorted by name; none if it is not there.
    ///
    /// # Errors
    /// As [`Store::session_at`].
    pub fn sessions_in(&self, folder: &Path) -> Result<Vec<RunInfo>, Error> {
        if let Some(asked) = address(folder)? {
            return self.sessions_below(&self.confined_remote(&asked)?);
        }
        let Some(folder) = self.confined(folder)? else { return Ok(Vec::new()) };
        let sessions = load::sessions_in(&folder)?;
        let listed = sessions.iter().filter_map(|session| self.listed(session).transpose());
        listed.map(|listed| Ok(listed?.info)).collect()
    }

    /// Opens the run whose files stand in `folder`, as [`Store::open`] does.
    ///
    /// # Errors
    /// As [`Store::session_at`], and [`Error::UnknownRun`] if it holds none.
    pub fn open_at(&self, folder: &Path) -> Result<Arc<Run>, Error> {
        let unknown = || Error::UnknownRun(folder.display().to_string());
        let listed = self.listed_at(folder)?.ok_or_else(unknown)?;
        // No id of the listing is an absolute path.
        let key = listed.path.display().to_string();
        self.open_listed(&key, listed)
    }

    fn listed_at(&self, folder: &Path) -> Result<Option<Listed>, Error> {
        if let Some(asked) = address(folder)? {
            let at = self.confined_remote(&asked)?;
            let session = found(haloscope_remote::session_at(&at))?.flatten();
            return Ok(session.map(|session| Listed::elsewhere(session.name.clone(), session)));
        }
        let Some(folder) = self.confined(folder)? else { return Ok(None) };
        let session = load::session_at(&folder)?;
        session.map_or(Ok(None), |session| self.listed(&session))
    }

    fn listed(&self, session: &load::Session) -> Result<Option<Listed>, Error> {
        Ok(of_session(session.name.clone(), session, &self.roots)?)
    }

    /// The runs right below an address, sorted by name.
    fn sessions_below(&self, at: &Address) -> Result<Vec<RunInfo>, Error> {
        let root = at.to_string();
        let mut sessions = found(haloscope_remote::sessions(at))?.unwrap_or_default();
        sessions.retain(|session| {
            let path = session.at.to_string();
            let below = path.strip_prefix(root.as_str()).unwrap_or_default().trim_matches('/');
            !below.is_empty() && !below.contains('/')
        });
        sessions.sort_by(|a, b| a.name.cmp(&b.name));
        let info = |session: Session| Listed::elsewhere(session.at.name().to_owned(), session).info;
        Ok(sessions.into_iter().map(info).collect())
    }

    /// The address as it is below the root that it lies in, with the root's own credentials: nobody else's are used.
    fn confined_remote(&self, asked: &Address) -> Result<Address, Error> {
        let inside = self.remote_roots.iter().find_map(|root| asked.within(root));
        inside.ok_or_else(|| Error::Outside(asked.to_string()))
    }

    /// The folder without links; `None` if there is none. What lies outside is refused whether it is there or not.
    fn confined(&self, asked: &Path) -> Result<Option<PathBuf>, Error> {
        let text = || asked.display().to_string();
        if !asked.is_absolute() {
            return Err(Error::NoPath(text()));
        }
        let inside = |real: &Path| self.roots.iter().any(|root| real.starts_with(root));
        if let Ok(real) = asked.canonicalize() {
            return if inside(&real) {
                Ok(real.is_dir().then_some(real))
            } else {
                Err(Error::Outside(text()))
            };
        }
        let plain = !asked.components().any(|part| part == std::path::Component::ParentDir);
        let above = asked.ancestors().find_map(|folder| folder.canonicalize().ok());
        if plain && above.is_some_and(|real| inside(&real)) { Ok(None) } else { Err(Error::Outside(text())) }
    }
}

/// The address that a path is meant as, if it is meant as one.
pub(crate) fn address(path: &Path) -> Result<Option<Address>, Error> {
    let text = path.to_string_lossy();
    Ok(if Address::is_one(&text) && !text.starts_with("file:") { Some(Address::parse(&text)?) } else { None })
}

/// What was found; `None` for what is not there.
fn found<T>(answer: Result<T, haloscope_remote::Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(haloscope_remote::Error::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
