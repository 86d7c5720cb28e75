//! The accounts of a selection's devices: those that are kept of the run, or made anew.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::Account;
use crate::busy;
use crate::input::input_work;
use crate::intervals::Intervals;
use crate::select::Selection;
use crate::window_index::WindowIndex;
use haloscope_profile::{Device, HostId, Profile};
use haloscope_report::stop;

/// Accounts are kept while they have so many intervals together: 512 MiB. Those of a larger run are made for each question.
const MOST_INTERVALS: usize = 1 << 25;

/// Filled on first use.
#[derive(Debug)]
struct Kept {
    devices: Vec<OnceLock<Option<Account>>>,
    /// Intervals of all that are there.
    intervals: AtomicUsize,
}

impl Kept {
    fn of(profile: &Profile) -> Option<(&Self, &WindowIndex)> {
        let new = |profile: &Profile| Self {
            devices: profile.devices.iter().map(|_| OnceLock::new()).collect(),
            intervals: AtomicUsize::new(0),
        };
        profile.memo(new).zip(WindowIndex::of(profile))
    }

    /// What `take` makes of a device's account; `None` where it ran no op.
    fn account<T>(
        &self,
        device: &Device,
        make: impl FnOnce() -> Option<Account>,
        take: impl FnOnce(&Account) -> T,
    ) -> Option<T> {
        let cell = &self.devices[device.id.index()];
        if let Some(found) = cell.get() {
            return found.as_ref().map(take);
        }
        // Not inside of the cell: what makes it may share its work with other threads that come to ask for the same.
        let made = make();
        let size = made.as_ref().map_or(0, Account::size);
        if self.intervals.fetch_add(size, Ordering::Relaxed).saturating_add(size) <= MOST_INTERVALS {
            let mut is_first = false;
            let found = cell.get_or_init(|| {
                is_first = true;
                made
            });
            if !is_first {
                self.intervals.fetch_sub(size, Ordering::Relaxed);
            }
            return found.as_ref().map(take);
        }
        self.intervals.fetch_sub(size, Ordering::Relaxed);
        made.as_ref().map(take)
    }
}

/// The accounts of the selected devices, in their order. `None` for one that ran no op: nobody knows whether it idled.
#[must_use]
pub fn of_selection(profile: &Profile, selection: &Selection<'_>) -> Vec<Option<Account>> {
    of_each(profile, selection, |_, account| account.clone())
}

/// What `take` makes of the account of each selected device, given its position. An account has an entry for every change of what its
/// device does: of many hosts only as many are there at a time as there are threads, where none is kept for the next question.
#[must_use]
pub fn of_each<T: Send>(
    profile: &Profile,
    selection: &Selection<'_>,
    take: impl Fn(usize, &Account) -> T + Send + Sync,
) -> Vec<Option<T>> {
    let kept = Kept::of(profile);
    let mut input: FxHashMap<HostId, Intervals> = FxHashMap::default();
    for device in selection.devices.iter().filter(|_| kept.is_none()) {
        input.entry(device.host).or_insert_with(|| input_work(profile, device.host));
    }
    let nothing = Intervals::default();
    let one = |(position, device): (usize, &&Device)| {
        if let Some((kept, index)) = kept {
            let make = || Account::of(profile, device, index.input(profile, device.host));
            return kept.account(device, make, |account| take(position, account));
        }
        let account = Account::of(profile, device, input.get(&device.host).unwrap_or(&nothing))?;
        Some(take(position, &account))
    };
    selection.devices.par_iter().enumerate().map(stop::carried(one)).collect()
}

/// From a device's first op to the end of its last, picoseconds on the run's clock; `None` where it ran none.
#[must_use]
pub fn active(profile: &Profile, device: &Device) -> Option<(i64, i64)> {
    match WindowIndex::of(profile) {
        Some(kept) => kept.busy(profile, device).set().hull(),
        None => busy::intervals(profile, device).hull(),
    }
}
