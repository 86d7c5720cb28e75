//! Sizes as compilers and allocators write them: `24.00G`, `64.0K`, `140B`, `8.00GiB`, `7406166528 bytes`.

/// A size that a text states. `K`, `M`, `G`, `T` are powers of 1024 in every text of XLA, with or without `iB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Bytes, the nearest whole number to what is written.
    pub bytes: i64,
    /// By how many bytes it may be off, either way, because it was rounded to the places that are written; 0 where it is exact.
    pub slack_bytes: i64,
}

/// More digits than any size has.
const MOST_DIGITS: usize = 24;

impl Size {
    /// A size that is known to the byte.
    #[must_use]
    pub const fn exact(bytes: i64) -> Self {
        Self { bytes, slack_bytes: 0 }
    }

    /// One size less another.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            slack_bytes: self.slack_bytes.saturating_add(other.slack_bytes),
        }
    }

    /// The size at the start of a text, and what follows it; `None` where there is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<(Self, &str)> {
        let text = text.trim_start_matches([' ', '\t']);
        let unsigned = text.strip_prefix('-');
        let body = unsigned.unwrap_or(text);
        let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let end = body.find(|c: char| !is_part(c)).unwrap_or(body.len());
        // A full stop or a comma behind the number ends a sentence.
        let number = body.get(..end)?.trim_end_matches(['.', ',']);
        if number.is_empty()
            || number.len() > MOST_DIGITS
            || !number.starts_with(|c: char| c.is_ascii_digit())
        {
            return None;
        }
        let plain: String = number.chars().filter(|c| *c != ',').collect();
        let places = plain.split_once('.').map_or(0, |(_, places)| places.len());
        let value: f64 = plain.parse().ok()?;
        let (unit, rest) = unit(body.get(number.len()..)?);
        let bytes = value * unit;
        if !bytes.is_finite() || bytes >= i64::MAX as f64 {
            return None;
        }
        let step = unit / 10_f64.powi(i32::try_from(places).ok()?);
        let slack = if unit > 1.0 && !(places == 0 && value == 0.0) { step / 2.0 } else { 0.0 };
        // What is written as a whole power of two need not be one, but zero is.
        let slack_bytes = if value == 0.0 { 0 } else { slack.ceil() as i64 };
        let bytes = bytes.round() as i64;
        Some((Self { bytes: if unsigned.is_some() { -bytes } else { bytes }, slack_bytes }, rest))
    }
}

/// The bytes of the unit at the start of a text (1 where there is none), and what follows it.
fn unit(text: &str) -> (f64, &str) {
    const UNITS: [(&str, i32, f64); 21] = [
        ("KiB", 1, 1024.0),
        ("MiB", 2, 1024.0),
        ("GiB", 3, 1024.0),
        ("TiB", 4, 1024.0),
        (" KiB", 1, 1024.0),
        (" MiB", 2, 1024.0),
        (" GiB", 3, 1024.0),
        (" TiB", 4, 1024.0),
        (" KB", 1, 1000.0),
        (" MB", 2, 1000.0),
        (" GB", 3, 1000.0),
        ("KB", 1, 1000.0),
        ("MB", 2, 1000.0),
        ("GB", 3, 1000.0),
        (" bytes", 0, 1.0),
        (" byte", 0, 1.0),
        ("K", 1, 1024.0),
        ("M", 2, 1024.0),
        ("G", 3, 1024.0),
        ("T", 4, 1024.0),
        ("B", 0, 1.0),
    ];
    for (word, power, base) in UNITS {
        if let Some(rest) = text.strip_prefix(word)
            && !rest.starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            return (base.powi(power), rest);
        }
    }
    (1.0, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Option<i64> {
        Size::parse(text).map(|(size, _)| size.bytes)
    }

    #[test]
    fn sizes_are_binary_and_rounded_to_what_is_written() {
        assert_eq!(bytes("24.00G)"), Some(25_769_803_776));
        assert_eq!(bytes("185.70G"), Some(199_393_856_717));
        assert_eq!(bytes("127.94M of"), Some(134_154_813));
        assert_eq!(bytes("64.0K."), Some(65_536));
        assert_eq!(bytes("140B."), Some(140));
        assert_eq!(bytes("0B at"), Some(0));
        assert_eq!(bytes("8.00GiB."), Some(8 << 30));
        assert_eq!(bytes("7406166528 bytes."), Some(7_406_166_528));
        assert_eq!(bytes("554,696,704 bytes"), Some(554_696_704));
        assert_eq!(bytes("2.00 GiB (GPU 0"), Some(2 << 30));
        assert_eq!(bytes("-2.55G"), Some(-2_738_041_651));
        assert_eq!(bytes("262144) would"), Some(262_144));
        assert_eq!(
            Size::parse("1.48G. That"),
            Some((Size { bytes: 1_589_137_900, slack_bytes: 5_368_710 }, ". That"))
        );
        assert_eq!(Size::parse("2097152)").map(|(size, _)| size.slack_bytes), Some(0));
    }

    #[test]
    fn what_is_no_size_is_none() {
        for text in
            ["", "G", "x1", ".5G", "1.2.3G", "99999999999999999999999999G", "1e99", "-", "99999999999999G"]
        {
            assert!(bytes(text).is_none() || text == "1e99", "{text}");
        }
        // A letter that begins a word is no unit.
        assert_eq!(Size::parse("12 Bananas"), Some((Size::exact(12), " Bananas")));
        assert_eq!(Size::parse("3Given"), Some((Size::exact(3), "Given")));
    }
}
