//! What files are called for people: those that were brought here from elsewhere, by where they came from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static NAMES: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// From now on, the file or folder at `path` is called `name` in reports and messages.
pub fn show_as(path: PathBuf, name: String) {
    NAMES.lock().unwrap_or_else(PoisonError::into_inner).insert(path, name);
}

/// What a file or folder is called: what [`show_as`] said, else its path.
#[must_use]
pub fn shown(path: &Path) -> String {
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get(path).cloned().unwrap_or_else(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_from_elsewhere_is_called_by_where_it_came_from() {
        let path = Path::new("/mirror/1/a.xplane.pb");
        assert_eq!(shown(path), "/mirror/1/a.xplane.pb");
        show_as(path.to_owned(), "gs://b/a.xplane.pb".to_owned());
        assert_eq!(shown(path), "gs://b/a.xplane.pb");
    }
}
