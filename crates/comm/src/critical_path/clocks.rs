//! Clocks of devices held against each other.
//!
//! All members leave a collective together, so that the ends of one, as each device's host dated them, tell how far the
//! clocks are apart.

use std::collections::BTreeMap;

/// Fewer common collectives tell nothing.
const FEWEST: usize = 3;
/// Where the differences spread more than this, they do not come from the clocks.
const LARGEST_SPREAD_PS: i64 = 20_000_000;

/// What must be taken off the times of each of `count` devices to bring them to the clock of the first in each set of devices
/// that have collectives in common. `ends` holds for each collective the devices and when it ended on them.
pub(super) fn offsets(count: usize, ends: &[Vec<(u32, i64)>]) -> Vec<i64> {
    let mut apart: BTreeMap<(u32, u32), Vec<i64>> = BTreeMap::new();
    for group in ends {
        let Some((leader, rest)) = group.split_first() else { continue };
        for (device, end) in rest {
            apart.entry((leader.0, *device)).or_default().push(end - leader.1);
        }
    }
    let mut links: Vec<Vec<(u32, i64)>> = vec![Vec::new(); count];
    for ((leader, device), mut differences) in apart {
        let Some(middle) = median(&mut differences).filter(|_| differences.len() >= FEWEST) else { continue };
        let mut off: Vec<i64> = differences.iter().map(|d| (d - middle).abs()).collect();
        if median(&mut off).is_some_and(|spread| spread <= LARGEST_SPREAD_PS) {
            links[leader as usize].push((device, middle));
            links[device as usize].push((leader, -middle));
        }
    }
    let mut offsets: Vec<Option<i64>> = vec![None; count];
    for first in 0..count {
        let mut open = vec![first as u32];
        if offsets[first].is_none() {
            offsets[first] = Some(0);
        } else {
            continue;
        }
        while let Some(device) = open.pop() {
            let own = offsets[device as usize].unwrap_or(0);
            for &(other, difference) in &links[device as usize] {
                if offsets[other as usize].is_none() {
                    offsets[other as usize] = Some(own.saturating_add(difference));
                    open.push(other);
                }
            }
        }
    }
    offsets.into_iter().map(|offset| offset.unwrap_or(0)).collect()
}

fn median(values: &mut [i64]) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_collectives_tell_the_offsets() {
        // Device 1 is 500 ahead, device 2 another 100; device 3 shares nothing.
        let group = |at: i64| vec![(0, at), (1, at + 500)];
        let mut ends: Vec<_> = [10, 2_000, 3_000, 9_000].map(group).to_vec();
        ends.extend([40, 5_000, 7_000].map(|at: i64| vec![(1, at + 500), (2, at + 600)]));
        assert_eq!(offsets(4, &ends), [0, 500, 600, 0]);
        assert_eq!(offsets(2, &ends[..2]), [0, 0], "two are too few");
        let wild = [0, 1, 2, 3, 4].map(|i: i64| vec![(0, 0), (1, i * 1_000_000_000)]);
        assert_eq!(offsets(2, &wild), [0, 0], "differences that vary do not come from clocks");
    }
}
