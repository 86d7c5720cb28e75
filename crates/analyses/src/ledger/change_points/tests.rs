//! Made series: what is planted is found, and nothing else.

use super::*;

/// Noise without a library: the sum of twelve uniform numbers of a xorshift generator, less 6, is nearly normal.
struct Noise(u64);

impl Noise {
    fn of(seed: u64) -> Self {
        Self(0x9E37_79B9_7F4A_7C15 ^ (seed + 1).wrapping_mul(0xD134_2543_DE82_EF95))
    }

    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A series of `n` values with noise of 1% around the level that `level` gives by position.
fn series(seed: u64, n: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut noise = Noise::of(seed);
    (0..n).map(|i| level(i) * (1.0 + 0.01 * noise.normal())).collect()
}

fn places(found: &Found) -> Vec<usize> {
    found.changes.iter().map(|c| c.at).collect()
}

#[test]
fn without_a_change_few_alarms_are_raised() {
    let (mut alarms, mut all) = (0, 0);
    for n in [5, 8, 12, 20, 40, 80] {
        let mut here = 0;
        for seed in 0..200 {
            here += usize::from(!find(&series(seed * 1000 + n as u64, n, |_| 100.0)).changes.is_empty());
        }
        assert!(here <= 10, "{here} of 200 series of {n} values");
        (alarms, all) = (alarms + here, all + 200);
    }
    assert!(alarms * 33 <= all, "{alarms} of {all}");
}

#[test]
fn one_step_is_found_where_it_is() {
    let mut right = 0;
    for seed in 0..100 {
        let found = find(&series(seed, 20, |i| if i < 12 { 100.0 } else { 106.0 }));
        let [change] = found.changes.as_slice() else { continue };
        assert_eq!(found.drift, None);
        right += usize::from(change.at == 12);
        assert!(change.p < SURE && change.low < change.delta && change.delta < change.high);
        assert!(change.delta > 3.0 && (change.after - change.before - change.delta).abs() < 1e-9);
    }
    assert!(right >= 90, "{right} of 100");
}

#[test]
fn two_steps_are_two_changes() {
    let mut right = 0;
    for seed in 0..100 {
        let level = |i| [100.0, 110.0, 96.0][usize::from(i >= 8) + usize::from(i >= 20)];
        let found = find(&series(seed, 30, level));
        right += usize::from(places(&found) == [8, 20]);
    }
    assert!(right >= 85, "{right} of 100");
}

#[test]
fn a_step_is_told_from_its_second_entry_on() {
    let steady = series(3, 10, |_| 100.0);
    let grown = |more: &[f64]| find(&[&steady, more].concat());
    let one = grown(&[112.0]);
    assert_eq!((places(&one), one.outliers), (vec![], vec![10]));
    let two = grown(&[112.0, 111.5]);
    assert_eq!((places(&two), two.outliers), (vec![10], vec![]));
}

#[test]
fn a_drift_is_a_drift_and_no_staircase() {
    let mut right = 0;
    for seed in 0..100 {
        let found = find(&series(seed, 24, |i| 100.0 + i as f64));
        let rises = found.drift.is_some_and(|line| line.rises() && (line.slope - 1.0).abs() < 0.3);
        right += usize::from(rises && found.changes.is_empty());
    }
    assert!(right >= 95, "{right} of 100");
    // Its ends are no outliers, but what is off the line is.
    let found = find(&series(7, 24, |i| if i == 9 { 160.0 } else { 100.0 + 2.0 * i as f64 }));
    assert_eq!((found.drift.is_some(), found.outliers), (true, vec![9]));
}

#[test]
fn an_outlier_is_no_change() {
    let mut wrong = 0;
    for seed in 0..100 {
        let found = find(&series(seed, 20, |i| if i == 7 { 150.0 } else { 100.0 }));
        assert!(found.outliers.contains(&7), "{seed}: {found:?}");
        wrong += usize::from(!found.changes.is_empty());
    }
    assert!(wrong <= 5, "{wrong} of 100");
    // Nor does it hide one.
    let mut right = 0;
    for seed in 0..100 {
        let level = |i| {
            if i == 4 {
                140.0
            } else if i < 12 {
                100.0
            } else {
                106.0
            }
        };
        right += usize::from(places(&find(&series(seed, 22, level))) == [12]);
    }
    assert!(right >= 85, "{right} of 100");
}

#[test]
fn numbers_that_do_not_scatter_change_exactly_where_they_do() {
    let bytes = [7e9, 7e9, 7e9, 7e9, 7.5e9, 7.5e9, 7.5e9];
    let found = find(&bytes);
    assert_eq!(places(&found), [4]);
    assert_eq!((found.changes[0].before, found.changes[0].after), (7e9, 7.5e9));
    assert_eq!(find(&[5.0; 30]).changes, []);
    assert_eq!(find(&[0.0; 30]).changes, []);
    // A change that nobody would act on is none.
    assert_eq!(find(&[7e9, 7e9, 7e9, 7e9, 7.0001e9, 7.0001e9, 7.0001e9]).changes, []);
}

#[test]
fn too_few_values_are_not_searched() {
    for n in 0..FEWEST {
        let found = find(&series(1, n, |i| if i == 0 { 1.0 } else { 2.0 }));
        assert_eq!((found.changes.len(), found.noise), (0, None));
        assert_eq!(found.stretches.iter().map(|s| s.at.len()).sum::<usize>(), n);
    }
    assert_eq!(find(&[1.0, f64::NAN, 1.0, 1.0, 1.0]).changes, []);
}

#[test]
fn a_series_turned_over_changes_at_the_same_places() {
    for seed in 0..20 {
        let level = |i| if i < 9 { 100.0 } else { 108.0 };
        let values = series(seed, 18, level);
        let turned: Vec<f64> = values.iter().map(|v| -v).collect();
        assert_eq!(places(&find(&values)), places(&find(&turned)));
        let scaled: Vec<f64> = values.iter().map(|v| v * 1e12).collect();
        assert_eq!(places(&find(&values)), places(&find(&scaled)));
    }
}

#[test]
fn a_long_history_is_searched_in_a_moment() {
    let values = series(1, 5000, |i| if i / 500 % 2 == 0 { 100.0 } else { 105.0 });
    let found = find(&values);
    assert!((8..=10).contains(&found.changes.len()), "{:?}", places(&found));
}
