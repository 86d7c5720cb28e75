//! `haloscope fleet PLACE`: many runs, a row each. What was read of one is kept, so that the next time only new sessions are read.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Arg, ArgMatches, Command, value_parser};
use haloscope_analyses::fleet::{self, FleetRun, Summary};
use haloscope_analyses::ledger::Time;
use haloscope_store::{Body, Error, RunInfo, Store};

use super::serve::store_failure;
use crate::args::{AnalysisArgs, output_args};
use crate::output::write;
use crate::{Failure, Printer, cache_args};

/// As what summaries are kept.
const KIND: &str = "application/json";

pub(super) fn command() -> Command {
    Command::new("fleet")
        .about("Lists the runs of a place: step time, MFU, first cause")
        .max_term_width(80)
        .after_help(
            "Examples:\n  haloscope fleet gs://bucket/runs --since 7d\n  haloscope fleet logs --format csv > runs.csv",
        )
        .arg(
            Arg::new("place")
                .value_name("PLACE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Log folder with many sessions, here or in a bucket (gs://, s3://, az://)"),
        )
        .arg(
            Arg::new("since")
                .long("since")
                .value_name("TIME")
                .value_parser(since)
                .help("Only runs written since: 7d, 12h, 30m, or a time such as 2026-11-22T10:45:12Z"),
        )
        .args(output_args())
        .arg(cache_args::arg())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let asked = AnalysisArgs::output(matches)?;
    let place = matches.get_one::<PathBuf>("place").cloned().unwrap_or_default();
    let cache = cache_args::cache(matches)?;
    let store = Store::new(&place).map_err(store_failure)?.with_cache(cache);
    let name = store.place().unwrap_or_default();
    let mut listed = store.list().map_err(store_failure)?;
    let in_all = listed.len();
    if let Some(since) = matches.get_one::<Since>("since") {
        let from = since.from();
        listed.retain(|run| run.modified >= from);
    }
    if listed.is_empty() {
        let (what, hint) = match in_all {
            0 => (format!("no profile in {name}"), "give the folder that was given to the profiler"),
            _ => (format!("none of the {in_all} runs in {name} is so new"), "ask with a longer --since"),
        };
        return Err(Failure::Nothing(what, hint.into()));
    }
    let (mut runs, mut kept) = (Vec::new(), 0);
    for (number, info) in listed.iter().enumerate() {
        let mut is_kept = true;
        let summary = summary(&store, info, &mut || {
            is_kept = false;
            printer.note(format_args!("reading {} ({} of {})", info.name, number + 1, listed.len()));
        });
        let summary = match summary {
            Ok(summary) => Ok(summary),
            // Nothing can be asked of a place that is not reached.
            Err(error @ Error::Remote(_)) if runs.is_empty() => return Err(store_failure(error)),
            Err(error) => Err(error.to_string()),
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
    cache_args::say_trouble(store.cache(), printer);
    write(&fleet::report(&name, &runs, kept), &asked, printer)?;
    Ok(0)
}

/// What is known of a run: as it was kept, else `read` is called and the run is read.
fn summary(store: &Store, info: &RunInfo, read: &mut dyn FnMut()) -> Result<Summary, Error> {
    // What lies elsewhere is known by its files here, however long it takes to bring them.
    while let Err(error) = store.files_here(&info.id) {
        if !matches!(error, Error::Downloading { .. }) {
            return Err(error);
        }
    }
    let words = format!("summary {}", fleet::VERSION);
    let body = store.body(&info.id, ("fleet", Some(&words)), |run| -> Result<Body, Error> {
        read();
        let summary = Summary::of(&run.profile).map_err(Error::from)?;
        let bytes = serde_json::to_vec(&summary).map_err(|error| unreadable(&error))?;
        Ok(Body { content_type: KIND.to_owned(), bytes })
    })?;
    serde_json::from_slice(&body.bytes).map_err(|error| unreadable(&error))
}

fn unreadable(error: &serde_json::Error) -> Error {
    haloscope_report::Error::Nothing(format!("its summary cannot be understood: {error}")).into()
}

/// From when on.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Since {
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

fn since(text: &str) -> Result<Since, String> {
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
    fn a_time_is_a_length_or_a_moment() {
        assert_eq!(since("7d"), Ok(Since::Ago(Duration::from_secs(604_800))));
        assert_eq!(since("30m"), Ok(Since::Ago(Duration::from_secs(1_800))));
        assert_eq!(since("1970-01-01T00:01:00Z"), Ok(Since::At(Time::from_unix(60))));
        for wrong in ["", "d", "7", "-1d", "7 d", "yesterday", "99999999999999999999w"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
