//! The events of several lines, each in the order of starts, in the order of starts over all.

use haloscope_profile::Packed;
use haloscope_report::stop;

/// Starts and durations of a line's events, picoseconds; starts ascend.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times<'a> {
    pub(super) starts: &'a [i64],
    pub(super) durations: Packed<'a>,
}

/// An event: its duration, the line's number and its position there.
pub(super) type At = (i64, u32, u32);

/// Calls `each` with the events of every start, by start; those that start together are handed over together, the shortest first. Ends
/// as soon as `each` says false, and says false then.
pub(super) fn walk(lines: &[Times<'_>], mut each: impl FnMut(i64, &[At]) -> bool) -> bool {
    let mut at = vec![0; lines.len()];
    let mut same: Vec<At> = Vec::new();
    loop {
        stop::check();
        let Some((number, start, next)) = first(lines, &at) else { return true };
        if next == Some(start) {
            same.clear();
            for (number, (line, at)) in (0_u32..).zip(lines.iter().zip(&mut at)) {
                take(line, number, start, at, &mut same);
            }
            same.sort_unstable();
            if !each(start, &same) {
                return false;
            }
            continue;
        }
        // As long as no other line has an event before it or with it.
        let (line, at) = (&lines[number], &mut at[number]);
        while let Some(&start) = line.starts.get(*at).filter(|start| next.is_none_or(|next| **start < next)) {
            same.clear();
            take(line, number as u32, start, at, &mut same);
            if same.len() > 1 {
                same.sort_unstable();
            }
            if !each(start, &same) {
                return false;
            }
        }
    }
}

/// The line whose next event starts first, that start, and the first of the other lines' next starts.
fn first(lines: &[Times<'_>], at: &[usize]) -> Option<(usize, i64, Option<i64>)> {
    let mut first: Option<(usize, i64, Option<i64>)> = None;
    for (number, (line, at)) in lines.iter().zip(at).enumerate() {
        let Some(&start) = line.starts.get(*at) else { continue };
        first = Some(match first {
            None => (number, start, None),
            Some((_, least, _)) if start < least => (number, start, Some(least)),
            Some((number, least, next)) => (number, least, Some(next.map_or(start, |next| next.min(start)))),
        });
    }
    first
}

/// Takes a line's next events that start at `start`.
#[inline]
fn take(line: &Times<'_>, number: u32, start: i64, at: &mut usize, to: &mut Vec<At>) {
    while line.starts.get(*at) == Some(&start) {
        to.push((line.durations.at(*at), number, *at as u32));
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_events_come_once_and_in_order() {
        let mut below = crate::random::numbers();
        for round in 0..100_i64 {
            let mut line = |count: i64| {
                let mut events: Vec<(i64, i64)> =
                    (0..count).map(|_| (below(50 + 1000 * (round as u64 % 2)), below(4))).collect();
                events.sort_unstable_by_key(|(start, duration)| (*start, -duration));
                events.into_iter().unzip::<_, _, Vec<_>, Vec<_>>()
            };
            let lines = [line(round), line(0), line(40), line(3 * round)];
            let times: Vec<Times<'_>> =
                lines.iter().map(|(starts, d)| Times { starts, durations: Packed::plain(d) }).collect();
            let mut expected = Vec::new();
            for (number, line) in (0_u32..).zip(&lines) {
                expected.extend(
                    (0_u32..).zip(line.0.iter().zip(&line.1)).map(|(at, (s, d))| (*s, *d, number, at)),
                );
            }
            expected.sort_unstable();
            let mut found = Vec::new();
            let mut last = i64::MIN;
            let whole = walk(&times, |start, same| {
                assert!(start > last && !same.is_empty());
                last = start;
                found.extend(same.iter().map(|(duration, number, at)| (start, *duration, *number, *at)));
                true
            });
            assert!(whole && found == expected, "round {round}");
            let mut calls = 0;
            assert!(
                !walk(&times, |_, _| {
                    calls += 1;
                    false
                }) && calls == 1
            );
        }
    }
}
