//! Answers from the hosts of a run that have been read, while the others still are.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::Uri;
use haloscope_report::scope::Scope;
use haloscope_report::{Quality, Severity};
use haloscope_store::Run;

use crate::answer::Answer;
use crate::answer::{Failure, Json};
use crate::app::{App, AppState};
use crate::compute::blocking;
use crate::named_run::run_id;
use crate::query::Query;
use crate::shapes::Progress;

/// Whoever has the whole answer in this time needs no part of it.
const LONGEST_WAIT: Duration = Duration::from_millis(400);

/// The run that a request names as far as it has been read. The scope is cut to the hosts that have been, and a remark says so.
pub(crate) fn open(
    app: &App,
    query: &Query,
    scope: &mut Scope,
) -> Result<(Arc<Run>, Option<Quality>), Failure> {
    let partial_run = app.store.partial_run(&run_id(app, query)?, LONGEST_WAIT)?;
    let Some(hosts) = partial_run.hosts else { return Ok((partial_run.run, None)) };
    let note = Quality {
        id: "hosts_being_read",
        severity: Severity::Warning,
        message: format!(
            "{} of {} hosts have been read so far; the others are being read",
            hosts.len(),
            partial_run.of
        ),
        cost: "all numbers cover only those hosts, and change as more are read".into(),
        fix: "ask again later, or without partial=yes to wait for all of them".into(),
    };
    scope.hosts = hosts;
    Ok((partial_run.run, Some(note)))
}

/// How far the reading of a run has come. Nothing is opened for it.
pub(crate) async fn progress(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run"])?;
    blocking(app, move |app| {
        let id = run_id(app, &query)?;
        let reading = app.store.read_progress(&id)?;
        let part = reading.part;
        Json::from_value(&Progress {
            run: id,
            state: reading.state.name(),
            hosts_done: part.files,
            hosts: part.all_files,
            bytes_done: part.bytes,
            bytes: part.all_bytes,
        })
    })
    .await
}
