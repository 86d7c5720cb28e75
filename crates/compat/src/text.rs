//! Numbers as XProf writes them in words.

/// A number with six significant digits, in scientific form below 1e-4 and from 1e6 on, without zeros at the end.
#[must_use]
pub(crate) fn six_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { value.to_string().to_lowercase() };
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..6).contains(&exponent) {
        let decimals = (5 - exponent).max(0) as usize;
        return trimmed(&format!("{value:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::six_digits;

    #[test]
    fn six_significant_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (459_000.0, "459000"),
            (1_307_443.2, "1.30744e+06"),
            (2_479.553_222, "2479.55"),
            (166.003_616, "166.004"),
            (0.000_012_345_678, "1.23457e-05"),
            (999_999.7, "1e+06"),
            (22.95, "22.95"),
        ];
        for (value, text) in cases {
            assert_eq!(six_digits(value), text);
        }
    }
}
