//! Lanes: the events of a line in groups within which they lie within each other or apart.
//!
//! The formats know only such tracks. An event that overlaps another without lying within it takes the next lane, so that
//! none is left out and none is cut.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use haloscope_profile::Event;

/// Lanes in which nesting is looked for. Beyond these, where more events overlap than any profiler writes, a lane holds
/// events one after the other, so that a hostile file costs no more than sorting it.
const NESTING: usize = 64;

/// The rows of the given events by lane. Events come by start, longer ones first among equals.
pub(super) fn lanes(events: impl Iterator<Item = Event>) -> Vec<Vec<u32>> {
    let mut lanes: Vec<Vec<u32>> = Vec::new();
    // Ends of the events that are open in each of the first lanes, the innermost last.
    let mut open: Vec<Vec<i64>> = Vec::new();
    // Ends of the lanes beyond.
    let mut flat: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    'events: for event in events {
        let row = event.index as u32;
        for (lane, ends) in open.iter_mut().enumerate() {
            while ends.last().is_some_and(|end| *end <= event.start_ps) {
                ends.pop();
            }
            if ends.last().is_none_or(|end| event.end_ps <= *end) {
                ends.push(event.end_ps);
                lanes[lane].push(row);
                continue 'events;
            }
        }
        if open.len() < NESTING {
            open.push(vec![event.end_ps]);
            lanes.push(vec![row]);
            continue;
        }
        match flat.peek() {
            Some(Reverse((end, lane))) if *end <= event.start_ps => {
                let lane = *lane;
                flat.pop();
                lanes[lane].push(row);
                flat.push(Reverse((event.end_ps, lane)));
            }
            _ => {
                flat.push(Reverse((event.end_ps, lanes.len())));
                lanes.push(vec![row]);
            }
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spans: &[(i64, i64)]) -> Vec<Vec<u32>> {
        let event = |(index, &(start_ps, end_ps))| Event { index, meta: 0, start_ps, end_ps };
        lanes(spans.iter().enumerate().map(event))
    }

    #[test]
    fn what_nests_stays_together() {
        assert_eq!(of(&[(0, 100), (0, 50), (10, 20), (50, 50), (60, 100), (100, 120)]), [[0, 1, 2, 3, 4, 5]]);
    }

    #[test]
    fn what_crosses_takes_another_lane() {
        assert_eq!(
            of(&[(0, 100), (50, 150), (60, 70), (90, 160), (160, 170)]),
            [vec![0, 2, 4], vec![1], vec![3]]
        );
    }

    #[test]
    fn nothing_is_left_out_however_many_cross() {
        let spans: Vec<_> = (0..1000).map(|i| (i, 1000 + i)).collect();
        let found = of(&spans);
        assert_eq!(found.len(), 1000);
        assert_eq!(found.iter().map(Vec::len).sum::<usize>(), 1000);
        // Later ones take the places of those that are over.
        let again: Vec<_> = spans.iter().copied().chain((0..1000).map(|i| (3000 + i, 4000 + i))).collect();
        let found = of(&again);
        assert_eq!((found.len(), found.iter().map(Vec::len).sum::<usize>()), (1000, 2000));
    }
}
