//! Opening files: mapped into memory, or unpacked where they are compressed.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::Error;
use crate::load::Run;
use crate::profile::{Bytes, Profile};

/// Opens a run: all its files as one profile. A file that cannot be used is named in the error.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read, [`Error::Input`] for one that is not an XSpace.
pub fn open(run: &Run) -> Result<Profile, Error> {
    let files = run.files.iter().map(|path| Ok((path.clone(), bytes_of(path)?)));
    let files = files.collect::<Result<Vec<_>, Error>>()?;
    check(Profile::from_files(files))
}

/// A profile from bytes in memory; `name` stands for the file's name.
///
/// # Errors
/// [`Error::Input`] if the bytes are not an XSpace.
pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Profile, Error> {
    check(Profile::from_files(vec![(PathBuf::from(name), Box::new(bytes))]))
}

fn bytes_of(path: &Path) -> Result<Bytes, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(io)?;
    if path.extension().is_some_and(|e| e == "gz") {
        let mut bytes = Vec::new();
        GzDecoder::new(file).read_to_end(&mut bytes).map_err(|error| Error::Input {
            path: path.to_owned(),
            message: format!(
                "expected gzip data, found: {error}. The file may have been cut while it was copied"
            ),
        })?;
        return Ok(Box::new(bytes));
    }
    if !file.metadata().map_err(io)?.is_file() {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        return Ok(Box::new(bytes));
    }
    map(&file).map_err(io)
}

#[expect(unsafe_code, reason = "mapping a file is the one thing here that the compiler cannot check")]
fn map(file: &File) -> std::io::Result<Bytes> {
    // SAFETY: the map is read-only and only ever read as bytes, for which every bit pattern is valid. Should another
    // process change the file meanwhile, numbers may be wrong; should it truncate the file, the process gets SIGBUS.
    // Profilers write a file once, under its final name, so that neither happens to a finished run.
    let map = unsafe { memmap2::Mmap::map(file)? };
    Ok(Box::new(map))
}

/// Refuses files in which nothing could be read, with what was found at their start.
fn check(profile: Profile) -> Result<Profile, Error> {
    for (index, source) in profile.sources.iter().enumerate() {
        let planes = profile.planes.iter().filter(|p| p.source == index);
        let named = planes.clone().any(|p| !p.name.is_empty() && !p.name.contains('\u{fffd}'));
        if named {
            continue;
        }
        let bytes = source.bytes();
        let found = match source.faults.kept().first() {
            _ if bytes.is_empty() => {
                "found an empty file; the profiler may have been killed before it wrote".to_owned()
            }
            _ if looks_like_text(bytes) => format!(
                "found text starting with {:?}; the file may have been re-encoded by an upload or an editor: fetch the \
                 original bytes",
                String::from_utf8_lossy(&bytes[..bytes.len().min(24)])
            ),
            Some(fault) => format!("found other data ({fault})"),
            None => "found no plane with a name".to_owned(),
        };
        return Err(Error::Input {
            path: source.path.clone(),
            message: format!("expected an XSpace protobuf (.xplane.pb), {found}"),
        });
    }
    Ok(profile)
}

/// True if the start of a file is text: valid UTF-8 as far as it goes, replacement characters included.
fn looks_like_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => return error.valid_up_to() > 0,
        Err(_) => return false,
    };
    text.contains('\u{fffd}') || text.chars().all(|c| !c.is_control() || c.is_whitespace())
}
