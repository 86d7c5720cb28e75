//! Files that answers are written to.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 20;

/// Writes a file. A regular file appears whole or stays as it was: it is written under another name in its folder, and then takes the
/// name, with the mode and the owner of the file that had it. Symbolic links are followed; devices and pipes are written through.
///
/// # Errors
/// What the system or `write` says.
pub fn to_file<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let path = followed(path)?;
    let old = match fs::metadata(&path) {
        Ok(found) if !found.is_file() => {
            return filled(&OpenOptions::new().write(true).open(&path)?, write);
        }
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let part = part(&path, folder)?;
    let written = filled(part.as_file(), write)?;
    if let Some(old) = old {
        inherit(part.as_file(), &old)?;
    }
    part.persist(&path)?;
    Ok(written)
}

fn filled<T>(file: &File, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
    let mut out = BufWriter::with_capacity(BUFFER, file);
    let written = write(&mut out)?;
    out.flush()?;
    Ok(written)
}

/// Where a path leads, also where nothing is there yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            // A link is relative to its own folder.
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// An empty file beside `path`, whose name nobody can guess; it goes unless it is kept.
fn part(path: &Path, folder: &Path) -> io::Result<NamedTempFile> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    let mut builder = Builder::new();
    builder.prefix(&name).suffix(".part");
    // Less what the umask takes away.
    #[cfg(unix)]
    builder.permissions(<Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Gives a file the mode of another, and its owner where this user may.
fn inherit(file: &File, old: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let now = file.metadata()?;
        if (now.uid(), now.gid()) != (old.uid(), old.gid()) {
            let _ = fchown(file, Some(old.uid()), Some(old.gid()));
        }
    }
    file.set_permissions(old.permissions())
}
