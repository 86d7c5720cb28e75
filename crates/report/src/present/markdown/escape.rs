//! Text that Markdown shows as it is.

use crate::clean;

/// Characters with a meaning of their own somewhere in a line of GitHub's Markdown.
const SPECIAL: &[char] = &[
    '\\', '`', '*', '_', '{', '}', '[', ']', '<', '>', '&', '#', '@', '|', '~', '$', '!', '"', '^', '+', '=',
    '\'',
];

/// Whether a text may stand as it is, in a cell too: words, numbers and plain names such as `fusion.12`.
pub(super) fn is_plain(text: &str) -> bool {
    let is_address = |text: &str| text.contains("://") || text.contains("www.");
    !text.contains(SPECIAL)
        && !is_address(text)
        && text.trim() == text
        && matches!(clean(text), std::borrow::Cow::Borrowed(_))
}

/// A text as code: whatever it holds is shown as it is. Its bars are escaped as tables want it.
pub(super) fn code(text: &str) -> String {
    let text = clean(text).replace('|', "\\|");
    let fence = fence(&text, 1);
    // Code that begins or ends with a backtick keeps a space from its fence, which is not shown.
    let pad = if text.starts_with('`') || text.ends_with('`') || text.trim() != text { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Backticks enough to stand around a text, at least so many.
pub(super) fn fence(text: &str, least: usize) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let longest = runs.max().unwrap_or(0);
    "`".repeat(least.max(longest + 1))
}

/// A text of one line with all that Markdown would take for markup escaped.
pub(super) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in clean(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '@' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// Sentences: what stands between backticks in them stays code, words that GitHub would make links of become code, the rest is
/// as [`line`].
pub(super) fn prose(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts: Vec<&str> = text.split('`').collect();
    // An odd backtick closes nothing.
    let closed = if parts.len() % 2 == 1 { parts.len() } else { parts.len() - 1 };
    let mut out = String::new();
    for (i, part) in parts.iter().enumerate() {
        match i {
            i if i % 2 == 1 && i < closed && !part.is_empty() => out.push_str(&code(part)),
            i if i >= closed => out.push_str(&format!("\\`{}", words(part))),
            _ => out.push_str(&words(part)),
        }
    }
    out
}

fn words(text: &str) -> String {
    let links = |word: &str| word.contains(['@', '#']) || word.contains("://") || word.contains("www.");
    let word = |word: &str| if links(word) { code(word) } else { line(word) };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_code_only_where_they_must() {
        assert!(is_plain("fusion.12") && is_plain("data formatting") && is_plain("12,4 (a/b) 50%"));
        for text in ["a_b", "<b>", "a|b", "`x`", "@me", "#12", "https://a.b", "*x*", "x\u{1b}", " x"] {
            assert!(!is_plain(text), "{text}");
        }
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`a"), "`` `a ``");
        assert_eq!(code("<img src=x>\n"), "`<img src=x>\\n`");
        assert_eq!(fence("```\nx", 3), "````");
    }

    #[test]
    fn sentences_keep_their_code_and_lose_all_other_markup() {
        assert_eq!(prose("pass `--limit 0` *now*"), "pass `--limit 0` \\*now\\*");
        assert_eq!(
            prose("<script>alert(1)</script> & [a](b)"),
            "&lt;script&gt;alert(1)&lt;/script&gt; &amp; \\[a\\](b)"
        );
        assert_eq!(
            prose("ask @someone about #12 at https://x.y"),
            "ask `@someone` about `#12` at `https://x.y`"
        );
        assert_eq!(prose("a ` b"), "a \\` b");
        assert_eq!(prose("a|b\nc_d"), "a\\|b c\\_d");
    }
}
