//! A run without its names: the same structure, times and numbers under other names, so that it can be shown to others.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use haloscope_profile::Profile;
use haloscope_xspace::write::{self, EncodedLine, Stat, Value};
use haloscope_xspace::{LineView, PlaneView, SpaceView};

use super::words::{Words, pieces};
use super::{blob, hlo};

/// Bytes of a compressed text that are looked at.
const LONGEST: u64 = 256 << 20;
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

/// One host's file.
#[derive(Debug)]
pub struct Redacted {
    /// What the host is called now: the stem for the file.
    pub host: String,
    /// The profile, an `XSpace`.
    pub bytes: Vec<u8>,
}

/// A word and what stands in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// What it was.
    pub word: String,
    /// What it is now.
    pub by: String,
    /// What it stood in.
    pub kind: Kind,
}

/// A run without its names, and what they were.
#[derive(Debug)]
pub struct Redaction {
    /// A profile for each host.
    pub files: Vec<Redacted>,
    /// All words that were replaced, by kind and in the order of the alphabet. It is as secret as the run.
    pub replaced: Vec<Replaced>,
}

impl Redaction {
    /// Replaces names of functions, modules, ops, scopes, sources, threads and hosts in a run. Words that profilers, compilers and
    /// frameworks use themselves stay, so that every op is still what it was. A word has one replacement in all files of the run.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        let mut texts = Texts::default();
        // Kernels and configurations are written over with what is known by then: so all is read once before.
        for source in &profile.sources {
            space(source.bytes(), &mut texts);
        }
        let of_host = |texts: &mut Texts, at: usize| {
            profile.hosts.get(at).map_or_else(|| "host".to_owned(), |host| texts.host(&host.name))
        };
        let files = profile.sources.iter().enumerate();
        let files = files
            .map(|(at, source)| Redacted {
                host: of_host(&mut texts, at),
                bytes: space(source.bytes(), &mut texts),
            })
            .collect();
        let Texts { words, kinds } = texts;
        let one = |(word, by): (String, String)| {
            let kind = kinds.get(&word).copied().unwrap_or(Kind::Name);
            Replaced { word, by, kind }
        };
        let mut replaced: Vec<_> = words.into_replaced().into_iter().map(one).collect();
        replaced.sort_by(|a, b| (a.kind, &a.word).cmp(&(b.kind, &b.word)));
        Self { files, replaced }
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

    fn note(&mut self, word: &str, new: String, kind: Kind) -> String {
        if new != word && !self.kinds.contains_key(word) {
            self.kinds.insert(word.to_owned(), kind);
        }
        new
    }

    /// Any text: paths lose all their words, the rest those that are not known.
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let is_between = |c: char| c.is_whitespace() || "\"'`,;=<>(){}[]|".contains(c);
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let between = is_between(first);
            let end = rest.find(|c| is_between(c) != between).unwrap_or(rest.len());
            let (chunk, after) = rest.split_at(end);
            match between {
                true => out += chunk,
                false if is_path(chunk) => out += &self.path(chunk),
                false => out += &self.plain(chunk),
            }
            rest = after;
        }
        out
    }

    /// A configuration in JSON or text, which may hold a compiled kernel.
    pub(super) fn configuration(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (range, mut bytes) in blob::base64_runs(text) {
            out += &self.text(&text[at..range.start]);
            blob::overwrite(&mut bytes, &mut self.words);
            out += &blob::encode(&bytes);
            at = range.end;
        }
        out += &self.text(&text[at..]);
        out
    }

    fn plain(&mut self, text: &str) -> String {
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
    fn host(&mut self, name: &str) -> String {
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

/// A file with other names.
fn space(bytes: &[u8], texts: &mut Texts) -> Vec<u8> {
    let view = SpaceView::parse(bytes);
    let mut out = Vec::new();
    for plane in &view.planes {
        self::plane(plane, texts, &mut out);
    }
    let of = |all: &[&[u8]], texts: &mut Texts, host: bool| -> Vec<String> {
        let lossy = all.iter().map(|text| String::from_utf8_lossy(text));
        lossy.map(|text| if host { texts.host(&text) } else { texts.text(&text) }).collect()
    };
    let rest = write::Space {
        planes: Vec::new(),
        errors: of(&view.errors, texts, false),
        warnings: of(&view.warnings, texts, false),
        hostnames: of(&view.hostnames, texts, true),
    };
    out.extend(rest.to_bytes());
    out
}

fn plane(view: &PlaneView<'_>, texts: &mut Texts, out: &mut Vec<u8>) {
    let mut head = write::Plane::from(&PlaneView { lines: Vec::new(), ..view.clone() });
    let protos: Vec<i64> = view
        .stat_metadata
        .iter()
        .filter(|(_, meta)| meta.name.eq_ignore_ascii_case(b"hlo proto") || meta.name == b"hlo_proto")
        .map(|(key, _)| *key)
        .collect();
    head.name = texts.plain(&head.name);
    for (_, meta) in &mut head.event_metadata {
        meta.name = texts.text(&meta.name);
        meta.display_name = texts.text(&meta.display_name);
        blob::overwrite(&mut meta.metadata, texts.words());
        meta.stats.iter_mut().for_each(|stat| self::stat(stat, &protos, texts));
    }
    for (_, meta) in &mut head.stat_metadata {
        meta.name = texts.text(&meta.name);
        meta.description = texts.text(&meta.description);
    }
    head.stats.iter_mut().for_each(|stat| self::stat(stat, &protos, texts));
    let lines: Vec<EncodedLine> = view.lines.iter().map(|line| self::line(line, &protos, texts)).collect();
    head.append_to(&lines, out);
}

fn line(view: &LineView<'_>, protos: &[i64], texts: &mut Texts) -> EncodedLine {
    let mut head = write::Line::from(&LineView { body: &[], ..view.clone() });
    head.name = texts.text(&head.name);
    head.display_name = texts.text(&head.display_name);
    let mut encoded = EncodedLine::new(head);
    for event in view.events() {
        let mut event = write::Event::from(&event);
        event.stats.iter_mut().for_each(|stat| self::stat(stat, protos, texts));
        encoded.push(&event);
    }
    encoded
}

fn stat(stat: &mut Stat, protos: &[i64], texts: &mut Texts) {
    match &mut stat.value {
        Value::Str(text) => *text = texts.text(text),
        Value::Bytes(bytes) if protos.contains(&stat.metadata_id) => *bytes = hlo::redacted(bytes, texts),
        Value::Bytes(bytes) => match unpacked(bytes) {
            Some(mut inner) => {
                blob::overwrite(&mut inner, texts.words());
                *bytes = packed(&inner).unwrap_or_default();
            }
            None => blob::overwrite(bytes, texts.words()),
        },
        Value::Compressed(bytes) => {
            let text = unpacked(bytes).unwrap_or_default();
            *bytes = packed(texts.text(&lossy(&text)).as_bytes()).unwrap_or_default();
        }
        Value::Double(_) | Value::Uint(_) | Value::Int(_) | Value::Ref(_) => {}
    }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return None;
    }
    let mut inner = Vec::new();
    GzDecoder::new(bytes).take(LONGEST).read_to_end(&mut inner).ok()?;
    Some(inner)
}

fn packed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}
