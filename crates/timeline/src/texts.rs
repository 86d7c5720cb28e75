//! Texts that slices show, each with a number: what events are called, and what they are coloured by.
//!
//! A tile names tens of thousands of slices. With numbers that are known from the first tile on it compares none of their
//! texts.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::label;
use haloscope_profile::{Line, MetaIdx, Plane, Profile};

/// No text.
pub(super) const NO_TEXT: u32 = u32::MAX;

/// The texts that were shown so far.
#[derive(Debug, Default)]
pub(super) struct Texts(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    list: Vec<Arc<str>>,
    number: FxHashMap<Arc<str>, u32>,
}

impl Texts {
    /// The number of a text; [`NO_TEXT`] of an empty one.
    pub(super) fn number(&self, text: &str) -> u32 {
        if text.is_empty() {
            return NO_TEXT;
        }
        if let Some(number) = self.0.read().unwrap_or_else(PoisonError::into_inner).number.get(text) {
            return *number;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.number.get(text) {
            return *number;
        }
        let (text, number) = (Arc::<str>::from(text), known.list.len() as u32);
        known.list.push(Arc::clone(&text));
        known.number.insert(text, number);
        number
    }

    /// The texts of these numbers.
    pub(super) fn of(&self, numbers: &[u32]) -> Vec<Arc<str>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let text = |number: &u32| known.list.get(*number as usize).cloned().unwrap_or_default();
        numbers.iter().map(text).collect()
    }
}

/// The numbers of what events are called, by plane and metadata row.
#[derive(Debug)]
pub(super) struct Labels(Vec<OnceLock<Box<[AtomicU32]>>>);

/// The numbers of what a plane's events are called.
pub(super) struct PlaneLabels<'l> {
    profile: &'l Profile,
    plane: &'l Plane,
    texts: &'l Texts,
    /// One more than the number; 0 where nobody has asked yet.
    numbers: &'l [AtomicU32],
}

impl Labels {
    pub(super) fn of(profile: &Profile) -> Self {
        Self(profile.planes.iter().map(|_| OnceLock::new()).collect())
    }

    pub(super) fn of_line<'l>(
        &'l self,
        profile: &'l Profile,
        line: &Line,
        texts: &'l Texts,
    ) -> PlaneLabels<'l> {
        let plane = profile.plane(line.plane);
        let numbers = self.0[line.plane.index()].get_or_init(|| {
            let unknown = plane.metas.iter().map(|_| AtomicU32::new(0));
            unknown.collect()
        });
        PlaneLabels { profile, plane, texts, numbers }
    }
}

impl PlaneLabels<'_> {
    /// The number of what events with this metadata are called.
    #[inline]
    pub(super) fn number(&self, meta: MetaIdx) -> u32 {
        let known = &self.numbers[meta as usize];
        match known.load(Ordering::Relaxed) {
            0 => {
                let number = self.texts.number(&label(self.profile, self.plane, meta));
                known.store(number.wrapping_add(1), Ordering::Relaxed);
                number
            }
            number => number - 1,
        }
    }
}

/// Numbers in the order in which they are first met.
#[derive(Debug, Default)]
pub(super) struct Met {
    pub(super) list: Vec<u32>,
    /// Position in the list by number; [`NO_TEXT`] of one that is not in it.
    places: Vec<u32>,
}

impl Met {
    /// The position of a number that is not [`NO_TEXT`].
    #[inline]
    pub(super) fn place(&mut self, number: u32) -> u32 {
        match self.places.get(number as usize) {
            Some(place) if *place != NO_TEXT => *place,
            _ => self.meet(number),
        }
    }

    fn meet(&mut self, number: u32) -> u32 {
        let (at, place) = (number as usize, self.list.len() as u32);
        if at >= self.places.len() {
            self.places.resize(at + 1, NO_TEXT);
        }
        self.places[at] = place;
        self.list.push(number);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_has_one_number() {
        let texts = Texts::default();
        let numbers = ["a", "b", "a", "", "c"].map(|text| texts.number(text));
        assert_eq!(numbers, [0, 1, 0, NO_TEXT, 2]);
        assert_eq!(texts.of(&[2, 0]).iter().map(|t| &**t).collect::<Vec<_>>(), ["c", "a"]);
        let mut met = Met::default();
        assert_eq!([2, 0, 2, 1].map(|number| met.place(number)), [0, 1, 0, 2]);
        assert_eq!(met.list, [2, 0, 1]);
    }
}
