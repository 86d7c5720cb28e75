//! Times on the command line.

use std::time::Duration;

/// Units and their lengths in seconds, the longer names first.
const UNITS: [(&str, f64); 5] = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// Reads `500ms`, `1.5s`, `10m`, `2h`.
///
/// # Errors
/// What was expected and what was found.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a time with its unit, such as 500ms, 1.5s, 10m or 2h; found `{text}`");
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?);
    let (_, length) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * length).map_err(|_| wrong())
}

/// `1.5 s`, `10 min`.
pub(super) fn text(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        s if s >= 3600.0 => (s / 3600.0, "h"),
        s if s >= 60.0 => (s / 60.0, "min"),
        s if s >= 1.0 => (s, "s"),
        s => (s * 1e3, "ms"),
    };
    let text = format!("{value:.1}");
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("1.5 h"), Ok(Duration::from_secs(5400)));
        for wrong in ["5", "", "ms", "-1s", "1d", "nans", "1e400s"] {
            assert!(parse(wrong).unwrap_err().contains("with its unit"), "{wrong}");
        }
    }

    #[test]
    fn times_are_said_in_words() {
        assert_eq!(text(Duration::from_millis(1500)), "1.5 s");
        assert_eq!(text(Duration::from_secs(600)), "10 min");
        assert_eq!(text(Duration::from_millis(20)), "20 ms");
    }
}
