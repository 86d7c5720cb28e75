//! Folders that a request names, as XProf's `session_path` and `run_path` do: only below the places given at the start.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haloscope_core::load::{self, Session};

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
        let Some(folder) = self.confined(folder)? else { return Ok(Vec::new()) };
        let sessions = load::sessions_in(&folder)?;
        Ok(sessions.iter().filter_map(|s| self.listed(s)).map(|l| l.info).collect())
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
        let Some(folder) = self.confined(folder)? else { return Ok(None) };
        Ok(load::session_at(&folder)?.and_then(|session| self.listed(&session)))
    }

    fn listed(&self, session: &Session) -> Option<Listed> {
        of_session(session.name.clone(), session, &self.roots)
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
