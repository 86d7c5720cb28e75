//! Files that become a session.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use haloscope_remote::Address;
use prost::bytes::Bytes;
use tokio::task::spawn_blocking;

use super::names::SAME_SECOND;
use super::{Captured, Destination, File, PROFILES, host_of, names, now_name, remote};
use crate::server::Server;
use crate::{Error, Event, Watch};

/// What folders of sessions that are not whole begin with.
const HIDDEN: &str = ".haloscope-";
/// A hidden folder that is older was left by a process that died.
const OLD: Duration = Duration::from_secs(24 * 3600);

/// Where old servers write, in the draft's folder.
const WRITTEN: &str = "written";

/// A profile that a server sent, in a file without its name.
#[derive(Debug)]
pub(crate) struct DraftFile {
    path: PathBuf,
    host: String,
    server: Server,
    bytes: u64,
}

/// A session that is not whole yet. What was made for it goes with it, unless it is finished.
#[derive(Debug)]
pub(crate) struct Draft {
    /// What it is to be called; with a number behind it if that name is taken by then and nobody asked for this one.
    pub name: String,
    is_asked: bool,
    destination: Destination,
    /// Where its files lie until it is whole: beside the other sessions; of one for an object store, in a temporary folder.
    folder: PathBuf,
    /// Folders that were made for it, the outermost first.
    made: Vec<PathBuf>,
}

impl Draft {
    /// A place for a session. It finds out whether the folder takes files before anybody is asked.
    ///
    /// # Errors
    /// [`Error::Exists`] or [`Error::Store`] where the name is taken, [`Error::Local`] where the folder cannot be written to.
    pub(crate) fn begin(destination: &Destination, name: Option<&str>) -> Result<Self, Error> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (is_asked, name) = (name.is_some(), name.map_or_else(now_name, str::to_owned));
        let own = format!("{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = match destination {
            Destination::Folder(root) => {
                let profiles = root.join(PROFILES);
                let path = profiles.join(&name);
                if is_asked && path.exists() {
                    return Err(Error::Exists { path });
                }
                profiles.join(format!("{HIDDEN}{own}"))
            }
            Destination::Remote(root) => {
                let at = remote::session_at(root, &name);
                if is_asked && remote::is_taken(&at) {
                    return Err(remote::there(&at));
                }
                std::env::temp_dir().join(format!("haloscope-capture-{own}"))
            }
        };
        let missing = folder.ancestors().take_while(|folder| !folder.exists());
        let mut made: Vec<_> = missing.map(Path::to_owned).collect();
        made.retain(|folder| !folder.as_os_str().is_empty());
        made.reverse();
        let draft = Self { name, is_asked, destination: destination.clone(), folder, made };
        fs::create_dir_all(&draft.folder).map_err(|source| local("make", &draft.folder, source))?;
        if let Some(beside) = draft.folder.parent().filter(|_| destination.folder().is_some()) {
            sweep(beside, &draft.folder);
        }
        Ok(draft)
    }

    /// Where the profile of a server is written meanwhile.
    pub(crate) fn file_path(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number}.part"))
    }

    /// A folder that goes with the draft, for servers of this machine that can only write.
    ///
    /// # Errors
    /// [`Error::Local`] where it cannot be made.
    pub(crate) fn writable(&self) -> Result<String, Error> {
        let path = self.folder.join(WRITTEN);
        let made = fs::create_dir_all(&path).and_then(|()| path.canonicalize());
        Ok(made.map_err(|source| local("make", &path, source))?.display().to_string())
    }

    /// Gives the session its name and place.
    ///
    /// # Errors
    /// [`Error::Exists`] where the name is taken by now, [`Error::Local`] where the system refuses, [`Error::Store`] where an
    /// object store does.
    pub(crate) fn finish(mut self, parts: Vec<DraftFile>, watch: &dyn Watch) -> Result<Captured, Error> {
        let owners: Vec<_> = parts.iter().map(|part| (part.host.clone(), part.server.clone())).collect();
        let names = names::file_names(&owners);
        for (part, name) in parts.iter().zip(&names) {
            let path = self.folder.join(name);
            fs::rename(&part.path, &path).map_err(|source| local("name", &path, source))?;
        }
        let _ = fs::remove_dir_all(self.folder.join(WRITTEN));
        let (session, path) = match self.destination.clone() {
            Destination::Folder(root) => self.place(&root.join(PROFILES))?,
            Destination::Remote(root) => self.send(&root, &names)?,
        };
        let owned = parts.into_iter().zip(names).map(|(part, name)| {
            let DraftFile { host, server, bytes, .. } = part;
            watch.event(&Event::Written { path: &Path::new(&path).join(&name), bytes });
            File { name, host, server: server.to_string(), bytes }
        });
        let files = owned.collect();
        Ok(Captured { session, path, files, remarks: Vec::new() })
    }

    /// Renames the folder to the session's name, or to one with a number where nobody asked for the name; its name and path.
    fn place(&mut self, profiles: &Path) -> Result<(String, String), Error> {
        synchronise(&self.folder);
        for number in 1..=SAME_SECOND {
            let name = if number == 1 { self.name.clone() } else { format!("{}_{number}", self.name) };
            let path = profiles.join(&name);
            // A rename would take the place of an empty folder, which may be another's who is about to fill it.
            let outcome = if path.exists() { Err(taken()) } else { fs::rename(&self.folder, &path) };
            match outcome {
                Ok(()) => {
                    // The hidden folder is gone; all above it is in use.
                    self.made.clear();
                    synchronise(profiles);
                    return Ok((name, path.display().to_string()));
                }
                Err(why) if is_taken(&why) && !self.is_asked => {}
                Err(why) if is_taken(&why) => return Err(Error::Exists { path }),
                Err(source) => return Err(local("name", &path, source)),
            }
        }
        Err(Error::Exists { path: profiles.join(&self.name) })
    }

    /// Sends the files to an object store. Where that fails, they stay here: nobody can take the profile again.
    fn send(&mut self, root: &Address, names: &[String]) -> Result<(String, String), Error> {
        let paths: Vec<_> = names.iter().map(|name| (name.clone(), self.folder.join(name))).collect();
        let files: Vec<_> = paths.iter().map(|(name, path)| (name.clone(), path.as_path())).collect();
        match remote::send(root, &self.name, self.is_asked, &files) {
            Ok((name, at)) => Ok((name, at.to_string())),
            Err(source) => {
                self.made.clear();
                Err(Error::Store { source, kept: Some(self.folder.clone()) })
            }
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.made.is_empty() {
            return;
        }
        let _ = fs::remove_dir_all(&self.folder);
        // Those that others use by now are not empty, and stay.
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Writes what a server sent, and sees to it that it is on the disk, on a thread that may block.
///
/// # Errors
/// [`Error::Local`] where the disk does not take it.
pub(crate) async fn save_file(path: PathBuf, server: Server, space: Bytes) -> Result<DraftFile, Error> {
    let written = spawn_blocking(move || write(path, server, &space)).await;
    written.map_err(|why| Error::Local { what: "write a profile".into(), source: io::Error::other(why) })?
}

fn write(path: PathBuf, server: Server, space: &Bytes) -> Result<DraftFile, Error> {
    let written = (|| {
        let mut file = fs::File::create(&path)?;
        file.write_all(space)?;
        file.sync_all()
    })();
    written.map_err(|source| local("write", &path, source))?;
    let host = host_of(space).unwrap_or_else(|| server.host.clone());
    Ok(DraftFile { path, host, server, bytes: space.len() as u64 })
}

fn local(verb: &str, path: &Path, source: io::Error) -> Error {
    Error::Local { what: format!("{verb} {}", path.display()), source }
}

fn taken() -> io::Error {
    io::Error::from(io::ErrorKind::AlreadyExists)
}

fn is_taken(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty)
}

/// Names in a folder are on the disk after this, where the system offers it.
fn synchronise(folder: &Path) {
    // Where folders cannot be opened as files, there is nothing to be done.
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}

/// Removes what processes that died left beside the sessions.
fn sweep(profiles: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(profiles) else { return };
    let is_hidden = |name: &OsStr| name.to_string_lossy().starts_with(HIDDEN);
    for entry in entries.flatten().filter(|entry| is_hidden(&entry.file_name()) && entry.path() != own) {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        let age = modified.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_some_and(|age| age > OLD) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
