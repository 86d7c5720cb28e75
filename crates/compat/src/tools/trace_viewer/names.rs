//! Names as JSON writes them, each escaped once.

use std::borrow::Cow;

/// The names of a trace by number, with their form in JSON.
#[derive(Debug, Default)]
pub(super) struct Names<'p> {
    plain: Vec<Cow<'p, str>>,
}

impl<'p> Names<'p> {
    pub(super) fn push(&mut self, name: impl Into<Cow<'p, str>>) -> u32 {
        self.plain.push(name.into());
        self.plain.len() as u32 - 1
    }

    pub(super) fn len(&self) -> usize {
        self.plain.len()
    }

    pub(super) fn get(&self, number: u32) -> &str {
        self.plain.get(number as usize).map_or("", |name| name)
    }
}

/// Names in quotes, escaped when they are first written.
#[derive(Debug)]
pub(super) struct Quoted {
    places: Vec<Option<(u32, u32)>>,
    text: Vec<u8>,
}

impl Quoted {
    pub(super) fn new(names: &Names<'_>) -> Self {
        Self { places: vec![None; names.len()], text: Vec::new() }
    }

    pub(super) fn write(&mut self, names: &Names<'_>, number: u32, to: &mut Vec<u8>) {
        let Some(place) = self.places.get_mut(number as usize) else {
            to.extend_from_slice(b"\"\"");
            return;
        };
        let (from, end) = *place.get_or_insert_with(|| {
            let from = self.text.len() as u32;
            quote(names.get(number), &mut self.text);
            (from, self.text.len() as u32)
        });
        to.extend_from_slice(&self.text[from as usize..end as usize]);
    }
}

/// Writes text as a JSON string that may stand in a page: `<`, `>` and `&` are escaped too.
pub(super) fn quote(text: &str, to: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    to.push(b'"');
    let bytes = text.as_bytes();
    let mut from = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let is_separator = *byte == 0xe2 && matches!(bytes.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9]));
        if !matches!(byte, 0..0x20 | b'"' | b'\\' | b'<' | b'>' | b'&') && !is_separator {
            continue;
        }
        // The two bytes behind a separator's first are left out with it.
        to.extend_from_slice(&bytes[from.min(at)..at]);
        from = at + 1;
        match byte {
            b'"' => to.extend_from_slice(b"\\\""),
            b'\\' => to.extend_from_slice(b"\\\\"),
            b'\n' => to.extend_from_slice(b"\\n"),
            b'\r' => to.extend_from_slice(b"\\r"),
            b'\t' => to.extend_from_slice(b"\\t"),
            0xe2 => {
                to.extend_from_slice(if bytes[at + 2] == 0xa8 { b"\\u2028" } else { b"\\u2029" });
                from = at + 3;
            }
            other => {
                to.extend_from_slice(b"\\u00");
                to.extend_from_slice(&[HEX[usize::from(other >> 4)], HEX[usize::from(other & 15)]]);
            }
        }
    }
    to.extend_from_slice(&bytes[from.min(bytes.len())..]);
    to.push(b'"');
}

/// Writes a whole number.
pub(super) fn whole(value: u64, to: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    to.extend_from_slice(&digits[at..]);
}

/// Writes picoseconds as microseconds: the decimal number itself, which reads back as the double that XProf prints.
pub(super) fn micros(ps: u64, to: &mut Vec<u8>) {
    /// Larger numbers are no longer exact in a double.
    const EXACT: u64 = 1 << 53;
    if ps > EXACT {
        to.extend_from_slice((ps as f64 / 1e6).to_string().as_bytes());
        return;
    }
    whole(ps / 1_000_000, to);
    let mut rest = (ps % 1_000_000) as u32;
    if rest > 0 {
        let mut digits = [b'0'; 6];
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        let len = digits.iter().rposition(|d| *d != b'0').map_or(0, |last| last + 1);
        to.push(b'.');
        to.extend_from_slice(&digits[..len]);
    }
}

/// A number with six significant digits, as C's `%g` prints it.
pub(super) fn six_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { format!("{value}").to_lowercase() };
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |number: &str| match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => number.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        trim(&format!("{value:.*}", (5 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(digits), exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> String {
        let mut to = Vec::new();
        quote(text, &mut to);
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn strings_are_escaped_for_json_and_for_pages() {
        assert_eq!(quoted("a\"b\\c\n\u{1}"), r#""a\"b\\c\n\u0001""#);
        assert_eq!(quoted("void f<T>(&x)"), r#""void f\u003cT\u003e(\u0026x)""#);
        assert_eq!(quoted("x\u{2028}y\u{2029}€"), "\"x\\u2028y\\u2029€\"");
    }

    #[test]
    fn picoseconds_become_microseconds_without_loss() {
        let text = |ps| {
            let mut to = Vec::new();
            micros(ps, &mut to);
            String::from_utf8(to).unwrap()
        };
        assert_eq!(text(82_432_811_000), "82432.811");
        assert_eq!(text(1), "0.000001");
        assert_eq!(text(5_000_000), "5");
        assert_eq!(text(0_u64.wrapping_sub(2_455_937)).parse::<f64>().unwrap(), 18446744073707.098);
        assert_eq!(text(77_063_506_562).parse::<f64>().unwrap(), 77_063_506_562_f64 / 1e6);
    }

    #[test]
    fn six_digits_are_those_of_c() {
        for (value, text) in [
            (0.36288, "0.36288"),
            (682.0211, "682.021"),
            (98102.54, "98102.5"),
            (2.5, "2.5"),
            (1234567.0, "1.23457e+06"),
        ] {
            assert_eq!(six_digits(value), text);
        }
    }
}
