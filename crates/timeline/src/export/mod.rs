//! Exports: any part of a run in the formats of other people's tools.
//!
//! [`Export::of`] settles what is exported (lines, windows, modules) and refuses what there is not; [`Export::write`] then
//! streams it, a line at a time. Events that overlap a window are exported whole; only the weights of folded stacks, which
//! are sums, are cut to it. No event of the selection is left out: those of one line that overlap without lying within each
//! other go to several tracks, see `lanes`.

use std::io::{self, Write};

use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::scope::Scope;

mod choose;
mod chrome;
mod counters;
mod facts;
mod folded;
mod json;
mod lanes;
mod perfetto;
mod proto;
mod speedscope;
#[cfg(test)]
mod tests;
mod walk;

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Perfetto's protobuf: `TrackEvent`s with interned names.
    Perfetto,
    /// Chrome's trace event JSON.
    Chrome,
    /// Folded stacks: a line a stack, its weight self time in picoseconds.
    Folded,
    /// speedscope's JSON: an evented profile a track.
    Speedscope,
}

/// What the frames of a folded stack are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stacks {
    /// Plane, line, and the events as they lie within each other.
    #[default]
    Events,
    /// Plane, line, the framework's scope path of an op, and the op; other events as with [`Stacks::Events`].
    Scope,
}

/// What is to be exported. The default is everything.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// Hosts, devices, modules, and the time.
    pub scope: Scope,
    /// Lines by their id on the timeline, or by a part of `plane/line`; all where empty.
    pub tracks: Vec<String>,
    /// For [`Format::Folded`].
    pub stacks: Stacks,
}

/// A part of a run, ready to be written.
#[derive(Debug)]
pub struct Export<'p> {
    profile: &'p Profile,
    chosen: choose::Chosen<'p>,
    stacks: Stacks,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Events that became slices or counted in a stack.
    pub events: u64,
    /// Values of counters.
    pub samples: u64,
    /// Tracks (of folded stacks: lines) with at least one of them.
    pub tracks: u64,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Perfetto, Self::Chrome, Self::Folded, Self::Speedscope];

    /// Its name in options and addresses.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Perfetto => "perfetto",
            Self::Chrome => "chrome",
            Self::Folded => "folded",
            Self::Speedscope => "speedscope",
        }
    }

    /// The format of this name.
    ///
    /// # Errors
    /// [`Error::Usage`] with the names that there are.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|format| format.id() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::id).join(", ");
            Error::Usage(format!("there is no format `{name}`; there are: {known}"))
        })
    }

    /// The format that a file's name asks for, without `.gz`; `None` if it could be any.
    #[must_use]
    pub fn of_file(name: &str) -> Option<Self> {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        match () {
            () if ends(&[".speedscope.json", ".speedscope"]) => Some(Self::Speedscope),
            () if ends(&[".pftrace", ".perfetto-trace", ".perfetto", ".pb"]) => Some(Self::Perfetto),
            () if ends(&[".folded", ".folded.txt", ".collapsed", ".txt"]) => Some(Self::Folded),
            () if ends(&[".json"]) => Some(Self::Chrome),
            () => None,
        }
    }

    /// What a file of this format is called, behind its name.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            Self::Perfetto => ".pftrace",
            Self::Chrome => ".trace.json",
            Self::Folded => ".folded.txt",
            Self::Speedscope => ".speedscope.json",
        }
    }

    /// Its media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Perfetto => "application/octet-stream",
            Self::Chrome | Self::Speedscope => "application/json",
            Self::Folded => "text/plain; charset=utf-8",
        }
    }
}

impl Stacks {
    /// The kind of stacks of this name.
    ///
    /// # Errors
    /// [`Error::Usage`] with the names that there are.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            "events" => Ok(Self::Events),
            "scope" => Ok(Self::Scope),
            _ => Err(Error::Usage(format!("there are no stacks `{name}`; there are: events, scope"))),
        }
    }
}

impl<'p> Export<'p> {
    /// Settles what is exported. Reads no events but those that steps are found by.
    ///
    /// # Errors
    /// [`Error::Usage`] for a host, device or track that the run does not have, [`Error::Nothing`] if nothing is left, if the
    /// run has no steps to choose from, or if it is a program that has not run, [`Error::Changed`] where a file of the
    /// run changed meanwhile.
    pub fn of(profile: &'p Profile, ask: &Ask) -> Result<Self, Error> {
        let chosen = choose::choose(profile, ask);
        profile.unchanged()?;
        Ok(Self { profile, chosen: chosen?, stacks: ask.stacks })
    }

    /// Writes it.
    ///
    /// # Errors
    /// What the writer says; [`Error::Changed`] within an error where a file of the run changed meanwhile: what was written is
    /// then of no use.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<Written> {
        let written = match format {
            Format::Perfetto => walk::walk(self, &mut perfetto::Perfetto::new(out)),
            Format::Chrome => walk::walk(self, &mut chrome::Chrome::new(out)),
            Format::Speedscope => walk::walk(self, &mut speedscope::Speedscope::new(out)),
            Format::Folded => folded::write(self, out),
        }?;
        self.profile.unchanged().map_err(io::Error::other)?;
        Ok(written)
    }

    /// Writes it as gzip.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_packed(&self, format: Format, out: &mut dyn Write) -> io::Result<Written> {
        let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::fast());
        let written = self.write(format, &mut packed)?;
        packed.finish()?;
        Ok(written)
    }
}
