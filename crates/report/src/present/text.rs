//! Words on a terminal: how wide they are, how they are cut and wrapped, and what must not reach it.

use std::borrow::Cow;

/// Columns that a text takes on a terminal.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Columns that a character takes: two for East Asian wide forms and pictures, none for combining marks.
fn char_width(c: char) -> usize {
    match c as u32 {
        0x300..=0x36f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// The text in at most `columns` columns, with `…` in the middle where it was cut: names differ at both ends.
pub(super) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let room = columns.saturating_sub(1);
    let head = prefix(text.chars(), room.div_ceil(2));
    let tail: String = prefix(text.chars().rev(), room / 2).chars().rev().collect();
    Cow::Owned(if columns == 0 { String::new() } else { format!("{head}…{tail}") })
}

fn prefix(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut left = columns;
    chars
        .take_while(|&c| {
            let fits = char_width(c) <= left;
            left = left.saturating_sub(char_width(c));
            fits
        })
        .collect()
}

/// Lines of at most `columns` columns (at least one line), broken at spaces, and inside a word only where it is longer
/// than a line.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let mut word = word;
        let gap = usize::from(used > 0);
        if used + gap + width(word) > columns && used > 0 {
            lines.push(String::new());
            used = 0;
        }
        // Looks at a line's worth of it at a time: a name may be a megabyte long.
        loop {
            let mut head = prefix(word.chars(), columns);
            if head.len() == word.len() {
                break;
            }
            if head.is_empty() {
                head = word.chars().take(1).collect();
            }
            word = &word[head.len()..];
            push(&mut lines, &head);
            lines.push(String::new());
        }
        if used > 0 {
            push(&mut lines, " ");
            used += 1;
        }
        push(&mut lines, word);
        used += width(word);
    }
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Lines of a text, at most so many; the last says that there are more by `…` behind a whole word.
pub(super) fn shortened(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = wrap(text, columns);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while width(last) + 2 > columns {
                match last.rfind(' ') {
                    Some(at) => last.truncate(at),
                    None => break,
                }
            }
            last.push_str(" …");
        }
    }
    lines
}

fn push(lines: &mut [String], text: &str) {
    if let Some(last) = lines.last_mut() {
        last.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_in_the_middle() {
        assert_eq!(cut("fusion.1234", 11), "fusion.1234");
        assert_eq!(cut("fusion.1234", 8), "fusi…234");
        assert_eq!(cut("fusion.1234", 1), "…");
        assert_eq!(cut("fusion.1234", 0), "");
        assert_eq!(width(&cut("日本語日本語日本語", 8)), 7);
    }

    #[test]
    fn wraps_at_spaces_and_breaks_long_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("a abcdefgh", 4), ["a", "abcd", "efgh"]);
        assert_eq!(wrap("日本", 1), ["日", "本"]);
    }
}
