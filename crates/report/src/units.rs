//! Numbers for people: durations, sizes, rates, shares. The one place where they are formatted.

/// Picoseconds in a second.
pub const PS_PER_S: f64 = 1e12;

/// The largest time that is believed, in picoseconds either way: 26 days. Times beyond it come from damaged files and are
/// cut to it when events are decoded, so that no difference of two times overflows.
pub const LARGEST_PS: i64 = 1 << 61;

/// The sum of times or counts that may come from a damaged file: it stops at the largest number in place of overflowing.
#[must_use]
pub fn sum(values: impl IntoIterator<Item = i64>) -> i64 {
    values.into_iter().fold(0, i64::saturating_add)
}

/// The bytes that a text stands for: `512MiB`, `2 GB`, `1.5g`; a number alone is bytes. `KB`, `MB`, `GB`, `TB` are powers of 1000;
/// `K`, `M`, `G`, `T` and `KiB`, `MiB`, `GiB`, `TiB` are powers of 1024. `None` for other texts and for more than an exabyte.
#[must_use]
pub fn size_of(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let (letter, rest) = unit.split_at_checked(1).unwrap_or(("", &unit));
    let power = match letter {
        "" | "b" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let base: f64 = match rest {
        "b" if power > 0 => 1000.0,
        "ib" if power > 0 => 1024.0,
        "" => 1024.0,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * base.powi(power);
    (bytes < 1e18).then_some(bytes as u64)
}

const SI: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const IEC: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Four significant digits at most, without an exponent between 0.001 and 1e9: `12.34`, `1234`, `0.012`.
#[must_use]
pub fn number(v: f64) -> String {
    let size = v.abs();
    if size == 0.0 {
        return "0".into();
    }
    if !(0.001..1e9).contains(&size) {
        return format!("{v:.2e}");
    }
    let digits = match size {
        s if s >= 999.95 => 0,
        s if s >= 99.995 => 1,
        s if s >= 9.9995 => 2,
        _ => 3,
    };
    format!("{v:.digits$}")
}

fn scaled(v: f64, step: f64, prefixes: &[&str], unit: &str) -> String {
    let (mut v, mut i) = (v, 0);
    while v.abs() >= step * 0.99995 && i + 1 < prefixes.len() {
        v /= step;
        i += 1;
    }
    format!("{} {}{unit}", number(v), prefixes[i])
}

/// A duration: `812 ps`, `1.234 us`, `77.06 ms`, `3.2 s`, `2 min 5 s`.
#[must_use]
pub fn duration_ps(ps: f64) -> String {
    let size = ps.abs();
    match size {
        s if s < 1e3 => format!("{} ps", number(ps)),
        s if s < 999.95e3 => format!("{} ns", number(ps / 1e3)),
        s if s < 999.95e6 => format!("{} us", number(ps / 1e6)),
        s if s < 999.95e9 => format!("{} ms", number(ps / 1e9)),
        s if s < 120e12 => format!("{} s", number(ps / 1e12)),
        _ => format!("{:.0} min {:.0} s", (ps / 60e12).trunc(), (ps % 60e12).abs() / 1e12),
    }
}

/// A size in powers of 1024: `1.5 GiB`.
#[must_use]
pub fn bytes(v: f64) -> String {
    scaled(v, 1024.0, &IEC, "B")
}

/// A rate of memory traffic in powers of 1000: `819 GB/s`.
#[must_use]
pub fn byte_rate(v: f64) -> String {
    scaled(v, 1000.0, &SI, "B/s")
}

/// A rate of computation: `81.6 TFLOP/s`.
#[must_use]
pub fn flop_rate(v: f64) -> String {
    scaled(v, 1000.0, &SI, "FLOP/s")
}

/// A number of operations: `3.96 TFLOP`.
#[must_use]
pub fn flops(v: f64) -> String {
    scaled(v, 1000.0, &SI, "FLOP")
}

/// A share as percent: `41.4%`, with two digits below one percent. What is nearly but not quite nothing or all says so.
#[must_use]
pub fn share(v: f64) -> String {
    let percent = v * 100.0;
    if percent > 0.0 && percent < 0.005 {
        return "under 0.01%".into();
    }
    if (99.95..100.0).contains(&percent) {
        return "over 99.9%".into();
    }
    if percent != 0.0 && percent.abs() < 0.995 { format!("{percent:.2}%") } else { format!("{percent:.1}%") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let all = [
            ("512MiB", 512 << 20),
            ("2GB", 2_000_000_000),
            ("1.5g", 3 << 29),
            ("64 M", 64 << 20),
            ("7", 7),
            (" 10 kb ", 10_000),
            ("12 B", 12),
            ("0", 0),
            ("1T", 1 << 40),
        ];
        for (text, bytes) in all {
            assert_eq!(size_of(text), Some(bytes), "{text}");
        }
        for text in ["", "MiB", "-1", "1TiB2", "1e30G", "half", "99999999T", "1.2.3", "5 apples", "1bib"] {
            assert_eq!(size_of(text), None, "{text}");
        }
    }

    #[test]
    fn durations_keep_four_digits_in_the_unit_that_fits() {
        assert_eq!(duration_ps(812.0), "812.0 ps");
        assert_eq!(duration_ps(77_063_506_562.0), "77.06 ms");
        assert_eq!(duration_ps(999_990_000.0), "1.000 ms");
        assert_eq!(duration_ps(-1_234_000.0), "-1.234 us");
        assert_eq!(duration_ps(125e12), "2 min 5 s");
        assert_eq!(duration_ps(0.0), "0 ps");
    }

    #[test]
    fn gib_and_gb_are_different_words() {
        assert_eq!(bytes(1_610_612_736.0), "1.500 GiB");
        assert_eq!(byte_rate(819e9), "819.0 GB/s");
        assert_eq!(flop_rate(197e12), "197.0 TFLOP/s");
        assert_eq!(flops(3.96e12), "3.960 TFLOP");
    }

    #[test]
    fn small_shares_are_not_rounded_to_nothing() {
        assert_eq!(share(0.414_23), "41.4%");
        assert_eq!(share(0.000_136), "0.01%");
        assert_eq!(share(0.0), "0.0%");
        assert_eq!(share(0.000_001), "under 0.01%");
        assert_eq!(share(0.9997), "over 99.9%");
        assert_eq!(share(1.0), "100.0%");
    }
}
