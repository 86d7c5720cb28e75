//! Which of the events that start at one instant an event is: with its start, what it is known by.

/// The how-manieth event of its start each is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Serials {
    #[default]
    Unknown,
    All(Vec<u16>),
    /// Of some: their positions, ascending, and numbers.
    These(Vec<(u32, u16)>),
}

impl Serials {
    /// The number of an event, from 0, at most [`MOST_SERIALS`](super::order::MOST_SERIALS).
    pub(super) fn of(&self, at: usize) -> u16 {
        match self {
            Self::Unknown => 0,
            Self::All(all) => all[at],
            Self::These(these) => {
                let found = these.binary_search_by_key(&(at as u32), |(position, _)| *position);
                found.map_or(0, |found| these[found].1)
            }
        }
    }
}
