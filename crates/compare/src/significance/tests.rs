use super::*;

/// Twelve steps of one run with an outlier, eight of another.
const A: [f64; 12] = [77.1, 76.4, 77.9, 76.8, 81.8, 77.0, 76.5, 77.3, 76.9, 77.2, 76.6, 77.4];
const B: [f64; 8] = [82.3, 81.9, 82.6, 82.0, 82.8, 81.7, 82.2, 82.5];

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1e-3), "found {found}, expected {expected}");
}

/// `scipy.stats.ttest_ind(b, a, equal_var=False)` with `confidence_interval(0.95)`, scipy 1.17.1.
#[test]
fn welch_is_scipys() {
    let cases: [(&[f64], &[f64], [f64; 4]); 3] = [
        (
            &A,
            &B,
            [4.841_666_666_666_669, 3.897_096_562_218_363_3, 5.786_236_771_114_973, 5.045_313_177_318_127e-8],
        ),
        (
            &[1.0, 2.0, 3.0, 4.0, 5.0],
            &[2.0, 3.0, 4.0, 5.0, 7.0],
            [1.2, -1.384_698_226_331_203_8, 3.784_698_226_331_204, 0.313_751_609_462_475_05],
        ),
        (
            &[10.0, 10.5, 9.5],
            &[10.2, 10.1, 10.9, 11.3],
            [0.625, -0.435_254_402_186_310_06, 1.685_254_402_186_31, 0.187_746_653_918_322_74],
        ),
    ];
    for (a, b, [delta, low, high, p]) in cases {
        let test = welch(a, b).unwrap();
        close(test.delta, delta);
        close(test.low, low);
        close(test.high, high);
        assert!((test.p / p - 1.0).abs() < 1e-9, "{} {p}", test.p);
        // The other way round is the same with the other sign.
        let back = welch(b, a).unwrap();
        close(back.low, -high);
        assert_eq!(back.p, test.p);
    }
}

#[test]
fn few_samples_and_none_that_spread() {
    assert_eq!(welch(&[1.0], &B), None);
    assert_eq!(welch(&[f64::NAN, 1.0], &B), None);
    let same = welch(&[2.0, 2.0], &[2.0, 2.0]).unwrap();
    assert_eq!((same.delta, same.p), (0.0, 1.0));
    let other = welch(&[2.0, 2.0], &[3.0, 3.0]).unwrap();
    assert_eq!((other.delta, other.low, other.high, other.p), (1.0, 1.0, 1.0, 0.0));
    assert_eq!(mann_whitney(&[], &A), None);
    assert_eq!(mann_whitney(&[1.0, 1.0], &[1.0, 1.0]), Some(1.0));
}

/// `scipy.stats.mannwhitneyu(b, a, method="exact")`, and `"asymptotic"` where samples are equal or many.
#[test]
fn ranks_are_scipys() {
    close(mann_whitney(&A, &B).unwrap(), 3.175_359_212_510_915e-5);
    close(
        mann_whitney(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.5, 3.5, 6.0, 7.0, 8.0]).unwrap(),
        0.150_793_650_793_650_79,
    );
    close(mann_whitney(&[10.0, 10.5, 9.5], &[10.2, 10.1, 10.9, 11.3]).unwrap(), 0.228_571_428_571_428_56);
    let ties = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0];
    close(mann_whitney(&ties, &[2.0, 3.0, 4.0, 4.0, 5.0, 6.0]).unwrap(), 0.166_124_288_160_454_55);
    let long = |from: f64, n: u32| (0..n).map(|i| from + f64::from(i)).collect::<Vec<_>>();
    close(mann_whitney(&long(0.0, 30), &long(6.5, 25)).unwrap(), 0.096_138_791_468_425_87);
}

#[test]
fn what_ranks_can_reach() {
    // Three against three: 20 orders, so that no result is rarer than 1 in 10.
    assert_eq!(least_rank_p(3, 3), 0.1);
    assert_eq!(mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), Some(0.1));
    assert!(least_rank_p(4, 4) < 0.05);
    assert_eq!(least_rank_p(1, 1), 1.0);
}

/// By hand: sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, none below the one before.
#[test]
fn holm_by_hand() {
    let mut p = [0.04, 0.01, 0.03, 0.02, f64::NAN];
    holm(&mut p);
    assert_eq!(&p[..4], [0.06, 0.04, 0.06, 0.06]);
    assert!(p[4].is_nan());
    let mut large = [0.9, 0.8];
    holm(&mut large);
    assert_eq!(large, [1.0, 1.0]);
    holm(&mut []);
}

/// `scipy.stats.ttest_ind(b, a, equal_var=...)` and its `confidence_interval()`, of scipy 1.17.1.
#[test]
fn samples_in_short_are_scipys_too() {
    let a = Moments::of(&[10.0, 10.2, 9.9, 10.1, 10.3]).unwrap();
    let b = Moments::of(&[10.6, 10.4, 10.9, 10.5]).unwrap();
    let other = welch_of(&a, &b).unwrap();
    close(other.p, 0.010_173_326_205_740_721);
    close(other.low, 0.175_086_518_488_755_62);
    close(other.high, 0.824_913_481_511_244_4);
    let one = pooled(&a, &b, 0.0).unwrap();
    close(one.p, 0.005_025_151_952_324_186);
    close(one.low, 0.206_285_763_774_223_36);
    close(one.high, 0.793_714_236_225_776_6);
}

#[test]
fn in_short_without_spread_a_difference_is_certain() {
    let a = Moments { count: 3.0, mean: 5.0, sd: 0.0 };
    let same = welch_of(&a, &a).unwrap();
    assert_eq!((same.delta, same.low, same.high, same.p), (0.0, 0.0, 0.0, 1.0));
    let b = Moments { mean: 6.0, ..a };
    let other = welch_of(&a, &b).unwrap();
    assert_eq!((other.delta, other.low, other.high, other.p), (1.0, 1.0, 1.0, 0.0));
    assert!(pooled(&a, &b, 1.0).unwrap().p > 0.1);
    assert_eq!(difference(f64::NAN, 1.0, 3.0), None);
}
