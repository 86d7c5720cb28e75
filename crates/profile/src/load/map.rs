//! Files mapped into memory, and what happens when somebody changes one that is mapped.
//!
//! Whoever truncates a mapped file takes its pages away: the next read of them is a bus error, and that would be the end of the
//! process. Here it is not: zeros come in place of what is gone, the map notes it, and [`Map::changed`] says so when the
//! answer is ready, which is then no answer. A file that is overwritten in place shows in its size and times. One that is
//! replaced (another file is renamed to its name) goes on as it was for as long as it is mapped.
//!
//! This is the only file with `unsafe` in it. Where there are no signals as Unix has them, files are read into memory.

#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use crate::FileBytes;

/// Sees to it that bus errors in maps come here, whoever wants to hear of them too: in a process of somebody else, such as Python
/// with `faulthandler.enable()`, another may have asked for them after a file was mapped. To be called before maps of long ago are
/// read again; costs one system call.
pub fn guard() {
    #[cfg(unix)]
    unix::guard();
}

/// A file's bytes: mapped, or in memory where it cannot be mapped.
pub struct Map {
    watch: Watch,
    held: Held,
}

enum Held {
    #[cfg(unix)]
    Mapped(unix::Mapped),
    Memory(Vec<u8>),
}

impl Map {
    /// Maps the file at `path`.
    ///
    /// # Errors
    /// What the system says where it cannot be opened, mapped or read.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::of(&File::open(path)?, path)
    }

    /// Maps an open file; `path` is where it is looked for when it is asked whether it [changed](Map::changed). The file may
    /// be closed, renamed or deleted after this.
    ///
    /// # Errors
    /// What the system says where it cannot be mapped or read; [`io::ErrorKind::InvalidData`] where it changed while it was
    /// read into memory.
    pub fn of(mut file: &File, path: &Path) -> io::Result<Self> {
        let meta = file.metadata()?;
        let watch = Watch { path: path.to_owned(), stamp: Stamp::of(&meta) };
        #[cfg(unix)]
        if meta.is_file()
            && let Some(mapped) = unix::Mapped::of(file, meta.len())?
        {
            return Ok(Self { watch, held: Held::Mapped(mapped) });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // What is no file, such as a pipe, changes by being read.
        match watch.changed().filter(|_| meta.is_file()) {
            Some(change) => Err(io::Error::new(io::ErrorKind::InvalidData, change)),
            None => Ok(Self { watch, held: Held::Memory(bytes) }),
        }
    }

    /// Why what was read of the file is not to be trusted: what was expected and what was found. `None` as long as it is what
    /// it was when it was mapped, and for a file whose name is gone or belongs to another file now. Costs one `stat`.
    #[must_use]
    pub fn changed(&self) -> Option<String> {
        self.lost(self.watch.changed())
    }

    /// As [`Map::changed`], for files that others may touch without writing to them, as when they note that it was used: the
    /// time of the last change of its state does not count.
    #[must_use]
    pub fn content_changed(&self) -> Option<String> {
        self.lost(self.watch.content_changed())
    }

    /// What is wrong with what was mapped, given what was found under its name. In this order: a read that fails after somebody
    /// looked there was not part of the answer.
    fn lost(&self, found: Option<String>) -> Option<String> {
        if matches!(self.held, Held::Memory(_)) {
            return None;
        }
        let lost = "a part of it is gone: it was cut off, or its disk failed";
        found.or_else(|| self.is_cut().then(|| lost.to_owned()))
    }

    /// Whether bytes that were asked for were gone, and zeros were given in their place. Costs nothing.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        match &self.held {
            #[cfg(unix)]
            Held::Mapped(mapped) => mapped.is_cut(),
            Held::Memory(_) => false,
        }
    }

    /// Gives back the memory of the pages that lie wholly in this range. They come back from the system's cache or from disk
    /// when they are read again. Does nothing where the file is not mapped, or where the system will not.
    pub fn drop_pages(&self, range: Range<usize>) {
        match &self.held {
            #[cfg(unix)]
            Held::Mapped(mapped) => mapped.drop_pages(range),
            Held::Memory(_) => {
                let _ = range;
            }
        }
    }
}

impl Deref for Map {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.held {
            #[cfg(unix)]
            Held::Mapped(mapped) => mapped,
            Held::Memory(bytes) => bytes,
        }
    }
}

impl FileBytes for Map {
    fn changed(&self) -> Option<String> {
        Self::changed(self)
    }

    fn drop_pages(&self, range: Range<usize>) {
        Self::drop_pages(self, range);
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").field("path", &self.watch.path).field("bytes", &self.len()).finish()
    }
}

/// A file as it was at one moment, to be held against what it is at a later one.
pub(super) struct Watch {
    path: PathBuf,
    stamp: Stamp,
}

impl Watch {
    /// The file as it is now.
    ///
    /// # Errors
    /// What the system says where there is none.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), stamp: Stamp::of(&fs::metadata(path)?) })
    }

    /// What was expected of the file and what was found; `None` if nobody touched it, or its name is gone or another's.
    pub(super) fn changed(&self) -> Option<String> {
        let now = self.now()?;
        let touched = || {
            // Rights or links; or content, by somebody who set the time back.
            let is_same = now == self.stamp || now.file != self.stamp.file;
            (!is_same).then(|| "it was touched".to_owned())
        };
        self.stamp.content_change(&now).or_else(touched)
    }

    fn content_changed(&self) -> Option<String> {
        self.stamp.content_change(&self.now()?)
    }

    fn now(&self) -> Option<Stamp> {
        Some(Stamp::of(&fs::metadata(&self.path).ok()?))
    }
}

/// What tells that a file was written to: which it is, its size, and the times of its last change, of content and of state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    /// Device and inode; the same for all files where there are none.
    file: (u64, u64),
    size: u64,
    modified: Option<std::time::SystemTime>,
    state: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        #[cfg(unix)]
        let (file, state) = {
            use std::os::unix::fs::MetadataExt;
            ((meta.dev(), meta.ino()), (meta.ctime(), meta.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (file, state) = ((0, 0), (0, 0));
        Self { file, size: meta.len(), modified: meta.modified().ok(), state }
    }

    /// How a file's content differs from what it was, in words; `None` where it does not, or is another file.
    fn content_change(&self, now: &Self) -> Option<String> {
        if now.file != self.file {
            return None;
        }
        let (was, is) = (self.size, now.size);
        if was != is {
            return Some(format!("it had {was} bytes, now it has {is}"));
        }
        let is_written = now.modified != self.modified;
        is_written.then(|| "it was written to".to_owned())
    }
}

#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "mapping a file, and outliving its truncation, cannot be checked by the compiler"
)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::ops::{Deref, Range};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::sync::{Mutex, OnceLock, PoisonError};

    use libc::{c_int, c_void, siginfo_t};
    use memmap2::{Mmap, MmapOptions, UncheckedAdvice};

    /// A mapped file that is known to the handler of bus errors.
    pub(super) struct Mapped {
        // Dropped in this order: a range must be forgotten before anything else can be mapped there.
        place: Place,
        map: Mmap,
    }

    impl Mapped {
        /// Maps the first `size` bytes; `None` where there is no handler, or no room in its table.
        pub(super) fn of(file: &File, size: u64) -> io::Result<Option<Self>> {
            if !install() {
                return Ok(None);
            }
            let size = usize::try_from(size).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
            // SAFETY: the map is only ever read as bytes, for which every pattern is valid. Should another process write to
            // the file, bytes may differ between two reads: all decoders check what they read when they use it, and
            // `changed` refuses the answer. Should it truncate the file, `on_fault` supplies zeros.
            let map = unsafe { MmapOptions::new().len(size).map(file)? };
            Ok(Place::take(&map).map(|place| Self { place, map }))
        }

        pub(super) fn is_cut(&self) -> bool {
            SLOTS[self.place.0].is_cut.load(SeqCst)
        }

        pub(super) fn drop_pages(&self, range: Range<usize>) {
            let page = page_size();
            let start = range.start.div_ceil(page).saturating_mul(page);
            let end = range.end.min(self.map.len()) / page * page;
            if start < end {
                // SAFETY: the map is shared with its file and never written, so that a page that was dropped comes back with
                // the file's own bytes (or zeros, where `on_fault` put them). A failure costs memory only.
                let _ =
                    unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
            }
        }
    }

    impl Deref for Mapped {
        type Target = [u8];

        #[inline]
        fn deref(&self) -> &[u8] {
            &self.map
        }
    }

    /// How many files can be mapped at once; further ones are read into memory.
    pub(super) const ROOM: usize = 4096;

    /// A mapped range, as the handler finds it. `version` counts its changes: odd while it is being changed, so that the handler
    /// never takes the start of one range with the end of another.
    struct Slot {
        version: AtomicUsize,
        start: AtomicUsize,
        end: AtomicUsize,
        is_cut: AtomicBool,
    }

    impl Slot {
        const fn empty() -> Self {
            Self {
                version: AtomicUsize::new(0),
                start: AtomicUsize::new(0),
                end: AtomicUsize::new(0),
                is_cut: AtomicBool::new(false),
            }
        }

        fn set(&self, range: Range<usize>) {
            self.version.fetch_add(1, SeqCst);
            self.start.store(range.start, SeqCst);
            self.end.store(range.end, SeqCst);
            self.is_cut.store(false, SeqCst);
            self.version.fetch_add(1, SeqCst);
        }

        /// Its range, unless it is empty or being changed.
        fn range(&self) -> Option<Range<usize>> {
            let version = self.version.load(SeqCst);
            let range = self.start.load(SeqCst)..self.end.load(SeqCst);
            let is_whole = version.is_multiple_of(2) && self.version.load(SeqCst) == version;
            (is_whole && !range.is_empty()).then_some(range)
        }
    }

    static SLOTS: [Slot; ROOM] = [const { Slot::empty() }; ROOM];
    /// Slots that were ever in use: the handler looks at no others.
    static USED: AtomicUsize = AtomicUsize::new(0);
    /// Free slots below [`USED`]. The handler does not touch this.
    static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    /// What was done about bus errors before, each time that the handler was installed: the last one counts.
    static FORMER: [OnceLock<libc::sigaction>; TIMES] = [const { OnceLock::new() }; TIMES];
    /// How often others asked for bus errors after us, at most.
    const TIMES: usize = 8;
    /// Whether a former handler is being asked.
    static PASSING: AtomicBool = AtomicBool::new(false);

    /// A slot of the table that belongs to one map.
    struct Place(usize);

    impl Place {
        fn take(map: &Mmap) -> Option<Self> {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            let slot = match free.pop() {
                Some(slot) => slot,
                None => USED.fetch_update(SeqCst, SeqCst, |used| (used < ROOM).then_some(used + 1)).ok()?,
            };
            let start = map.as_ptr() as usize;
            SLOTS[slot].set(start..(start + map.len()).next_multiple_of(page_size()));
            Some(Self(slot))
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            SLOTS[self.0].set(0..0);
            FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
        }
    }

    fn page_size() -> usize {
        // `install` set it before there was a map.
        PAGE.load(SeqCst).max(1)
    }

    /// Installs the handler again where there are maps and another has taken its place.
    pub(super) fn guard() {
        // Where it cannot be, a read of what is gone ends the process, as without us.
        let _ = USED.load(SeqCst) == 0 || install();
    }

    /// Installs the handler unless it is; false where the system will not.
    fn install() -> bool {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_fault;
        // SAFETY: plain questions to the system, with room for the answers. All bytes zero is a valid `sigaction`. The handler has
        // the signature that SA_SIGINFO asks for and does nothing that a handler may not do (see there); FORMER is set before
        // it can run.
        unsafe {
            let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) else { return false };
            PAGE.store(page, SeqCst);
            let mut former: libc::sigaction = std::mem::zeroed();
            if page == 0 || libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut former) != 0 {
                return false;
            }
            if former.sa_sigaction == handler as usize {
                return true;
            }
            if let Some(room) = FORMER.iter().find(|room| room.get().is_none()) {
                let _ = room.set(former);
            }
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = handler as usize;
            // On the stack for signals where there is one: the former handler may be the one for overrun stacks.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (former.sa_flags & libc::SA_RESTART);
            ours.sa_mask = former.sa_mask;
            libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut()) == 0
        }
    }

    /// A bus error. In a map of ours zeros take the place of what is gone, and the read that failed is done again; any other goes
    /// to whoever would have had it without us.
    ///
    /// A handler may only do what is safe at any instant: this one reads and writes atomics and asks the system. It takes no lock
    /// and allocates nothing.
    extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the system passes a valid siginfo_t; the address in it means something where the signal comes from a fault.
        let (is_fault, address) = unsafe { ((*info).si_code > 0, (*info).si_addr() as usize) };
        if !(is_fault && cover(address)) {
            pass_on(signal, is_fault, info, context);
        }
    }

    /// Puts zeros in place of a map from the page of this address to the end; false if the address is in none.
    fn cover(address: usize) -> bool {
        // The slot of the failed read stays as it is meanwhile: the reader borrows the map.
        for slot in &SLOTS[..USED.load(SeqCst).min(ROOM)] {
            let Some(range) = slot.range().filter(|range| range.contains(&address)) else { continue };
            let start = address - address % page_size();
            // First, so that nobody can read a zero and find the map whole.
            slot.is_cut.store(true, SeqCst);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            // SAFETY: from the page of the address, which lies in the range, to the range's end: memory of a map that is alive
            // and that nobody writes. Readers of it find zeros, which are as good as any bytes. A system call, which needs
            // no lock of this process; where it succeeds it leaves errno as it is.
            let zeros =
                unsafe { libc::mmap(start as *mut c_void, range.end - start, libc::PROT_READ, flags, -1, 0) };
            return zeros != libc::MAP_FAILED;
        }
        false
    }

    /// Does what would have been done about this signal without us.
    fn pass_on(signal: c_int, is_fault: bool, info: *mut siginfo_t, context: *mut c_void) {
        let former = FORMER.iter().rev().find_map(OnceLock::get);
        // One that passes on in turn comes back here: then nobody wants it.
        let is_back = PASSING.swap(true, SeqCst);
        let handler = former.filter(|_| !is_back).map_or(libc::SIG_DFL, |former| former.sa_sigaction);
        match handler {
            libc::SIG_IGN if !is_fault => {}
            // SAFETY: `sigaction` with all bytes zero but the default action is valid; both calls are safe in a handler. The fault
            // happens again when this returns; a signal that was sent is sent again.
            libc::SIG_DFL | libc::SIG_IGN => unsafe {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
                if !is_fault {
                    libc::raise(signal);
                }
            },
            // SAFETY: the former handler is a function of the signature that its flags say, and is called as the system would.
            handler => unsafe {
                if former.is_some_and(|former| former.sa_flags & libc::SA_SIGINFO != 0) {
                    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            },
        }
        PASSING.store(is_back, SeqCst);
    }
}
