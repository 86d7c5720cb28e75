//! The indexes of a run: used when it is opened, added to when an answer has been given.
//!
//! The first question about a run writes no columns: most runs are asked about once. A run that is asked about again is worth
//! it. `haloscope index` writes all at once, a server what it has open, while nobody asks.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haloscope_profile::load;
use haloscope_profile::{Line, Profile};
use haloscope_report::Error;

use super::Cache;
use super::file_index::FileIndex;
use super::identity::Stamp;

/// Smaller files are decoded sooner than an index is opened.
const SMALLEST: u64 = 4 << 20;

/// The indexes of an open run's files, by their place in [`Profile::sources`].
#[derive(Debug, Clone, Default)]
pub struct Indexes(BTreeMap<usize, Arc<FileIndex>>);

impl Cache {
    /// Opens a run with what is known of its files.
    ///
    /// # Errors
    /// As [`load::open`].
    pub fn open(&self, run: &load::Run) -> Result<(Profile, Indexes), Error> {
        let indexes: Vec<(_, Arc<FileIndex>)> =
            run.files.iter().filter_map(|path| Some((path, Arc::new(self.index_of(path)?)))).collect();
        let known_of = |path: &Path| {
            let index = index_for(&indexes, path)?;
            Some(load::Known { structure: index.structure(), column_store: Arc::<FileIndex>::clone(index) })
        };
        let profile = load::open_with(run, &known_of)?;
        let mut known = Indexes::default();
        for (place, source) in profile.sources.iter().enumerate() {
            if let Some(index) = index_for(&indexes, &source.path) {
                known.0.insert(place, Arc::clone(index));
            }
        }
        // A file that was replaced between the looks at it and at its bytes is not the one that was indexed.
        let is_same = |(place, index): (&usize, &Arc<FileIndex>)| {
            profile.sources.get(*place).and_then(|source| Stamp::read(&source.path)).as_ref()
                == Some(&index.stamp)
        };
        if !known.0.iter().all(is_same) {
            return Ok((load::open(run)?, Indexes::default()));
        }
        Ok((profile, known))
    }

    /// Keeps the columns that were decoded for an answer, of files that were asked about before. Of the others it is noted
    /// that they were asked about now.
    pub fn learn(&self, profile: &Profile, indexes: &Indexes) {
        if indexes.is_empty() || !self.has_room_for(events(profile)) {
            return;
        }
        for (place, index) in indexes.0.iter().filter(|(_, index)| index.stamp.bytes >= SMALLEST) {
            let done = if index.is_begun() {
                let read = lines(profile, *place).filter(|(_, line)| line.loaded().is_some());
                index.add(self, profile, *place, read, &|| true)
            } else {
                index.begin(self).map(|()| 0)
            };
            self.note(done);
        }
    }

    /// As [`Cache::build`], where there is room to spare for it, and for files that are worth it.
    pub(crate) fn build_unasked(&self, profile: &Profile, indexes: &Indexes, go_on: &dyn Fn() -> bool) {
        if !indexes.is_empty() && self.has_room_for(events(profile)) {
            self.note(self.build(profile, &indexes.worthwhile(), go_on).map(|_| 0));
        }
    }

    /// Keeps the structure and all columns of a run, as far as they are missing, as long as `go_on` says so; how many bytes
    /// were written.
    ///
    /// # Errors
    /// What the system says where they cannot be written.
    pub fn build(&self, profile: &Profile, indexes: &Indexes, go_on: &dyn Fn() -> bool) -> io::Result<u64> {
        // Whoever writes this much also looks for what dead processes left.
        drop(self.items());
        let mut written = 0;
        for (place, index) in &indexes.0 {
            if go_on() {
                let bytes = index.add(self, profile, *place, lines(profile, *place), go_on)?;
                if bytes > 0 {
                    self.wrote(bytes);
                }
                written += bytes;
            }
        }
        Ok(written)
    }

    fn note(&self, done: io::Result<u64>) {
        match done {
            Ok(0) => {}
            Ok(bytes) => self.wrote(bytes),
            Err(error) => self.failed(&error),
        }
    }
}

impl Indexes {
    /// Without the files that are too small for an index to be worth it.
    fn worthwhile(&self) -> Self {
        Self(
            self.0
                .iter()
                .filter(|(_, index)| index.stamp.bytes >= SMALLEST)
                .map(|(at, one)| (*at, Arc::clone(one)))
                .collect(),
        )
    }

    /// How many files of the run can have an index.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where no file of the run can have an index: packed files, programs, files written a moment ago.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn events(profile: &Profile) -> u64 {
    profile.lines.iter().map(|line| line.event_count).sum()
}

fn index_for<'i>(indexes: &'i [(&PathBuf, Arc<FileIndex>)], path: &Path) -> Option<&'i Arc<FileIndex>> {
    indexes.iter().find(|(own, _)| *own == path).map(|(_, index)| index)
}

/// The lines of a file, with their places in it.
fn lines(profile: &Profile, source: usize) -> impl Iterator<Item = (u32, &Line)> {
    let ours = profile.lines.iter().filter(move |line| profile.plane(line.plane).source == source);
    (0..).zip(ours).filter(|(_, line)| !line.is_left_out)
}
