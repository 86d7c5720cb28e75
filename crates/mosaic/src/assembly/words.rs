//! Words of a line: what stands between brackets, commas and colons.

/// A line without what stands behind `//` outside of quotes.
pub(super) fn without_comment(line: &str) -> &str {
    let mut is_quoted = false;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'/' if !is_quoted && line[at..].starts_with("//") => return &line[..at],
            _ => {}
        }
    }
    line
}

/// How the depth of brackets changes with a byte, what is in quotes aside.
fn step(depth: &mut usize, is_quoted: &mut bool, before: u8, byte: u8) {
    match byte {
        b'"' if before != b'\\' => *is_quoted = !*is_quoted,
        _ if *is_quoted => {}
        b'(' | b'[' | b'{' | b'<' => *depth += 1,
        b'>' if before == b'-' => {}
        b')' | b']' | b'}' | b'>' => *depth = depth.saturating_sub(1),
        _ => {}
    }
}

/// Where the bracket ends that was opened just before the text.
pub(super) fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let (mut depth, mut is_quoted) = (1_usize, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            c if c == open => depth += 1,
            c if c == close => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Parts between commas outside of brackets; none of an empty text.
pub(super) fn list(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text.trim()).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        match split_at_top(text, ",") {
            Some((one, after)) => {
                rest = Some(after);
                Some(one)
            }
            None => rest.take(),
        }
    })
}

/// The text before and behind a word outside of brackets, where it first stands.
pub(super) fn split_at_top<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let (mut depth, mut is_quoted, mut before) = (0, false, 0);
    for (at, byte) in text.bytes().enumerate() {
        if depth == 0 && !is_quoted && text.as_bytes()[at..].starts_with(word.as_bytes()) {
            return Some((&text[..at], &text[at + word.len()..]));
        }
        step(&mut depth, &mut is_quoted, before, byte);
        before = byte;
    }
    None
}

/// What an operation takes, and its types behind the last colon outside of brackets.
pub(super) fn split_types(text: &str) -> (&str, &str) {
    let (mut before, mut types) = (text, "");
    let mut rest = text;
    let mut at = 0;
    while let Some((one, after)) = split_at_top(rest, " : ") {
        at += one.len();
        (before, types) = (&text[..at], after.trim());
        at += " : ".len();
        rest = after;
    }
    (before.trim(), types)
}

/// The values that a text names, in order.
pub(super) fn values(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('%').map(|(at, _)| {
        let name = &text[at..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_$.-#".contains(c);
        let end = name[1..].find(|c| !is_part(c)).map_or(name.len(), |end| end + 1);
        &name[..end]
    })
}
