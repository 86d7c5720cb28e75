//! What files are: a list of formats, each of which knows its own, and how it becomes a profile or a program. Files are
//! mapped into memory, or unpacked where they are compressed.

use std::path::Path;

use haloscope_hlo::Form;
use haloscope_llo::Head;
use haloscope_riegeli as riegeli;
use haloscope_xspace::SpaceView;
use haloscope_xspace::wire::{Field, Fields, Value};

use super::allowance::{self, Allowance};
use super::map::{Map, Watch};
use super::{find, flags_text, llo_dump, memory, trace_json, unpack};
use crate::{Bytes, Pieces, Source, TraceJson};
use haloscope_report::Error;

/// What became of a file.
pub(super) enum Imported {
    /// An XSpace, and how it was made where the file is none itself.
    Space(Bytes, Made),
    /// A module of a program.
    Program(Bytes),
    /// What the last stage of a TPU's compiler made of an op: its LLO, or the text of a stage.
    Llo(Bytes),
    /// A text with flags of XLA or libtpu.
    Flags(Bytes),
}

/// How an XSpace was made of a file.
#[derive(Clone)]
pub(super) enum Made {
    /// It is the file.
    Recorded,
    /// From trace event JSON.
    OfTrace(TraceJson),
    /// From records, merged.
    OfPieces(Pieces),
}

impl Made {
    /// Notes it at the source that the file became.
    pub(super) fn note(self, source: &mut Source) {
        match self {
            Self::Recorded => {}
            Self::OfTrace(trace) => source.trace_json = Some(trace),
            Self::OfPieces(pieces) => source.pieces = Some(pieces),
        }
    }
}

/// A file as formats look at it.
struct Given<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    /// Whether it is the run's only file.
    is_alone: bool,
}

/// A format: which files are its own, and what becomes of them.
enum Importer {
    /// Known by its name, and read from the disk as a stream: unpacked it may be large.
    Stream { is_own: fn(&Path) -> bool, import: fn(&Path) -> Result<Imported, Error> },
    /// Known by its bytes.
    Bytes { is_own: fn(&Given<'_>) -> bool, import: fn(&Path, Bytes) -> Result<Imported, Error> },
}

/// Every format but the profiler's own, in the order in which they are asked; the first whose own a file is takes it. What
/// none takes is read as an XSpace, and refused with what was found where it is none.
const IMPORTERS: &[Importer] = &[
    Importer::Stream { is_own: trace_json::is_named, import: trace_file },
    Importer::Bytes { is_own: |given| trace_json::is_meant(given.bytes), import: trace },
    Importer::Bytes { is_own: |given| riegeli::has_signature(given.bytes), import: records },
    Importer::Bytes {
        is_own: |given| given.is_alone && flags_text::is_meant(given.path, given.bytes),
        import: |_, bytes| Ok(Imported::Flags(bytes)),
    },
    Importer::Bytes { is_own: is_llo, import: llo },
    Importer::Bytes { is_own: is_program, import: program },
];

/// Reads a file; `is_alone` says that it is the run's only one.
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read, [`Error::Input`] for one of no format, [`Error::Changed`] for one that is
/// written to meanwhile.
pub(super) fn file(path: &Path, is_alone: bool) -> Result<Imported, Error> {
    for importer in IMPORTERS {
        if let Importer::Stream { is_own, import } = importer
            && is_own(path)
        {
            return import(path);
        }
    }
    bytes(path, bytes_of(path)?, is_alone)
}

/// As [`file`], of bytes that are here; `path` is what they are called.
///
/// # Errors
/// As [`file`].
pub(super) fn bytes(path: &Path, bytes: Bytes, is_alone: bool) -> Result<Imported, Error> {
    for importer in IMPORTERS {
        if let Importer::Bytes { is_own, import } = importer
            && is_own(&Given { path, bytes: &bytes, is_alone })
        {
            return import(path, bytes);
        }
    }
    space(path, bytes)
}

fn trace_file(path: &Path) -> Result<Imported, Error> {
    let (space, trace) = unchanged(path, || trace_json::open(path))?;
    Ok(Imported::Space(Box::new(space), Made::OfTrace(trace)))
}

fn trace(path: &Path, bytes: Bytes) -> Result<Imported, Error> {
    let (space, trace) = of_whole(path, &bytes, || trace_json::convert(path, &bytes[..]))?;
    drop(bytes);
    Ok(Imported::Space(Box::new(space), Made::OfTrace(trace)))
}

fn records(path: &Path, bytes: Bytes) -> Result<Imported, Error> {
    let (space, pieces) = of_whole(path, &bytes, || {
        let size = allowance::on_disk(path).unwrap_or(bytes.len() as u64);
        let allowance = Allowance::of(size, u64::MAX);
        let bounds =
            riegeli::Bounds { unpacked: allowance::most_merged(size, allowance), memory: allowance.memory() };
        let refused = |error: riegeli::Error| match error {
            riegeli::Error::Unpacked { most, .. } => allowance::unpacks_to_too_much(path, size, most),
            riegeli::Error::Tables { what, count, bytes, .. } => {
                allowance.takes_too_much(path, (what, count), bytes, 0)
            }
            other => Error::Input { path: path.to_owned(), message: other.to_string() },
        };
        let riegeli::Unpacked { space, records, lost, why } =
            riegeli::read(&bytes, bounds).map_err(refused)?;
        check(path, &space).map(|()| (space, Pieces { records, lost, why }))
    })?;
    drop(bytes);
    Ok(Imported::Space(memory::unpacked(space), Made::OfPieces(pieces)))
}

/// Whether a file is called as profiles are.
fn is_named_profile(given: &Given<'_>) -> bool {
    let name = given.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    find::SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// Whether a file is of a TPU compiler's last stage: the message by its bytes, what is damaged and texts by their names.
fn is_llo(given: &Given<'_>) -> bool {
    !is_named_profile(given) && (Head::of(given.bytes).is_some() || llo_dump::Name::of(given.path).is_some())
}

fn llo(path: &Path, bytes: Bytes) -> Result<Imported, Error> {
    whole(path, &bytes)?;
    Ok(Imported::Llo(bytes))
}

/// Whether a file holds HLO rather than a profile.
fn is_program(given: &Given<'_>) -> bool {
    !is_named_profile(given) && Form::of(given.bytes).is_some()
}

fn program(path: &Path, bytes: Bytes) -> Result<Imported, Error> {
    whole(path, &bytes)?;
    Ok(Imported::Program(bytes))
}

fn space(path: &Path, bytes: Bytes) -> Result<Imported, Error> {
    of_whole(path, &bytes, || check(path, &bytes))?;
    Ok(Imported::Space(bytes, Made::Recorded))
}

/// Refuses a packed file that was cut: a part of a program would be another program.
fn whole(path: &Path, bytes: &Bytes) -> Result<(), Error> {
    of_whole(path, bytes, || bytes.cut().map_or(Ok(()), |why| Err(unpack::cut(path, why))))
}

/// The bytes of a file, mapped, or unpacked where they are compressed.
///
/// # Errors
/// As [`file`].
pub(super) fn bytes_of(path: &Path) -> Result<Bytes, Error> {
    if path.extension().is_some_and(|e| e == "gz") {
        return unchanged(path, || unpack::gzip(path));
    }
    Map::open(path).map(memory::file).map_err(|source| Error::Io { path: path.to_owned(), source })
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
    let head = &bytes[..bytes.len().min(HEAD)];
    if (has_named_plane(head) || has_named_plane(bytes)) && !is_reencoded(bytes) {
        return Ok(());
    }
    Allowance::of(head.len() as u64, head.len() as u64).check(path, head, 0)?;
    let space = SpaceView::parse(head);
    let found = match space.faults.kept().first() {
        _ if bytes.is_empty() => {
            "found an empty file; the profiler may have been killed before it wrote it".to_owned()
        }
        _ if riegeli::is_named(path) => {
            "found no Riegeli records: the first bytes are not those of such a file; fetch it again".to_owned()
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
        "expected an XSpace protobuf (.xplane.pb), an HLO proto, HLO text or the LLO of an op (or, for audit flags, a text with XLA flags), {found}"
    );
    Err(Error::Input { path: path.to_owned(), message })
}

/// Whether there is a plane with a name. Nothing is kept of what is looked at.
fn has_named_plane(bytes: &[u8]) -> bool {
    let is_named = |plane: &[u8]| {
        // Of several names the last counts; one that is cut is none.
        let name = Fields::new(plane, 0).filter(|field| field.number == 2 && field.whole).last();
        let name = name.and_then(content);
        name.is_some_and(|name| !name.is_empty() && std::str::from_utf8(name).is_ok())
    };
    Fields::new(bytes, 0).filter(|field| field.number == 1).filter_map(content).any(is_named)
}

fn content(field: Field<'_>) -> Option<&[u8]> {
    match field.value {
        Value::Bytes(content) => Some(content),
        _ => None,
    }
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
