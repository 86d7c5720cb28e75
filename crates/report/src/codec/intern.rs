//! Texts and columns that live as long as the program: those of its analyses, which were written down by this very program
//! and are few. What was met before is not stored again.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::super::Column;

/// Bytes of texts that are stored at most: a hundred times what all analyses have. Whose file asks for more wrote it by
/// other means.
const MOST: usize = 32 << 20;

#[derive(Default)]
struct Stored {
    texts: BTreeSet<&'static str>,
    columns: FxHashMap<Vec<Column>, &'static [Column]>,
    bytes: usize,
}

static STORED: Mutex<Option<Stored>> = Mutex::new(None);

fn with<T>(act: impl FnOnce(&mut Stored) -> T) -> T {
    let mut stored = STORED.lock().unwrap_or_else(PoisonError::into_inner);
    act(stored.get_or_insert_default())
}

/// The text as one that lives as long as the program; `None` if there is no room left.
pub(super) fn text(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("");
    }
    with(|stored| {
        if let Some(known) = stored.texts.get(text) {
            return Some(*known);
        }
        stored.bytes = stored.bytes.saturating_add(text.len() + 64);
        (stored.bytes <= MOST).then(|| {
            let text: &'static str = Box::leak(text.into());
            stored.texts.insert(text);
            text
        })
    })
}

/// Columns likewise.
pub(super) fn columns(columns: Vec<Column>) -> Option<&'static [Column]> {
    with(|stored| {
        if let Some(known) = stored.columns.get(&columns) {
            return Some(*known);
        }
        stored.bytes = stored.bytes.saturating_add(columns.len() * 2 * size_of::<Column>() + 64);
        (stored.bytes <= MOST).then(|| {
            let kept: &'static [Column] = Box::leak(columns.clone().into_boxed_slice());
            stored.columns.insert(columns, kept);
            kept
        })
    })
}
