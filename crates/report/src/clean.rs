//! Text from profiles is data. Names come from other people's programs: a terminal obeys what it is sent, and nobody sees what is
//! invisible, but a model that reads it.

use std::borrow::Cow;
use std::fmt::Write;

/// True for characters that move a cursor, change colours, reorder what is read, or are not seen at all.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c as u32,
            // Soft hyphen, joiners, marks of direction, fillers.
            0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
            // Line separators, embeddings, isolates, invisible operators.
            | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164
            // Variation selectors, byte order mark, annotations, musical marks, tags.
            | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

/// The text with every such character shown as an escape: `\n`, `\u{202e}`.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    keeping(text, |_| false)
}

/// [`clean`], line by line: line feeds stay.
#[must_use]
pub fn clean_lines(text: &str) -> Cow<'_, str> {
    keeping(text, |c| c == '\n')
}

fn keeping(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_shown = |c: char| !is_unsafe(c) || is_kept(c);
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_shown(c) { out.push(c) } else { out.extend(c.escape_default()) }
    }
    Cow::Owned(out)
}

/// JSON that says the same, with those characters as `\u` escapes.
#[must_use]
pub fn clean_json(json: String) -> String {
    // What stands between texts is line feeds at most; inside of them JSON has none.
    let is_shown = |c: char| !is_unsafe(c) || c == '\n';
    if json.chars().all(is_shown) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if is_shown(c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_or_hides_is_shown() {
        for (text, shown) in [
            ("a\u{1b}[31mred\nx", "a\\u{1b}[31mred\\nx"),
            ("evil\u{202e}gpj", "evil\\u{202e}gpj"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("c1\u{9b}31m", "c1\\u{9b}31m"),
            ("zero\u{200b}width\u{ad}", "zero\\u{200b}width\\u{ad}"),
        ] {
            assert_eq!(clean(text), shown);
        }
        assert_eq!(clean_lines("one\ntwo\r\n"), "one\ntwo\\r\n");
        for plain in ["plain µ", "漢字 ±5% …", "naïve"] {
            assert!(matches!(clean(plain), Cow::Borrowed(_)), "{plain}");
        }
    }

    #[test]
    fn json_says_the_same() {
        let hidden = "a\u{7f}\u{9b}\u{202e}\u{e0041}\u{feff}\n\"quoted\"";
        let json = format!("{}\n", serde_json::json!({"name": hidden}));
        let shown = clean_json(json);
        assert!(shown.trim_end().chars().all(|c| (' '..='~').contains(&c)), "{shown}");
        let back: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(back["name"], hidden);
    }
}
