//! The order in which C++'s `std::sort` (libstdc++) leaves rows that compare equal.
//!
//! XProf sorts some of its lists that way, and their order shows. The sort is a quicksort on the median of the second, the
//! middle and the last element down to runs of 16, with a heap sort where the recursion goes too deep, and one insertion
//! sort over everything at the end.

/// Runs no longer than this are left to the insertion sort.
const RUN: usize = 16;

/// Sorts as `std::sort` does. `before(a, b)` says whether `a` must stand before `b`; it is a strict weak order.
pub(crate) fn sort<T>(items: &mut [T], before: impl Fn(&T, &T) -> bool) {
    let depth = 2 * items.len().checked_ilog2().unwrap_or(0);
    partition_runs(items, depth, &before);
    let sorted = items.len().min(RUN);
    for at in 1..sorted {
        if before(&items[at], &items[0]) {
            items[..=at].rotate_right(1);
        } else {
            insert(items, at, &before);
        }
    }
    for at in sorted.max(1)..items.len() {
        insert(items, at, &before);
    }
}

/// Moves an element down to its place among those before it.
fn insert<T>(items: &mut [T], at: usize, before: &impl Fn(&T, &T) -> bool) {
    let mut to = at;
    while to > 0 && before(&items[at], &items[to - 1]) {
        to -= 1;
    }
    items[to..=at].rotate_right(1);
}

fn partition_runs<T>(items: &mut [T], depth: u32, before: &impl Fn(&T, &T) -> bool) {
    let (mut end, mut depth) = (items.len(), depth);
    while end > RUN {
        if depth == 0 {
            return heap_sort(&mut items[..end], before);
        }
        depth -= 1;
        let cut = partition(&mut items[..end], before);
        partition_runs(&mut items[cut..end], depth, before);
        end = cut;
    }
}

/// Puts the median of three in front and what comes before it to the left; returns where the rest starts.
fn partition<T>(items: &mut [T], before: &impl Fn(&T, &T) -> bool) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let less = |x: usize, y: usize| before(&items[x], &items[y]);
    let median = match (less(a, b), less(b, c), less(a, c)) {
        (true, true, _) | (false, false, false) => b,
        (true, false, true) | (false, true, false) => c,
        (true, false, false) | (false, _, true) => a,
    };
    items.swap(0, median);
    let (mut left, mut right) = (1, items.len());
    loop {
        while left < items.len() && before(&items[left], &items[0]) {
            left += 1;
        }
        right -= 1;
        while right > 0 && before(&items[0], &items[right]) {
            right -= 1;
        }
        if left >= right {
            return left;
        }
        items.swap(left, right);
        left += 1;
    }
}

fn heap_sort<T>(items: &mut [T], before: &impl Fn(&T, &T) -> bool) {
    for start in (0..items.len() / 2).rev() {
        sift(items, start, before);
    }
    for end in (1..items.len()).rev() {
        items.swap(0, end);
        sift(&mut items[..end], 0, before);
    }
}

/// Sinks a hole to the bottom along the greater children, then lifts its value to where it belongs.
fn sift<T>(items: &mut [T], start: usize, before: &impl Fn(&T, &T) -> bool) {
    let mut at = start;
    while 2 * at + 1 < items.len() {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let next = if right < items.len() && !before(&items[right], &items[left]) { right } else { left };
        items.swap(at, next);
        at = next;
    }
    while at > start {
        let parent = (at - 1) / 2;
        if !before(&items[parent], &items[at]) {
            break;
        }
        items.swap(parent, at);
        at = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::sort;

    #[test]
    fn sorts() {
        for length in [0usize, 1, 2, 15, 16, 17, 40, 1000] {
            let mut items: Vec<usize> = (0..length).map(|i| i * 7919 % 101).collect();
            let mut expected = items.clone();
            sort(&mut items, |a, b| a < b);
            expected.sort_unstable();
            assert_eq!(items, expected, "{length}");
        }
        // Sums over the order that g++ 12's `std::sort` gives rows (key, place), by falling key.
        for (length, keys, sum) in [
            (17, 1, 1_727_999_255u32),
            (17, 7, 4_104_101_755),
            (40, 3, 2_151_466_799),
            (100, 2, 3_709_952_487),
            (333, 50, 3_494_915_961),
            (1000, 1, 1_696_834_205),
            (1000, 7, 2_411_283_509),
        ] {
            let mut rows: Vec<(u64, u64)> = (0..length).map(|i| ((i * 7919 + i * i) % keys, i)).collect();
            sort(&mut rows, |a, b| a.0 > b.0);
            let places = rows.iter().map(|row| row.1 as u32);
            let got = places.fold(17u32, |sum, place| sum.wrapping_mul(31).wrapping_add(place));
            assert_eq!(got, sum, "{length} rows, {keys} keys");
        }
        let mut falling: Vec<u32> = (0..5000).rev().collect();
        sort(&mut falling, |a, b| a < b);
        assert!(falling.is_sorted());
    }
}
