//! Searches for one thing after another that lie near each other.

/// [`slice::partition_point`], searched from a guess outwards: in the time of two logarithms of how far off the guess is.
pub fn partition_near<T>(sorted: &[T], guess: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let guess = guess.min(sorted.len());
    let (mut from, mut to, mut step) = (guess, guess, 1);
    if sorted.get(guess).is_some_and(&is_before) {
        // Behind the guess: all up to `from` are before.
        while sorted.get(to).is_some_and(&is_before) {
            from = to + 1;
            to = from.saturating_add(step).min(sorted.len());
            step *= 2;
        }
    } else {
        while from > 0 && !is_before(&sorted[from - 1]) {
            to = from - 1;
            from = to.saturating_sub(step);
            step *= 2;
        }
    }
    from + sorted[from..to].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_from_a_guess_finds_what_a_search_of_all_finds() {
        for length in 0..40 {
            let sorted: Vec<i32> = (0..length).map(|i| i / 3).collect();
            for (guess, wanted) in (0..50).flat_map(|guess| (-1..15).map(move |wanted| (guess, wanted))) {
                let all = sorted.partition_point(|one| *one < wanted);
                assert_eq!(
                    partition_near(&sorted, guess, |one| *one < wanted),
                    all,
                    "{length} {guess} {wanted}"
                );
            }
        }
    }
}
