//! Opening files: mapped into memory, or unpacked where they are compressed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::GzDecoder;
use haloscope_hlo::{BufferAssignment, Form, Module};
use haloscope_xspace::SpaceView;

use crate::Error;
use crate::load::find;
use crate::load::map::{Map, Watch};
use crate::load::memory::{self, Need};
use crate::load::progress::Opening;
use crate::load::{Run, dump, flags_text, riegeli, trace_json};
use crate::profile::{Bytes, Pieces, Profile, ProgramFile, Segment, Shelf, Stage};

/// What is known of a file from before.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its [structure](Profile::structure).
    pub structure: Option<Segment>,
    /// Where columns of its lines are kept.
    pub shelf: Arc<dyn Shelf>,
}

/// Opens a run: all its files as one profile. Of several files, those that cannot be used are left out and named in
/// [`Profile::left_out`]. Files of HLO, of which there is no profile, make a [program](Profile::is_program).
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read, [`Error::Input`] for one that is neither an XSpace nor HLO, if no other
/// can be used; [`Error::Changed`] for one that is written to meanwhile; [`Error::Usage`] for a run that cannot be read in
/// the memory that it may take ([`set_memory_limit`](super::set_memory_limit)).
pub fn open(run: &Run) -> Result<Profile, Error> {
    open_with(run, &|_| None)
}

/// As [`open`], with what is known of files from before: those are not walked over, and their events come from
/// where they are kept.
/// Who knows it sees to it that the file is still the same.
///
/// # Errors
/// As [`open`].
pub fn open_with(run: &Run, known: &dyn Fn(&Path) -> Option<Known>) -> Result<Profile, Error> {
    let sizes: Vec<u64> = run.files.iter().filter_map(|path| Some(path.metadata().ok()?.len())).collect();
    let need = Need::of(&sizes);
    let opening = Opening::begin(&run.path, &sizes);
    let (mut files, mut programs, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut traces, mut pieces) = (Vec::new(), Vec::new());
    for path in &run.files {
        if trace_json::is_named(path) {
            match unchanged(path, || trace_json::open(path)) {
                Ok((bytes, trace)) => {
                    traces.push((files.len(), trace));
                    files.push((path.clone(), Box::new(bytes) as Bytes));
                }
                Err(error @ Error::Changed { .. }) => return Err(error),
                Err(error) => failed.push(error),
            }
            continue;
        }
        let read = bytes_of(path);
        if let Ok(bytes) = &read
            && trace_json::is_meant(bytes)
        {
            match of_whole(path, bytes, || trace_json::convert(path, &bytes[..])) {
                Ok((bytes, trace)) => {
                    traces.push((files.len(), trace));
                    files.push((path.clone(), Box::new(bytes) as Bytes));
                }
                Err(error @ Error::Changed { .. }) => return Err(error),
                Err(error) => failed.push(error),
            }
            continue;
        }
        if let Ok(bytes) = &read
            && riegeli::is_meant(bytes)
        {
            match of_whole(path, bytes, || unpack(path, bytes)) {
                Ok((bytes, own)) => {
                    pieces.push((files.len(), own));
                    files.push((path.clone(), bytes));
                }
                Err(error @ Error::Changed { .. }) => return Err(error),
                Err(error) => failed.push(error),
            }
            continue;
        }
        if let Ok(bytes) = &read
            && run.files.len() == 1
            && flags_text::is_meant(path, bytes)
        {
            return read.map(|bytes| Profile::from_flags(path.clone(), bytes));
        }
        match read.and_then(|bytes| Ok((of_whole(path, &bytes, || is_program(path, &bytes))?, bytes))) {
            Ok((true, bytes)) => programs.push((path.clone(), bytes)),
            Ok((false, bytes)) => files.push((path.clone(), bytes)),
            // It may be whole the next time: to leave it out would be an answer that is wrong in a moment.
            Err(error @ Error::Changed { .. }) => return Err(error),
            Err(error) => failed.push(error),
        }
    }
    let mut profile = match (files.is_empty(), programs.is_empty(), failed.pop()) {
        (true, true, Some(error)) => return Err(error),
        (true, false, last) => {
            failed.extend(last);
            open_programs(&run.path, programs, true)?
        }
        (_, _, last) => {
            failed.extend(last);
            let known: Vec<Option<Known>> = files.iter().map(|(path, _)| known(path)).collect();
            let structures = known.iter().map(|known| known.as_ref()?.structure.as_deref());
            let files = files.into_iter().zip(structures);
            let files = files.map(|((path, bytes), structure)| (path, bytes, structure)).collect();
            let mut profile = Profile::from_known_files(files, |bytes| opening.opened(bytes));
            for (source, known) in known.into_iter().enumerate() {
                if let Some(known) = known {
                    profile.set_shelf(source, known.shelf);
                }
            }
            profile
        }
    };
    for (file, trace) in traces {
        if let Some(source) = profile.sources.get_mut(file) {
            source.trace_json = Some(trace);
        }
    }
    for (file, own) in pieces {
        if let Some(source) = profile.sources.get_mut(file) {
            source.pieces = Some(own);
        }
    }
    profile.unchanged()?;
    profile.left_out = failed.iter().map(ToString::to_string).collect();
    memory::bound(&mut profile, need)?;
    Ok(profile)
}

/// A profile, or a program, from bytes in memory; `name` stands for the file's name.
///
/// # Errors
/// [`Error::Input`] if the bytes are neither an XSpace nor HLO.
pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Profile, Error> {
    let path = PathBuf::from(name);
    if trace_json::is_meant(&bytes) {
        let (space, trace) = trace_json::convert(&path, &bytes[..])?;
        let mut profile = Profile::from_files(vec![(path, Box::new(space))]);
        profile.sources.iter_mut().for_each(|source| source.trace_json = Some(trace.clone()));
        return Ok(profile);
    }
    if riegeli::is_meant(&bytes) {
        let (space, own) = unpack(&path, &bytes)?;
        let mut profile = Profile::from_files(vec![(path, space)]);
        profile.sources.iter_mut().for_each(|source| source.pieces = Some(own.clone()));
        return Ok(profile);
    }
    if flags_text::is_meant(&path, &bytes) {
        return Ok(Profile::from_flags(path, Box::new(bytes)));
    }
    if is_program(&path, &bytes)? {
        return open_programs(&path, vec![(path.clone(), Box::new(bytes))], false);
    }
    Ok(Profile::from_files(vec![(path, Box::new(bytes))]))
}

/// The profile that a file of records holds.
fn unpack(path: &Path, bytes: &[u8]) -> Result<(Bytes, Pieces), Error> {
    let (space, own) = riegeli::convert(path, bytes)?;
    check(path, &space)?;
    Ok((memory::unpacked(space), own))
}

/// Whether a file holds HLO rather than a profile.
fn is_program(path: &Path, bytes: &[u8]) -> Result<bool, Error> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let is_named_profile = find::SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
    if !is_named_profile && Form::of(bytes).is_some() {
        return Ok(true);
    }
    check(path, bytes).map(|()| false)
}

/// A program from its files, which lie in a folder where others may be beside them or not. The only module of a program is read
/// at once, so that damage is an error and not a remark.
fn open_programs(path: &Path, files: Vec<(PathBuf, Bytes)>, in_folder: bool) -> Result<Profile, Error> {
    if let [(path, bytes)] = files.as_slice() {
        Module::read(bytes)
            .map_err(|error| Error::Input { path: path.clone(), message: error.to_string() })?;
    }
    let name = path.file_name().map_or_else(|| "program".to_owned(), |n| n.to_string_lossy().into_owned());
    let file = |(stage, is_last, path, bytes): (dump::Stage, bool, PathBuf, Bytes)| ProgramFile {
        buffers: if in_folder { buffers_of(&path) } else { None },
        path,
        bytes,
        module: stage.module,
        stage: Stage { name: stage.stage, number: stage.number },
        is_last,
    };
    Ok(Profile::from_programs(&name, dump::stages(files).into_iter().map(file).collect()))
}

/// The buffer assignment that a dump has beside a module. One that cannot be read is none: the module can be used without.
fn buffers_of(path: &Path) -> Option<(PathBuf, Bytes)> {
    let found = dump::buffers_beside(path).into_iter().find(|beside| beside.is_file())?;
    let bytes = bytes_of(&found).ok()?;
    BufferAssignment::is_text(&bytes).then_some((found, bytes))
}

fn bytes_of(path: &Path) -> Result<Bytes, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    if path.extension().is_some_and(|e| e == "gz") {
        return unchanged(path, || {
            let file = BufReader::new(File::open(path).map_err(io)?);
            let bytes = all_members(file).map_err(|error| Error::Input {
                path: path.to_owned(),
                message: format!(
                    "expected gzip data, found: {error}. The file may have been cut while it was copied"
                ),
            })?;
            Ok(Box::new(bytes) as Bytes)
        });
    }
    Ok(memory::file(Map::open(path).map_err(io)?))
}

/// What all members of a gzip file hold, one after another: a profile that was written in pieces has several. What follows the last
/// and begins none is passed over.
fn all_members(mut file: impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        GzDecoder::new(&mut file).read_to_end(&mut bytes)?;
        let next = file.fill_buf()?;
        // The second byte of the magic may be behind the end of what has been read so far.
        if next.first() != Some(&0x1f) || next.get(1).is_some_and(|byte| *byte != 0x8b) {
            return Ok(bytes);
        }
    }
}

/// What `read` makes of a file's bytes, unless they changed meanwhile.
fn of_whole<T>(path: &Path, bytes: &Bytes, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let outcome = read();
    match bytes.changed() {
        Some(change) => Err(Error::Changed { path: path.to_owned(), change }),
        None => outcome,
    }
}

/// Reads a file into memory by `read`, and holds it against what it was before, whatever came of it.
fn unchanged<T>(path: &Path, read: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let watch = Watch::new(path).map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let outcome = read();
    match watch.changed() {
        Some(change) => Err(Error::Changed { path: path.to_owned(), change }),
        None => outcome,
    }
}

/// How many bytes are looked at to tell whether a file is an XSpace.
const HEAD: usize = 1 << 20;

/// Refuses a file in which no plane with a name can be found, and says what was found at its start.
fn check(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    // The start is enough as a rule: a cut plane is read as far as it goes. What has another start is read whole.
    let mut space = SpaceView::parse(&bytes[..bytes.len().min(HEAD)]);
    if !has_named_plane(&space) && bytes.len() > HEAD {
        space = SpaceView::parse(bytes);
    }
    if has_named_plane(&space) && !is_reencoded(bytes) {
        return Ok(());
    }
    let found = match space.faults.kept().first() {
        _ if bytes.is_empty() => {
            "found an empty file; the profiler may have been killed before it wrote".to_owned()
        }
        _ if riegeli::is_named(path) => {
            "found no Riegeli records: the first bytes are others than those of such a file; fetch it again".to_owned()
        }
        _ if bytes.starts_with(b"{") && looks_like_text(bytes) => {
            "found JSON without trace events (a list traceEvents, or a list of objects with ph); pass the .xplane.pb file"
                .to_owned()
        }
        _ if is_reencoded(bytes) || looks_like_text(bytes) => format!(
            "found text starting with {:?}; the file may have been re-encoded by an upload or an editor: fetch the \
             original bytes",
            String::from_utf8_lossy(&bytes[..bytes.len().min(24)])
        ),
        Some(fault) => format!("found other data ({fault})"),
        None => "found no plane with a name".to_owned(),
    };
    let message = format!(
        "expected an XSpace protobuf (.xplane.pb), an HLO proto or HLO text (or, for audit flags, a text with XLA flags), {found}"
    );
    Err(Error::Input { path: path.to_owned(), message })
}

fn has_named_plane(space: &SpaceView<'_>) -> bool {
    space.planes.iter().any(|plane| !plane.name.is_empty() && std::str::from_utf8(plane.name).is_ok())
}

/// True if somebody has read the file as text and written it again: bytes that are not UTF-8 have become U+FFFD.
fn is_reencoded(bytes: &[u8]) -> bool {
    const REPLACEMENT: [u8; 3] = [0xef, 0xbf, 0xbd];
    let head = &bytes[..bytes.len().min(64 << 10)];
    head.windows(3).filter(|w| *w == REPLACEMENT).take(8).count() == 8
}

/// True if the start of a file is text: valid UTF-8 as far as it goes, without control characters.
fn looks_like_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => return error.valid_up_to() > 0,
        Err(_) => return false,
    };
    text.chars().all(|c| !c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn all_members_of_a_gzip_file_are_read() {
        let member = |text: &str| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(text.as_bytes()).unwrap();
            packed.finish().unwrap()
        };
        let read = |bytes: Vec<u8>| {
            // A buffer of three bytes cuts the magic of members in every way.
            all_members(BufReader::with_capacity(3, &bytes[..]))
                .map(|bytes| String::from_utf8(bytes).unwrap())
        };
        assert_eq!(read(member("one")).unwrap(), "one");
        assert_eq!(read([member("one"), member(" and"), member(" two")].concat()).unwrap(), "one and two");
        assert_eq!(read([member("one"), b"trailing".to_vec()].concat()).unwrap(), "one");
        let whole = [member("one"), member("two")].concat();
        assert!(read(whole[..whole.len() - 4].to_vec()).is_err(), "the second is cut");
    }
}
