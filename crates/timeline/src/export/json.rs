//! Texts and times in JSON.

use std::io::{self, Write};

/// A text with its quotes.
pub(super) fn text(out: &mut dyn Write, text: &str) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::from)
}

/// `ps` in a unit of 10^`digits` picoseconds, all its digits and no zeros behind the last of them.
pub(super) fn decimal(out: &mut dyn Write, ps: i64, digits: usize) -> io::Result<()> {
    let unit = 10_u64.pow(digits as u32);
    let sign = if ps < 0 { "-" } else { "" };
    let (whole, part) = (ps.unsigned_abs() / unit, ps.unsigned_abs() % unit);
    if part == 0 {
        return write!(out, "{sign}{whole}");
    }
    let part = format!("{part:0digits$}");
    write!(out, "{sign}{whole}.{}", part.trim_end_matches('0'))
}

/// A number; `null` for what JSON has no number for.
pub(super) fn number(out: &mut dyn Write, value: f64) -> io::Result<()> {
    serde_json::to_writer(out, &value).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_all_their_digits() {
        let written = |ps, digits| {
            let mut out = Vec::new();
            decimal(&mut out, ps, digits).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(1_234_567, 6), "1.234567");
        assert_eq!(written(1_500_000, 6), "1.5");
        assert_eq!(written(-1, 3), "-0.001");
        assert_eq!(written(2_000, 3), "2");
        assert_eq!(written(i64::MIN, 3), "-9223372036854775.808");
    }
}
