//! Trace event JSON (`*.trace.json.gz`, `perfetto_trace.json.gz`) as a profile.
//!
//! The JSON is read as a stream and written as an XSpace in memory, so that everything behind works as on a profile. What
//! the JSON lacks stays missing, and a remark says so. A file that ends in the middle gives what stands before.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::GzDecoder;

use crate::TraceJson;
use haloscope_report::Error;

mod build;
mod entry;
mod read;
#[cfg(test)]
mod tests;

/// Unpacked bytes that are read at most: several times what exporters write, which stop at a million events.
const LARGEST: u64 = 2 << 30;

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
    let file = BufReader::new(File::open(path).map_err(io)?);
    if path.extension().is_some_and(|e| e == "gz") {
        return convert(path, BufReader::new(GzDecoder::new(file)));
    }
    convert(path, file)
}

/// Reads JSON; `path` is for errors.
///
/// # Errors
/// [`Error::Input`] if it has no event that can be used.
pub(super) fn convert(path: &Path, json: impl Read) -> Result<(Vec<u8>, TraceJson), Error> {
    let input = |message: String| Error::Input { path: path.to_owned(), message };
    let mut limited = json.take(LARGEST);
    let mut builder = build::Builder::default();
    let read = read::read(BufReader::new(&mut limited), &mut builder);
    let too_long = limited.limit() == 0;
    if let Some(why) = builder.refusal() {
        return Err(input(why));
    }
    let found = match read {
        Ok(()) => None,
        Err(_) if too_long => Some(format!("it is longer than {LARGEST} bytes")),
        Err(error) => Some(error.to_string()),
    };
    if builder.is_empty() {
        let found = found.unwrap_or_else(|| "none".to_owned());
        return Err(input(format!(
            "expected trace event JSON with events under traceEvents, found: {found}; if it was cut while it was copied, \
             fetch it again"
        )));
    }
    Ok(builder.finish(found))
}
