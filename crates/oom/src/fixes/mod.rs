//! What would make it fit. Each cure is held against the numbers: what it saves, what is left, and whether that fits.

mod hbm;
mod kernel;
mod run_time;

use std::collections::BTreeSet;

use haloscope_report::{Status, units};

use crate::case::Case;

/// Of the memory one part of so many stays free where a cure can be had in halves.
const HEADROOM: i64 = 16;
/// An estimate that leaves less than one part of so many of the memory free is none to rely on.
const SURE: i64 = 20;

/// Something to try.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fix {
    /// Its id, such as `donate`.
    pub(crate) id: &'static str,
    /// What to do, in one sentence.
    pub(crate) what: String,
    /// How, in the framework's words.
    pub(crate) how: String,
    /// What it costs, or when it does not work.
    pub(crate) but: String,
    /// Bytes that it saves; `None` where nothing tells.
    pub(crate) saves_bytes: Option<i64>,
    /// Bytes that are needed then.
    pub(crate) left_bytes: Option<i64>,
    /// Bytes that there are then: the limit, or the one that the cure sets.
    pub(crate) limit_bytes: Option<i64>,
    /// Whether it fits then; `None` where that is too close to tell, or nothing tells.
    pub(crate) fits: Option<bool>,
    /// How the saving is known.
    pub(crate) status: Status,
    /// The buffers that it makes smaller, by their place in the case, so that two cures are not counted for one buffer.
    pub(crate) buffers: Vec<usize>,
    /// How many times smaller something becomes, or in how many parts it is worked on, over how many devices it is kept; of groups how
    /// many are in one.
    pub(crate) times: Option<i64>,
    /// Whether what it saves rests on a guess at how the program is made, so that one that rests on its numbers goes before it.
    pub(crate) is_guess: bool,
    /// Bytes that are needed with this cure and those above it that are about other buffers.
    pub(crate) together_bytes: Option<i64>,
}

impl Fix {
    /// By how many bytes it fits; negative where it does not.
    #[must_use]
    pub(crate) fn spare_bytes(&self) -> Option<i64> {
        Some(self.limit_bytes?.saturating_sub(self.left_bytes?))
    }

    /// Whether it fits as surely as numbers can say: one that is estimated by enough to spare for what the compiler plans anew.
    fn is_sure(&self) -> bool {
        let numbers = self.spare_bytes().zip(self.limit_bytes);
        let has_room = numbers.is_none_or(|(spare, limit)| spare >= limit / SURE);
        !self.is_guess && (self.status != Status::Estimated || has_room)
    }

    /// A cure of which nobody can say what it saves.
    pub(crate) fn unknown(
        id: &'static str,
        what: impl Into<String>,
        how: impl Into<String>,
        but: impl Into<String>,
    ) -> Self {
        Self {
            id,
            what: what.into(),
            how: how.into(),
            but: but.into(),
            status: Status::Unknown,
            ..Self::default()
        }
    }

    /// With what it saves, held against the case's limit.
    pub(crate) fn saving(mut self, case: &Case<'_>, bytes: i64, status: Status) -> Self {
        self.saves_bytes = Some(bytes.max(0));
        self.status = status;
        self.limit_bytes = case.limit.map(|limit| limit.bytes);
        let Some(used) = case.used else { return self };
        let left = used.bytes.saturating_sub(bytes.max(0));
        self.left_bytes = Some(left);
        let slack = used.slack_bytes.saturating_add(case.limit.map_or(0, |limit| limit.slack_bytes));
        self.fits = self.limit_bytes.and_then(|limit| fits(left, limit, slack));
        self
    }

    /// With how many times smaller something becomes.
    pub(crate) fn by(mut self, times: i64) -> Self {
        self.times = Some(times);
        self
    }

    /// Of one allocation that a message names alone: that it fits does not say that all does.
    pub(crate) fn unless_alone(mut self, is_alone: bool) -> Self {
        if is_alone && self.fits == Some(true) {
            self.fits = None;
            self.but += "; the message names one allocation and does not say what else is in memory";
        }
        self
    }

    /// Of what is guessed of the program.
    pub(crate) fn guessed(mut self, is_guess: bool) -> Self {
        self.is_guess = is_guess;
        self
    }

    /// With the buffers that it is about.
    pub(crate) fn on(mut self, buffers: Vec<usize>) -> Self {
        self.buffers = buffers;
        self
    }
}

/// Whether so many bytes fit; `None` where the numbers are too coarse to tell.
fn fits(left: i64, limit: i64, slack: i64) -> Option<bool> {
    let spare = limit.saturating_sub(left);
    // To the byte equal is what a memory holds.
    if spare.abs() < slack || (spare == 0 && slack > 0) { None } else { Some(spare >= 0) }
}

/// The smallest of some factors with which it fits.
pub(crate) fn smallest(
    factors: impl IntoIterator<Item = i64>,
    left: impl Fn(i64) -> i64,
    limit: i64,
) -> Option<i64> {
    factors.into_iter().find(|factor| left(*factor) <= limit)
}

/// Powers of two from 2.
pub(crate) fn powers() -> impl Iterator<Item = i64> {
    (1..=16).map(|power| 1i64 << power)
}

/// What is left of bytes of which a share of `1 / factor` stays.
pub(crate) fn part(bytes: i64, factor: i64) -> i64 {
    bytes / factor.max(1) + i64::from(bytes % factor.max(1) > 0)
}

/// A size for people.
pub(crate) fn size(bytes: i64) -> String {
    units::bytes(bytes as f64)
}

/// The cures of a case: those that make it fit first, the sure ones before those that hardly do or rest on a guess, each in the order
/// of what they cost a programmer; then those of which nobody can tell, then those that do not suffice, by what they save.
#[must_use]
pub(crate) fn all(case: &Case<'_>) -> Vec<Fix> {
    let mut all = if case.is_on_chip() {
        kernel::fixes(case)
    } else if case.form().is_some_and(crate::message::Form::is_at_run_time) {
        run_time::fixes(case)
    } else {
        hbm::fixes(case)
    };
    // A stable sort keeps the order of cost among equals.
    all.sort_by_key(|fix| match fix.fits {
        Some(true) if fix.is_sure() => (0, 0),
        Some(true) => (1, 0),
        None => (2, 0),
        Some(false) => (3, -fix.saves_bytes.unwrap_or(0)),
    });
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut left = case.used.map(|used| used.bytes);
    for fix in &mut all {
        let is_apart = !fix.buffers.is_empty() && fix.buffers.iter().all(|buffer| !taken.contains(buffer));
        if let (true, Some(saves), Some(now)) = (is_apart, fix.saves_bytes, left) {
            taken.extend(&fix.buffers);
            left = Some(now.saturating_sub(saves));
            fix.together_bytes = left;
        }
    }
    all
}

#[cfg(test)]
mod tests;
