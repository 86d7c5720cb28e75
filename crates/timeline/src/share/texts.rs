//! Texts of a run under other words.

use std::collections::BTreeMap;

use super::words::{Words, pieces};
use super::{blob, packing};

/// What makes a text a path, wherever it stands in it.
const MARKS: [&str; 10] =
    ["/home/", "/usr/", "/tmp/", "/mnt/", "/root/", "/Users/", "gs://", "s3://", "file://", "C:\\"];
/// Endings of sources and libraries.
const ENDINGS: [&str; 9] = ["py", "cc", "cpp", "cu", "h", "hpp", "so", "ipynb", "c"];
/// Sources of Python and JAX that events of the Python tracer name, by which their work is known.
const FRAMEWORK: [&str; 12] = [
    "gc",
    "pjit",
    "api",
    "compiler",
    "debugging",
    "pure_callback",
    "io_callback",
    "array",
    "profiler",
    "threading",
    "queue",
    "builtins",
];

/// What a word that was replaced stood in first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The name of a machine.
    Host,
    /// The path of a file.
    Path,
    /// A name of the program: of a function, a module, an op, a scope, an event.
    Name,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Path => "path",
            Self::Name => "name",
        }
    }
}

/// Texts of a run, and the words that were replaced in them.
#[derive(Debug, Default)]
pub(super) struct Texts {
    words: Words,
    kinds: BTreeMap<String, Kind>,
}

impl Texts {
    pub(super) fn words(&mut self) -> &mut Words {
        &mut self.words
    }

    /// The words with what stands for them, and what each stood in first.
    pub(super) fn into_parts(self) -> (Words, BTreeMap<String, Kind>) {
        (self.words, self.kinds)
    }

    fn note(&mut self, word: &str, new: String, kind: Kind) -> String {
        if new != word && !self.kinds.contains_key(word) {
            self.kinds.insert(word.to_owned(), kind);
        }
        new
    }

    /// Any text, which may hold packed messages in base64: paths lose all their words, the rest those that are not known.
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (range, mut bytes) in blob::base64_runs(text) {
            self.words_of(&text[at..range.start], &mut out);
            packing::overwrite(&mut bytes, &mut self.words);
            out += &blob::encode(&bytes);
            at = range.end;
        }
        self.words_of(&text[at..], &mut out);
        out
    }

    fn words_of(&mut self, text: &str, out: &mut String) {
        let is_between = |c: char| c.is_whitespace() || "\"'`,;=<>(){}[]|".contains(c);
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let between = is_between(first);
            let end = rest.find(|c| is_between(c) != between).unwrap_or(rest.len());
            let (chunk, after) = rest.split_at(end);
            match between {
                true => *out += chunk,
                false if is_path(chunk) => *out += &self.path(chunk),
                false => *out += &self.plain(chunk),
            }
            rest = after;
        }
    }

    pub(super) fn plain(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for (is_word, piece) in pieces(text) {
            if is_word {
                let new = self.words.of(piece);
                out += &self.note(piece, new, Kind::Name);
            } else {
                out += piece;
            }
        }
        out
    }

    /// A path, of which only endings and numbers stay.
    fn path(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for (is_word, piece) in pieces(text) {
            let is_ending = ENDINGS.contains(&piece) && out.ends_with('.');
            let is_framework = text.starts_with('$') && FRAMEWORK.contains(&piece);
            if is_word && !is_ending && !is_framework {
                let new = self.words.strictly(piece);
                out += &self.note(piece, new, Kind::Path);
            } else {
                out += piece;
            }
        }
        out
    }

    /// The name of a machine.
    pub(super) fn host(&mut self, name: &str) -> String {
        let mut out = String::with_capacity(name.len());
        for (is_word, piece) in pieces(name) {
            if is_word {
                let new = self.words.strictly(piece);
                out += &self.note(piece, new, Kind::Host);
            } else {
                out += piece;
            }
        }
        out
    }
}

/// Whether a part of a text without spaces, quotes and brackets is a path.
fn is_path(text: &str) -> bool {
    if MARKS.iter().any(|mark| text.contains(mark)) {
        return true;
    }
    let mut before = "";
    pieces(text).any(|(is_word, piece)| {
        let is_ending = is_word && before == "." && ENDINGS.contains(&piece) && piece.len() > 1;
        before = piece;
        is_ending
    })
}
