//! Text as Python writes it, for bodies that are XProf's to the byte.

use std::io;

use serde_json::Value;
use serde_json::ser::{CharEscape, Formatter, Serializer};

/// JSON as `json.dumps(value, sort_keys=True)` has it: a space behind `,` and `:`, ASCII only.
pub(super) fn to_json(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    // `Value` keeps its keys sorted; a vector takes whatever is written.
    let _ = serde::Serialize::serialize(value, &mut Serializer::with_formatter(&mut out, Dumps));
    out
}

struct Dumps;

impl Formatter for Dumps {
    fn begin_array_value<W: io::Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        let mut units = [0; 2];
        for c in text.chars() {
            if c.is_ascii() && c != '\x7f' {
                out.write_all(&[c as u8])?;
                continue;
            }
            for unit in c.encode_utf16(&mut units) {
                write!(out, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }

    fn write_char_escape<W: io::Write + ?Sized>(
        &mut self,
        out: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        match escape {
            CharEscape::AsciiControl(byte) => write!(out, "\\u{byte:04x}"),
            CharEscape::Quote => out.write_all(b"\\\""),
            CharEscape::ReverseSolidus => out.write_all(b"\\\\"),
            CharEscape::Solidus => out.write_all(b"/"),
            CharEscape::Backspace => out.write_all(b"\\b"),
            CharEscape::FormFeed => out.write_all(b"\\f"),
            CharEscape::LineFeed => out.write_all(b"\\n"),
            CharEscape::CarriageReturn => out.write_all(b"\\r"),
            CharEscape::Tab => out.write_all(b"\\t"),
        }
    }
}

/// A value as `str(json.loads(...))` has it. Lists and maps, which tables do not hold, stay JSON.
pub(super) fn to_str(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) if number.is_f64() => float(number.as_f64().unwrap_or_default()),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The shortest digits that read back the same; an exponent below 1e-4 and from 1e16 on.
fn float(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) {
        return if value.fract() == 0.0 { format!("{value:.1}") } else { value.to_string() };
    }
    let text = format!("{value:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_that_of_python() {
        // json.dumps([{"b": "ü\U0001f600\x7f\n\"/", "a": [1, 2.5, None]}, True], sort_keys=True)
        let value = json!([{"b": "ü\u{1f600}\u{7f}\n\"/", "a": [1, 2.5, null]}, true]);
        let text = String::from_utf8(to_json(&value)).unwrap();
        assert_eq!(text, r#"[{"a": [1, 2.5, null], "b": "\u00fc\ud83d\ude00\u007f\n\"/"}, true]"#);
        assert_eq!(to_json(&json!([])), b"[]");
    }

    #[test]
    fn floats_are_those_of_python() {
        // [repr(x) for x in (...)] of Python 3.11
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (123_456_789.125, "123456789.125"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e22, "1.5e+22"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (-2.5e-7, "-2.5e-07"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            assert_eq!(to_str(&json!(value)), text);
        }
        assert_eq!(to_str(&json!(7)), "7");
        assert_eq!(to_str(&json!(true)), "True");
    }
}
