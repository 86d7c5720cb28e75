//! Trace event JSON (`*.trace.json.gz`, `perfetto_trace.json.gz`) as a profile.
//!
//! The JSON is read as a stream and written as an XSpace in memory, so that everything behind works as on a profile. What
//! the JSON lacks stays missing, and a remark says so. A file that ends in the middle gives what stands before.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::allowance::{self, Allowance};
use super::unpack::Members;
use crate::TraceJson;
use haloscope_report::Error;
use haloscope_report::units;

mod build;
mod entry;
mod read;
#[cfg(test)]
mod tests;

/// Bytes that are read at most of what is not packed, unless more was asked for: several times what exporters write, which stop at a
/// million events.
const LARGEST: u64 = 2 << 30;
/// Bytes of one entry at most: texts of ops of some hundred kilobytes are usual.
const LARGEST_ENTRY: u64 = 8 << 20;

/// What such files are called, without `.gz`.
const ENDINGS: [&str; 2] = [".trace.json", "perfetto_trace.json"];

/// True if a file is called as trace event JSON is.
pub(super) fn is_named(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// True if bytes, whatever their name, begin as trace event JSON does.
pub(super) fn is_meant(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(64 << 10)];
    let begins = head.iter().copied().find(|b| !b.is_ascii_whitespace());
    let has = |word: &[u8]| head.windows(word.len()).any(|w| w == word);
    match begins {
        Some(b'{') => has(b"\"traceEvents\""),
        Some(b'[') => has(b"\"ph\""),
        _ => false,
    }
}

/// Reads a file.
///
/// # Errors
/// [`Error::Io`] if it cannot be read, [`Error::Input`] if it has no event that can be used.
pub(super) fn open(path: &Path) -> Result<(Vec<u8>, TraceJson), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    let file = BufReader::new(file);
    if path.extension().is_some_and(|e| e == "gz") {
        let most = allowance::most_unpacked(size);
        let too_much = || allowance::unpacks_to_too_much(path, size, most);
        return read_within(path, Members::new(file), most, Allowance::of(size, u64::MAX), too_much);
    }
    let most = allowance::unpacked_limit().map_or(LARGEST, |asked| asked.max(LARGEST));
    let too_much = || Error::Input {
        path: path.to_owned(),
        message: format!(
            "expected trace event JSON, found more than {} of it, which exporters do not write. It was not read; if the file is right, raise the limit with --max-unpacked SIZE (HALOSCOPE_MAX_UNPACKED)",
            units::bytes(most as f64)
        ),
    };
    read_within(path, file, most, Allowance::of(size, size), too_much)
}

/// Reads JSON that is here; `path` is what it was read from, or for errors alone.
///
/// # Errors
/// [`Error::Input`] if it has no event that can be used.
pub(super) fn convert(path: &Path, json: &[u8]) -> Result<(Vec<u8>, TraceJson), Error> {
    let size = json.len() as u64;
    let too_much = || allowance::unpacks_to_too_much(path, size, size);
    read_within(path, json, size, Allowance::of_file(path, size), too_much)
}

/// Reads so many bytes of JSON into so much memory. Of what is longer nothing is kept: with another bound there were another answer.
fn read_within(
    path: &Path,
    json: impl Read,
    most: u64,
    allowance: Allowance,
    too_much: impl FnOnce() -> Error,
) -> Result<(Vec<u8>, TraceJson), Error> {
    let input = |message: String| Error::Input { path: path.to_owned(), message };
    let since_entry = Cell::new(Some(0));
    // One byte more than may be shows that there are more.
    let mut limited = Limited { json, left: most.saturating_add(1), since_entry: &since_entry };
    let mut builder = build::Builder::new(allowance.memory());
    let read = read::read(BufReader::new(&mut limited), &mut builder, &since_entry);
    if let Some(why) = builder.refusal() {
        return Err(input(why));
    }
    if limited.left == 0 {
        return Err(too_much());
    }
    let found = read.err().map(|error| error.to_string());
    if builder.is_empty() {
        let found = found.unwrap_or_else(|| "none".to_owned());
        return Err(input(format!(
            "expected trace event JSON with events under traceEvents, found: {found}; if it was cut off while it was copied, fetch it again"
        )));
    }
    Ok(builder.finish(found))
}

/// JSON of which so much is read, and of one entry no more than [`LARGEST_ENTRY`]: its texts stand in memory whole.
struct Limited<'a, R> {
    json: R,
    left: u64,
    /// Bytes since the last entry was over; `None` where nothing is kept of what is read.
    since_entry: &'a Cell<Option<u64>>,
}

impl<R: Read> Read for Limited<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.since_entry.get().is_some_and(|bytes| bytes > LARGEST_ENTRY) {
            return Err(io::Error::other(format!("an entry of more than {LARGEST_ENTRY} bytes")));
        }
        let room = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.json.read(into.get_mut(..room).unwrap_or_default())?;
        self.left -= read as u64;
        self.since_entry.set(self.since_entry.get().map(|bytes| bytes + read as u64));
        Ok(read)
    }
}
