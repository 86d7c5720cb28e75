//! Texts as logs hold them, made plain: without colours, without what is said twice, with lines where lines were.

use haloscope_report::head;

/// At most this many bytes are looked at: of a longer log the last ones, as a program that dies says so at the end.
pub const LARGEST: usize = 32 << 20;

/// Behind this a message repeats itself as a proto, cut off.
const ENCODED: &str = "[type.googleapis.com/";
/// Bytes of such a repetition.
const MOST_ENCODED: usize = 16 << 10;

/// What stands in a message that was written on one line, with `\n` for its ends of lines.
const ESCAPED: [&str; 8] = [
    "\\n\\nTotal ",
    "\\n\\nProgram ",
    "\\n  Largest ",
    "\\nSee https",
    "\\nRan out of memory",
    "\\nBufferAssignment",
    "\\nLargest ",
    "\\nTotal ",
];

/// The last part of a text that is not too long.
pub(crate) fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(LARGEST);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

/// The text as it is read.
pub(crate) fn plain(text: &str) -> String {
    let text = without_encoded(&without_colours(tail(text)));
    if ESCAPED.iter().any(|mark| text.contains(mark)) {
        return text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'").replace("\\t", "\t");
    }
    text
}

/// Without the sequences that colour a terminal.
fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(inside) = rest.strip_prefix('[') {
            let end = inside.find(|c: char| c.is_ascii_alphabetic());
            rest = end.and_then(|end| inside.get(end + 1..)).unwrap_or("");
        }
    }
    out.push_str(rest);
    out
}

/// Without the proto behind a message, which holds the start of the message once more.
fn without_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ENCODED) {
        out.push_str(&rest[..at]);
        let encoded = head(&rest[at..], MOST_ENCODED);
        let end = encoded.find("[truncated]").map(|end| end + "[truncated]".len());
        let end = end.or_else(|| encoded.find('\n')).unwrap_or(encoded.len());
        rest = &rest[at + end..];
    }
    out.push_str(rest);
    out
}

/// What stands behind a word in a text, if it is there.
pub(crate) fn after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    text.find(word).and_then(|at| text.get(at + word.len()..))
}

/// What stands between two words in a text.
pub(crate) fn between<'t>(text: &'t str, from: &str, to: &str) -> Option<&'t str> {
    let rest = after(text, from)?;
    rest.find(to).and_then(|end| rest.get(..end))
}

/// What stands behind a word that has white space or nothing before it, as the names of fields in a list have.
pub(crate) fn field<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    let mut from = 0;
    while let Some(at) = line.get(from..).and_then(|rest| rest.find(name)) {
        let at = from + at;
        if line[..at].chars().next_back().is_none_or(char::is_whitespace) {
            return line.get(at + name.len()..).map(str::trim);
        }
        from = at + name.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_twice_is_dropped() {
        let text = "Used 1.00M.\n\n [type.googleapis.com/x='\\x08Ran out\\n\\nProgram smem...[truncated]']\nTraceback";
        assert_eq!(plain(text), "Used 1.00M.\n\n ']\nTraceback");
        assert_eq!(plain("a [type.googleapis.com/x"), "a ");
    }

    #[test]
    fn one_line_becomes_many() {
        let text = "\"error\": \"OOM\\nSee https://x\\n op_name=\\\"a\\\"\"";
        assert_eq!(plain(text), "\"error\": \"OOM\nSee https://x\n op_name=\"a\"\"");
        assert_eq!(plain("dims=(  )\\n shape"), "dims=(  )\\n shape");
    }

    #[test]
    fn colours_are_dropped_and_damage_is_survived() {
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m"), "red");
        assert_eq!(plain("x\u{1b}"), "x");
        assert_eq!(plain("x\u{1b}[12"), "x");
        assert_eq!(field("[core.py] Size: 1.0K", "Size:"), Some("1.0K"));
        assert_eq!(field("Subshape: f32[1]", "shape:"), None);
    }
}
