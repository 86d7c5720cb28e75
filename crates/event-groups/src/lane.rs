//! A line as grouping leaves it: its events, with those that were put in or merged, and what was found out about them.

use super::Link;
use haloscope_profile::{Events, LineId, MetaIdx, Packed, Profile};

/// Stands for "no group" in [`Lane::groups`].
pub const NO_GROUP: u32 = u32::MAX;
/// The row of an event that stands in no file.
pub const MADE: u32 = u32::MAX;

/// A line's events. Positions are those of the line's columns ([`Lane::starts_ps`] and its siblings), by start.
#[derive(Debug)]
pub struct Lane {
    /// The line.
    pub line: LineId,
    /// Columns of its own, where events were put in or merged.
    pub(super) own: Option<Columns>,
    /// The group of each event, or [`NO_GROUP`]; empty where no event has one.
    pub(super) groups: Vec<u32>,
    /// Ends of arrows by position.
    pub links: Vec<(u32, Link)>,
    /// Events that are shown under the name of a group: position and group.
    pub named: Vec<(u32, u32)>,
    /// Steps that were merged into others: the position of the step that each is part of, and its own row.
    pub merged: Vec<(u32, u32)>,
    /// Ops and kernels that were executed eagerly, by position.
    pub eager: Vec<u32>,
}

/// Columns of a line whose events are not just those of the file.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) start_ps: Vec<i64>,
    pub(super) duration_ps: Vec<i64>,
    pub(super) meta: Vec<MetaIdx>,
    /// Rows of the file's events, or [`MADE`].
    pub(super) row: Vec<u32>,
}

impl Lane {
    pub(super) fn new(line: LineId) -> Self {
        Self {
            line,
            own: None,
            groups: Vec::new(),
            links: Vec::new(),
            named: Vec::new(),
            merged: Vec::new(),
            eager: Vec::new(),
        }
    }

    fn events<'p>(&self, profile: &'p Profile) -> &'p Events {
        profile.events(profile.line(self.line))
    }

    /// Number of events.
    #[must_use]
    pub fn len(&self, profile: &Profile) -> usize {
        self.own.as_ref().map_or_else(|| self.events(profile).len(), |own| own.row.len())
    }

    /// Starts on the run's clock, picoseconds, ascending.
    #[must_use]
    pub fn starts_ps<'a>(&'a self, profile: &'a Profile) -> &'a [i64] {
        self.own.as_ref().map_or_else(|| self.events(profile).starts_ps(), |own| &own.start_ps)
    }

    /// Durations, picoseconds.
    #[must_use]
    pub fn durations_ps<'a>(&'a self, profile: &'a Profile) -> Packed<'a> {
        let own = self.own.as_ref().map(|own| Packed::plain(&own.duration_ps));
        own.unwrap_or_else(|| self.events(profile).durations_ps())
    }

    /// Metadata rows; those of events that were put in are 0.
    #[must_use]
    pub fn metas<'a>(&'a self, profile: &'a Profile) -> &'a [MetaIdx] {
        self.own.as_ref().map_or_else(|| self.events(profile).metas(), |own| &own.meta)
    }

    /// The row of the file's event at this position; `None` for one that was put in: an executed region of a thread pool.
    #[must_use]
    pub fn row(&self, position: usize) -> Option<usize> {
        match &self.own {
            None => Some(position),
            Some(own) => own.row.get(position).filter(|row| **row != MADE).map(|row| *row as usize),
        }
    }

    /// True if positions are the rows of the file's events.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.own.is_none()
    }

    /// The group of the event at this position.
    #[inline]
    #[must_use]
    pub fn group(&self, position: usize) -> Option<u32> {
        self.groups.get(position).copied().filter(|group| *group != NO_GROUP)
    }

    /// Groups by position, [`NO_GROUP`] for none; empty where no event has one.
    #[must_use]
    pub fn groups(&self) -> &[u32] {
        &self.groups
    }

    pub(super) fn set_group(&mut self, len: usize, position: usize, group: u32) {
        if self.groups.is_empty() {
            self.groups = vec![NO_GROUP; len];
        }
        if let Some(slot) = self.groups.get_mut(position) {
            *slot = group;
        }
    }
}
