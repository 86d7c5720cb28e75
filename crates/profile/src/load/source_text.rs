//! The text of source files below one folder, for lines that a profile names.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use haloscope_report::Error;

/// Larger files are no sources that people wrote.
const LARGEST: u64 = 4 << 20;

/// A folder of sources. Nothing outside of it is ever read: not by `..`, not through a link.
#[derive(Debug, Clone)]
pub struct SourceRoot {
    root: PathBuf,
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoText {
    /// No file below the folder ends as the path does.
    #[error("no file below {root} ends as `{path}` does")]
    NotFound {
        /// The path asked for.
        path: String,
        /// The folder.
        root: String,
    },
    /// There is one, and it is too large.
    #[error("`{path}` has {bytes} bytes; source files are shown up to {LARGEST}")]
    TooLarge {
        /// The path asked for.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// There is one, and it cannot be read.
    #[error("cannot read `{path}`: {source}")]
    Unreadable {
        /// The path asked for.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A source file that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    /// Its path below the folder, with `/` between its parts.
    pub path: String,
    /// Its text; what is not UTF-8 is replaced.
    pub text: String,
}

impl SourceRoot {
    /// The folder `root`.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be found, [`Error::Input`] if it is no folder.
    pub fn new(root: &Path) -> Result<Self, Error> {
        let io = |source| Error::Io { path: root.to_owned(), source };
        let resolved = root.canonicalize().map_err(io)?;
        if !resolved.is_dir() {
            return Err(io(std::io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { root: resolved })
    }

    /// The text of the file that a profile calls `path`. Profiles name paths of the machine that compiled the program: the
    /// longest end of the path that names a file below the folder counts. Hidden files and folders are left alone.
    ///
    /// # Errors
    /// [`NoText`].
    pub fn read(&self, path: &str) -> Result<SourceText, NoText> {
        let missing = || NoText::NotFound { path: path.to_owned(), root: self.root.display().to_string() };
        let found = self.find(path).ok_or_else(missing)?;
        let unreadable = |source| NoText::Unreadable { path: path.to_owned(), source };
        let file = File::open(&found).map_err(unreadable)?;
        let facts = file.metadata().map_err(unreadable)?;
        if !facts.is_file() {
            return Err(missing());
        }
        if facts.len() > LARGEST {
            return Err(NoText::TooLarge { path: path.to_owned(), bytes: facts.len() });
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes).map_err(unreadable)?;
        let below = found.strip_prefix(&self.root).unwrap_or(&found);
        let parts = below.components().map(|part| part.as_os_str().to_string_lossy());
        Ok(SourceText {
            path: parts.collect::<Vec<_>>().join("/"),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    /// The file below the folder that the longest end of the path names, with links resolved.
    fn find(&self, path: &str) -> Option<PathBuf> {
        let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let is_plain = |part: &&str| {
            let mut components = Path::new(part).components();
            !part.starts_with('.')
                && !part.contains('\0')
                && matches!((components.next(), components.next()), (Some(Component::Normal(_)), None))
        };
        if parts.is_empty() || !parts.iter().all(is_plain) {
            return None;
        }
        (0..parts.len()).find_map(|from| {
            let candidate: PathBuf = parts[from..].iter().collect();
            let resolved = fs::canonicalize(self.root.join(candidate)).ok()?;
            let below = resolved.strip_prefix(&self.root).ok()?;
            // A link may lead to another place below the folder, but not to a hidden one.
            let hidden = below.components().any(|c| c.as_os_str().to_string_lossy().starts_with('.'));
            (!hidden && resolved.is_file()).then_some(resolved)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("src/model/.git")).unwrap();
        fs::write(folder.path().join("secret.txt"), "secret").unwrap();
        fs::write(folder.path().join("src/model/net.py"), "one\ntwo\n").unwrap();
        fs::write(folder.path().join("src/model/.git/config"), "token").unwrap();
        fs::write(folder.path().join("src/net.py"), "other\n").unwrap();
        folder
    }

    #[test]
    fn the_longest_end_of_a_path_counts() {
        let folder = folder();
        let root = SourceRoot::new(&folder.path().join("src")).unwrap();
        let read = |path| root.read(path).map(|s| (s.path, s.text)).ok();
        let net = Some(("model/net.py".to_owned(), "one\ntwo\n".to_owned()));
        assert_eq!(read("/elsewhere/project/model/net.py"), net);
        assert_eq!(read("model/net.py"), net);
        assert_eq!(read("/elsewhere/net.py").unwrap().1, "other\n");
        assert_eq!((read("/a/b/absent.py"), read(""), read("/")), (None, None, None));
        assert!(SourceRoot::new(&folder.path().join("secret.txt")).is_err());
        assert!(SourceRoot::new(&folder.path().join("absent")).is_err());
    }

    #[test]
    fn nothing_outside_and_nothing_hidden_is_read() {
        let folder = folder();
        let root = SourceRoot::new(&folder.path().join("src")).unwrap();
        let secret = folder.path().join("secret.txt");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&secret, folder.path().join("src/link.py")).unwrap();
            std::os::unix::fs::symlink(folder.path(), folder.path().join("src/up")).unwrap();
            std::os::unix::fs::symlink(
                folder.path().join("src/model/.git/config"),
                folder.path().join("src/config.py"),
            )
            .unwrap();
        }
        let tries = [
            "../secret.txt",
            "model/../../secret.txt",
            "..\\secret.txt",
            "link.py",
            "up/secret.txt",
            "config.py",
            "model/.git/config",
            "model",
            "net.py\0",
            secret.to_str().unwrap(),
        ];
        for path in tries {
            assert!(root.read(path).is_err(), "{path}");
        }
    }

    #[test]
    fn what_is_too_large_is_said_to_be() {
        let folder = folder();
        let large = folder.path().join("src/large.py");
        File::create(&large).unwrap().set_len(LARGEST + 1).unwrap();
        let root = SourceRoot::new(&folder.path().join("src")).unwrap();
        assert!(matches!(root.read("large.py"), Err(NoText::TooLarge { .. })));
        fs::write(&large, b"caf\xe9").unwrap();
        assert_eq!(root.read("large.py").unwrap().text, "caf\u{fffd}");
    }
}
