//! Why a tool has no answer, and what to call next.

use std::time::Duration;

use haloscope_report::stop::Stopped;
use haloscope_report::{Error as CoreError, clean};
use haloscope_store::Error as StoreError;

/// Why a tool has no answer: what is wrong, and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was expected, what was found, where.
    pub wrong: String,
    /// What to do next: a call that will work, where there is one.
    pub next: String,
}

/// Bytes of a refusal's parts, at most: both together stay below the smallest budget.
const LONGEST: usize = 300;

impl Refusal {
    /// A refusal; long texts are cut, and names in them cleaned.
    pub fn new(wrong: impl Into<String>, next: impl Into<String>) -> Self {
        let said = |text: String| cut(clean(&text).into_owned());
        Self { wrong: said(wrong.into()), next: said(next.into()) }
    }

    /// One of the words that exist was expected.
    pub fn unknown(what: &str, found: &str, exist: &[impl AsRef<str>], next: &str) -> Self {
        Self::unlike(what, found, exist, exist, next)
    }

    /// As [`Refusal::unknown`], where one of `words` could have been meant.
    pub(crate) fn unlike(
        what: &str,
        found: &str,
        exist: &[impl AsRef<str>],
        words: &[impl AsRef<str>],
        next: &str,
    ) -> Self {
        let found = &shorten(found, 80);
        let near = nearest(found, words);
        let wrong = match near {
            Some(near) => format!("there is no {what} `{found}`; did you mean `{near}`?"),
            None => format!("there is no {what} `{found}`"),
        };
        let words: Vec<&str> = exist.iter().map(AsRef::as_ref).collect();
        let list = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
        // What to do is the part that must not be cut.
        let room = LONGEST.saturating_sub(next.len() + 16);
        Self::new(wrong, format!("{next}; there are: {}", shorten(&list, room)))
    }

    /// A bug of ours.
    pub(crate) fn bug(what: &str) -> Self {
        Self::new(
            format!("haloscope failed: {what}"),
            "this is a bug; please report it with the profile. Other tools and other runs still answer",
        )
    }

    /// Work that was ended before there was an answer, which may take so long.
    pub(crate) fn stopped(why: Stopped, deadline: Option<Duration>) -> Self {
        match why {
            Stopped::Late => Self::new(
                format!(
                    "the answer took longer than the limit of {} s",
                    deadline.unwrap_or_default().as_secs_f64()
                ),
                "ask for less: fewer devices or steps, or a window; a person can give more time with `haloscope serve --deadline SECONDS`",
            ),
            Stopped::Left => Self::new("the client stopped waiting for the answer", "call again"),
        }
    }

    /// The text that an agent reads.
    #[must_use]
    pub fn text(&self) -> String {
        format!("error: {}\nnext: {}", self.wrong, self.next)
    }
}

impl From<CoreError> for Refusal {
    fn from(error: CoreError) -> Self {
        Self::from(&error)
    }
}

impl From<&CoreError> for Refusal {
    fn from(error: &CoreError) -> Self {
        let next = match error {
            CoreError::Usage(_) => "call again with what was expected",
            CoreError::Nothing(_) => {
                "`report` with analysis `inspect` lists what the profile has; a wider scope may have more"
            }
            CoreError::Io { .. } | CoreError::Input { .. } => {
                "`xprof_list_runs` lists other runs; if this one is still being written, try again after the capture"
            }
            CoreError::Changed { .. } => "call again: the next answer reads the file again",
            _ => "try another run",
        };
        Self::new(error.to_string(), next)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Read(error) => Self::from(&*error),
            StoreError::StillWritten { .. } => Self::new(
                error.to_string(),
                "call again in a few seconds: it is answered when its files are complete",
            ),
            StoreError::Downloading { .. } => {
                Self::new(error.to_string(), "call again in a few seconds: the work goes on meanwhile")
            }
            StoreError::Remote(_) => {
                Self::new(error.to_string(), "tell the user: the place of the runs cannot be read")
            }
            StoreError::UnknownRun(_) => Self::new(error.to_string(), "`xprof_list_runs` lists the runs"),
            other => Self::new(other.to_string(), "name a run by the id that `xprof_list_runs` gives"),
        }
    }
}

fn cut(text: String) -> String {
    if text.len() <= LONGEST { text } else { shorten(&text, LONGEST) }
}

/// A text of at most `most` bytes, with `…` where something was cut off its end.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// The word most like the one found, if one is like it at all.
fn nearest<'a>(found: &str, exist: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let plain = |word: &str| word.to_lowercase().replace(['-', ' ', '.'], "_");
    let found = plain(found);
    let near = exist.iter().map(AsRef::as_ref).map(|word| (distance(&found, &plain(word)), word)).min()?;
    (near.0 * 3 <= found.chars().count()).then_some(near.1)
}

/// Letters to change, add or drop to make one word of another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(100).enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let kept = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = kept.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_like_one_that_exists_is_named() {
        let refusal =
            Refusal::unknown("analysis", "memory attribut", &["memory-attribute", "ops"], "use one");
        assert!(refusal.wrong.contains("did you mean `memory-attribute`"), "{refusal:?}");
        assert!(refusal.next.contains("memory-attribute, ops"));
        let far = Refusal::unknown("run", "zzzz", &["memory", "ops"], "use one");
        assert_eq!(far.wrong, "there is no run `zzzz`");
    }

    #[test]
    fn refusals_are_short_whatever_exists() {
        let many: Vec<String> = (0..1000).map(|i| format!("a/run/with/a/long/näme/{i}")).collect();
        let refusal = Refusal::unknown("run", &"x".repeat(5000), &many, "`xprof_list_runs` lists them");
        assert!(refusal.text().len() <= 2 * LONGEST + 20);
        assert!(refusal.next.starts_with("`xprof_list_runs`"));
    }
}
