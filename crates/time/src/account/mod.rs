//! Where the time of a device goes: every instant of its capture in one class, so that the parts add up to the whole.

mod class;
mod of_devices;
mod places;
mod spent;

pub use crate::window_index::lengths::Meter;
pub use class::{Class, Group};
pub use of_devices::{active, of_each, of_selection};
pub use places::{LIMITS, Limit, PLACES};
pub(crate) use places::{disjoint, is_nested, places};
pub(crate) use spent::Busy;
pub use spent::{Spending, Spent, busy_times, limit_of};

use std::sync::Arc;

use super::busy;
use super::intervals::Intervals;
use super::launches::{self, Launch};
use super::op_rows::DeviceOps;
use super::usage::capture_span;
use crate::window_index::lengths::Lengths;
use haloscope_profile::{Device, DeviceId, Profile};

/// The account of one device. Times are on the run's clock.
#[derive(Debug, Clone)]
pub struct Account {
    /// The device.
    pub device: DeviceId,
    /// The capture: from its start to its stop, wider where ops stick out.
    pub span: (i64, i64),
    /// The program executions, by start.
    pub launches: Vec<Launch>,
    /// When the device was in each class, in the order of [`Class::ALL`]: disjoint, and together the span.
    parts: Arc<[Lengths; Class::COUNT]>,
    /// The part of [`Class::Compute`] of each limit of the roofline, in the order of [`Limit::ALL`]: disjoint, and together it.
    limits: Arc<[Intervals; LIMITS]>,
}

/// Times by class, picoseconds, in the order of [`Class::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times(pub [i64; Class::COUNT]);

/// Measures the times of an account between moments, one after the other: see [`Meter`].
#[derive(Debug, Clone)]
pub struct Meters<'a>([Meter<'a>; Class::COUNT]);

impl Meters<'_> {
    /// The times between two moments.
    pub fn between(&mut self, start_ps: i64, end_ps: i64) -> Times {
        Times(self.0.each_mut().map(|meter| meter.overlap(start_ps, end_ps)))
    }
}

/// A stretch of time in which no op ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The class that most of it is in.
    pub class: Class,
    /// Start on the run's clock.
    pub start_ps: i64,
    /// End.
    pub end_ps: i64,
}

impl Times {
    /// The time in one class.
    #[must_use]
    pub fn of(&self, class: Class) -> i64 {
        self.0[class as usize]
    }

    /// The time in a group of classes.
    #[must_use]
    pub fn of_group(&self, group: Group) -> i64 {
        self.sum(|class| class.group() == group)
    }

    /// The time in all classes.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.sum(|_| true)
    }

    /// The time in these classes.
    #[must_use]
    pub fn sum(&self, takes: impl Fn(Class) -> bool) -> i64 {
        haloscope_report::units::sum(Class::ALL.into_iter().filter(|c| takes(*c)).map(|c| self.of(c)))
    }

    /// Adds the times of another.
    pub fn add(&mut self, other: &Self) {
        for (own, more) in self.0.iter_mut().zip(other.0) {
            *own = own.saturating_add(more);
        }
    }
}

impl Account {
    /// The account of a device, `input` being when its host read or prepared input.
    #[must_use]
    pub fn of(profile: &Profile, device: &Device, input: &Intervals) -> Option<Self> {
        let busy = busy::intervals(profile, device);
        let (from, to) = capture_span(profile, device, busy.hull()?);
        let span = Intervals::one(from, to);
        let launches = launches::of(profile, device);
        let programs = Intervals::union_of(launches.iter().map(|l| (l.start_ps, l.end_ps)).collect());
        let programs = programs.intersect(&span);
        let (first, last) = busy.hull()?;
        let mut parts: [Intervals; Class::COUNT] = Default::default();
        let all = disjoint(profile, device, &DeviceOps::find(profile, device));
        let mut all = all.into_iter().map(|own| own.intersect(&busy));
        let limits: [Intervals; LIMITS] = std::array::from_fn(|_| all.next().unwrap_or_default());
        let computes = limits.iter().fold(Intervals::default(), |all, one| all.union(one));
        let mut ops = Vec::new();
        for (class, own) in Class::BY_RANK.into_iter().zip(std::iter::once(computes).chain(all)) {
            ops.extend_from_slice(own.as_slice());
            parts[class as usize] = own;
        }
        // Each class's part is sorted: the stable sort finds that and merges them.
        ops.sort();
        let free = busy.minus(&Intervals::union_of_sorted(ops));
        // What is busy without an op: the short gaps inside of programs.
        parts[Class::Overhead as usize] = parts[Class::Overhead as usize].union(&free);
        let idle = span.minus(&busy);
        let gaps = idle.intersect(&Intervals::one(first, last));
        parts[Class::Before as usize] = idle.intersect(&Intervals::one(from, first));
        parts[Class::After as usize] = idle.intersect(&Intervals::one(last, to));
        parts[Class::Input as usize] = gaps.intersect(input);
        let gaps = gaps.minus(input);
        parts[Class::Inside as usize] = gaps.intersect(&programs);
        parts[Class::Between as usize] = gaps.minus(&programs);
        let (parts, limits) = (Arc::new(parts.map(Lengths::of)), Arc::new(limits));
        Some(Self { device: device.id, span: (from, to), launches, parts, limits })
    }

    /// The account without its times: the device, its span and its program executions.
    #[must_use]
    pub fn without_times(&self) -> Self {
        let launches = self.launches.clone();
        Self { device: self.device, span: self.span, launches, parts: Arc::default(), limits: Arc::default() }
    }

    /// How many intervals it is made of.
    pub(crate) fn size(&self) -> usize {
        let parts = self.parts.iter().map(Lengths::set).chain(&*self.limits);
        parts.map(|set| set.as_slice().len()).sum()
    }

    /// When the device was in a class.
    #[must_use]
    pub fn part(&self, class: Class) -> &Intervals {
        self.parts[class as usize].set()
    }

    /// How long the device was in a class between two moments, picoseconds: in the time of two searches.
    fn time_in(&self, class: Class, start_ps: i64, end_ps: i64) -> i64 {
        self.parts[class as usize].overlap(start_ps, end_ps)
    }

    /// Measures how long the device was in a class, time after time.
    #[must_use]
    pub fn meter(&self, class: Class) -> Meter<'_> {
        Meter::of(&self.parts[class as usize])
    }

    /// Measures the times between moments, time after time.
    #[must_use]
    pub fn meters(&self) -> Meters<'_> {
        Meters(self.parts.each_ref().map(Meter::of))
    }

    /// When the device computed at a limit of the roofline.
    #[must_use]
    pub fn limit(&self, limit: Limit) -> &Intervals {
        &self.limits[limit as usize]
    }

    /// The times in the part of the span that counts; `None` means all of it.
    #[must_use]
    pub fn times(&self, cut: Option<&Intervals>) -> Times {
        let Some(cut) = cut else { return Times(self.parts.each_ref().map(|part| part.set().length())) };
        let mut times = Times::default();
        cut.as_slice().iter().for_each(|(from, to)| times.add(&self.between(*from, *to)));
        times
    }

    /// The times between two moments.
    #[must_use]
    pub fn between(&self, start_ps: i64, end_ps: i64) -> Times {
        Times(self.parts.each_ref().map(|part| part.overlap(start_ps, end_ps)))
    }

    /// The stretches without any op in the part of the span that counts, by start.
    #[must_use]
    pub fn gaps(&self, cut: Option<&Intervals>) -> Vec<Gap> {
        let idle = Class::ALL.into_iter().filter(|c| c.group() == Group::Idle);
        let idle: Vec<Class> = idle.collect();
        let (from, to) = cut.map_or(Some((i64::MIN, i64::MAX)), Intervals::hull).unwrap_or_default();
        let part = |class: Class| self.part(class).within(from, to);
        let all = idle.iter().flat_map(|class| part(*class).as_slice().to_vec()).collect();
        // What lies before the first op and after the last is a gap of its own.
        let outside = [Class::Before, Class::After].map(part);
        let gaps = outside.iter().fold(Intervals::union_of(all), |gaps, own| gaps.minus(own));
        let outside = outside.iter().flat_map(Intervals::as_slice);
        let mut found: Vec<(i64, i64)> = gaps.as_slice().iter().chain(outside).copied().collect();
        if let Some(cut) = cut {
            let inside = |part: &(i64, i64)| Intervals::one(part.0, part.1).intersect(cut);
            found = found.iter().flat_map(|part| inside(part).as_slice().to_vec()).collect();
        }
        found.sort_unstable();
        let gap = |&(start_ps, end_ps): &(i64, i64)| {
            let own = |class: &&Class| self.time_in(**class, start_ps, end_ps);
            let class = idle.iter().max_by_key(own).copied().unwrap_or(Class::Between);
            Gap { class, start_ps, end_ps }
        };
        found.iter().map(gap).collect()
    }

    /// The programs between which a gap lies: the last that started before it, the first that ends after it.
    #[must_use]
    pub fn around(&self, gap: &Gap) -> (Option<&Launch>, Option<&Launch>) {
        let begun = self.launches.partition_point(|l| l.start_ps < gap.start_ps);
        let before = self.launches[..begun].last();
        let after = self.launches.iter().skip(begun.saturating_sub(1)).find(|l| l.end_ps > gap.start_ps);
        (before, after)
    }
}

#[cfg(test)]
mod tests;
