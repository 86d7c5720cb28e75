//! The bytes of files, which other processes may change, and whether they did.

use std::ops::{Deref, Range};

use super::Profile;
use haloscope_report::Error;

/// The bytes of a file: mapped, or in memory.
pub trait FileBytes: Deref<Target = [u8]> + Send + Sync {
    /// Why what was read of them is not to be trusted: what was expected of the file and what was found. Never for bytes in
    /// memory.
    fn changed(&self) -> Option<String> {
        None
    }

    /// Gives back the memory of the pages that lie wholly in this range, where they can be had again from the file.
    fn drop_pages(&self, range: Range<usize>) {
        let _ = range;
    }

    /// Bytes of the file behind what was unpacked of it, which belong to nothing.
    fn trailing(&self) -> u64 {
        0
    }

    /// Why the file could not be unpacked to its end, where these are the bytes before that place.
    fn cut(&self) -> Option<&str> {
        None
    }
}

impl FileBytes for Vec<u8> {}

/// How a packed file ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct End {
    /// Bytes behind the last of what could be unpacked.
    pub trailing: u64,
    /// Why no more could be unpacked, where the file goes on or should.
    pub cut: Option<String>,
}

/// What was unpacked of a file, wherever it lies.
pub(super) struct Packed {
    pub bytes: Bytes,
    pub end: End,
}

impl Deref for Packed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl FileBytes for Packed {
    fn changed(&self) -> Option<String> {
        self.bytes.changed()
    }

    fn drop_pages(&self, range: Range<usize>) {
        self.bytes.drop_pages(range);
    }

    fn trailing(&self) -> u64 {
        self.end.trailing
    }

    fn cut(&self) -> Option<&str> {
        self.end.cut.as_deref()
    }
}

/// The bytes of one file.
pub type Bytes = Box<dyn FileBytes>;

impl Profile {
    /// Whether all files are still what they were when they were opened. To be asked when an answer is ready: what was computed
    /// from a file that changed meanwhile may be wrong. Costs a question to the system for each file.
    ///
    /// # Errors
    /// [`Error::Changed`], which names the first file that is not.
    pub fn unchanged(&self) -> Result<(), Error> {
        for source in &self.sources {
            if let Some((path, change)) = source.changed() {
                return Err(Error::Changed { path, change });
            }
        }
        Ok(())
    }
}
