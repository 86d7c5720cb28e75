//! Strings in quotes, and dictionaries that need none.

use std::fmt::{self, Display, Write};

/// A name that stands without quotes. What would begin a line of its own or act on a terminal is shown as an escape (`\n`): no compiler
/// gives such names, but a file may have any.
pub(super) struct Name<'a>(pub(super) &'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.contains(acts) {
            return f.write_str(self.0);
        }
        self.0
            .chars()
            .try_for_each(|c| if acts(c) { write!(f, "{}", c.escape_default()) } else { f.write_char(c) })
    }
}

/// Control characters, and those that end a line.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Bytes as C writes them between quotes; what is not printable ASCII becomes three octal digits.
#[must_use]
pub fn c_escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'"' | b'\'' | b'\\' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b' '..=b'~' => text.push(char::from(byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    text
}

/// Whether text is one pair of braces around anything whose braces and quotes match: such text stands without quotes.
pub(super) fn is_dictionary(bytes: &[u8]) -> bool {
    if bytes.first() != Some(&b'{') {
        return false;
    }
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for (position, &byte) in bytes.iter().enumerate() {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' => depth += 1,
            b'}' if depth == 1 => return bytes[position + 1..].iter().all(u8::is_ascii_whitespace),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    false
}

/// Whether what acts in a dictionary only lays it out: line breaks and tabs between its words, where nothing else than JSON's own
/// words stands, so that no line can be taken for an instruction.
fn is_laid_out(dictionary: &str) -> bool {
    let (mut in_string, mut escaped) = (false, false);
    dictionary.chars().all(|c| {
        if in_string {
            (in_string, escaped) = (escaped || c != '"', !escaped && c == '\\');
            return !acts(c);
        }
        in_string = c == '"';
        matches!(c, '\n' | '\r' | '\t' | ' ' | '"' | '{' | '}' | '[' | ']' | ',' | ':' | '+' | '-' | '.')
            || c.is_ascii_alphanumeric()
    })
}

/// Text as a value: a dictionary as it is if it stands in one line or is only laid out in several, anything else in quotes.
pub(super) fn value(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_dictionary(bytes) && (!text.contains(acts) || is_laid_out(text)) => text.to_owned(),
        _ => format!("\"{}\"", c_escape(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_as_c_does() {
        assert_eq!(c_escape("a\"b'\\\n\tµ\0".as_bytes()), "a\\\"b\\'\\\\\\n\\t\\302\\265\\000");
    }

    #[test]
    fn names_begin_no_line() {
        let name = |text| Name(text).to_string();
        assert_eq!(name("fusion.1"), "fusion.1");
        assert_eq!(
            name("add\n  ROOT %x\u{1b}]52;c;x\u{7}\u{9b}µ\u{2028}"),
            "add\\n  ROOT %x\\u{1b}]52;c;x\\u{7}\\u{9b}µ\\u{2028}"
        );
    }

    #[test]
    fn dictionaries_need_no_quotes() {
        assert!(is_dictionary(b"{}") && is_dictionary(br#"{"a":{"b":"}"}} "#));
        assert!(is_dictionary(b"{empty_mesh = #sdy.mesh<[]>}") && is_dictionary(br#"{"\"":1}"#));
        for not in [&b""[..], b"true", b"{", b"{\"}", b"{}{}", b"{} x"] {
            assert!(!is_dictionary(not), "{not:?}");
        }
        assert_eq!(value(b"true"), "\"true\"");
        assert_eq!(value(b"{\"a\":\"\n%x = f32[] add()\"}"), r#""{\"a\":\"\n%x = f32[] add()\"}""#);
        // As JAX writes a kernel's metadata.
        let laid_out = "{\n\"a\": {\"b\": null,\n\"c\\\"\": [-1.5e3, true]}\n}";
        assert_eq!(value(laid_out.as_bytes()), laid_out);
        let forged = value(b"{\"a\":1,\n%x = f32[] add()\n}");
        assert!(!forged.contains('\n'), "{forged}");
    }
}
