//! The first pass: which files can be read, when their captures began, and so where each stands in its run.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use haloscope_report::Error;
use haloscope_time::steps::{StepSource, Steps};

use super::leaf::What;
use super::shelf::{Closed, FileRef, Shelf};
use crate::runs::{Place, Run};

/// What is said of a file.
///
/// # Errors
/// For one that may not be read, or is written to just now.
pub(super) fn row(file: &FileRef, shelf: &Shelf) -> Result<RecordBatch> {
    let (mut error, mut host, mut numbers) = (None, None, [None; 4]);
    match shelf.open(file) {
        Ok(runs) => {
            let profile = &runs[0].profile;
            let (start_ns, first_line_ns) = profile.earliest_ns();
            let events: u64 = profile.lines.iter().map(|line| line.event_count).sum();
            let count = |count: u64| Some(i64::try_from(count).unwrap_or(i64::MAX));
            numbers = [start_ns, first_line_ns, count(profile.lines.len() as u64), count(events)];
            host = profile.hosts.first().map(|host| host.name.clone());
        }
        // It may be whole the next time: to leave it out would be an answer that is wrong in a moment.
        Err(Closed::Unread(why)) if !matches!(why, Error::Changed { .. }) => {
            error = Some(why.to_string().replace(&file.path, &file.shown));
        }
        Err(closed) => return Err(closed.into()),
    }
    let number = |number: Option<i64>| -> ArrayRef { Arc::new(Int64Array::from(vec![number])) };
    let text = |text: Option<String>| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let mut columns = vec![number(Some(i64::from(file.at))), text(error), text(host)];
    columns.extend(numbers.map(number));
    Ok(RecordBatch::try_new(What::Survey.schema()?, columns)?)
}

/// What the first pass says of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Surveyed {
    pub(super) error: Option<String>,
    pub(super) host: String,
    pub(super) start_ns: Option<i64>,
    pub(super) first_line_ns: Option<i64>,
    pub(super) lines: u32,
    pub(super) events: u64,
}

/// The rows of [`row`], by the positions of their files.
pub(super) fn surveyed(batches: &[RecordBatch], files: usize) -> Vec<Option<Surveyed>> {
    let mut all = vec![None; files];
    for batch in batches {
        let number = |column: &str, row: usize| -> Option<i64> {
            let column = batch.column_by_name(column)?.as_primitive_opt::<Int64Type>()?;
            column.iter().nth(row).flatten()
        };
        let text = |column: &str, row: usize| -> Option<String> {
            let column = batch.column_by_name(column)?.as_string_opt::<i32>()?;
            column.iter().nth(row).flatten().map(str::to_owned)
        };
        for row in 0..batch.num_rows() {
            let at = number("at", row).and_then(|at| usize::try_from(at).ok());
            let Some(place) = at.and_then(|at| all.get_mut(at)) else { continue };
            let count = |column: &str| number(column, row).unwrap_or_default();
            *place = Some(Surveyed {
                error: text("error", row),
                host: text("host", row).unwrap_or_default(),
                start_ns: number("start_ns", row),
                first_line_ns: number("first_line_ns", row),
                lines: u32::try_from(count("lines")).unwrap_or(u32::MAX),
                events: u64::try_from(count("events")).unwrap_or_default(),
            });
        }
    }
    all
}

/// Puts the files of a run, those that can be read, in their places: on one clock, with lines that are numbered through.
pub(super) fn place(files: &mut [(FileRef, Surveyed)]) {
    let starts = files.iter().filter_map(|(_, own)| own.start_ns).min();
    // As one who opens all of them: without a start the first line's own time is the best zero there is.
    let zero_ns = starts.or_else(|| files.iter().filter_map(|(_, own)| own.first_line_ns).min());
    let is_one_of_many = files.len() > 1;
    let mut first_line = 0_u32;
    for (file, own) in files {
        file.place = Place { zero_ns, is_one_of_many, first_line };
        first_line = first_line.saturating_add(own.lines);
    }
}

/// The words of [`found`].
const ON_LINES: &str = "lines";
const BY_MARKERS: &str = "markers";
const NOT_AT_ALL: &str = "none";
const OTHERWISE: &str = "otherwise";

/// How the steps of a file are found, where it stands alone.
pub(super) fn found(run: &Run) -> &'static str {
    match run.steps().source {
        StepSource::DeviceLine => ON_LINES,
        StepSource::None => NOT_AT_ALL,
        StepSource::HostMarkers | StepSource::Caused if repeats(run) => BY_MARKERS,
        StepSource::HostMarkers | StepSource::Caused | StepSource::Launches(_) => OTHERWISE,
    }
}

/// Whether steps would be found by launches, had markers been doubtful: then they were not.
fn repeats(run: &Run) -> bool {
    let active: Vec<_> = run.profile.devices.iter().filter(|device| device.active).collect();
    Steps::from_launches(&run.profile, &active).is_some()
}

/// Whether files that say this of their steps have the steps that the run has: how the steps of a run are found is decided once, for all
/// of its devices.
pub(super) fn are_of_files(found: &[String]) -> bool {
    let all = |way: &str| found.iter().all(|found| found == way || found == NOT_AT_ALL);
    found.len() == 1 || all(ON_LINES) || all(BY_MARKERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_of_files_where_all_are_found_in_one_way() {
        let of =
            |found: &[&str]| are_of_files(&found.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        assert!(of(&["lines", "lines", "none"]) && of(&["markers", "none"]) && of(&["otherwise"]));
        assert!(
            !of(&["lines", "markers"]) && !of(&["otherwise", "otherwise"]) && !of(&["lines", "otherwise"])
        );
    }
}
