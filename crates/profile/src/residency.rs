//! Which pages of mapped files stay in memory: those of files go first, then those of the lines used longest ago.
//!
//! Columns that lie in a mapped file keep their address while their pages are away: they come back from the page cache, or
//! the disk, when somebody looks. So memory is bounded while analyses hold slices, and no result depends on it.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Pages that can be let go of at any time and come back by themselves.
pub trait Pages: Send + Sync {
    /// Lets go of them. What they hold does not change.
    fn release(&self);

    /// When they were used last, by [`Residency::now`]; older ones are let go of first.
    fn used(&self) -> u32;
}

/// A bound on the memory of the process, and the pages that it may take from.
pub struct Residency {
    /// Bytes that may be resident; 0 for any number.
    limit: AtomicU64,
    /// Bytes of the process that are resident; `None` where the system does not say.
    gauge: fn() -> Option<u64>,
    now: AtomicU32,
    pages: Mutex<Vec<Weak<dyn Pages>>>,
    sweep: Mutex<()>,
}

/// Pages are let go of from this share of the limit on, and down to the other: what is read between two looks must fit
/// between the first and the limit.
const FROM: f64 = 0.85;
const DOWN_TO: f64 = 0.7;

impl Residency {
    /// No bound yet; `gauge` tells how much memory the process has resident.
    #[must_use]
    pub const fn new(gauge: fn() -> Option<u64>) -> Self {
        Self {
            limit: AtomicU64::new(0),
            gauge,
            now: AtomicU32::new(0),
            pages: Mutex::new(Vec::new()),
            sweep: Mutex::new(()),
        }
    }

    /// Sets the bound in bytes; `None` takes it away.
    pub fn set_limit(&self, bytes: Option<u64>) {
        self.limit.store(bytes.unwrap_or(0), Ordering::Relaxed);
    }

    /// The bound in bytes, if there is one.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    /// Bytes that are resident now; `None` where the system does not say.
    #[must_use]
    pub fn resident(&self) -> Option<u64> {
        (self.gauge)()
    }

    /// The time by which uses are dated: it goes on with every look at the memory.
    #[inline]
    #[must_use]
    pub fn now(&self) -> u32 {
        self.now.load(Ordering::Relaxed)
    }

    /// Adds pages that may be let go of. They are forgotten when their owner is gone.
    pub fn add(&self, pages: &Arc<dyn Pages>) {
        let mut all = held(&self.pages);
        if all.len() == all.capacity() {
            all.retain(|pages| pages.strong_count() > 0);
        }
        all.push(Arc::downgrade(pages));
    }

    /// Lets go of pages where the process comes near its bound with `more` bytes to come. True if it is well below it
    /// afterwards, or has none.
    pub fn relieve(&self, more: u64) -> bool {
        let Some(limit) = self.limit() else { return true };
        self.now.fetch_add(1, Ordering::Relaxed);
        let Some(resident) = self.resident() else { return true };
        let from = (limit as f64 * FROM) as u64;
        if resident.saturating_add(more) <= from {
            return true;
        }
        // Whoever finds somebody at it already goes on.
        let Ok(_alone) = self.sweep.try_lock() else { return true };
        let down_to = ((limit as f64 * DOWN_TO) as u64).saturating_sub(more);
        self.let_go(down_to) <= from
    }

    /// Lets go of pages, the ones used longest ago first, until no more than `down_to` bytes are resident, or none are left.
    /// What is resident then.
    fn let_go(&self, down_to: u64) -> u64 {
        /// So many at a time between two looks.
        const AT_ONCE: usize = 16;
        let mut pages: Vec<Arc<dyn Pages>> = held(&self.pages).iter().filter_map(Weak::upgrade).collect();
        pages.sort_by_cached_key(|pages| pages.used());
        for some in pages.chunks(AT_ONCE) {
            some.iter().for_each(|pages| pages.release());
            match self.resident() {
                Some(resident) if resident > down_to => {}
                resident => return resident.unwrap_or(0),
            }
        }
        self.resident().unwrap_or(0)
    }

    /// Lets go of all pages. What is resident then.
    pub fn let_go_of_all(&self) -> Option<u64> {
        self.let_go(0);
        self.resident()
    }
}

impl fmt::Debug for Residency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Residency").field("limit", &self.limit()).finish_non_exhaustive()
    }
}

/// What is guarded here is whole after every statement, so a panic elsewhere does not spoil it.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resident bytes of the make-believe process of the test that runs on this thread.
    mod process {
        use std::cell::Cell;
        thread_local!(pub(super) static BYTES: Cell<u64> = const { Cell::new(0) });

        #[expect(clippy::unnecessary_wraps, reason = "a gauge may not know")]
        pub(super) fn gauge() -> Option<u64> {
            Some(BYTES.get())
        }
    }

    struct Made {
        bytes: AtomicU64,
        used: AtomicU32,
    }

    impl Pages for Made {
        fn release(&self) {
            let bytes = self.bytes.swap(0, Ordering::Relaxed);
            process::BYTES.set(process::BYTES.get() - bytes);
        }

        fn used(&self) -> u32 {
            self.used.load(Ordering::Relaxed)
        }
    }

    fn made(residency: &Residency, bytes: u64, used: u32) -> Arc<Made> {
        let made = Arc::new(Made { bytes: bytes.into(), used: used.into() });
        process::BYTES.set(process::BYTES.get() + bytes);
        residency.add(&(Arc::clone(&made) as Arc<dyn Pages>));
        made
    }

    #[test]
    fn pages_used_longest_ago_go_first_and_only_near_the_limit() {
        process::BYTES.set(100);
        let residency = Residency::new(process::gauge);
        let all: Vec<_> = (0..64).map(|i| made(&residency, 10, (i + 32) % 64)).collect();
        let left = |all: &[Arc<Made>]| -> Vec<bool> {
            all.iter().map(|m| m.bytes.load(Ordering::Relaxed) > 0).collect()
        };
        assert!(residency.relieve(1 << 40), "without a limit nothing is let go of");
        residency.set_limit(Some(1000));
        assert!(residency.relieve(0));
        assert!(left(&all).iter().all(|l| *l), "740 of 1000 bytes are not near the limit");
        assert!(residency.relieve(200));
        let expected: Vec<bool> = (0..64).map(|i| i < 32).collect();
        assert_eq!(left(&all), expected, "the second half was used longer ago");
    }

    #[test]
    fn what_is_held_elsewhere_is_not_promised_away() {
        process::BYTES.set(2000);
        let residency = Residency::new(process::gauge);
        residency.set_limit(Some(1000));
        let pages = made(&residency, 500, 0);
        assert!(!residency.relieve(0), "2000 bytes are not pages");
        assert_eq!(pages.bytes.load(Ordering::Relaxed), 0);
        drop(pages);
        assert!(!residency.relieve(0), "pages whose owner is gone are not asked");
    }
}
