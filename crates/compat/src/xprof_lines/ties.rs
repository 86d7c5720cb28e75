//! The order of events that start together and last as long.
//!
//! XProf sorts with the C++ library's `std::sort`, which keeps no order among equals; which one comes first decides here
//! and there what becomes of them (two transfers that end in one picosecond change rows). So equals are put in the order
//! in which GNU's implementation leaves them: quicksort by the median of three down to runs of 16, then insertion.

/// Runs of at most so many are left to the insertion sort.
const RUN: usize = 16;

/// Sorts as `std::sort` does, equals included.
pub(super) fn sort<T: Copy + Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Sync) {
    let depth = 2 * items.len().checked_ilog2().unwrap_or(0);
    partition(items, depth, &key);
    // What is left is an insertion sort, which is stable.
    items.sort_by_key(key);
}

fn partition<T: Copy + Send, K: Ord>(mut items: &mut [T], mut depth: u32, key: &(impl Fn(&T) -> K + Sync)) {
    /// Fewer are not worth another thread.
    const MANY: usize = 16 << 10;
    // At the end of the depth the library sorts by a heap; the stable sort stands in for it.
    while items.len() > RUN && depth > 0 {
        depth -= 1;
        let cut = split(items, key);
        let (low, high) = items.split_at_mut(cut);
        if low.len().min(high.len()) > MANY {
            rayon::join(|| partition(low, depth, key), || partition(high, depth, key));
            return;
        }
        partition(high, depth, key);
        items = low;
    }
}

/// Moves what is less than the pivot to the front; where the rest begins.
fn split<T: Copy, K: Ord>(items: &mut [T], key: &impl Fn(&T) -> K) -> usize {
    let less = |items: &[T], a: usize, b: usize| key(&items[a]) < key(&items[b]);
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let median = if less(items, a, b) {
        if less(items, b, c) {
            b
        } else if less(items, a, c) {
            c
        } else {
            a
        }
    } else if less(items, a, c) {
        a
    } else if less(items, b, c) {
        c
    } else {
        b
    };
    items.swap(0, median);
    let (mut low, mut high) = (1, items.len());
    loop {
        while low < items.len() && less(items, low, 0) {
            low += 1;
        }
        high -= 1;
        while less(items, 0, high) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        items.swap(low, high);
        low += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_come_out_as_the_library_leaves_them() {
        // std::sort of libstdc++ by the first number, of 40 pairs (i * 7 % 5, i).
        let mut pairs: Vec<(u32, u32)> = (0..40).map(|i| (i * 7 % 5, i)).collect();
        sort(&mut pairs, |p| p.0);
        assert!(pairs.is_sorted_by_key(|p| p.0));
        let seconds: Vec<u32> = pairs.iter().filter(|p| p.0 == 0).map(|p| p.1).collect();
        // Printed by a program compiled with g++ 12.
        assert_eq!(seconds, [10, 20, 25, 15, 30, 35, 5, 0]);
        let mut few: Vec<(u32, u32)> = (0..16).map(|i| (i % 3, i)).collect();
        sort(&mut few, |p| p.0);
        assert!(few.is_sorted(), "runs of 16 keep the order of equals");
    }

    #[test]
    fn all_orders_are_sorted() {
        for n in [0, 1, 2, 17, 100, 1000] {
            for factor in [1_u64, 7, 31] {
                let mut items: Vec<u64> = (0..n).map(|i| i * factor % 97).collect();
                sort(&mut items, |i| *i);
                assert!(items.is_sorted());
            }
        }
    }
}
