//! Which events of a sequence that is sorted by start still go on at a time.

use std::ops::Range;

/// Children of a node.
const FAN: usize = 64;

/// The last end of every [`FAN`] events, of every `FAN` of those, and so on: a sixty-fourth of a number an event.
#[derive(Debug, Default)]
pub(super) struct Ends {
    levels: Vec<Box<[i64]>>,
}

impl Ends {
    /// Of `len` events, whose ends `end` says.
    pub(super) fn of(len: usize, end: impl Fn(usize) -> i64) -> Self {
        let last = |nodes: &mut dyn Iterator<Item = i64>| nodes.max().unwrap_or(i64::MIN);
        let first = (0..len.div_ceil(FAN)).map(|n| last(&mut (n * FAN..((n + 1) * FAN).min(len)).map(&end)));
        let mut levels: Vec<Box<[i64]>> = vec![first.collect()];
        while let Some(below) = levels.last().filter(|level| level.len() > FAN) {
            let next = below.chunks(FAN).map(|nodes| last(&mut nodes.iter().copied()));
            let next = next.collect();
            levels.push(next);
        }
        Self { levels }
    }

    /// The positions before `before` whose events end after `time_ps`, ascending. Costs little where they are few.
    pub(super) fn after(&self, before: usize, time_ps: i64, end: impl Fn(usize) -> i64) -> Vec<usize> {
        let mut found = Vec::new();
        if let Some(top) = self.levels.len().checked_sub(1) {
            self.visit(top, 0..self.levels[top].len(), before, time_ps, &end, &mut found);
        }
        found
    }

    fn visit(
        &self,
        level: usize,
        nodes: Range<usize>,
        before: usize,
        time_ps: i64,
        end: &impl Fn(usize) -> i64,
        found: &mut Vec<usize>,
    ) {
        let size = FAN.saturating_pow(level as u32 + 1);
        for node in nodes.take_while(|node| node * size < before) {
            if self.levels[level][node] <= time_ps {
                continue;
            }
            match level.checked_sub(1) {
                Some(below) => {
                    let children = node * FAN..((node + 1) * FAN).min(self.levels[below].len());
                    self.visit(below, children, before, time_ps, end, found);
                }
                None => {
                    found
                        .extend((node * FAN..((node + 1) * FAN).min(before)).filter(|at| end(*at) > time_ps));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_look_at_all_finds() {
        // Ends that jump about, over three levels.
        let ends: Vec<i64> =
            (0..300_000_i64).map(|i| i + (i * 7919 % 101) * i64::from(i % 997 == 0) * 50).collect();
        let found = Ends::of(ends.len(), |at| ends[at]);
        assert_eq!(found.levels.len(), 3);
        for (before, time) in [(0, 0), (1, -1), (64, 63), (5000, 4990), (5000, 9000), (300_000, 299_000)] {
            let plain: Vec<usize> = (0..before).filter(|at| ends[*at] > time).collect();
            assert_eq!(found.after(before, time, |at| ends[at]), plain, "{before} {time}");
        }
        assert_eq!(Ends::of(0, |_| 0).after(0, 0, |_| 0), [0_usize; 0]);
    }
}
