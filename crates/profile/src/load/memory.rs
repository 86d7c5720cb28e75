//! How much memory runs may take: a limit that was asked for, or of a run of many hosts what its two largest files need.
//!
//! Where a run would not fit, the columns of its events lie in scratch files, and a thread lets go of pages as the process
//! comes near its limit. The limit is one of the process, not of a run, as memory is.

use std::io::{self, Read, Write};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::thread;
use std::time::Duration;

use super::allowance::Allowance;
use super::gauge;
use super::limit::{self, memory_limit};
use super::map::Map;
use super::scratch::{Place, Scratch};
use super::system;
use crate::{
    Bytes, ColumnStore, FEW_FILES, FileBytes, Line, Pages, Profile, Residency, Segment, StoredColumns,
};
use haloscope_report::Error;
use haloscope_report::units;

/// What the process may keep.
static PROCESS: Residency = Residency::new(gauge::resident);
/// What all runs that are open may take.
static NEEDED: AtomicU64 = AtomicU64::new(0);
/// How many of them may take less than they would.
static BOUND: AtomicU64 = AtomicU64::new(0);

/// What a process needs beside a run.
const BASE: u64 = 48 << 20;
/// What the columns of an event take as a rule, bytes: see [`crate::Events`].
const EVENT: u64 = 29;
/// What analyses take for an event of the line that they walk, bytes.
const WORK: u64 = 48;

/// Bounds the memory of the process, from now on. A run that needs more to be read at all is refused when it is opened.
pub fn set_memory_limit(bytes: Option<u64>) {
    limit::ask(bytes);
    apply();
}

/// Reads a size that is not zero, as [`units::size_of`] does.
///
/// # Errors
/// [`Error::Usage`] with the expected form.
pub fn size(text: &str) -> Result<u64, Error> {
    let bad = || Error::Usage(format!("expected a size such as 512MiB or 2GB, found `{text}`"));
    units::size_of(text).filter(|bytes| *bytes > 0).ok_or_else(bad)
}

/// What a run may take, for as long as it is open.
#[derive(Debug)]
pub(super) struct Need {
    bytes: u64,
    is_bound: bool,
}

impl Need {
    /// What a run with files of these sizes may take: one of many hosts what its two largest files need.
    pub(super) fn of(sizes: &[u64]) -> Self {
        /// Bytes that few files take for each of theirs: their pages, columns, and what is made of them.
        const FREE: u64 = 4;
        let is_bound = sizes.len() > FEW_FILES;
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        let largest: u64 = sizes.iter().rev().take(FEW_FILES).sum();
        let bytes = if is_bound { largest.saturating_add(BASE) } else { largest.saturating_mul(FREE) };
        NEEDED.fetch_add(bytes, Ordering::Relaxed);
        BOUND.fetch_add(u64::from(is_bound), Ordering::Relaxed);
        apply();
        Self { bytes, is_bound }
    }

    /// The run has few files, and may take this much all the same.
    fn bounded(mut self, bytes: u64) -> Self {
        NEEDED.fetch_add(bytes, Ordering::Relaxed);
        NEEDED.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
        BOUND.fetch_add(u64::from(!std::mem::replace(&mut self.is_bound, true)), Ordering::Relaxed);
        apply();
        self
    }

    /// The run is small: it may take this much, which is all that it would.
    fn free(mut self, bytes: u64) -> Self {
        NEEDED.fetch_add(bytes.saturating_sub(self.bytes), Ordering::Relaxed);
        self.bytes = self.bytes.max(bytes);
        BOUND.fetch_sub(u64::from(std::mem::take(&mut self.is_bound)), Ordering::Relaxed);
        apply();
        self
    }
}

impl Drop for Need {
    fn drop(&mut self) {
        NEEDED.fetch_sub(self.bytes, Ordering::Relaxed);
        BOUND.fetch_sub(u64::from(self.is_bound), Ordering::Relaxed);
        apply();
    }
}

fn apply() {
    let is_bound = BOUND.load(Ordering::Relaxed) > 0;
    let limit = memory_limit().or_else(|| is_bound.then(|| NEEDED.load(Ordering::Relaxed)));
    // In a control group the system ends who keeps more.
    let group = system::resident().filter(|most| NEEDED.load(Ordering::Relaxed) > most / 2);
    let limit = limit.into_iter().chain(group).min();
    PROCESS.set_limit(limit);
    if limit.is_some() {
        keep_watch();
    }
}

/// Starts the thread that lets go of pages.
fn keep_watch() {
    /// Between two looks while memory grows, and while nothing happens. Memory grows by a few megabytes in the first.
    const BUSY: Duration = Duration::from_millis(2);
    const QUIET: Duration = Duration::from_millis(20);
    /// Where there is nothing left to let go of, looking more often would only bring pages in and out.
    const HELPLESS: Duration = Duration::from_secs(1);
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let watch = || {
            let (mut before, mut helpless) = (0, QUIET);
            loop {
                let limit = PROCESS.limit().unwrap_or(u64::MAX);
                let now = PROCESS.resident().unwrap_or(0);
                let is_quiet = now == before || now < limit / 2;
                before = now;
                let is_well = PROCESS.relieve(0);
                helpless = if is_well { QUIET } else { (2 * helpless).min(HELPLESS) };
                thread::sleep(if is_quiet || !is_well { helpless } else { BUSY });
            }
        };
        // Without the thread pages go only when lines are decoded.
        let _ = thread::Builder::new().name("memory".into()).spawn(watch);
    });
}

/// The bytes of a profile, whose pages may go.
pub(super) fn file(map: Map) -> Bytes {
    let pages = Arc::new(FilePages(map));
    PROCESS.add(&(Arc::clone(&pages) as Arc<dyn Pages>));
    Box::new(Mapped(pages))
}

/// Why a packed file was not unpacked.
pub(super) enum NotUnpacked {
    /// It cannot be read.
    Read(io::Error),
    /// There is no room for what it unpacks to in this place.
    NoRoom { place: String, error: io::Error },
}

/// What is unpacked of a file whose first bytes are here: all of it in a scratch file. Where there is none it lies in memory.
///
/// # Errors
/// What reading came to, or writing to the scratch file, and where that is.
pub(super) fn unpacked_from(first: Vec<u8>, rest: &mut dyn Read) -> Result<Bytes, NotUnpacked> {
    let scratch = Scratch::below(haloscope_cache_folder::scratch_folders());
    let no_room = |folder: &Path, error| NotUnpacked::NoRoom { place: folder.display().to_string(), error };
    let Some(mut file) = scratch.stream(&first).map_err(|(folder, error)| no_room(&folder, error))? else {
        return Ok(Box::new(in_memory(first, rest)?));
    };
    drop(first);
    let mut buffer = vec![0; 256 << 10];
    loop {
        let read = match rest.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(NotUnpacked::Read(error)),
        };
        let written = file.write_all(buffer.get(..read).unwrap_or_default());
        written.map_err(|error| no_room(file.folder(), error))?;
    }
    let folder = file.folder().to_owned();
    let place = file.finish().map_err(|error| no_room(&folder, error))?;
    let pages = Arc::new(UnpackedPages(place));
    PROCESS.add(&(Arc::clone(&pages) as Arc<dyn Pages>));
    let lost = || no_room(&folder, io::Error::other("what was written is not there"));
    let bytes = pages.0.bytes().ok_or_else(lost)?;
    Ok(Box::new(Unpacked { bytes, pages }))
}

/// Bytes and what follows them, in memory: where that does not suffice it is an error.
fn in_memory(mut bytes: Vec<u8>, rest: &mut dyn Read) -> Result<Vec<u8>, NotUnpacked> {
    const AT_ONCE: usize = 1 << 20;
    let no_room =
        |_| NotUnpacked::NoRoom { place: "memory".into(), error: io::ErrorKind::OutOfMemory.into() };
    loop {
        bytes.try_reserve(AT_ONCE).map_err(no_room)?;
        if rest.take(AT_ONCE as u64).read_to_end(&mut bytes).map_err(NotUnpacked::Read)? == 0 {
            return Ok(bytes);
        }
    }
}

/// The bytes of a profile that were unpacked. Where they are many they lie in a scratch file, whose pages may go too.
pub(super) fn unpacked(bytes: Vec<u8>) -> Bytes {
    const MANY: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };
    if bytes.len() < MANY {
        return Box::new(bytes);
    }
    match Scratch::below(haloscope_cache_folder::scratch_folders()).put(&bytes, &[]) {
        Some((place, kept)) => {
            let pages = Arc::new(UnpackedPages(place));
            PROCESS.add(&(Arc::clone(&pages) as Arc<dyn Pages>));
            Box::new(Unpacked { bytes: kept.head, pages })
        }
        None => Box::new(bytes),
    }
}

#[derive(Debug)]
struct UnpackedPages(Place);

impl Pages for UnpackedPages {
    fn release(&self) {
        self.0.release();
    }

    fn used(&self) -> u32 {
        0
    }
}

#[derive(Debug)]
struct Unpacked {
    bytes: Segment,
    pages: Arc<UnpackedPages>,
}

impl Deref for Unpacked {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl FileBytes for Unpacked {
    fn changed(&self) -> Option<String> {
        let lost = "a part of the scratch file is gone: its disk failed";
        self.pages.0.is_lost().then(|| lost.to_owned())
    }

    fn drop_pages(&self, range: Range<usize>) {
        self.pages.0.release_part(range);
    }
}

/// The pages of a profile. They go first: columns are made of them, and names are few.
#[derive(Debug)]
struct FilePages(Map);

impl Pages for FilePages {
    fn release(&self) {
        self.0.drop_pages(0..self.0.len());
    }

    fn used(&self) -> u32 {
        0
    }
}

#[derive(Debug)]
struct Mapped(Arc<FilePages>);

impl FileBytes for Mapped {
    fn changed(&self) -> Option<String> {
        self.0.0.changed()
    }

    fn drop_pages(&self, range: Range<usize>) {
        self.0.0.drop_pages(range);
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.0
    }
}

/// Lays the columns of a run's events into scratch files, if the run would take more memory than it may. To be called before
/// events are read; [`open`](super::open) does.
///
/// # Errors
/// [`Error::Usage`] for a limit under which its largest line cannot be read; [`Error::Input`] for a file with a line whose events
/// are so short that it takes more than files of that size may.
pub fn bound_memory(profile: &mut Profile) -> Result<(), Error> {
    let sizes: Vec<u64> = profile.sources.iter().map(|source| source.bytes().len() as u64).collect();
    let each = sizes.iter().map(|size| Allowance::of(*size, *size));
    let allowance = each.fold(Allowance::default(), Allowance::and);
    bound(profile, Need::of(&sizes), allowance).map_err(Refused::into_error)
}

/// Why a run is not read.
pub(super) enum Refused {
    /// All of it.
    Run(Error),
    /// For the sake of these files, each an [`Error::Input`].
    Files(Error, Vec<Error>),
}

impl Refused {
    /// The error, or the first file's.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Run(error) | Self::Files(error, _) => error,
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Run(error)
    }
}

/// The same, for a run of this need, whose files may take so much.
pub(super) fn bound(profile: &mut Profile, need: Need, allowance: Allowance) -> Result<(), Refused> {
    let events: u64 = profile.lines.iter().map(|line| line.event_count).sum();
    let files: u64 = profile.sources.iter().map(|source| source.bytes().len() as u64).sum();
    let estimate = files.saturating_add(events.saturating_mul(EVENT)).saturating_add(BASE);
    // What was asked for holds for all runs together.
    let others = NEEDED.load(Ordering::Relaxed).saturating_sub(need.bytes);
    let own = memory_limit().map(|asked| asked.saturating_sub(others));
    // Events that are shorter than those of profiles take more than a file of that size may.
    let with_work = estimate.saturating_add(events.saturating_mul(WORK));
    let is_dense = own.is_none() && with_work > allowance.unasked().saturating_add(BASE);
    let dense = (is_dense && !need.is_bound).then(|| allowance.unasked());
    let limit = own.or(need.is_bound.then_some(need.bytes)).or(dense);
    let of_system =
        system::resident().map(|most| most.saturating_sub(others)).filter(|most| *most < estimate);
    let limit = limit.into_iter().chain(of_system).min();
    refuse_beyond_system(profile, events)?;
    if events == 0 || limit.is_none_or(|limit| estimate <= limit && !is_dense) {
        let need = Arc::new(if need.is_bound { need.free(estimate) } else { need });
        (0..profile.sources.len()).for_each(|source| profile.hold(source, need.clone()));
        return Ok(());
    }
    if let Some(asked) = memory_limit() {
        refuse_below(asked, &format!("a memory limit of {}", units::bytes(asked as f64)), profile)?;
    } else if is_dense {
        refuse_dense(allowance.unasked().max(need.bytes), profile)?;
    }
    let scratch = Arc::new(Scratch::below(haloscope_cache_folder::scratch_folders()));
    if let Some((most, bound)) = of_system.and(system::bound_of_group()) {
        refuse_below(most, &bound.to_string(), profile)?;
    }
    let need = Arc::new(match dense.or(of_system) {
        Some(bytes) => need.bounded(bytes),
        None => need,
    });
    for source in 0..profile.sources.len() {
        let lines = profile.planes.iter().filter(|p| p.source == source).map(|p| p.lines.len()).sum();
        let column_store = Bounded {
            inner: profile.column_store(source).cloned(),
            scratch: Arc::clone(&scratch),
            lines: slots(lines),
        };
        profile.set_column_store(source, Arc::new(column_store));
        profile.hold(source, need.clone());
    }
    Ok(())
}

fn slots(lines: usize) -> Vec<OnceLock<Arc<LinePages>>> {
    (0..lines).map(|_| OnceLock::new()).collect()
}

/// Memory that a line of so many events takes while it is read, beside what stays.
fn line_takes(events: u64) -> u64 {
    events.saturating_mul(EVENT + WORK).saturating_add(BASE / 4)
}

/// Refuses a limit that is too low for the run: what stays when all pages are gone, and the largest line while it is read.
fn refuse_below(limit: u64, bound: &str, profile: &Profile) -> Result<(), Error> {
    let Some(stays) = PROCESS.let_go_of_all() else {
        return Err(Error::Usage(
            "this system does not say how much memory a process has (/proc/self/statm), so a limit is not possible; leave out --memory-limit and HALOSCOPE_MEMORY_LIMIT"
                .into(),
        ));
    };
    let largest = profile.lines.iter().max_by_key(|line| line.event_count);
    let events = largest.map_or(0, |line| line.event_count);
    let floor = stays.saturating_add(line_takes(events));
    if limit >= floor {
        return Ok(());
    }
    let name = largest.map_or("", |line| line.name.as_str());
    let floor = units::bytes(floor as f64);
    Err(Error::Usage(format!(
        "{bound} is too low for this run: reading it takes at least {floor} (its largest line, {name}, has {events} events); raise the limit, or give fewer files"
    )))
}

/// Refuses a run whose columns, and the largest line while it is read, take more addresses than the system has left for this process:
/// there scratch files are of no help, for they are mapped.
fn refuse_beyond_system(profile: &Profile, events: u64) -> Result<(), Error> {
    let Some((left, bound @ system::Bound::Addresses(_))) = system::left() else { return Ok(()) };
    let largest = profile.lines.iter().map(|line| line.event_count).max().unwrap_or(0);
    let takes = events.saturating_mul(EVENT).saturating_add(largest.saturating_mul(WORK));
    if takes <= left {
        return Ok(());
    }
    let (takes, left) = (units::bytes(takes as f64), units::bytes(left as f64));
    Err(Error::Usage(format!(
        "this run has {events} events, which take {takes} to read, but of {bound} only {left} are left; raise the limit, or give fewer files"
    )))
}

/// Refuses the files that have a line of more events than can be held where this much may be taken. What other runs take does not
/// count.
fn refuse_dense(most: u64, profile: &Profile) -> Result<(), Refused> {
    let mut largest: Vec<Option<&Line>> = vec![None; profile.sources.len()];
    for line in &profile.lines {
        let source = profile.planes.get(line.plane.index()).map(|plane| plane.source);
        let Some(found) = source.and_then(|source| largest.get_mut(source)) else { continue };
        if found.is_none_or(|found| found.event_count < line.event_count) {
            *found = Some(line);
        }
    }
    let dense = profile.sources.iter().zip(largest).filter_map(|(source, line)| {
        let line = line.filter(|line| line_takes(line.event_count) > most)?;
        let (events, name) = (line.event_count, &line.name);
        let (bytes, takes) = (line.bytes() as f64, line_takes(events) as f64);
        Some(Error::Input {
            path: source.path.clone(),
            message: format!(
                "expected a profile, found {events} events in {} (line {name}), shorter than profilers write: they take {} to read, but a file of its size may take {}; if the file is right, raise the limit with --memory-limit SIZE",
                units::bytes(bytes),
                units::bytes(takes),
                units::bytes(most as f64)
            ),
        })
    });
    let mut dense = dense.collect::<Vec<Error>>().into_iter();
    dense.next().map_or(Ok(()), |first| Err(Refused::Files(first, dense.collect())))
}

/// The columns of one file's lines: where they are kept already, else in a scratch file.
#[derive(Debug)]
struct Bounded {
    /// Another place where they may be kept: an index.
    inner: Option<Arc<dyn ColumnStore>>,
    scratch: Arc<Scratch>,
    lines: Vec<OnceLock<Arc<LinePages>>>,
}

/// The pages of a line's columns.
#[derive(Debug)]
struct LinePages {
    line: usize,
    used: AtomicU32,
    place: Where,
}

#[derive(Debug)]
enum Where {
    Scratch(Place),
    Inner(Arc<dyn ColumnStore>),
}

impl Pages for LinePages {
    fn release(&self) {
        match &self.place {
            Where::Scratch(place) => place.release(),
            Where::Inner(column_store) => column_store.drop_pages(self.line),
        }
    }

    fn used(&self) -> u32 {
        self.used.load(Ordering::Relaxed)
    }
}

impl Bounded {
    fn note(&self, line: usize, place: Where) {
        let Some(slot) = self.lines.get(line) else { return };
        let pages = Arc::new(LinePages { line, used: PROCESS.now().into(), place });
        if slot.set(Arc::clone(&pages)).is_ok() {
            PROCESS.add(&(pages as Arc<dyn Pages>));
        }
    }
}

impl ColumnStore for Bounded {
    fn get(&self, line: usize) -> Option<StoredColumns> {
        PROCESS.relieve(0);
        let inner = self.inner.as_ref()?;
        let kept = inner.get(line)?;
        self.note(line, Where::Inner(Arc::clone(inner)));
        Some(kept)
    }

    fn wants(&self, line: usize, bytes: u64) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.wants(line, bytes)) || !self.scratch.is_full()
    }

    fn put(&self, line: usize, head: &[u8], columns: &[&[u8]]) -> Option<StoredColumns> {
        let bytes = columns.iter().map(|column| column.len() as u64).sum();
        PROCESS.relieve(0);
        if let Some(inner) = self.inner.as_ref().filter(|inner| inner.wants(line, bytes))
            && let Some(kept) = inner.put(line, head, columns)
        {
            self.note(line, Where::Inner(Arc::clone(inner)));
            return Some(kept);
        }
        let (place, kept) = self.scratch.put(head, columns)?;
        self.note(line, Where::Scratch(place));
        Some(kept)
    }

    fn over(&self, inner: Arc<dyn ColumnStore>) -> Option<Arc<dyn ColumnStore>> {
        let (scratch, lines) = (Arc::clone(&self.scratch), slots(self.lines.len()));
        Some(Arc::new(Self { inner: Some(inner), scratch, lines }))
    }

    fn changed(&self) -> Option<(PathBuf, String)> {
        let lost = || {
            let mut places = self.lines.iter().filter_map(|line| Some(&line.get()?.place));
            let is_lost = |place: &Where| matches!(place, Where::Scratch(place) if place.is_lost());
            let change = "a part of the stored columns is gone: the disk failed";
            places.any(is_lost).then(|| ("the scratch file for columns".into(), change.to_owned()))
        };
        self.inner.as_ref().and_then(|inner| inner.changed()).or_else(lost)
    }

    fn used(&self, line: usize) {
        if let Some(pages) = self.lines.get(line).and_then(OnceLock::get) {
            let now = PROCESS.now();
            if pages.used.load(Ordering::Relaxed) != now {
                pages.used.store(now, Ordering::Relaxed);
            }
        }
        if let Some(inner) = &self.inner {
            inner.used(line);
        }
    }

    fn drop_pages(&self, line: usize) {
        if let Some(pages) = self.lines.get(line).and_then(OnceLock::get) {
            pages.release();
        }
    }
}
