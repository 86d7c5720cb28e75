//! Answers from the hosts of a run that have been read, while the others still are.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::Uri;
use haloscope_core::report::{Quality, Severity};
use haloscope_core::scope::Scope;
use haloscope_store::Run;

use crate::answer::{Failure, Json, blocking};
use crate::api::{self, Answer};
use crate::query::Query;
use crate::router::{App, AppState};
use crate::shapes::Progress;

/// Whoever has the whole answer in this time needs no part of it.
const PATIENCE: Duration = Duration::from_millis(400);

/// The run that a request names as far as it has been read. The scope is cut to the hosts that have been, and a remark says so.
pub(crate) fn open(
    app: &App,
    query: &Query,
    scope: &mut Scope,
) -> Result<(Arc<Run>, Option<Quality>), Failure> {
    let partly = app.store.partly(&api::asked(app, query)?, PATIENCE)?;
    let Some(hosts) = partly.hosts else { return Ok((partly.run, None)) };
    let note = Quality {
        id: "hosts_being_read",
        severity: Severity::Warning,
        message: format!(
            "{} of {} hosts have been read so far; the others are being read",
            hosts.len(),
            partly.of
        ),
        cost: "all numbers are of those hosts only, and change as more are read".into(),
        cure: "ask again in a while, or without partial=yes, which waits for all of them".into(),
    };
    scope.hosts = hosts;
    Ok((partly.run, Some(note)))
}

/// How far the reading of a run has come. Nothing is opened for it.
pub(crate) async fn progress(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::of(&uri, &["run"])?;
    blocking(app, move |app| {
        let id = api::asked(app, &query)?;
        let reading = app.store.reading(&id);
        let part = reading.part;
        Json::of(&Progress {
            run: id,
            state: reading.state.word(),
            hosts_done: part.files,
            hosts: part.all_files,
            bytes_done: part.bytes,
            bytes: part.all_bytes,
        })
    })
    .await
}
