//! Many runs of a place, a row each. What was read of one is kept, so that the next time only new sessions are read.

use std::path::{MAIN_SEPARATOR, Path, is_separator};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haloscope_analyses::fleet::{self, FleetRun, Summary};
use haloscope_analyses::ledger::Time;
use haloscope_report::Report;

use crate::{Body, Error, RunInfo, Store};

/// As what summaries are kept.
const KIND: &str = "application/json";

/// Runs of a place, and what is known of them.
#[derive(Debug)]
pub struct Fleet {
    /// The place.
    pub place: String,
    /// The newest first.
    pub runs: Vec<FleetRun>,
    /// Runs of the place, those that are too old for the question too.
    pub in_all: usize,
    /// Runs of which what was known was kept.
    pub kept: usize,
}

impl Fleet {
    /// The runs as a report.
    #[must_use]
    pub fn report(&self) -> Report {
        fleet::report(&self.place, &self.runs, self.kept)
    }
}

impl Store {
    /// The runs that were written since then, a row each; `reading` is told of each that has to be read, with its number and how many
    /// there are. A run that cannot be read has a row that says why.
    ///
    /// # Errors
    /// Where the place itself cannot be read, or is not reached.
    pub fn fleet(
        &self,
        since: Option<Since>,
        mut reading: impl FnMut(&RunInfo, usize, usize),
    ) -> Result<Fleet, Error> {
        let place = self.place().unwrap_or_default();
        let mut listed = self.list()?;
        listed.retain(|run| !run.dropped);
        let in_all = listed.len();
        if let Some(since) = since {
            let from = since.from();
            listed.retain(|run| run.modified >= from);
        }
        let (mut runs, mut kept) = (Vec::new(), 0);
        for (number, info) in listed.iter().enumerate() {
            haloscope_report::stop::check();
            let mut is_kept = true;
            let summary = self.summary(info, &mut || {
                is_kept = false;
                reading(info, number + 1, listed.len());
            });
            let summary = match summary {
                Ok(summary) => Ok(summary),
                // Nothing can be asked of a place that is not reached.
                Err(error @ Error::Remote(_)) if runs.is_empty() => return Err(error),
                Err(error) => Err(without_folder(&error.to_string(), &info.path)),
            };
            kept += usize::from(is_kept && summary.is_ok());
            runs.push(FleetRun {
                name: info.name.clone(),
                time: Time::from_unix(i64::try_from(info.modified_ms() / 1_000).unwrap_or(i64::MAX)),
                hosts: info.hosts.len() as u64,
                size_bytes: info.size_bytes,
                summary,
            });
        }
        Ok(Fleet { place, runs, in_all, kept })
    }

    /// What is known of a run: as it was kept, else `read` is called and the run is read.
    fn summary(&self, info: &RunInfo, read: &mut dyn FnMut()) -> Result<Summary, Error> {
        // What lies elsewhere is known by its files here, however long it takes to bring them.
        while let Err(error) = self.files_here(&info.id) {
            if !matches!(error, Error::Downloading { .. }) {
                return Err(error);
            }
        }
        let words = format!("summary {}", fleet::VERSION);
        let body = self.body(&info.id, ("fleet", Some(&words)), |run| -> Result<Body, Error> {
            read();
            let summary = Summary::of(&run.profile).map_err(Error::from)?;
            let bytes = serde_json::to_vec(&summary).map_err(|error| unreadable(&error))?;
            Ok(Body { content_type: KIND.to_owned(), bytes })
        })?;
        serde_json::from_slice(&body.bytes).map_err(|error| unreadable(&error))
    }
}

/// What is said of a run in `path`, a folder or a file, with the names of its files alone: the row says where they are.
fn without_folder(said: &str, path: &str) -> String {
    let path = path.trim_end_matches(is_separator);
    let Some(name) = Path::new(path).file_name().and_then(|name| name.to_str()) else {
        return said.to_owned();
    };
    let inside = ['/', MAIN_SEPARATOR]
        .iter()
        .fold(said.to_owned(), |said, separator| said.replace(&format!("{path}{separator}"), ""));
    inside.replace(path, name)
}

fn unreadable(error: &serde_json::Error) -> Error {
    haloscope_report::Error::Nothing(format!("its summary cannot be read: {error}")).into()
}

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Since {
    /// So long ago.
    Ago(Duration),
    /// Then.
    At(Time),
}

impl Since {
    fn from(self) -> SystemTime {
        match self {
            Self::Ago(length) => SystemTime::now().checked_sub(length).unwrap_or(UNIX_EPOCH),
            Self::At(time) => UNIX_EPOCH + Duration::from_secs(u64::try_from(time.unix()).unwrap_or(0)),
        }
    }
}

/// The moment or length that a text names.
///
/// # Errors
/// What was expected.
pub fn since(text: &str) -> Result<Since, String> {
    let length = |unit: char, seconds: u64| {
        let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(Since::Ago(Duration::from_secs(count.checked_mul(seconds)?)))
    };
    [('m', 60), ('h', 3_600), ('d', 86_400), ('w', 604_800)]
        .into_iter()
        .find_map(|(unit, seconds)| length(unit, seconds))
        .or_else(|| text.parse().ok().map(Since::At))
        .ok_or_else(|| "expected 7d, 12h, 30m, 2w, or a time such as 2026-11-22T10:45:12Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_files_and_no_folders() {
        let said =
            "/logs/plugins/profile/a/h.xplane.pb is no profile; /logs/plugins/profile/b/h.xplane.pb is";
        assert_eq!(
            without_folder(said, "/logs/plugins/profile/a"),
            "h.xplane.pb is no profile; /logs/plugins/profile/b/h.xplane.pb is"
        );
        assert_eq!(without_folder("gs://b/r/x.pb: gone", "gs://b/r/"), "x.pb: gone");
        assert_eq!(
            without_folder("/logs/one.xplane.pb is cut", "/logs/one.xplane.pb"),
            "one.xplane.pb is cut"
        );
        assert_eq!(without_folder("no answer", ""), "no answer");
    }

    #[test]
    fn a_time_is_a_length_or_a_moment() {
        assert_eq!(since("7d"), Ok(Since::Ago(Duration::from_secs(604_800))));
        assert_eq!(since("30m"), Ok(Since::Ago(Duration::from_secs(1_800))));
        assert_eq!(since("1970-01-01T00:01:00Z"), Ok(Since::At(Time::from_unix(60))));
        for wrong in ["", "d", "7", "-1d", "7 d", "yesterday", "99999999999999999999w"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
