//! The limit on the memory of the process that was asked for, as all who spend memory look it up.

use std::sync::atomic::{AtomicU64, Ordering};

/// 0 for none.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// Asks for this limit from now on; `None` for none.
pub(super) fn ask(bytes: Option<u64>) {
    ASKED.store(bytes.unwrap_or(0), Ordering::Relaxed);
}

/// The limit that was asked for.
#[must_use]
pub fn memory_limit() -> Option<u64> {
    Some(ASKED.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
}
