//! The few functions of mathematical statistics that tests of significance need. Written here because a library with all
//! distributions is a large tree of crates for four functions; tested against scipy 1.17.

/// Terms of a continued fraction or series at most. It converges in about the square root of the largest argument.
const MOST_TERMS: usize = 10_000;
const EPSILON: f64 = 1e-15;
/// Stands for zero in a denominator.
const TINY: f64 = 1e-300;

/// The logarithm of the gamma function for `x` > 0 (Lanczos 1964, with g = 7 and nine coefficients); 15 digits.
#[must_use]
pub fn ln_gamma(x: f64) -> f64 {
    const C: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // The reflection formula.
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let series = (1_u32..).zip(&C[1..]).fold(C[0], |sum, (i, c)| sum + c / (x + f64::from(i)));
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + series.ln()
}

/// The regularised incomplete beta function `I_x(a, b)` for `a`, `b` > 0 and `x` in 0..=1, by its continued fraction (modified
/// Lentz).
#[must_use]
pub fn beta_inc(a: f64, b: f64, x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast below the mean of the distribution; above it the other tail does.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..MOST_TERMS {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < EPSILON {
            break;
        }
    }
    h
}

/// The chance that Student's t with `df` degrees of freedom is at least this far from 0, either way.
#[must_use]
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    beta_inc(df / 2.0, 0.5, df / (df + t * t))
}

/// The `t` that Student's t with `df` degrees of freedom exceeds, either way, with chance `p` (0 < p < 1): by bisection.
#[must_use]
pub fn t_critical(p: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while t_two_sided(high, df) > p && high < 1e18 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if t_two_sided(middle, df) > p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The chance that a normal variable is at least `z` standard deviations from its mean, either way: `Q(1/2, z^2 / 2)`, the
/// upper incomplete gamma function, by series or continued fraction.
#[must_use]
pub fn normal_two_sided(z: f64) -> f64 {
    let x = z * z / 2.0;
    if x.is_nan() || x <= 0.0 {
        return 1.0;
    }
    let a = 0.5;
    let front = (-x + a * x.ln() - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..MOST_TERMS {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * EPSILON {
                break;
            }
        }
        return 1.0 - front * sum;
    }
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut h = d;
    for i in 1..MOST_TERMS {
        let i = i as f64;
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < EPSILON {
            break;
        }
    }
    front * h
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-10, "found {found}, expected {expected}");
    }

    /// `2 * scipy.stats.t.sf(t, df)` and `scipy.stats.t.ppf(1 - p / 2, df)`.
    #[test]
    fn students_t_is_scipys() {
        for (t, df, p) in [
            (2.0, 10.0, 0.073_388_034_770_740_37),
            (0.5, 3.7, 0.645_335_633_319_931_8),
            (12.0, 5.5, 3.748_050_062_923_341e-5),
            (1.0, 1.0, 0.5),
            (3.0, 200.5, 0.003_042_164_167_900_888_5),
            (40.0, 11.0, 2.892_540_898_120_57e-13),
        ] {
            close(t_two_sided(t, df), p);
        }
        assert_eq!((t_two_sided(0.0, 4.0), t_two_sided(f64::INFINITY, 4.0)), (1.0, 0.0));
        for (p, df, t) in [
            (0.05, 10.0, 2.228_138_851_986_274),
            (0.01, 4.3, 4.391_966_707_684_055),
            (0.05, 1.0, 12.706_204_736_174_694),
            (0.01, 300.0, 2.592_316_410_847_792_5),
        ] {
            close(t_critical(p, df), t);
        }
    }

    /// `2 * scipy.stats.norm.sf(z)`.
    #[test]
    fn the_normal_distribution_is_scipys() {
        for (z, p) in [
            (0.3, 0.764_177_155_622_094_8),
            (1.0, 0.317_310_507_862_914_15),
            (1.96, 0.049_995_790_296_440_87),
            (3.3, 0.000_966_848_284_767_554_9),
            (6.0, 1.973_175_290_075_389e-9),
        ] {
            close(normal_two_sided(z), p);
            close(normal_two_sided(-z), p);
        }
        assert_eq!(normal_two_sided(0.0), 1.0);
    }

    #[test]
    fn gamma_of_known_arguments() {
        close(ln_gamma(10.0), 362_880_f64.ln());
        close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
        close(ln_gamma(0.1), 2.252_712_651_734_206);
    }
}
