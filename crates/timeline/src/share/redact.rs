//! A run without its names: the same structure, times and numbers under other names, so that it can be shown to others.

use std::borrow::Cow;

use haloscope_profile::Profile;
use haloscope_xspace::write::{self, EncodedLine, Stat, Value};
use haloscope_xspace::{LineView, PlaneView, SpaceView};

use super::hlo;
use super::packing::{self, Packing};
use super::texts::{Kind, Texts};

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
        texts.words().is_whole = true;
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
        let (words, kinds) = texts.into_parts();
        let one = |(word, by): (String, String)| {
            let kind = kinds.get(&word).copied().unwrap_or(Kind::Name);
            Replaced { word, by, kind }
        };
        let mut replaced: Vec<_> = words.into_replaced().into_iter().map(one).collect();
        replaced.sort_by(|a, b| (a.kind, &a.word).cmp(&(b.kind, &b.word)));
        Self { files, replaced }
    }
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
        packing::overwrite(&mut meta.metadata, texts.words());
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
        Value::Bytes(bytes) => packing::overwrite(bytes, texts.words()),
        Value::Compressed(bytes) => {
            let text = Packing::Gzip.unpacked(bytes).unwrap_or_default();
            *bytes = Packing::Gzip.packed(texts.text(&lossy(&text)).as_bytes());
        }
        Value::Double(_) | Value::Uint(_) | Value::Int(_) | Value::Ref(_) => {}
    }
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
