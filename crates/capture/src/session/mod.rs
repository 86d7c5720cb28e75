//! A session on its way to where it is kept: written aside, then in its place as a whole.

mod draft;
mod names;
mod remote;
mod reply;

use std::path::{Path, PathBuf};

pub(crate) use draft::{Draft, DraftFile, save_file};
pub(crate) use names::now_name;
pub(crate) use reply::space_in_reply;

use haloscope_remote::Address;
use names::host_of;

use crate::Error;

/// What sessions lie below in a log folder.
pub(crate) const PROFILES: &str = "plugins/profile";

/// Where sessions are laid.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Destination {
    /// A log folder on this machine. It is made where it is not there.
    Folder(PathBuf),
    /// A log folder in an object store.
    Remote(Address),
}

impl Destination {
    /// Reads a path, or an address such as `gs://bucket/logs`.
    ///
    /// # Errors
    /// [`Error::Usage`] for nothing, [`Error::Store`] for an address that is malformed.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::Usage("expected a log folder or a URL to write to, found nothing".into()));
        }
        if Address::is_one(text) {
            let at = Address::parse(text);
            return at.map(Self::Remote).map_err(|source| Error::Store { source, kept: None });
        }
        Ok(Self::Folder(PathBuf::from(text)))
    }

    /// The folder, where it is one of this machine.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(folder) => Some(folder),
            Self::Remote(_) => None,
        }
    }
}

/// A session that was captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Its name.
    pub session: String,
    /// Its folder or URL.
    pub path: String,
    /// Its files, in the order of the servers.
    pub files: Vec<File>,
    /// What a user should know beside, in sentences.
    pub remarks: Vec<String>,
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name: `<host>.xplane.pb`, or `<host>_<port>.xplane.pb` where several servers of a host are in the session.
    pub name: String,
    /// The host, as the profile says; else as the server's address says.
    pub host: String,
    /// `host:port`.
    pub server: String,
    /// Its size in bytes. 0 where the server wrote it elsewhere.
    pub bytes: u64,
}
