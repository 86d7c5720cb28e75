//! Where columns of events are kept beside the heap: an index on disk, or a scratch file.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use super::column::Segment;

/// The columns of one line as they are kept: a head, which only [`super::Events`] reads, and the columns in its order.
#[derive(Debug)]
pub struct StoredColumns {
    /// What is no column: counts, faults, events without a place in time.
    pub head: Segment,
    /// The columns, each aligned to 8 bytes.
    pub columns: Vec<Segment>,
}

/// Keeps the columns of a file's lines. Lines are named by their place in the file: the first line of the first plane is 0.
pub trait ColumnStore: Debug + Send + Sync {
    /// The columns of a line, if they are kept and sound.
    fn get(&self, line: usize) -> Option<StoredColumns>;

    /// Whether columns that were just decoded are to be put here, given their bytes.
    fn wants(&self, line: usize, bytes: u64) -> bool;

    /// Keeps columns and gives them back from where they are kept; `None` where that failed, which costs speed only.
    fn put(&self, line: usize, head: &[u8], columns: &[&[u8]]) -> Option<StoredColumns>;

    /// The file in which columns lie that were given out and are no longer what they were, and how it differs: what was expected
    /// and what was found. Answers are refused then.
    fn changed(&self) -> Option<(PathBuf, String)> {
        None
    }

    /// This shelf with another below it, which is asked first; `None` where it takes no other and is to be replaced.
    fn over(&self, inner: Arc<dyn ColumnStore>) -> Option<Arc<dyn ColumnStore>> {
        drop(inner);
        None
    }

    /// Somebody looks at the columns of a line. Called often: to be cheap.
    fn used(&self, line: usize) {
        let _ = line;
    }

    /// Lets go of the memory of a line's columns that were given out: their pages come back from the file when they are read again.
    fn drop_pages(&self, line: usize) {
        let _ = line;
    }
}
