//! The runs that are open.

use std::sync::{Arc, Mutex, OnceLock};

use haloscope_core::derive::timeline::Timeline;
use haloscope_core::profile::Profile;

use crate::listing::{RunInfo, Stamp};
use crate::{Error, lock};

/// An open run.
#[derive(Debug)]
pub struct Run {
    /// What the listing said of it when it was opened.
    pub info: RunInfo,
    /// What its files hold.
    pub profile: Arc<Profile>,
    /// Its timeline, laid out as far as somebody looked.
    pub timeline: Timeline,
}

impl Run {
    pub(crate) fn new(info: RunInfo, profile: Profile) -> Self {
        let profile = Arc::new(profile);
        Self { info, timeline: Timeline::new(Arc::clone(&profile)), profile }
    }
}

type Cell = Arc<OnceLock<Result<Arc<Run>, Error>>>;

/// A few open runs, the one used last at the end.
#[derive(Debug)]
pub(crate) struct Opened {
    room: usize,
    slots: Mutex<Vec<Slot>>,
}

#[derive(Debug)]
struct Slot {
    id: String,
    stamps: Vec<Stamp>,
    cell: Cell,
}

impl Opened {
    pub(crate) fn new(room: usize) -> Self {
        Self { room, slots: Mutex::default() }
    }

    /// The run, opened by `open` unless it is open with these stamps. Others who ask meanwhile wait and get the same.
    pub(crate) fn get(
        &self,
        id: &str,
        stamps: Vec<Stamp>,
        open: impl FnOnce() -> Result<Run, Error>,
    ) -> Result<Arc<Run>, Error> {
        let cell = self.cell(id, stamps);
        // The list is not locked here: opening one run does not hold up another.
        let result = cell.get_or_init(|| open().map(Arc::new)).clone();
        if result.is_err() {
            // The next one to ask tries again; perhaps the profiler was still writing.
            lock(&self.slots).retain(|s| !Arc::ptr_eq(&s.cell, &cell));
        }
        result
    }

    fn cell(&self, id: &str, stamps: Vec<Stamp>) -> Cell {
        let mut slots = lock(&self.slots);
        let held = slots.iter().position(|s| s.id == id).map(|at| slots.remove(at));
        let slot = match held {
            Some(slot) if slot.stamps == stamps => slot,
            _ => Slot { id: id.to_owned(), stamps, cell: Cell::default() },
        };
        let cell = Arc::clone(&slot.cell);
        slots.push(slot);
        if slots.len() > self.room {
            slots.remove(0);
        }
        cell
    }
}
