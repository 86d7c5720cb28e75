//! Limits as people write them: `85ms`, `12GiB`, `40%`, `138.8 TFLOP/s`; and the same the other way round.

use haloscope_report::units;
use haloscope_report::{Cell, Unit};

const TIMES: &[(&str, f64)] =
    &[("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("µs", 1e6), ("ms", 1e9), ("min", 60e12), ("s", 1e12)];

const SIZES: &[(&str, f64)] = &[
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("B", 1.0),
];

const PREFIXES: &[(&str, f64)] = &[("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15)];

/// The number behind a text, in a unit's own measure: picoseconds, bytes, a share between 0 and 1.
///
/// # Errors
/// What was expected, where the text is no number or has another unit.
pub(crate) fn parse(text: &str, unit: Unit) -> Result<f64, String> {
    let text = text.trim();
    let found = match unit {
        Unit::Ps => scaled(text, TIMES),
        Unit::Bytes => scaled(text, SIZES),
        Unit::Share => percent(text).or_else(|| plain(text)),
        Unit::Count | Unit::Ratio => with_prefix(text),
        Unit::Flop | Unit::FlopRate | Unit::ByteRate | Unit::FlopPerByte => {
            with_prefix(text.strip_suffix(unit.symbol()).unwrap_or(text).trim_end())
        }
        Unit::None => None,
    };
    // Zero is the same in every unit.
    let found = found.or_else(|| plain(text).filter(|v| *v == 0.0 && unit != Unit::None));
    found.ok_or_else(|| format!("expected {}, found `{text}`", expected(unit)))
}

/// The share behind `3%`.
pub(super) fn percent(text: &str) -> Option<f64> {
    plain(text.trim().strip_suffix('%')?).map(|v| v / 100.0)
}

fn plain(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|v| v.is_finite())
}

fn scaled(text: &str, scales: &[(&str, f64)]) -> Option<f64> {
    scales.iter().find_map(|(word, scale)| Some(plain(text.strip_suffix(word)?)? * scale))
}

fn with_prefix(text: &str) -> Option<f64> {
    plain(text).or_else(|| scaled(text, PREFIXES))
}

/// What a limit in a unit looks like.
fn expected(unit: Unit) -> &'static str {
    match unit {
        Unit::Ps => "a time with its unit, such as 85ms",
        Unit::Bytes => "a size with its unit, such as 12GiB",
        Unit::Share => "a share, such as 40% or 0.4",
        Unit::Count => "a number, such as 3",
        Unit::Ratio => "a number, such as 1.5",
        Unit::Flop => "a number of operations, such as 3.9T",
        Unit::FlopRate => "a rate, such as 138.8TFLOP/s",
        Unit::ByteRate => "a rate, such as 800GB/s",
        Unit::FlopPerByte => "an intensity, such as 85",
        Unit::None => "text: this is not a number",
    }
}

/// A number in words, with its unit.
pub(super) fn words(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ps => units::duration_ps(value),
        Unit::Bytes => units::bytes(value),
        Unit::Share => units::share(value),
        Unit::Flop => units::flops(value),
        Unit::FlopRate => units::flop_rate(value),
        Unit::ByteRate => units::byte_rate(value),
        Unit::FlopPerByte => format!("{} FLOP/B", units::number(value)),
        Unit::Count if value.fract() == 0.0 && value.abs() < 1e15 => format!("{value:.0}"),
        Unit::Count | Unit::Ratio | Unit::None => units::number(value),
    }
}

/// A number as a cell: counts are whole.
pub(super) fn cell(value: Option<f64>, unit: Unit) -> Cell {
    match value {
        Some(count) if unit == Unit::Count && count.fract() == 0.0 && count.abs() < 1e15 => {
            Cell::Int(count as i64)
        }
        value => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_the_unit_of_their_metric() {
        let cases = [
            ("85ms", Unit::Ps, 85e9),
            (" 0.71 ms ", Unit::Ps, 0.71e9),
            ("2min", Unit::Ps, 120e12),
            ("12GiB", Unit::Bytes, 12.0 * 1_073_741_824.0),
            ("12GB", Unit::Bytes, 12e9),
            ("40%", Unit::Share, 0.4),
            ("0.4", Unit::Share, 0.4),
            ("138.8 TFLOP/s", Unit::FlopRate, 138.8e12),
            ("800GB/s", Unit::ByteRate, 800e9),
            ("3k", Unit::Count, 3000.0),
            ("0", Unit::Ps, 0.0),
        ];
        for (text, unit, expected) in cases {
            let found = parse(text, unit).unwrap();
            assert!((found - expected).abs() <= 1e-12 * expected, "{text}: {found}");
        }
    }

    #[test]
    fn a_number_without_its_unit_is_no_time() {
        for (text, unit) in [
            ("85", Unit::Ps),
            ("85GiB", Unit::Ps),
            ("12", Unit::Bytes),
            ("12GiBs", Unit::Bytes),
            ("nan", Unit::Share),
            ("inf%", Unit::Share),
            ("x", Unit::Count),
            ("0", Unit::None),
        ] {
            let error = parse(text, unit).unwrap_err();
            assert!(error.contains("expected") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn words_are_read_back() {
        for (value, unit) in
            [(85e9, Unit::Ps), (0.4, Unit::Share), (12e12, Unit::FlopRate), (7.0, Unit::Count)]
        {
            assert_eq!(parse(&words(value, unit), unit), Ok(value));
        }
    }
}
