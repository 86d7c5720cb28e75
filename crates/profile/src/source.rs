//! The bytes of a file, and places in it.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use haloscope_hlo::Room;
use haloscope_xspace::Faults;

use super::{Bytes, ColumnStore};

/// One file of the run.
pub struct Source {
    /// Where it was read from.
    pub path: PathBuf,
    /// What was malformed in its structure. Events report their own when their line is read.
    pub faults: Faults,
    /// `errors` that the profiler wrote into the file.
    pub errors: Vec<String>,
    /// `warnings` that the profiler wrote into the file.
    pub warnings: Vec<String>,
    /// `hostnames`: the machine's own name, which need not be the file's.
    pub hostnames: Vec<String>,
    /// What is to be said of a trace in JSON, which this was made of.
    pub trace_json: Option<TraceJson>,
    /// The pieces that it was merged from, where it came in some.
    pub pieces: Option<Pieces>,
    /// Bytes of the file behind all that was unpacked of it: they belong to nothing.
    pub trailing_bytes: u64,
    /// Why the packed file could not be unpacked to its end, where what stands before that place was read.
    pub cut: Option<String>,
    /// The buffer assignment of the module in this file, in words, where a dump has it beside: path and bytes.
    pub(super) buffers: Option<(PathBuf, Bytes)>,
    /// The memory in which its modules may be decoded, all of them.
    pub(super) room: Room,
    /// How many of them there are.
    pub(super) modules: usize,
    /// Where columns of its lines are kept beside the heap.
    pub(super) column_store: Option<Arc<dyn ColumnStore>>,
    /// What lasts as long as it does.
    pub(super) held: Option<Arc<dyn Any + Send + Sync>>,
    /// The first of its lines in [`super::Profile::lines`].
    pub(super) first_line: usize,
    bytes: Bytes,
}

/// What a trace in JSON had and lacked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceJson {
    /// Events and samples of counters that were taken.
    pub events: u64,
    /// Flows, which nothing is made of.
    pub flows: u64,
    /// Entries of other kinds, without a time, or without a begin or an end.
    pub left_out: u64,
    /// FLOPs of ops are those of the model as written: the device's own are not in it.
    pub model_flops: bool,
    /// Times were since 1970, and are now since the first event.
    pub since_epoch: bool,
    /// Why it was not read to its end, where it was not.
    pub cut: Option<String>,
}

/// The records of a file of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pieces {
    /// Records that were read.
    pub records: u64,
    /// Chunks and records that could not be.
    pub lost: u64,
    /// Why the first of those could not be.
    pub why: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of its first byte.
    pub at: u64,
    /// Length in bytes.
    pub len: u64,
}

impl Source {
    pub(super) fn new(path: PathBuf, bytes: Bytes) -> Self {
        let (errors, warnings, hostnames) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            path,
            faults: Faults::default(),
            errors,
            warnings,
            hostnames,
            trace_json: None,
            pieces: None,
            trailing_bytes: bytes.trailing(),
            cut: bytes.cut().map(str::to_owned),
            buffers: None,
            room: Room::of(bytes.len()),
            modules: 0,
            column_store: None,
            held: None,
            first_line: 0,
            bytes,
        }
    }

    /// The whole file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes at a place; empty if the place is not in this file.
    #[must_use]
    pub fn slice(&self, span: Span) -> &[u8] {
        let range = span.at as usize..span.at.saturating_add(span.len) as usize;
        self.bytes.get(range).unwrap_or_default()
    }

    /// The memory in which one of its modules, of so many bytes, may be decoded: as many of them count as of the file, and what is
    /// beside is for all of them together.
    #[must_use]
    pub fn room_for(&self, module: u64) -> Room {
        let all = (self.bytes.len() as u64).max(1);
        let counted = u128::from(module) * u128::from(self.room.counted) / u128::from(all);
        Room {
            counted: u64::try_from(counted).unwrap_or(u64::MAX),
            beside: self.room.beside / (self.modules as u64).max(1),
            most: self.room.most,
        }
    }

    /// Gives back the memory of the file's pages that lie wholly in this range: they come back when they are read again.
    pub fn drop_pages(&self, range: Range<usize>) {
        self.bytes.drop_pages(range);
    }

    /// Says that a part of the file was decoded: of a large file its pages are given back, so that a run takes the memory of
    /// its columns, and not that of the file beside it. Names and stats that are read later bring theirs back.
    pub(super) fn has_read(&self, at: u64, len: usize) {
        const LARGE: usize = 32 << 20;
        if self.bytes.len() >= LARGE
            && let Ok(at) = usize::try_from(at)
        {
            self.drop_pages(at..at.saturating_add(len));
        }
    }

    /// The file that is no longer what it was when it was opened, and how: this one, one that belongs to it, or what keeps its
    /// columns.
    pub(super) fn changed(&self) -> Option<(PathBuf, String)> {
        let own = self.bytes.changed().map(|change| (self.path.clone(), change));
        let buffers = || {
            let (path, bytes) = self.buffers.as_ref()?;
            Some((path.clone(), bytes.changed()?))
        };
        own.or_else(buffers).or_else(|| self.column_store.as_ref()?.changed())
    }

    /// The text at a place; bytes that are not UTF-8 become U+FFFD.
    #[must_use]
    pub fn text(&self, span: Span) -> Cow<'_, str> {
        String::from_utf8_lossy(self.slice(span))
    }

    /// The place of a slice that was borrowed from this file.
    pub(super) fn span_of(&self, part: &[u8]) -> Span {
        let at = (part.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize);
        if part.is_empty() || at >= self.bytes.len() {
            return Span::default();
        }
        Span { at: at as u64, len: part.len() as u64 }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("path", &self.path).field("bytes", &self.bytes.len()).finish()
    }
}
