//! Classes of events, and to which of several that go on at once an instant belongs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What an event of a host or a GPU is. Where several go on at once, the later one of this list has the instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// Nothing was recorded.
    Unknown,
    /// The host computes.
    HostCompute,
    /// Copies within the host.
    HostToHost,
    /// Copies to the device.
    HostToDevice,
    /// The host launches work on the device.
    HostPrepare,
    /// Collectives of the device.
    Collectives,
    /// The host waits for input.
    HostWaitInput,
    /// Copies within and between devices.
    DeviceToDevice,
    /// Copies from the device.
    DeviceToHost,
    /// Kernels that do not name a 16-bit type.
    Compute32,
    /// Kernels that do.
    Compute16,
}

/// An event of a class: start and end, picoseconds.
pub(crate) type Span = (Class, i64, i64);

/// Stretches of time in which one class has the word. Between events that is [`Class::Unknown`].
///
/// At one instant ends come before starts, that of an event without length too: its class then keeps the word until an
/// event of that class ends with no other open. XProf shows it so: on a CPU, where threads of a pool mark when they start
/// on a step, the host computes from there to the end of the next event.
pub(crate) fn sweep(events: &[Span]) -> Vec<Span> {
    let mut ends: Vec<(i64, bool, Reverse<Class>)> = Vec::with_capacity(2 * events.len());
    for (class, start, end) in events {
        ends.push((*start, true, Reverse(*class)));
        ends.push((*end, false, Reverse(*class)));
    }
    ends.sort_unstable();
    let mut open = [0_i64; ORDER.len()];
    let mut top = Class::Unknown;
    let mut out: Vec<Span> = Vec::new();
    for pair in ends.windows(2) {
        let (at, is_start, Reverse(class)) = pair[0];
        let count = &mut open[class as usize];
        if is_start {
            *count += 1;
            top = top.max(class);
        } else {
            *count -= 1;
            if class == top && *count == 0 {
                let below = ORDER.iter().rev().find(|c| **c < class && open[**c as usize] > 0);
                top = below.copied().unwrap_or(Class::Unknown);
            }
        }
        match out.last_mut() {
            Some(last) if last.0 == top => last.2 = pair[1].0,
            _ => out.push((top, at, pair[1].0)),
        }
    }
    out
}

const ORDER: [Class; 11] = [
    Class::Unknown,
    Class::HostCompute,
    Class::HostToHost,
    Class::HostToDevice,
    Class::HostPrepare,
    Class::Collectives,
    Class::HostWaitInput,
    Class::DeviceToDevice,
    Class::DeviceToHost,
    Class::Compute32,
    Class::Compute16,
];

/// The time of each class within a step, and as [`Class::Unknown`] what of the step is in no stretch. A class outside of
/// the step is there with 0.
pub(crate) fn inside(stretches: &[Span], step: (i64, i64)) -> BTreeMap<Class, i64> {
    let mut times = BTreeMap::new();
    let mut rest = step.1 - step.0;
    for (class, start, end) in stretches {
        let inside = (*end.min(&step.1) - *start.max(&step.0)).max(0);
        let time = times.entry(*class).or_insert(0_i64);
        *time = time.saturating_add(inside);
        rest = rest.saturating_sub(inside);
    }
    if rest > 0 {
        *times.entry(Class::Unknown).or_insert(0) += rest;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_class_has_the_instant() {
        use Class::{Compute16, Compute32, HostCompute, Unknown};
        let events =
            [(HostCompute, 0, 100), (Compute32, 20, 50), (Compute16, 40, 60), (HostCompute, 150, 160)];
        let stretches = sweep(&events);
        let expected = [
            (HostCompute, 0, 20),
            (Compute32, 20, 40),
            (Compute16, 40, 60),
            (HostCompute, 60, 100),
            (Unknown, 100, 150),
            (HostCompute, 150, 160),
        ];
        assert_eq!(stretches, expected);
        let times = inside(&stretches, (10, 170));
        assert_eq!(times[&HostCompute], 10 + 40 + 10);
        assert_eq!(times[&Unknown], 50 + 10);
        assert_eq!(
            inside(&stretches, (200, 210)),
            [(Unknown, 10), (HostCompute, 0), (Compute32, 0), (Compute16, 0)].into()
        );
        assert_eq!(sweep(&[]), []);
    }

    #[test]
    fn an_event_without_length_keeps_the_word() {
        use Class::{HostCompute, Unknown};
        let inside = [(HostCompute, 0, 10), (HostCompute, 5, 5), (HostCompute, 20, 30)];
        // Its end has come before its start: an empty stretch of nothing, which no sum shows.
        let stretches = [
            (HostCompute, 0, 5),
            (Unknown, 5, 5),
            (HostCompute, 5, 10),
            (Unknown, 10, 20),
            (HostCompute, 20, 30),
        ];
        assert_eq!(sweep(&inside), stretches);
        let alone = [(HostCompute, 0, 10), (HostCompute, 15, 15), (HostCompute, 20, 30)];
        assert_eq!(sweep(&alone), [(HostCompute, 0, 10), (Unknown, 10, 15), (HostCompute, 15, 30)]);
    }
}
