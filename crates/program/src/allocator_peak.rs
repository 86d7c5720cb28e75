//! When an allocator had the most memory in use, and what was alive then.

use std::collections::BTreeMap;

use super::allocator::AllocatorEvent;

/// The event after which the most memory is in use; of several the last. `None` of nothing.
#[must_use]
pub fn highest<'e, 'p: 'e>(
    events: impl IntoIterator<Item = &'e AllocatorEvent<'p>>,
) -> Option<&'e AllocatorEvent<'p>> {
    events.into_iter().max_by_key(|event| event.in_use_bytes())
}

/// An allocation or a release, as the replay needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    /// Whether memory is given back.
    pub is_release: bool,
    /// Where it lies.
    pub address: u64,
    /// How much.
    pub bytes: i64,
}

impl From<&AllocatorEvent<'_>> for Activity {
    fn from(event: &AllocatorEvent<'_>) -> Self {
        // What has no address is held against what has none either, as in XProf.
        Self {
            is_release: event.is_release,
            address: event.address.unwrap_or(0),
            bytes: event.allocation_bytes.unwrap_or(0),
        }
    }
}

/// What is alive after some allocations and releases.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alive {
    /// For each address that is in use the position of the allocation.
    pub by_address: BTreeMap<u64, usize>,
    /// Bytes of all allocations, less those of all releases of memory that was allocated among them.
    pub bytes: i64,
}

/// Replays allocations and releases in their order. A release of memory that no allocation here took was taken before, and
/// changes nothing.
#[must_use]
pub fn replay(activities: impl IntoIterator<Item = (usize, Activity)>) -> Alive {
    let mut alive = Alive::default();
    for (position, activity) in activities {
        if !activity.is_release {
            alive.by_address.insert(activity.address, position);
            alive.bytes = alive.bytes.saturating_add(activity.bytes);
        } else if alive.by_address.remove(&activity.address).is_some() {
            alive.bytes = alive.bytes.saturating_sub(activity.bytes);
        }
    }
    alive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(is_release: bool, address: u64, bytes: i64) -> Activity {
        Activity { is_release, address, bytes }
    }

    #[test]
    fn releases_of_older_memory_change_nothing() {
        let events = [
            activity(true, 7, 1000),
            activity(false, 1, 10),
            activity(false, 2, 20),
            activity(true, 1, 10),
            activity(false, 3, 5),
        ];
        let alive = replay(events.into_iter().enumerate());
        assert_eq!(alive.by_address.into_iter().collect::<Vec<_>>(), [(2, 2), (3, 4)]);
        assert_eq!(alive.bytes, 25);
    }
}
