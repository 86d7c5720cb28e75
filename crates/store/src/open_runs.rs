//! The runs that are open.

use std::sync::{Arc, Mutex, OnceLock};

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_timeline::Timeline;

use crate::listing::{RunInfo, Stamp};
use crate::{Error, Indexes, lock};

/// An open run.
#[derive(Debug)]
pub struct Run {
    /// What the listing said of it when it was opened.
    pub info: RunInfo,
    /// What its files hold.
    pub profile: Arc<Profile>,
    /// Its timeline, laid out as far as somebody looked.
    pub timeline: Timeline,
    /// What is known of its files from before.
    pub(crate) indexes: Indexes,
}

impl Run {
    pub(crate) fn new(info: RunInfo, mut profile: Profile, indexes: Indexes) -> Self {
        // Whoever limits memory has questions answered from the events each time.
        if load::memory_limit().is_none() {
            profile.expect_questions();
        }
        let profile = Arc::new(profile);
        Self { info, timeline: Timeline::new(Arc::clone(&profile)), profile, indexes }
    }
}

/// As many stay open at most, however small.
const MOST: usize = 32;

type Cell = Arc<OnceLock<Result<Arc<Run>, Error>>>;

/// A few open runs, the one used last at the end.
#[derive(Debug)]
pub(crate) struct OpenRuns {
    /// How many stay open, however large.
    room: usize,
    /// More do as long as all together have no more bytes than this.
    room_bytes: u64,
    slots: Mutex<Vec<Slot>>,
}

#[derive(Debug)]
struct Slot {
    id: String,
    stamps: Vec<Stamp>,
    cell: Cell,
}

impl Slot {
    /// Whether the run gives answers, if it is open: a file that was cut or written to for a moment may look as it did before.
    fn is_usable(&self) -> bool {
        !matches!(self.cell.get(), Some(Ok(run)) if run.profile.unchanged().is_err())
    }
}

impl OpenRuns {
    pub(crate) fn new(room: usize, room_bytes: u64) -> Self {
        Self { room, room_bytes, slots: Mutex::default() }
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
        let mut is_new = false;
        let result = cell
            .get_or_init(|| {
                is_new = true;
                open().map(Arc::new)
            })
            .clone();
        if result.as_ref().map_or(true, |run| run.profile.is_left_out_for_now) {
            // The next one to ask tries again; perhaps the profiler was still writing, or too many files were open.
            lock(&self.slots).retain(|s| !Arc::ptr_eq(&s.cell, &cell));
        } else if is_new {
            self.close_some();
        }
        result
    }

    /// Whether the run is open with these stamps. It is not opened, and does not count as used.
    pub(crate) fn holds(&self, id: &str, stamps: &[Stamp]) -> bool {
        let slots = lock(&self.slots);
        let slot = slots.iter().find(|slot| slot.id == id && slot.stamps == stamps);
        slot.is_some_and(|slot| matches!(slot.cell.get(), Some(Ok(_))))
    }

    /// Closes the runs used longest ago that are too many, or too large together. What is being opened is not closed.
    fn close_some(&self) {
        let size = |slot: &Slot| match slot.cell.get() {
            Some(Ok(run)) => run.profile.sources.iter().map(|s| s.bytes().len() as u64).sum(),
            _ => 0,
        };
        let mut slots = lock(&self.slots);
        let mut closed = Vec::new();
        let mut bytes: u64 = slots.iter().map(size).sum();
        while slots.len() > self.room && (bytes > self.room_bytes || slots.len() > MOST) {
            let Some(oldest) = slots.iter().position(|slot| slot.cell.get().is_some()) else { break };
            let slot = slots.remove(oldest);
            bytes -= size(&slot);
            closed.push(slot);
        }
        // To close a large run takes a while, for which nobody else need wait.
        drop(slots);
        drop(closed);
    }

    fn cell(&self, id: &str, stamps: Vec<Stamp>) -> Cell {
        let mut slots = lock(&self.slots);
        let held = slots.iter().position(|s| s.id == id).map(|at| slots.remove(at));
        let slot = match held {
            Some(slot) if slot.stamps == stamps && slot.is_usable() => slot,
            _ => Slot { id: id.to_owned(), stamps, cell: Cell::default() },
        };
        let cell = Arc::clone(&slot.cell);
        slots.push(slot);
        cell
    }
}
