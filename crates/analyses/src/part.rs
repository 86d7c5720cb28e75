//! Parts: what some questions need of one host's profile, as a smaller profile. A folder of parts, one a host and each made where its
//! host's file lies, is a run of which these questions have the answers that the whole run has, to the digit: the same functions
//! answer them from the same events.
//!
//! What a question needs is found by asking it: the lines that it decoded, and of devices those of ops, programs and steps in any case.
//! A question that needs another line of a part is refused ([`haloscope_profile::Line::is_left_out`]), so that no answer lacks anything
//! unsaid.

use std::collections::BTreeSet;

use haloscope_profile::{HostId, Line, LineId, LineKind, Profile};
use haloscope_report::scope::Scope;
use haloscope_report::{Error, Report, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{self, Analysis, Input, Params, Run};
use haloscope_time::input::input_work;

/// The questions that a part is made for where none is named.
pub const USUAL: &[&str] = &["overview", "diagnose", "idle", "steps", "hosts", "comm", "ops", "memory peak"];

/// Those of which it depends on how long the devices of all hosts idle whether they look at what a host does for input.
const LOOK_AT_INPUT: &[&str] = &["overview", "diagnose"];

/// Those that look at all that is in the files, or ask any others.
const LOOK_AT_ALL: &[&str] = &["inspect", "check"];

/// Those that hold several runs against each other.
const NEED_ANOTHER: &[&str] = &["compare", "hlo diff", "kernel diff"];

/// Whether an analysis can be asked about parts: it is about one run of profiles, and it is known what it reads.
#[must_use]
pub fn takes_parts(analysis: &Analysis) -> bool {
    !LOOK_AT_ALL.contains(&analysis.id)
        && !NEED_ANOTHER.contains(&analysis.id)
        && !matches!(analysis.run, Run::Maybe(_) | Run::Told(_))
        && analysis.reads.contains(&Input::Profile)
        && !analysis.reads.contains(&Input::Flags)
}

/// The ids of all that can be asked about parts.
pub fn all() -> impl Iterator<Item = &'static str> {
    crate::ALL.iter().filter(|analysis| takes_parts(analysis)).map(|analysis| analysis.id)
}

/// The analysis of this id, where it can be asked about parts.
///
/// # Errors
/// [`Error::Usage`] with why it cannot, and which can.
pub fn asked(id: &str) -> Result<&'static Analysis, Error> {
    crate::find(id).filter(|found| takes_parts(found)).ok_or_else(|| cannot(id))
}

/// The part of one host.
#[derive(Debug)]
pub struct Part {
    /// An `XSpace`.
    pub bytes: Vec<u8>,
    /// What is in it.
    pub about: About,
}

/// What is in a part.
#[derive(Debug)]
pub struct About {
    /// The host: the stem of its file.
    pub host: String,
    /// Bytes of the file that it was made of, unpacked.
    pub whole_bytes: u64,
    /// Bytes of the part.
    pub part_bytes: u64,
    /// Lines with events, and those of them that are in the part.
    pub lines: (u64, u64),
    /// Events, and those of them that are in the part.
    pub events: (u64, u64),
}

/// The parts of a profile that these questions need, one a host. Memory is least where each host's file is opened alone.
///
/// # Errors
/// [`Error::Usage`] for an analysis that cannot be asked about parts, [`Error::Nothing`] for what is no profile; that a question has no
/// answer of one host alone is none.
pub fn of(profile: &Profile, questions: &[&str]) -> Result<Vec<Part>, Error> {
    if Input::of(profile) != Input::Profile {
        return Err(Error::Nothing("this is not a profile: it has no events, and no parts".into()));
    }
    let mut used: BTreeSet<LineId> = BTreeSet::new();
    for id in questions {
        match analysis::run(asked(id)?, profile, &Scope::default(), &Params::default()) {
            Ok(_) | Err(Error::Nothing(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if questions.iter().any(|id| LOOK_AT_INPUT.contains(id)) {
        let hosts = (0..).map(HostId).zip(&profile.hosts);
        hosts.for_each(|(host, _)| drop(input_work(profile, host)));
    }
    used.extend(profile.lines.iter().filter(|line| line.loaded().is_some()).map(|line| line.id));
    let is_device = |line: &Line| profile.plane(line.plane).kind.is_device();
    let always =
        [LineKind::XlaOps, LineKind::AsyncXlaOps, LineKind::Stream, LineKind::XlaModules, LineKind::Steps];
    let keeps = |line: &Line| used.contains(&line.id) || (is_device(line) && always.contains(&line.kind));
    let part = |(at, source): (usize, &haloscope_profile::Source)| {
        let lines = || {
            let planes = profile.planes.iter().filter(move |plane| plane.source == at);
            planes.flat_map(|plane| profile.lines_of(plane.id)).filter(|line| line.event_count > 0)
        };
        let kept = || lines().filter(|line| keeps(line) && !line.is_left_out);
        let host = profile.hosts.get(at).map(|host| host.name.clone()).unwrap_or_default();
        let bytes = profile.part(at, &keeps);
        let about = About {
            host,
            whole_bytes: source.bytes().len() as u64,
            part_bytes: bytes.len() as u64,
            lines: (lines().count() as u64, kept().count() as u64),
            events: (lines().map(|line| line.event_count).sum(), kept().map(|line| line.event_count).sum()),
        };
        Part { bytes, about }
    };
    let parts = profile.sources.iter().enumerate().map(part).collect();
    profile.unchanged()?;
    Ok(parts)
}

fn cannot(id: &str) -> Error {
    let why = match crate::find(id) {
        None => "there is no such analysis",
        Some(analysis) if LOOK_AT_ALL.contains(&analysis.id) => "it reads everything in the files",
        Some(analysis) if NEED_ANOTHER.contains(&analysis.id) => "it needs several runs",
        Some(_) => "it does not need events or a profile",
    };
    let known: Vec<&str> = all().collect();
    Error::Usage(format!("`{id}` does not work on parts: {why}. These do: {}", known.join(", ")))
}

/// What was made, as a report.
#[must_use]
pub fn report(parts: &[About]) -> Report {
    let sum = |of: fn(&About) -> u64| parts.iter().map(of).fold(0, u64::saturating_add);
    let size =
        |id, label, bytes: u64, doc| Value::new(id, label, Some(bytes), Unit::Bytes, Status::Measured, doc);
    let rows = parts.iter().map(|part| {
        row![
            text("host", "Host", "The stem of its file.", part.host.as_str()),
            bytes("bytes", "Size", "Size of its file, unpacked.", part.whole_bytes),
            bytes("part_bytes", "Part", "Size of the part.", part.part_bytes),
            count("lines", "Lines", "Lines with events.", part.lines.0),
            count("part_lines", "Kept", "Lines whose events are in the part.", part.lines.1),
            count("events", "Events", "Events of all lines.", part.events.0),
            count("part_events", "Events kept", "Events in the part.", part.events.1),
        ]
    });
    Report {
        analysis: "part",
        values: vec![
            size("bytes", "Size", sum(|part| part.whole_bytes), "Sizes of the files, unpacked."),
            size("part_bytes", "Parts", sum(|part| part.part_bytes), "Sizes of the parts."),
        ],
        tables: vec![Table::of("parts", "Parts", rows)],
        ..Report::default()
    }
}
