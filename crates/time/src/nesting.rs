//! Walks over nested events: how long each ran by itself, and which is the innermost one.

use rustc_hash::FxHashMap;

use super::intervals::Intervals;
use haloscope_profile::Event;
use haloscope_report::stop;

/// Walks nested events and gives each with its self time: its own less that of events that lie within it. One that begins
/// in another and ends after it is not part of it. Parents must come before children.
pub fn walk_nested(
    events: impl Iterator<Item = Event>,
    cut: Option<&Intervals>,
    mut each: impl FnMut(Event, i64),
) {
    let length = |e: &Event| cut.map_or(e.end_ps - e.start_ps, |c| c.overlap(e.start_ps, e.end_ps));
    let mut nesting = Nesting::default();
    for (at, event) in events.enumerate() {
        check_at(at);
        nesting.push(event, length(&event), &mut each);
    }
    nesting.finish(each);
}

/// Looks now and then whether somebody still waits.
#[inline]
fn check_at(at: usize) {
    if at.is_multiple_of(1 << 16) {
        stop::check();
    }
}

/// [`walk_nested`] for events that are handed in one by one.
#[derive(Debug, Default)]
pub struct Nesting {
    stack: Vec<(Event, i64)>,
}

impl Nesting {
    /// Takes the next event, of which `length` counts. `each` gets those that have ended.
    #[inline]
    pub fn push(&mut self, event: Event, length: i64, mut each: impl FnMut(Event, i64)) {
        let holds = |top: &Event| top.start_ps <= event.start_ps && event.end_ps <= top.end_ps;
        while let Some((done, own)) = self.stack.pop_if(|(top, _)| !holds(top)) {
            each(done, own);
        }
        if let Some((_, own)) = self.stack.last_mut() {
            *own = own.saturating_sub(length);
        }
        self.stack.push((event, length));
    }

    /// Gives the events that are left.
    pub fn finish(&mut self, mut each: impl FnMut(Event, i64)) {
        while let Some((done, own)) = self.stack.pop() {
            each(done, own);
        }
    }
}

/// Walks nested events and gives the stretches of time in which each was the innermost one, by time. Parents must come
/// before children.
pub fn walk_innermost(events: impl Iterator<Item = Event>, mut each: impl FnMut(&Event, i64, i64)) {
    let mut innermost = Innermost::default();
    for (at, event) in events.enumerate() {
        check_at(at);
        innermost.push(event, &mut each);
    }
    innermost.finish(each);
}

/// Walks the events of a thread and gives each with its self time: when it was the innermost one. That is what [`walk_nested`]
/// gives of events that nest. Of two that cross, the later one has the time of both, so that self times are never below zero
/// and add up to the time in which any event ran. Parents must come before children.
pub fn walk_own<I: Iterator<Item = Event>>(
    events: impl Fn() -> I,
    cut: Option<&Intervals>,
    mut each: impl FnMut(Event, i64),
) {
    let mut own: FxHashMap<usize, i64> = FxHashMap::default();
    walk_innermost(events(), |event, from, to| {
        let length = cut.map_or(to - from, |c| c.overlap(from, to));
        let sum = own.entry(event.index).or_default();
        *sum = sum.saturating_add(length);
    });
    for event in events() {
        each(event, own.get(&event.index).copied().unwrap_or(0));
    }
}

/// [`walk_innermost`] for events that are handed in one by one.
#[derive(Debug)]
pub struct Innermost {
    stack: Vec<Event>,
    now: i64,
}

impl Default for Innermost {
    fn default() -> Self {
        Self { stack: Vec::new(), now: i64::MIN }
    }
}

impl Innermost {
    /// Takes the next event. `each` gets the stretches before it.
    #[inline]
    pub fn push(&mut self, event: Event, mut each: impl FnMut(&Event, i64, i64)) {
        while let Some(top) = self.stack.pop_if(|top| top.end_ps <= event.start_ps) {
            Self::until(&mut self.now, &top, top.end_ps, &mut each);
        }
        if let Some(top) = self.stack.last() {
            Self::until(&mut self.now, top, event.start_ps, &mut each);
        }
        self.stack.push(event);
    }

    /// Gives the stretches that are left.
    pub fn finish(&mut self, mut each: impl FnMut(&Event, i64, i64)) {
        while let Some(top) = self.stack.pop() {
            Self::until(&mut self.now, &top, top.end_ps, &mut each);
        }
    }

    #[inline]
    fn until(now: &mut i64, top: &Event, to: i64, each: &mut impl FnMut(&Event, i64, i64)) {
        let from = top.start_ps.max(*now);
        if from < to {
            each(top, from, to);
            *now = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_after_another_event_is_not_part_of_it() {
        let event = |index, start_ps, end_ps| Event { index, meta: 0, start_ps, end_ps };
        // Two that cross, one without length, and one inside another.
        let events = [
            event(0, 0, 300),
            event(1, 200, 500),
            event(2, 500, 500),
            event(3, 600, 900),
            event(4, 700, 900),
        ];
        let mut seen = Vec::new();
        walk_nested(events.into_iter(), None, |e, own| seen.push((e.index, own)));
        assert_eq!(seen, [(0, 300), (2, 0), (1, 300), (4, 200), (3, 100)]);
    }

    #[test]
    fn self_times_of_events_that_cross_add_up_to_the_wall() {
        let event = |index, start_ps, end_ps| Event { index, meta: 0, start_ps, end_ps };
        // Two that cross inside of a third, which they cover, and one without length.
        let crossing = [event(0, 0, 300), event(1, 0, 200), event(2, 100, 300), event(3, 300, 300)];
        let own = |events: &[Event], cut: Option<&Intervals>| {
            let mut seen = Vec::new();
            walk_own(|| events.iter().copied(), cut, |e, own| seen.push((e.index, own)));
            seen.sort_unstable();
            seen
        };
        assert_eq!(own(&crossing, None), [(0, 0), (1, 100), (2, 200), (3, 0)]);
        assert_eq!(own(&crossing, Some(&Intervals::one(50, 150))), [(0, 0), (1, 50), (2, 50), (3, 0)]);
        // Where events nest it is what they have less those inside.
        let nested = [event(0, 0, 100), event(1, 10, 40), event(2, 20, 30), event(3, 60, 80)];
        let mut other = Vec::new();
        walk_nested(nested.into_iter(), None, |e, own| other.push((e.index, own)));
        other.sort_unstable();
        assert_eq!(own(&nested, None), other);
    }

    #[test]
    fn the_innermost_event_owns_the_time() {
        let event = |index, start_ps, end_ps| Event { index, meta: 0, start_ps, end_ps };
        // A loop with two ops inside, the second of which ends late; then an op of its own.
        let events = [event(0, 0, 100), event(1, 10, 40), event(2, 60, 120), event(3, 200, 210)];
        let mut seen = Vec::new();
        walk_innermost(events.into_iter(), |e, from, to| seen.push((e.index, from, to)));
        assert_eq!(seen, [(0, 0, 10), (1, 10, 40), (0, 40, 60), (2, 60, 120), (3, 200, 210)]);
    }
}
