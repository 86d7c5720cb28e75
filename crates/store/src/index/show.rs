//! What the cache holds, for people.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::Cache;
use super::container::{File, SectionKind, SectionName};
use super::eviction::{self, Item};

/// What the cache holds.
#[derive(Debug, Clone)]
pub struct Contents {
    /// Its folder.
    pub folder: PathBuf,
    /// How many bytes it may hold.
    pub max_bytes: u64,
    /// What it holds, the one used last first.
    pub items: Vec<Entry>,
}

/// An answer, the index of a file, or a run from elsewhere.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The analysis or the tool of an answer; `None` for an index.
    pub analysis: Option<String>,
    /// The profiles that it is about; empty where nobody can tell, for an index that was only begun.
    pub files: Vec<String>,
    /// It is a run that was brought here from elsewhere, and `files` its address.
    pub is_mirror: bool,
    /// Bytes on disk.
    pub bytes: u64,
    /// When it was used last.
    pub used: SystemTime,
}

impl Cache {
    /// What the cache holds.
    #[must_use]
    pub fn contents(&self) -> Contents {
        let mut items: Vec<Entry> = self.items().iter().map(entry).collect();
        items.sort_by(|a, b| (b.used, &a.analysis, &a.files).cmp(&(a.used, &b.analysis, &b.files)));
        Contents { folder: self.folder.clone(), max_bytes: self.max_bytes, items }
    }

    /// Removes everything that is kept, but for what is being written just now; how many bytes.
    pub fn clear(&self) -> u64 {
        self.remove_all()
    }
}

fn entry(item: &Item) -> Entry {
    if item.is_mirror {
        let about = fs::read_to_string(item.path.join(haloscope_remote::ABOUT)).unwrap_or_default();
        let files = about.lines().take(1).map(str::to_owned).collect();
        return Entry { analysis: None, files, is_mirror: true, bytes: item.bytes, used: item.used };
    }
    let file = if item.is_folder {
        let items = fs::read_dir(&item.path).into_iter().flatten().flatten().map(|item| item.path());
        items.filter(|path| eviction::is_kept(path)).min()
    } else {
        Some(item.path.clone())
    };
    let key = file.and_then(|path| key(&path)).unwrap_or_default();
    let analysis = (!item.is_folder).then(|| key.lines().nth(1).unwrap_or("?").to_owned());
    Entry { analysis, files: paths(&key), is_mirror: false, bytes: item.bytes, used: item.used }
}

/// The key that a file of the cache carries.
fn key(path: &std::path::Path) -> Option<String> {
    let map = haloscope_profile::load::map::Map::open(path).ok()?;
    let key = File::open(Arc::new(map))?.section(SectionName::new(SectionKind::Key))?;
    String::from_utf8(key.to_vec()).ok()
}

/// The paths that a key names.
fn paths(key: &str) -> Vec<String> {
    let stamps = key.lines().filter_map(|line| line.split_once("Stamp { path: \""));
    let paths = stamps.filter_map(|(_, rest)| rest.split_once("\", bytes:"));
    paths.map(|(path, _)| path.to_owned()).collect()
}

/// Reads bytes as a file of the cache, as far as one is read: for tests that try bytes of all kinds.
#[doc(hidden)]
pub fn check_kept_file(bytes: &[u8]) {
    let Some(file) = File::open(Arc::new(bytes.to_vec())) else { return };
    let kinds = [
        SectionKind::Key,
        SectionKind::Digests,
        SectionKind::Report,
        SectionKind::Structure,
        SectionKind::Body,
        SectionKind::ContentType,
    ];
    for kind in kinds {
        let _ = file.section(SectionName::new(kind)).map(|section| section.len());
    }
    for line in file.lines() {
        let _ = file.line(line).map(|parts| parts.len());
    }
}
