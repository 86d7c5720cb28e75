//! Lines of JSON into entries: a line that cannot be read is named and left out, and takes no other with it.

use serde::Deserialize;

use super::{Entry, VERSION};

/// An entry and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedEntry {
    /// The entry.
    pub entry: Entry,
    /// The file, by the name given to [`parse`].
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// A line that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The file, by the name given to [`parse`].
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// Why.
    pub why: String,
}

/// Entries by time, and what was left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// The entries, the earliest first; of one second, by file and line.
    pub entries: Vec<PlacedEntry>,
    /// The lines that were left out, by file and line.
    pub bad: Vec<BadLine>,
}

impl Ledger {
    /// The lines of several files together. The order in which they are given does not matter.
    #[must_use]
    pub fn of(files: impl IntoIterator<Item = (Vec<PlacedEntry>, Vec<BadLine>)>) -> Self {
        let mut all = Self::default();
        for (entries, bad) in files {
            all.entries.extend(entries);
            all.bad.extend(bad);
        }
        all.entries.sort_by(|a, b| (a.entry.time, &a.file, a.line).cmp(&(b.entry.time, &b.file, b.line)));
        all.bad.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        all
    }
}

/// The entries of a file, and the lines that are none. `file` is what the lines are told by.
#[must_use]
pub fn parse(file: &str, bytes: &[u8]) -> (Vec<PlacedEntry>, Vec<BadLine>) {
    let (mut entries, mut bad) = (Vec::new(), Vec::new());
    let whole = bytes.is_empty() || bytes.ends_with(b"\n");
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    for (i, text) in lines.iter().enumerate() {
        let (line, last) = (i + 1, i + 1 == lines.len());
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match entry(text) {
            Ok(entry) => entries.push(PlacedEntry { entry, file: file.to_owned(), line }),
            Err(why) if last && !whole => {
                let why = format!("it is cut off: its writer was stopped before the end ({why})");
                bad.push(BadLine { file: file.to_owned(), line, why });
            }
            Err(why) => bad.push(BadLine { file: file.to_owned(), line, why }),
        }
    }
    (entries, bad)
}

fn entry(text: &[u8]) -> Result<Entry, String> {
    #[derive(Deserialize)]
    struct Version {
        ledger: Option<u64>,
    }
    // The version first: what a later one means by the other fields is not known.
    let version: Version = serde_json::from_slice(text).map_err(said)?;
    match version.ledger {
        None => Err("expected an entry with its version in `ledger`, found none".into()),
        Some(0) => Err("its version is 0, which does not exist".into()),
        Some(v) if v > u64::from(VERSION) => {
            Err(format!("it has version {v}, but this program knows {VERSION}: use a newer one"))
        }
        Some(_) => serde_json::from_slice(text).map_err(said),
    }
}

/// What is wrong, without the place: every entry is a line of its own, so that it would always be line 1.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn said(error: serde_json::Error) -> String {
    let text = error.to_string();
    let column = error.column();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    format!("{what}, column {column}")
}

#[cfg(test)]
mod tests;
